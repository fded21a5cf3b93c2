/** From answers to shapes on the map. */

import { arrow, boxOf, circle, moved, topOf, type Box } from "../pure/geo";
import { placedOf, placeOf } from "../pure/export";
import { inOrder, split } from "../pure/track";
import type { Item, State } from "../store";
import type { Bundle, Candidate, LonLat } from "../types";
import type { Feature as AnyFeature, LineString, Point, Polygon } from "geojson";

export type Feature = AnyFeature<LineString | Point | Polygon>;
type Properties = Record<string, unknown>;

export function line(coordinates: LonLat[], properties: Properties = {}): Feature {
  return { type: "Feature", properties, geometry: { type: "LineString", coordinates } };
}

export function dot(at: LonLat, properties: Properties = {}): Feature {
  return { type: "Feature", properties, geometry: { type: "Point", coordinates: at } };
}

function ring(corners: LonLat[]): LonLat[] {
  return [...corners, corners[0]!];
}

export function outlineOf(bundle: Bundle): Feature[] {
  return bundle.outline ? [line(ring(bundle.outline))] : [];
}

export function footprintOf(item: Item | null): Feature[] {
  const corners = placedOf(item?.answer)?.footprint;
  return corners ? [line(ring(corners))] : [];
}

export function radiusOf(item: Item | null): Feature[] {
  const at = placeOf(item?.answer ?? null);
  const radiusM = placedOf(item?.answer)?.radius95_m;
  if (!at || !radiusM) return [];
  return [{ type: "Feature", properties: {}, geometry: { type: "Polygon", coordinates: [circle(at, radiusM)] } }];
}

/** From the middle of the frame to the middle of its top edge. */
export function arrowOf(item: Item | null): Feature[] {
  const at = placeOf(item?.answer ?? null);
  const placed = placedOf(item?.answer);
  if (!at || !placed || placed.heading_deg === null) return [];
  const { heading_deg, footprint } = placed;
  return arrow(at, topOf(at, heading_deg, footprint)).map((stroke) => line(stroke));
}

/** Every other place that was found. */
export function othersOf({ items, selectedId }: State): Feature[] {
  return items.flatMap((item) => {
    const at = item.id === selectedId ? null : placeOf(item.answer);
    return at ? [dot(at, { id: item.id })] : [];
  });
}

/** The way flown, in the order the photos were taken. */
export function trackOf(state: State): Feature[] {
  const found = inOrder(state.items).filter((item) => placeOf(item.answer));
  if (found.length < 2) return [];
  const places = found.map((item) => placeOf(item.answer)!);
  const { flown, ahead } = split(
    places,
    found.findIndex((item) => item.id === state.selectedId),
  );
  const parts: [LonLat[], Properties][] = [
    [ahead, { ahead: true }],
    [flown, { ahead: false }],
  ];
  return parts.filter(([places]) => places.length > 1).map(([places, properties]) => line(places, properties));
}

/** Where photos were really taken, and how far off their answers are. */
export function truthOf({ items }: State): Feature[] {
  return items.flatMap(({ answer, truth }) => {
    const at = placeOf(answer);
    if (!truth) return [];
    return at ? [line([at, truth.at]), dot(truth.at)] : [dot(truth.at)];
  });
}

/** Other places that were verified against the map. */
export function hypothesesOf(item: Item | null): Feature[] {
  return otherPlaces(item).map((at) => dot(at));
}

function otherPlaces(item: Item | null): LonLat[] {
  const hypotheses = item?.answer && item.answer.status !== "error" ? (item.answer.hypotheses ?? []) : [];
  return hypotheses.flatMap(({ lon, lat }): LonLat[] => (lon === null || lat === null ? [] : [[lon, lat]]));
}

/** The ground a reference shows. */
export function candidateOf(candidate: Candidate | null, bundle: Bundle | null): Feature[] {
  if (!candidate || !bundle?.canonical) return [];
  const [halfW, halfH] = [bundle.canonical.widthM / 2, bundle.canonical.heightM / 2];
  const turn = (candidate.heading_deg * Math.PI) / 180;
  const corner = (x: number, y: number): LonLat =>
    moved(
      [candidate.lon, candidate.lat],
      x * Math.cos(turn) + y * Math.sin(turn),
      y * Math.cos(turn) - x * Math.sin(turn),
    );
  return [line(ring([corner(-halfW, halfH), corner(-halfW, -halfH), corner(halfW, -halfH), corner(halfW, halfH)]))];
}

/** What to look at: the frame and its radius; for "no fix" the candidates. */
export function boxToSee(item: Item | null): Box | null {
  const answer = item?.answer;
  if (!answer || answer.status === "error") return null;
  const at = placeOf(answer);
  if (!at) return boxOf([...otherPlaces(item), ...answer.candidates.map((c): LonLat => [c.lon, c.lat])]);
  return boxOf([
    at,
    ...(answer.footprint ?? []),
    ...circle(at, answer.radius95_m ?? 0),
    ...(item.truth ? [item.truth.at] : []),
  ]);
}
