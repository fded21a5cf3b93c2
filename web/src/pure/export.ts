/** Answers as files: GeoJSON, KML and CSV, with the fields of `nadirfix locate` in the same order. */

import type { Answer, Candidate, LonLat, Placed, Truth } from "../types";
import { csvText } from "./csv";
import { distanceM } from "./geo";

/** One answer and, where it is known, the truth. */
export interface Result {
  answer: Answer;
  truth: Truth | null;
}

type Properties = Record<string, unknown>;

/** Anything that lies somewhere. */
interface Place {
  lon: number | null;
  lat: number | null;
}

const FLAT = [
  "photo",
  "status",
  "lon",
  "lat",
  "easting_m",
  "northing_m",
  "epsg",
  "altitude_m",
  "gsd_m",
  "heading_deg",
  "confidence",
  "radius95_m",
  "verified",
  "inliers",
  "tilt_deg",
  "tilt_toward_deg",
  "aircraft_lon",
  "aircraft_lat",
  "aircraft_altitude_m",
  "aircraft_radius95_m",
  "reason",
  "reason_code",
  "crop_clamped",
  "warnings",
] as const;
const ERROR = ["code", "message", "hint"] as const;
const TRUTH = ["true_lon", "true_lat", "true_altitude_m", "off_m"] as const;

/** Metres between answer and truth; null where either is missing. */
export function offM({ answer, truth }: Result): number | null {
  const at = placeOf(answer);
  return at && truth ? distanceM(at, truth.at) : null;
}

/** Where the answer says the photo was taken, if it does. */
export function placeOf(answer: Answer | null): LonLat | null {
  const placed = placedOf(answer);
  return placed && placed.lon !== null && placed.lat !== null ? [placed.lon, placed.lat] : null;
}

/** The answer if it has a position: a fix, or one that was not compared with the map. */
export function placedOf(answer: Answer | null | undefined): Placed | null {
  return answer && (answer.status === "fix" || answer.status === "unverified") ? answer : null;
}

/** The answers as a table; columns for the truth only where some is known. */
export function toCsv(results: Result[]): string {
  const withTruth = results.some((r) => r.truth !== null);
  const head = [...FLAT, ...ERROR.map((name) => `error_${name}`), ...(withTruth ? TRUTH : [])];
  return csvText([head, ...results.map((r) => csvRow(r, withTruth))]);
}

function csvRow(result: Result, withTruth: boolean): unknown[] {
  const flat = flatFields(result.answer);
  const error = result.answer.status === "error" ? result.answer.error : null;
  const known = withTruth ? Object.values(truthFields(result)) : [];
  return [...FLAT.map((name) => flat[name]), ...ERROR.map((name) => error?.[name]), ...known];
}

/** What a table holds of an answer; the aircraft's place is flat there. */
function flatFields(answer: Answer): Properties {
  const fields = answer as unknown as Properties;
  const aircraft = Object.entries((fields.aircraft as Properties | null | undefined) ?? {});
  return { ...fields, ...Object.fromEntries(aircraft.map(([name, value]) => [`aircraft_${name}`, value])) };
}

function truthFields(result: Result): Properties {
  const { truth } = result;
  return {
    true_lon: truth?.at[0] ?? null,
    true_lat: truth?.at[1] ?? null,
    true_altitude_m: truth?.altitudeM ?? null,
    off_m: offM(result),
  };
}

/** The answers as features (RFC 7946): a fix for each, and all the places it speaks of. */
export function toGeoJson(results: Result[]): string {
  return JSON.stringify({ type: "FeatureCollection", features: results.flatMap(features) }) + "\n";
}

