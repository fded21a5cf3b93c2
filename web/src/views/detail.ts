/** Everything about the photo that is looked at. */

import type { Api } from "../api";
import { byId, h } from "../dom";
import type { Photos } from "../photos";
import { offM } from "../pure/export";
import { inWords } from "../pure/geo";
import { selected, type Item, type State, type Store } from "../store";
import type { Failed, Placed } from "../types";
import { altitudeChart } from "./altitude";
import { candidatesView, type CandidatesView } from "./candidates";
import { timingsChart } from "./timings";
import { hypothesesView, verdictFacts } from "./verdict";
import { bearing, metres, percent, standing } from "./words";

type Fact = [name: string | Node, value: string | Node];

export function mountDetail(store: Store, api: Api, photos: Photos): void {
  const root = byId("detail");
  let last: unknown[] = [];
  let candidates: CandidatesView | null = null;
  store.subscribe((state) => {
    const item = selected(state);
    const keys = [item?.id, item?.answer, item?.stage, item?.truth, state.bundle];
    if (keys.some((key, i) => key !== last[i])) candidates = rebuild(root, item, state, store, api, photos);
    last = keys;
    candidates?.light(state.candidateRank ?? 1);
  });
}

function rebuild(
  root: HTMLElement,
  item: Item | null,
  state: State,
  store: Store,
  api: Api,
  photos: Photos,
): CandidatesView | null {
  root.hidden = item === null;
  const answer = item?.stage === "done" ? item.answer : null;
  if (item && answer?.status === "error")
    root.replaceChildren(
      title(item),
      failure(answer, () => photos.again([item])),
    );
  else if (item && !answer) root.replaceChildren(title(item));
  if (!item || !answer || answer.status === "error") return null;
  const point = (rank: number): void => store.set({ candidateRank: rank });
  const compared =
    state.bundle && answer.candidates.length ? candidatesView(item, answer, state.bundle, api, point) : null;
  root.replaceChildren(
    title(item),
    ...body(item, answer),
    compared?.element ?? "",
    hypothesesView(answer) ?? "",
    ending(answer),
  );
  return compared;
}

function title(item: Item): HTMLElement {
  const { tone, word } = standing(item);
  return h(
    "div",
    { class: "row spread" },
    h("h2", { class: "name" }, item.path),
    h("span", { class: `badge ${tone}` }, word),
  );
}

function failure({ error }: Failed, again: () => void): HTMLElement {
  return h(
    "div",
    { class: "callout bad" },
    h("p", {}, h("strong", {}, error.message)),
    error.hint ? h("p", {}, error.hint) : null,
    h("p", { class: "quiet" }, error.code),
    h("button", { type: "button", click: again }, "Try again"),
  );
}

function body(item: Item, answer: Placed): HTMLElement[] {
  const refusal = h(
    "div",
    { class: "callout unsure" },
    h("p", {}, h("strong", {}, "No fix: "), answer.reason ?? "no reason given"),
  );
  const warnings = h("ul", { class: "callout unsure plain-list" }, ...answer.warnings.map((w) => h("li", {}, w)));
  return [
    ...(answer.status === "no_fix" ? [refusal] : [where(answer)]),
    factList(facts(item, answer)),
    ...(answer.warnings.length ? [warnings] : []),
    h("section", { "aria-label": "Altitude" }, h("h3", {}, "How high"), altitude(item, answer)),
  ];
}

function where(answer: Placed): HTMLElement {
  const text = inWords([answer.lon!, answer.lat!]);
  const numbers = `${answer.lat}, ${answer.lon}`;
  const copy = h(
    "button",
    { type: "button", class: "small", click: () => void navigator.clipboard?.writeText(numbers) },
    "Copy",
  );
  const around =
    answer.status === "unverified"
      ? "not compared with the map: it may be wrong by any distance"
      : answer.radius95_m === null
        ? "no radius stated"
        : `within ${metres(answer.radius95_m)}, 95 times in 100`;
  return h(
    "div",
    { class: "where" },
    h("p", { class: "row" }, h("span", { class: "place" }, text), copy),
    h("p", { class: "quiet" }, around),
  );
}

function facts(item: Item, answer: Placed): Fact[] {
  const off = offM({ answer, truth: item.truth });
  const known = <T>(value: T | null, word: (value: T) => string | Node): string | Node =>
    value === null ? "not known" : word(value);
  return [
    ["Above ground", known(answer.altitude_m, metres)],
    ["Top of photo points", known(answer.heading_deg, bearing)],
    ["One pixel covers", known(answer.gsd_m, (m) => `${(100 * m).toFixed(1)} cm`)],
    ["Confidence", known(answer.confidence, confidence)],
    ...(off === null
      ? []
      : [[h("span", {}, h("span", { class: "chip truth-chip" }), "Off the truth"), metres(off)] as Fact]),
    ...verdictFacts(answer),
    ...(answer.crop_clamped ? [["Crop", "whole frame: taken from very low"] as Fact] : []),
  ];
}

function confidence(value: number): Node {
  return h("span", { class: "row" }, h("meter", { min: 0, max: 1, value, "aria-label": "Confidence" }), percent(value));
}

function factList(all: Fact[]): HTMLElement {
  return h(
    "dl",
    { class: "facts" },
    ...all.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

function altitude(item: Item, answer: Placed): HTMLElement {
  if (answer.altitude_classes) return altitudeChart(answer.altitude_classes, item.truth?.altitudeM ?? null);
  return h("p", { class: "quiet" }, "Not estimated from the picture: it was given.");
}

function ending(answer: Placed): HTMLElement {
  return h(
    "section",
    { "aria-label": "More" },
    h("h3", {}, "How long it took"),
    timingsChart(answer.timings_ms),
    h(
      "details",
      { class: "fold" },
      h("summary", {}, "The answer as JSON"),
      h("pre", { tabindex: 0, "aria-label": "The answer as JSON" }, JSON.stringify(answer, null, 1)),
    ),
  );
}
