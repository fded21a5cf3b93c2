/** Where photos come in: dropped anywhere on the page, or chosen. */

import { byId, h, icon } from "../dom";
import { fromDrop, fromList } from "../files";
import type { Dropped, Photos } from "../photos";

const UP = "M12 16V4m0 0L7 9m5-5 5 5M4 16v3a1 1 0 0 0 1 1h14a1 1 0 0 0 1-1v-3";
const KINDS = "image/*,.tif,.tiff,.csv,text/csv";

export function mountDrop(photos: Photos): void {
  const take = (files: Dropped[]): void => void photos.take(files);
  const [one, folder] = [chooser(take, { multiple: true, accept: KINDS }), chooser(take, { webkitdirectory: true })];
  one.id = "choose";
  folder.id = "choose-folder";
  byId("drop").append(
    h("p", { class: "drop-title" }, icon(UP), "Drop drone photos here"),
    h("p", { class: "quiet" }, "One, many, or a folder. A manifest.csv with true places is welcome."),
    h("div", { class: "row" }, opener("Choose photos", "strong", one), opener("Choose a folder", "", folder)),
    one,
    folder,
  );
  acceptDrops(take);
}

/** A file input nobody sees; buttons open it, because they can be styled and read out well. */
function chooser(take: (files: Dropped[]) => void, kind: Record<string, string | boolean>): HTMLInputElement {
  const input = h("input", { type: "file", class: "unseen", tabindex: -1, "aria-hidden": "true", ...kind });
  input.addEventListener("change", () => {
    take(fromList(input.files ?? []));
    input.value = ""; // the same file may be chosen again
  });
  return input;
}

function opener(label: string, kind: string, input: HTMLInputElement): HTMLButtonElement {
  return h("button", { type: "button", class: kind, click: () => input.click() }, label);
}

function acceptDrops(take: (files: Dropped[]) => void): void {
  const veil = byId("veil");
  let inside = 0; // entering a child comes before leaving its parent
  const cover = (change: number) => (event: DragEvent) => {
    event.preventDefault();
    inside = Math.max(0, inside + change);
    veil.hidden = inside === 0;
  };
  addEventListener("dragenter", cover(1));
  addEventListener("dragleave", cover(-1));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    cover(-inside)(event);
    if (event.dataTransfer) void fromDrop(event.dataTransfer).then(take);
  });
}
