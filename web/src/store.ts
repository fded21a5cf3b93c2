/** What the page knows, in one place; whoever shows some of it is told when it changes. */

import type { PhotoTags } from "./pure/exif";
import type { Truths } from "./pure/manifest";
import type { Answer, Bundle, Size, Truth } from "./types";

export type Stage = "queued" | "sending" | "waiting" | "done";

export interface Item {
  id: number;
  file: File;
  path: string; // with the folders it came in
  stage: Stage;
  tags: PhotoTags | null;
  takenMs: number | null;
  thumbnail: string | null; // address of a small picture
  size: Size | null;
  answer: Answer | null;
  truth: Truth | null;
}

export interface State {
  items: readonly Item[];
  selectedId: number | null;
  candidateRank: number | null;
  bundle: Bundle | null;
  truths: Truths;
  camera: string;
  altitude: string;
  opacity: number;
}

export interface Store {
  get(): State;
  set(change: Partial<State>): void;
  update(id: number, change: Partial<Item>): void;
  subscribe(listener: (state: State) => void): void;
}

const EMPTY: State = {
  items: [],
  selectedId: null,
  candidateRank: null,
  bundle: null,
  truths: new Map(),
  camera: "",
  altitude: "",
  opacity: 0.85,
};

const A_LITTLE_MS = 40;

/** A store; what a person does is told at once, news of photos a little later and together. */
export function createStore(): Store {
  let state = EMPTY;
  let timer = 0;
  let upToDate = true;
  const listeners: ((state: State) => void)[] = [];
  const tell = (): void => {
    clearTimeout(timer);
    timer = 0;
    upToDate = true;
    for (const listener of listeners) listener(state);
  };
  const set = (change: Partial<State>): void => {
    state = { ...state, ...change };
    if (upToDate) queueMicrotask(tell);
    upToDate = false;
  };
  const update = (id: number, change: Partial<Item>): void => {
    state = { ...state, items: state.items.map((item) => (item.id === id ? { ...item, ...change } : item)) };
    if (upToDate) timer ||= window.setTimeout(tell, A_LITTLE_MS);
  };
  return { get: () => state, set, update, subscribe: (listener) => void listeners.push(listener) };
}

/** The photo that is looked at. */
export function selected(state: State): Item | null {
  return state.items.find((item) => item.id === state.selectedId) ?? null;
}
