/** Cameras as one types them, WIDTHxHEIGHT@FOCAL in pixels, and what a photo's tags say about its own. */

import type { Size } from "../types";
import type { PhotoTags } from "./exif";

const SPEC = /^(\d+)x(\d+)@(\d+(?:\.\d+)?)(?:,(\d+(?:\.\d+)?))?$/;
const FULL_FRAME_MM = Math.hypot(36, 24);
const UNIT_MM: Record<number, number> = { 2: 25.4, 3: 10, 4: 1, 5: 0.001 };

export interface Preset {
  name: string;
  spec: string;
}

/** Data-sheet values; the tags of a photo know better. */
const DATA_SHEETS: [name: string, width: number, height: number, equivalentMm: number][] = [
  ["DJI Air 2S", 5472, 3648, 22],
  ["DJI Mavic 2 Pro", 5472, 3648, 28],
  ["DJI Mavic 3, wide", 5280, 3956, 24],
  ["DJI Mini 3 Pro", 4032, 3024, 24],
  ["DJI Phantom 4 Pro", 5472, 3648, 24],
];

export const PRESETS: Preset[] = DATA_SHEETS.map(([name, width, height, mm]) => ({
  name: `${name} (${width} × ${height}, ${mm} mm)`,
  spec: `${width}x${height}@${Math.round(focalFromEquivalent({ width, height }, mm))}`,
}));

/** Whether this is a camera one could send. */
export function isCamera(spec: string): boolean {
  const found = SPEC.exec(spec.trim());
  return found !== null && found.slice(1, 4).every((n) => Number(n) > 0);
}

/** Whether this is an altitude one could send: metres above ground, with a deviation if it is known. */
export function isAltitude(text: string): boolean {
  const found = /^(\d+(?:\.\d+)?)(?:\s*\+-\s*\d+(?:\.\d+)?)?$/.exec(text.trim());
  return found !== null && Number(found[1]) > 0;
}

export function focalFromEquivalent(size: Size, equivalentMm: number): number {
  return (equivalentMm / FULL_FRAME_MM) * Math.hypot(size.width, size.height);
}

/** The focal length in pixels a photo's tags lead to, by the same order of trust as the service. */
export function focalFromTags(tags: PhotoTags, picture: Size): { focalPx: number; source: string } | null {
  const declared = tags.declared ?? picture;
  const long = (size: Size): number => Math.max(size.width, size.height);
  const found = calibrated(tags) ?? focalPlane(tags) ?? equivalent(tags, declared);
  return found && { ...found, focalPx: (found.focalPx * long(picture)) / long(declared) };
}

function calibrated(tags: PhotoTags): { focalPx: number; source: string } | null {
  return tags.calibratedPx ? { focalPx: tags.calibratedPx, source: "the maker's calibration" } : null;
}

function focalPlane(tags: PhotoTags): { focalPx: number; source: string } | null {
  const unitMm = UNIT_MM[tags.planeUnit ?? 2];
  if (!tags.focalMm || !tags.planeX || !unitMm) return null;
  return { focalPx: (tags.focalMm / unitMm) * tags.planeX, source: "focal length and sensor density" };
}

function equivalent(tags: PhotoTags, size: Size): { focalPx: number; source: string } | null {
  if (!tags.equivalentMm) return null;
  return { focalPx: focalFromEquivalent(size, tags.equivalentMm), source: "35 mm equivalent" };
}
