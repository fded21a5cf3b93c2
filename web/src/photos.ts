/** From files to answers: takes photos in, reads their tags, sends them, and keeps what comes back. */

import { ServiceError, type Api } from "./api";
import { thumbnail } from "./pictures";
import { HEAD_BYTES, readTags } from "./pure/exif";
import { readManifest, truthFor } from "./pure/manifest";
import { createQueue, type Queue } from "./queue";
import type { Item, Store } from "./store";
import type { Answer, Problem } from "./types";

/** A file and the path it came by. */
export interface Dropped {
  file: File;
  path: string;
}

export interface Photos {
  take(files: Dropped[]): Promise<void>;
  again(items: readonly Item[]): void;
  clear(): void;
}

export type Say = (message: string, tone?: "calm" | "bad") => void;

const AT_ONCE = 3; // one is looked at on each of two cores while the next one travels
const NOT_PHOTOS = /\.(?:csv|txt|json|geojson|kml|xml|md|toml|ini|log|db|zip|pdf|srt|mp4|mov|lrf)$|(?:^|\/)\./i;

export function createPhotos(store: Store, api: Api, say: Say): Photos {
  const [reading, sending] = [createQueue(1), createQueue(AT_ONCE)];
  const send = (item: Item): void => sending.add(() => locate(store, api, say, item.id));
  return {
    take: async (files) => {
      const lists = files.filter(({ path }) => /\.csv$/i.test(path));
      for (const { file } of lists) await takeManifest(store, say, file);
      const items = newItems(
        store,
        files.filter(({ path }) => !NOT_PHOTOS.test(path)),
      );
      for (const item of items) {
        readPicture(store, reading, item);
        send(item);
      }
      if (items.length === 0 && lists.length === 0) say("There are no photos among these files.", "bad");
    },
    again: (items) => items.forEach((item) => requeue(store, item, send)),
    clear: () => clear(store),
  };
}

let nextId = 1;

function newItems(store: Store, files: Dropped[]): Item[] {
  const { items, truths, selectedId } = store.get();
  const added = files.map(({ file, path }): Item => ({
    id: nextId++,
    file,
    path,
    stage: "queued",
    tags: null,
    takenMs: null,
    thumbnail: null,
    size: null,
    answer: null,
    truth: truthFor(path, truths),
  }));
  store.set({ items: [...items, ...added], selectedId: selectedId ?? added[0]?.id ?? null });
  return added;
}

/** Tags and a small picture; neither is needed for the answer, so neither can stop it. */
function readPicture(store: Store, queue: Queue, { id, file }: Item): void {
  queue.add(async () => {
    if (!store.get().items.some((item) => item.id === id)) return; // cleared meanwhile
    const tags = readTags(await file.slice(0, HEAD_BYTES).arrayBuffer());
    store.update(id, { tags, takenMs: tags.takenMs });
    const small = await thumbnail(file);
    if (small) store.update(id, { thumbnail: small.url, size: small.size });
  });
}

async function locate(store: Store, api: Api, say: Say, id: number): Promise<void> {
  const item = store.get().items.find((i) => i.id === id);
  if (!item) return; // cleared while it waited
  const { camera, altitude } = store.get();
  store.update(id, { stage: "sending" });
  const onWait = (): void => store.update(id, { stage: "waiting" });
  const answer = await answered(item, api.locate(item.file, { camera, altitude }, onWait));
  store.update(id, { stage: "done", answer });
  say(`${item.path}: ${inShort(answer)}`);
}

/** The answer under the page's own name for the photo; a refusal is an answer too. */
async function answered(item: Item, sent: Promise<Answer>): Promise<Answer> {
  try {
    return { ...(await sent), photo: item.path };
  } catch (error) {
    return { photo: item.path, status: "error", error: problem(error) };
  }
}

function problem(error: unknown): Problem {
  if (error instanceof ServiceError) return error.problem;
  return { code: "page.fault", message: "The page could not read the answer.", hint: String(error) };
}

export function inShort(answer: Answer): string {
  if (answer.status === "error") return `cannot be used. ${answer.error.message}`;
  if (answer.status === "no_fix") return `no fix: ${answer.reason ?? "no reason given"}`;
  const found = answer.status === "unverified" ? "unverified position" : "found";
  return `${found}${answer.altitude_m === null ? "" : `, ${Math.round(answer.altitude_m)} m above ground`}`;
}

function requeue(store: Store, item: Item, send: (item: Item) => void): void {
  if (item.stage !== "done") return;
  store.update(item.id, { stage: "queued", answer: null });
  send(item);
}

async function takeManifest(store: Store, say: Say, file: File): Promise<void> {
  try {
    const truths = new Map([...store.get().truths, ...(await readManifest(await file.text()))]);
    const items = store.get().items.map((item) => ({ ...item, truth: truthFor(item.path, truths) }));
    store.set({ truths, items });
    say(`${file.name}: the true places of ${truths.size} photos are known.`);
  } catch (error) {
    say(`${file.name}: ${error instanceof Error ? error.message : String(error)}`, "bad");
  }
}

function clear(store: Store): void {
  for (const { thumbnail: url } of store.get().items) if (url) URL.revokeObjectURL(url);
  store.set({ items: [], selectedId: null, candidateRank: null, truths: new Map() });
}
