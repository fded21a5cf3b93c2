/** Keeps the map in step with what the page knows. */

import { drape } from "../pictures";
import { placedOf } from "../pure/export";
import { selected, type Item, type State, type Store } from "../store";
import type { Candidate } from "../types";
import { createMarks } from "./marks";
import type { Scene } from "./scene";
import {
  arrowOf,
  boxToSee,
  candidateOf,
  footprintOf,
  hypothesesOf,
  othersOf,
  outlineOf,
  radiusOf,
  trackOf,
  truthOf,
} from "./shapes";

export function showOnMap(scene: Scene, store: Store): void {
  const marks = createMarks(scene.map, (rank) => store.set({ candidateRank: rank }));
  const select = onChange((item: Item | null) => present(scene, marks.show, store, item));
  const light = onChange((candidate: Candidate | null) => {
    scene.show("candidate", candidateOf(candidate, store.get().bundle));
    marks.light(candidate?.rank ?? null);
  });
  const all = onChange(() => showAll(scene, store.get()));
  const show = (state: State): void => {
    const item = selected(state);
    select([item?.id, item?.answer], item);
    light([item?.answer, state.candidateRank], candidateAt(item, state.candidateRank));
    all([state.items, state.selectedId], undefined);
    scene.fade(state.opacity);
  };
  selectByClick(scene, store);
  store.subscribe(show);
  scene.show("outline", store.get().bundle ? outlineOf(store.get().bundle!) : []);
  show(store.get());
}

/** Does something only when one of its keys is another than last time. */
function onChange<T>(act: (value: T) => void): (keys: unknown[], value: T) => void {
  let last: unknown[] | null = null;
  return (keys, value) => {
    if (last?.length === keys.length && keys.every((key, i) => key === last![i])) return;
    last = keys;
    act(value);
  };
}

/** One photo's answer: marks, shapes, the photo itself, and the flight there. */
function present(scene: Scene, mark: (item: Item | null) => void, store: Store, item: Item | null): void {
  mark(item);
  scene.show("footprint", footprintOf(item));
  scene.show("radius", radiusOf(item));
  scene.show("arrow", arrowOf(item));
  scene.show("hypotheses", hypothesesOf(item));
  void layPhoto(scene, store, item);
  const box = boxToSee(item);
  if (box) scene.fly(box);
}

/** The photo over the map; another one may have been chosen while it was decoded. */
async function layPhoto(scene: Scene, store: Store, item: Item | null): Promise<void> {
  scene.lay(null, null);
  const footprint = placedOf(item?.answer)?.footprint ?? null;
  if (!item || !footprint) return;
  const picture = await drape(item.file);
  if (selected(store.get())?.answer === item.answer) scene.lay(picture, footprint);
}

function showAll(scene: Scene, state: State): void {
  scene.show("others", othersOf(state));
  scene.show("track", trackOf(state));
  scene.show("truth", truthOf(state));
}

function candidateAt(item: Item | null, rank: number | null): Candidate | null {
  if (!item?.answer || item.answer.status === "error") return null;
  return item.answer.candidates.find((candidate) => candidate.rank === rank) ?? null;
}

function selectByClick(scene: Scene, store: Store): void {
  scene.map.on("click", "others-dots", (event) => {
    const id = event.features?.[0]?.properties["id"] as number | undefined;
    if (id !== undefined) store.set({ selectedId: id, candidateRank: null });
  });
}
