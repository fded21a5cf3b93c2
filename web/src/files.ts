/** Files from a drop or a chooser; folders are opened, however deep. */

import type { Dropped } from "./photos";

/** Everything that was dropped. Entries must be asked for before the event is over. */
export async function fromDrop(transfer: DataTransfer): Promise<Dropped[]> {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry?.() ?? null);
  if (entries.some((entry) => entry === null)) return fromList(transfer.files);
  return (await Promise.all(entries.map((entry) => walk(entry!)))).flat();
}

/** What was chosen; a chosen folder tells the path of each file. */
export function fromList(files: Iterable<File>): Dropped[] {
  return [...files].map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

async function walk(entry: FileSystemEntry): Promise<Dropped[]> {
  const path = entry.fullPath.replace(/^\//, "");
  if (entry.isFile) return [{ file: await fileOf(entry as FileSystemFileEntry), path }];
  const inside = await listed((entry as FileSystemDirectoryEntry).createReader());
  inside.sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  return (await Promise.all(inside.map(walk))).flat();
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((done, fail) => entry.file(done, fail));
}

/** A browser lists a folder in batches; an empty one is the last. */
async function listed(reader: FileSystemDirectoryReader): Promise<FileSystemEntry[]> {
  const all: FileSystemEntry[] = [];
  for (;;) {
    const batch = await new Promise<FileSystemEntry[]>((done, fail) => reader.readEntries(done, fail));
    if (batch.length === 0) return all;
    all.push(...batch);
  }
}
