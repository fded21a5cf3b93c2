/** Photos in the order they were taken. */

import type { LonLat } from "../types";

export interface Timed {
  id: number;
  takenMs: number | null;
  path: string;
}

const BY_NAME = new Intl.Collator("en", { numeric: true });

const sorted = new WeakMap<readonly Timed[], readonly Timed[]>(); // several views ask about the same photos

/** By the camera's clock where every photo has one, else in the order of their names. */
export function inOrder<T extends Timed>(photos: readonly T[]): readonly T[] {
  const known = sorted.get(photos) as readonly T[] | undefined;
  const order = known ?? sort(photos);
  sorted.set(photos, order);
  return order;
}

function sort<T extends Timed>(photos: readonly T[]): T[] {
  const timed = photos.every((p) => p.takenMs !== null);
  const byName = (a: T, b: T): number => BY_NAME.compare(a.path, b.path) || a.id - b.id;
  return photos.toSorted((a, b) => (timed ? a.takenMs! - b.takenMs! : 0) || byName(a, b));
}

/** A clock time in words: 2026-05-01 12:30:00. */
export function clock(takenMs: number): string {
  return new Date(takenMs).toISOString().slice(0, 19).replace("T", " ");
}

/** The way flown so far and the way still to come, both through the present place. */
export function split(places: LonLat[], now: number): { flown: LonLat[]; ahead: LonLat[] } {
  return { flown: places.slice(0, now + 1), ahead: places.slice(Math.max(0, now)) };
}

/** The middle value, or the mean of the two in the middle; null of nothing. */
export function median(values: number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b);
  const half = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 ? sorted[half]! : (sorted[half - 1]! + sorted[half]!) / 2;
}
