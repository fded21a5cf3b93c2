/** Marks that are elements, not pixels: the fix, and its numbered candidates. */

import { Marker, type Map } from "maplibre-gl";
import { h } from "../dom";
import { placeOf } from "../pure/export";
import { inWords } from "../pure/geo";
import type { Item } from "../store";
import type { Candidate, LonLat } from "../types";

export interface Marks {
  show(item: Item | null): void;
  light(rank: number | null): void;
}

/** Marks of the photo that is looked at; pointing at a candidate tells its rank. */
export function createMarks(map: Map, onPoint: (rank: number) => void): Marks {
  let visible: Marker[] = [];
  let candidates: HTMLElement[] = [];
  return {
    show: (item) => {
      for (const marker of visible) marker.remove();
      const found = item?.answer && item.answer.status !== "error" ? item.answer.candidates : [];
      candidates = found.map((candidate) => candidateMark(candidate, onPoint));
      visible = found.map((c, i) => placed(map, candidates[i]!, [c.lon, c.lat])).toReversed();
      const at = placeOf(item?.answer ?? null);
      if (at && item) visible.push(placed(map, fixMark(item, at), at));
    },
    light: (rank) => candidates.forEach((mark, i) => mark.classList.toggle("lit", i + 1 === rank)),
  };
}

function placed(map: Map, element: HTMLElement, at: LonLat): Marker {
  return new Marker({ element }).setLngLat(at).addTo(map);
}

function fixMark(item: Item, at: LonLat): HTMLElement {
  const label = `${item.path} was taken here: ${inWords(at)}`;
  return h("div", { class: "mark fix-mark", role: "img", "aria-label": label, ...data(at) });
}

/** For the pointer only: the list beside the map says the same to everybody. */
function candidateMark(candidate: Candidate, onPoint: (rank: number) => void): HTMLElement {
  const point = (): void => onPoint(candidate.rank);
  const place = data([candidate.lon, candidate.lat]);
  return h(
    "div",
    { class: "mark candidate-mark", "aria-hidden": "true", mouseenter: point, ...place },
    String(candidate.rank),
  );
}

/** The place itself, for whoever reads the page by program. */
function data([lon, lat]: LonLat): Record<string, number> {
  return { "data-lon": lon, "data-lat": lat };
}