function features(result: Result): object[] {
  const { candidates, footprint, aircraft, hypotheses, ...rest } = result.answer as Placed;
  const known = result.truth ? truthFields(result) : {};
  const role = result.answer.status === "unverified" ? "unverified" : "fix";
  const found = [feature(role, point(placeOf(result.answer)), { ...rest, ...known })];
  const { photo, altitude_m, gsd_m, heading_deg } = rest;
  if (footprint) found.push(feature("footprint", polygon(footprint), { photo, altitude_m, gsd_m, heading_deg }));
  const others: [string, Place[]][] = [
    ["aircraft", aircraft ? [aircraft] : []],
    ["candidate", candidates ?? []],
    ["hypothesis", hypotheses ?? []],
  ];
  for (const [role, places] of others)
    for (const place of places) found.push(feature(role, pointOf(place), { photo, ...place }));
  return found;
}

function pointOf({ lon, lat }: Place): object | null {
  return lon === null || lat === null ? null : point([lon, lat]);
}

function feature(role: string, geometry: object | null, properties: Properties): object {
  return { type: "Feature", geometry, properties: { role, ...properties } };
}

function point(at: LonLat | null): object | null {
  return at && { type: "Point", coordinates: at };
}

function polygon(corners: LonLat[]): object {
  return { type: "Polygon", coordinates: [[...corners, corners[0]]] };
}

/** The answers for a globe: a folder per photo with the fix, its footprint and its candidates. */
export function toKml(results: Result[]): string {
  const folders = results.map(kmlFolder).join("");
  return (
    '<?xml version="1.0" encoding="UTF-8"?>\n<kml xmlns="http://www.opengis.net/kml/2.2"><Document>' +
    `<name>nadirfix</name>\n${folders}</Document></kml>\n`
  );
}

function kmlFolder(result: Result): string {
  const { answer } = result;
  const at = placeOf(answer);
  const fields = {
    ...pick(answer as unknown as Properties),
    ...errorFields(answer),
    ...(result.truth ? truthFields(result) : {}),
  };
  const name = answer.status === "unverified" ? `${answer.photo} (unverified)` : answer.photo;
  const fix = placemark(name, data(fields) + (at ? kmlPoint(at) : ""));
  const rest =
    answer.status === "error" ? "" : outline(answer.footprint) + answer.candidates.map(kmlCandidate).join("");
  return `<Folder>${tag("name", answer.photo)}${fix}${rest}</Folder>\n`;
}

function pick(fields: Properties): Properties {
  return Object.fromEntries(FLAT.map((name) => [name, fields[name]]));
}

function errorFields(answer: Answer): Properties {
  if (answer.status !== "error") return {};
  return Object.fromEntries(ERROR.map((name) => [`error_${name}`, answer.error[name]]));
}

function kmlCandidate(candidate: Candidate): string {
  const { rank, distance, weight, heading_deg } = candidate;
  const body = "<visibility>0</visibility>" + data({ rank, distance, weight, heading_deg });
  return placemark(`candidate ${rank}`, body + kmlPoint([candidate.lon, candidate.lat]));
}

function outline(corners: LonLat[] | null): string {
  if (!corners) return "";
  const ring = [...corners, corners[0]!].map((p) => p.join(",")).join(" ");
  const boundary = `<outerBoundaryIs><LinearRing>${tag("coordinates", ring)}</LinearRing></outerBoundaryIs>`;
  return placemark("footprint", `<Polygon>${boundary}</Polygon>`);
}

function placemark(name: string, body: string): string {
  return `<Placemark>${tag("name", name)}${body}</Placemark>`;
}

function kmlPoint(at: LonLat): string {
  return `<Point>${tag("coordinates", at.join(","))}</Point>`;
}

function data(fields: Properties): string {
  const known = Object.entries(fields).filter(([, value]) => value !== null && value !== undefined);
  const cells = known.map(([name, value]) => `<Data name="${name}">${tag("value", asText(value))}</Data>`);
  return `<ExtendedData>${cells.join("")}</ExtendedData>`;
}

function asText(value: unknown): string {
  return Array.isArray(value) ? value.join("; ") : String(value);
}

function tag(name: string, text: string): string {
  const safe = text
    .replace(/[\u0000-\u001f\ufffe\uffff]/g, "")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;");
  return `<${name}>${safe}</${name}>`;
}
