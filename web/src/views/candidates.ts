/** The references that look most like the photo, and one of them beside it. */

import type { Api } from "../api";
import { h } from "../dom";
import { canonicalCrop } from "../pictures";
import { placeOf } from "../pure/export";
import { distanceM } from "../pure/geo";
import type { Item } from "../store";
import type { Bundle, Candidate, Placed } from "../types";
import { bearing, metres, percent } from "./words";

export interface CandidatesView {
  element: HTMLElement;
  light(rank: number): void;
}

/** The ranked list; hovering or focusing one shows it beside the photo. */
export function candidatesView(
  item: Item,
  answer: Placed,
  bundle: Bundle,
  api: Api,
  onPoint: (rank: number) => void,
): CandidatesView {
  const rows = answer.candidates.map((candidate) => row(candidate, answer, onPoint));
  const beside = compareView(item, answer, bundle, api);
  const heads = ["", placeOf(answer) ? "From the answer" : "Cell", "Points to", "Unlikeness", "Weight"];
  const head = h(
    "div",
    { class: "candidate-heads quiet", "aria-hidden": "true" },
    ...heads.map((word) => h("span", {}, word)),
  );
  const list = h(
    "ol",
    { class: "candidates", "aria-label": "Candidates, best first" },
    ...rows.map((button) => h("li", {}, button)),
  );
  return {
    element: h(
      "section",
      { "aria-label": "Candidates" },
      h("h3", {}, "What it looks like"),
      beside.element,
      head,
      list,
    ),
    light: (rank) => {
      rows.forEach((button, i) => button.setAttribute("aria-pressed", String(answer.candidates[i]!.rank === rank)));
      beside.show(answer.candidates.find((c) => c.rank === rank) ?? answer.candidates[0]!);
    },
  };
}

function row(candidate: Candidate, answer: Placed, onPoint: (rank: number) => void): HTMLButtonElement {
  const point = (): void => onPoint(candidate.rank);
  const at = placeOf(answer);
  const away = at ? metres(distanceM(at, [candidate.lon, candidate.lat])) : candidate.cell.join(", ");
  const weight = candidate.weight === null ? "" : candidate.weight === 0 ? "left out" : percent(candidate.weight);
  const [turned, unlike] = [bearing(candidate.heading_deg), candidate.distance.toFixed(3)];
  const label = `Rank ${candidate.rank}: ${at ? `${away} from the answer` : `cell ${away}`}, points to ${turned}, unlikeness ${unlike}${weight && `, weight ${weight}`}`;
  return h(
    "button",
    { type: "button", class: "candidate", "aria-label": label, click: point, focus: point, mouseenter: point },
    h("span", { class: "rank" }, String(candidate.rank)),
    h("span", {}, away),
    h("span", { class: "quiet" }, turned),
    h("span", { class: "quiet" }, unlike),
    h("span", { class: "quiet weight" }, weight),
  );
}

interface CompareView {
  element: HTMLElement;
  show(candidate: Candidate): void;
}

/** The photo cut to a reference's ground, and the reference. */
function compareView(item: Item, answer: Placed, bundle: Bundle, api: Api): CompareView {
  const [crop, reference] = [h("div", { class: "picture" }), h("div", { class: "picture" })];
  const caption = h("figcaption", { class: "quiet" });
  void showCrop(crop, item, answer, bundle);
  let currentRank = 0;
  const show = async (candidate: Candidate): Promise<void> => {
    if (currentRank === candidate.rank) return;
    currentRank = candidate.rank;
    caption.textContent = `Left the photo, cut to the ground a reference shows; right reference ${candidate.reference}, rank ${candidate.rank}.`;
    const url = await referenceUrl(api, candidate.reference);
    if (currentRank === candidate.rank)
      reference.replaceChildren(url ? referenceImage(url, candidate) : note("The reference could not be fetched."));
  };
  const element = h("figure", { class: "compare" }, h("div", { class: "pair" }, crop, reference), caption);
  return { element, show: (candidate) => void show(candidate) };
}

function referenceImage(url: string, candidate: Candidate): HTMLElement {
  return h("img", { src: url, alt: `Reference view of rank ${candidate.rank}`, "data-reference": candidate.reference });
}

async function showCrop(root: HTMLElement, item: Item, answer: Placed, bundle: Bundle): Promise<void> {
  if (!bundle.canonical || answer.gsd_m === null) return root.replaceChildren(note("No scale, no cut-out."));
  const canvas = await canonicalCrop(item.file, answer.gsd_m, bundle.canonical);
  canvas?.setAttribute("role", "img");
  canvas?.setAttribute("aria-label", "The photo, cut to the ground a reference shows");
  root.replaceChildren(canvas ?? note("The browser cannot show this kind of file."));
}

function note(text: string): HTMLElement {
  return h("p", { class: "quiet" }, text);
}

const urls = new Map<number, Promise<string | null>>();

/** The address of a reference's picture; fetched once. A token cannot travel with an <img>. */
function referenceUrl(api: Api, row: number): Promise<string | null> {
  const known = urls.get(row);
  if (known) return known;
  const url = api.reference(row).then(URL.createObjectURL, () => null);
  urls.set(row, url);
  return url;
}
