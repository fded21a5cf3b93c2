/** Metres and degrees near one place, on the WGS 84 ellipsoid; good to a millimetre over a map's width. */

import type { LonLat } from "../types";

const EQUATOR_M = 6_378_137;
const FLATNESS = 0.006_694_379_990_14; // first eccentricity, squared
const RADIAN = Math.PI / 180;

export interface Box {
  west: number;
  south: number;
  east: number;
  north: number;
}

/** How many metres a degree of longitude and of latitude are worth at this latitude. */
export function metresPerDegree(latDeg: number): { lon: number; lat: number } {
  const sine = Math.sin(latDeg * RADIAN);
  const w = 1 - FLATNESS * sine * sine;
  const lat = (RADIAN * EQUATOR_M * (1 - FLATNESS)) / w ** 1.5;
  return { lon: (RADIAN * EQUATOR_M * Math.cos(latDeg * RADIAN)) / Math.sqrt(w), lat };
}

/** The place so many metres east and north of another. */
export function moved([lon, lat]: LonLat, eastM: number, northM: number): LonLat {
  const half = lat + northM / 2 / metresPerDegree(lat).lat; // the scale half way is that of the whole way
  const scale = metresPerDegree(half);
  return [lon + eastM / scale.lon, lat + northM / scale.lat];
}

/** Metres between two places that are not a continent apart. */
export function distanceM(a: LonLat, b: LonLat): number {
  const scale = metresPerDegree((a[1] + b[1]) / 2);
  return Math.hypot((b[0] - a[0]) * scale.lon, (b[1] - a[1]) * scale.lat);
}

/** A closed ring of places at one distance around another. */
export function circle(center: LonLat, radiusM: number, steps = 72): LonLat[] {
  const angles = Array.from({ length: steps }, (_, i) => (i * 2 * Math.PI) / steps);
  const ring = angles.map((a) => moved(center, radiusM * Math.sin(a), radiusM * Math.cos(a)));
  return [...ring, ring[0]!];
}

/** Half way between two places. */
export function between(a: LonLat, b: LonLat): LonLat {
  return [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
}

/** An arrow as three strokes: the shaft and the two sides of its head. */
export function arrow(from: LonLat, to: LonLat): LonLat[][] {
  const scale = metresPerDegree(from[1]);
  const east = (to[0] - from[0]) * scale.lon;
  const north = (to[1] - from[1]) * scale.lat;
  const side = (turn: number): LonLat => moved(to, -0.14 * (east + turn * north), -0.14 * (north - turn * east));
  return [
    [from, to],
    [side(0.6), to, side(-0.6)],
  ];
}

/** Where the top of the photo is: the middle of its top edge, or a point ahead where no corners are known. */
export function topOf(center: LonLat, headingDeg: number, footprint: LonLat[] | null, lengthM = 60): LonLat {
  if (footprint?.length === 4) return between(footprint[0]!, footprint[3]!);
  return moved(center, lengthM * Math.sin(headingDeg * RADIAN), lengthM * Math.cos(headingDeg * RADIAN));
}

/** The smallest box around some places, or null where there are none. */
export function boxOf(places: LonLat[]): Box | null {
  if (places.length === 0) return null;
  const lons = places.map((p) => p[0]);
  const lats = places.map((p) => p[1]);
  return { west: Math.min(...lons), south: Math.min(...lats), east: Math.max(...lons), north: Math.max(...lats) };
}

/** A place in words: 48.85698° N, 14.35091° E. */
export function inWords([lon, lat]: LonLat): string {
  const half = (value: number, plus: string, minus: string): string =>
    `${Math.abs(value).toFixed(5)}° ${value < 0 ? minus : plus}`;
  return `${half(lat, "N", "S")}, ${half(lon, "E", "W")}`;
}
