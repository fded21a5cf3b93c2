/** What lies over the map: how strongly the photo covers it, and the flight along the track. */

import { byId, h, icon } from "../dom";
import { placeOf } from "../pure/export";
import { clock, inOrder } from "../pure/track";
import { selected, type Item, type Store } from "../store";

const PLAY = "M8 5v14l11-7z";
const PAUSE = "M8 5v14M16 5v14";
const STEP_MS = 1600;

/** A slider between the map alone and the photo alone. */
export function mountDrape(store: Store): void {
  const slider = h("input", { id: "opacity", type: "range", min: 0, max: 100, value: 100 * store.get().opacity });
  slider.addEventListener("input", () => store.set({ opacity: Number(slider.value) / 100 }));
  byId("drape").append(h("label", { for: "opacity" }, "Photo over map"), slider);
  store.subscribe((state) => {
    byId("drape").hidden = placeOf(selected(state)?.answer ?? null) === null;
  });
}

/** A slider through the photos in the order they were taken. */
export function mountTrack(store: Store): void {
  const slider = h("input", { id: "time", type: "range", min: 0, step: 1, "aria-label": "Photos along the track" });
  const label = h("output", { for: "time" });
  const go = (i: number): void => select(store, inOrder(store.get().items)[i]);
  slider.addEventListener("input", () => go(Number(slider.value)));
  byId("track").append(player(store, go), slider, label);
  store.subscribe((state) => {
    byId("track").hidden = state.items.length < 2;
    const order = inOrder(state.items);
    const now = order.findIndex((item) => item.id === state.selectedId);
    slider.max = String(Math.max(0, order.length - 1));
    slider.value = String(now);
    label.textContent = order[now] ? position(order[now], now, order.length) : "";
    slider.setAttribute("aria-valuetext", label.textContent ?? "");
  });
}

function select(store: Store, item: Item | undefined): void {
  if (item && item.id !== store.get().selectedId) store.set({ selectedId: item.id, candidateRank: null });
}

function position(item: Item, now: number, count: number): string {
  const when = item.takenMs === null ? item.path.replace(/^.*\//, "") : clock(item.takenMs);
  return `${now + 1} of ${count} · ${when}`;
}

/** A button that flies from photo to photo until the last. */
function player(store: Store, go: (i: number) => void): HTMLButtonElement {
  const button = h("button", { type: "button", class: "plain" });
  let timer = 0;
  const show = (): void => {
    button.setAttribute("aria-label", timer ? "Stop the flight" : "Fly along the track");
    button.replaceChildren(icon(timer ? PAUSE : PLAY));
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = 0;
    show();
  };
  const next = (): void => {
    const order = inOrder(store.get().items);
    const now = order.findIndex((item) => item.id === store.get().selectedId);
    if (now >= order.length - 1) stop();
    else go(now + 1);
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    const order = inOrder(store.get().items);
    if (order.at(-1)?.id === store.get().selectedId) go(0);
    timer = window.setInterval(next, STEP_MS);
    show();
  });
  show();
  return button;
}
