/** The photos, one row each, in the order they came. */

import { byId, h, icon } from "../dom";
import type { Photos } from "../photos";
import { offM, toCsv, toGeoJson, toKml, type Result } from "../pure/export";
import { median } from "../pure/track";
import type { Item, State, Store } from "../store";
import { metres, standing, summary } from "./words";

const BIN = "M5 7h14M10 7V5h4v2M7 7l1 13h8l1-13";

type Rows = Map<number, { element: HTMLElement; item: Item | null }>;

export function mountList(store: Store, photos: Photos): void {
  const rows: Rows = new Map();
  const count = h("p", { id: "count", class: "quiet" });
  const list = h("ol", { class: "list", "aria-label": "Photos", keydown: (event: KeyboardEvent) => step(event, list) });
  const head = h("div", { class: "row spread" }, h("h2", {}, "Photos"), tools(store, photos));
  const root = byId("list");
  root.append(head, count, list);
  store.subscribe((state) => {
    root.hidden = state.items.length === 0;
    count.textContent = tally(state.items);
    showRows(list, rows, state, (id) => store.set({ selectedId: id, candidateRank: null }));
  });
  root.hidden = true;
}

/** Rows are kept and changed in place, so that the keyboard's place in the list is not lost. */
function showRows(list: HTMLElement, rows: Rows, state: State, select: (id: number) => void): void {
  const wanted = new Set(state.items.map((item) => item.id));
  for (const [id, row] of rows) if (!wanted.has(id)) (row.element.remove(), rows.delete(id));
  for (const item of state.items) {
    const row = rows.get(item.id) ?? newRow(list, rows, item.id, select);
    if (row.item !== item) fill(row.element.firstElementChild!, item);
    row.item = item;
    mark(row.element, item.id === state.selectedId);
  }
}

/** The photo that is looked at comes into sight. */
function mark(element: HTMLElement, current: boolean): void {
  const button = element.firstElementChild!;
  const before = button.getAttribute("aria-current") === "true";
  button.setAttribute("aria-current", String(current));
  if (current && !before) keepInSight(element);
}

/** In a narrow window only the list is moved: the page stays where its reader is. */
function keepInSight(element: Element): void {
  if (matchMedia("(width >= 760px)").matches) return element.scrollIntoView({ block: "nearest" });
  const list = element.parentElement;
  if (!list) return;
  const [row, frame] = [element.getBoundingClientRect(), list.getBoundingClientRect()];
  if (row.top < frame.top || row.bottom > frame.bottom) list.scrollTop += row.top - frame.top;
}

function newRow(
  list: HTMLElement,
  rows: Rows,
  id: number,
  select: (id: number) => void,
): { element: HTMLElement; item: Item | null } {
  const button = h("button", { type: "button", class: "photo", "data-id": id, click: () => select(id) });
  const row = { element: h("li", {}, button), item: null };
  list.append(row.element);
  rows.set(id, row);
  return row;
}

function fill(button: Element, item: Item): void {
  const { tone, word } = standing(item);
  const picture = item.thumbnail ? h("img", { src: item.thumbnail, alt: "" }) : h("span", { class: "blank" });
  const words = h(
    "span",
    { class: "photo-words" },
    h("span", { class: "name" }, item.path),
    h("span", { class: "quiet" }, summary(item)),
  );
  button.replaceChildren(picture, words, h("span", { class: `badge ${tone}` }, word));
}

/** Arrow keys go from photo to photo; Home and End to the first and the last. */
function step(event: KeyboardEvent, list: HTMLElement): void {
  const buttons = [...list.querySelectorAll<HTMLButtonElement>("button")];
  const now = buttons.indexOf(document.activeElement as HTMLButtonElement);
  const to = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: buttons.length - 1 }[event.key];
  const button = to === undefined ? undefined : buttons[to];
  if (now < 0 || !button) return;
  event.preventDefault();
  button.focus();
  button.click();
}

/** How many were found; and how far off they are, where that is known. */
export function tally(items: readonly Item[]): string {
  const number = (status: string): number =>
    items.filter((i) => i.stage === "done" && i.answer?.status === status).length;
  const open = items.filter((i) => i.stage !== "done").length;
  const parts = [`${number("fix")} of ${items.length} found`];
  if (number("unverified")) parts.push(`${number("unverified")} unverified`);
  if (number("no_fix")) parts.push(`${number("no_fix")} no fix`);
  if (number("error")) parts.push(`${number("error")} cannot be used`);
  if (open) parts.push(`${open} to go`);
  return [...parts, ...offWords(items)].join(" · ");
}

function offWords(items: readonly Item[]): string[] {
  const offs = results(items)
    .map(offM)
    .filter((value) => value !== null);
  const middle = median(offs);
  return middle === null ? [] : [`median ${metres(middle)} off the truth, worst ${metres(Math.max(...offs))}`];
}

function tools(store: Store, photos: Photos): HTMLElement {
  const save = (kind: string, type: string, write: (all: Result[]) => string): HTMLElement =>
    h(
      "button",
      {
        type: "button",
        class: "small",
        click: () => download(`nadirfix.${kind}`, type, write(results(store.get().items))),
      },
      h("span", { class: "unseen" }, "Save as "),
      { geojson: "GeoJSON", kml: "KML", csv: "CSV" }[kind]!,
    );
  return h(
    "div",
    { class: "row", role: "group", "aria-label": "Save or remove" },
    save("geojson", "application/geo+json", toGeoJson),
    save("kml", "application/vnd.google-earth.kml+xml", toKml),
    save("csv", "text/csv", toCsv),
    h(
      "button",
      {
        type: "button",
        class: "small plain",
        "aria-label": "Remove all photos",
        title: "Remove all photos",
        click: () => photos.clear(),
      },
      icon(BIN),
    ),
  );
}

function results(items: readonly Item[]): Result[] {
  return items.flatMap(({ answer, truth, stage }) => (answer && stage === "done" ? [{ answer, truth }] : []));
}

function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: `${type};charset=utf-8` }));
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
