/** Where photos were really taken, from a manifest: photo, and lon, lat or easting_m, northing_m, epsg. */

import type { LonLat, Truth } from "../types";
import { fromCell, parseCsv } from "./csv";

export type Truths = ReadonlyMap<string, Truth>;
type Row = Record<string, string>;
type FromMetres = (eastM: number, northM: number, epsg: number) => LonLat | null;

/** What a manifest says, by photo; throws an Error that a person can read. */
export async function readManifest(text: string): Promise<Truths> {
  const rows = rowsOf(text);
  const toLonLat = needsMetres(rows) ? await utmReader() : () => null;
  return new Map(rows.map((row, i) => [fromCell(row["photo"]!), truthOf(row, i + 2, toLonLat)]));
}

/** The truth of a photo: the longest manifest path that this photo's path ends with, or the reverse. */
export function truthFor(path: string, truths: Truths): Truth | null {
  const own = parts(path);
  let best: { truth: Truth; shared: number } | null = null;
  for (const [name, truth] of truths) {
    const shared = commonEnd(own, parts(name));
    if (shared > (best?.shared ?? 0)) best = { truth, shared };
  }
  return best?.truth ?? null;
}

function parts(path: string): string[] {
  return path
    .replaceAll("\\", "/")
    .split("/")
    .filter((part) => part !== "" && part !== ".");
}

/** How many folders and names agree, counted from the file's own name. */
function commonEnd(one: string[], other: string[]): number {
  const shortest = Math.min(one.length, other.length);
  let same = 0;
  while (same < shortest && one.at(-1 - same) === other.at(-1 - same)) same++;
  return same;
}

function rowsOf(text: string): Row[] {
  const [names, ...lines] = parseCsv(text);
  if (!names?.includes("photo")) throw new Error("This list has no column “photo”: it is not a manifest of photos.");
  const metres = ["easting_m", "northing_m", "epsg"].every((name) => names.includes(name));
  if (!metres && !["lon", "lat"].every((name) => names.includes(name))) {
    throw new Error("This list has neither lon and lat nor easting_m, northing_m and epsg.");
  }
  return lines.map((cells) => Object.fromEntries(names.map((name, i) => [name, cells[i] ?? ""])));
}

function needsMetres(rows: Row[]): boolean {
  return rows.some((row) => !row["lon"] || !row["lat"]);
}

function truthOf(row: Row, line: number, toLonLat: FromMetres): Truth {
  const at = fromDegrees(row) ?? fromMetres(row, toLonLat);
  if (!at) throw new Error(`Line ${line} of the list has no place that can be used: give lon and lat in degrees.`);
  return { at, altitudeM: maybe(row["altitude_m"]), headingDeg: maybe(row["heading_deg"]) };
}

function fromDegrees(row: Row): LonLat | null {
  const [lon, lat] = [maybe(row["lon"]), maybe(row["lat"])];
  return lon !== null && lat !== null && Math.abs(lon) <= 180 && Math.abs(lat) <= 90 ? [lon, lat] : null;
}

function fromMetres(row: Row, toLonLat: FromMetres): LonLat | null {
  const [east, north, epsg] = [maybe(row["easting_m"]), maybe(row["northing_m"]), maybe(row["epsg"])];
  return east === null || north === null || epsg === null ? null : toLonLat(east, north, epsg);
}

function maybe(text: string | undefined): number | null {
  const value = text?.trim() ? Number(text) : NaN;
  return Number.isFinite(value) ? value : null;
}

/** Reads UTM metres; the projection library is fetched only when a list is in metres alone. */
async function utmReader(): Promise<FromMetres> {
  const { default: proj4 } = await import("proj4");
  return (eastM, northM, epsg) => {
    const zone = epsg % 100;
    const hemisphere = { 326: "", 327: " +south" }[Math.floor(epsg / 100)];
    if (hemisphere === undefined || zone < 1 || zone > 60) return null;
    const [lon, lat] = proj4(`+proj=utm +zone=${zone}${hemisphere} +datum=WGS84`).inverse([eastM, northM]);
    return [lon!, lat!];
  };
}
