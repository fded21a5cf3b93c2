/** What a photo's tags say: camera, lens, when. Anything missing or damaged stays null. */

import type { Size } from "../types";

export interface PhotoTags {
  make: string | null;
  model: string | null;
  takenMs: number | null; // the camera's own clock, read as if it were UTC
  focalMm: number | null;
  equivalentMm: number | null;
  planeX: number | null;
  planeUnit: number | null;
  declared: Size | null;
  calibratedPx: number | null;
}

type Tags = Map<number, string | number>;

const EXIF_FOLDER = 0x8769;
const BYTES: Record<number, number> = { 1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 7: 1, 9: 4, 10: 8 };
const MOST_TAGS = 512; // a damaged count must not keep the page busy

/** How much of a file's beginning to look at: tags come before the picture. */
export const HEAD_BYTES = 512 * 1024;

/** The tags of a JPEG or TIFF file, from its first bytes. */
export function readTags(head: ArrayBuffer): PhotoTags {
  const view = new DataView(head);
  const { exif, xmp } = isTiff(view) ? { exif: view, xmp: "" } : segments(view);
  return named(exif ? allTags(exif) : new Map(), xmp);
}

function isTiff(view: DataView): boolean {
  const mark = view.byteLength > 8 ? view.getUint32(0) : 0;
  return mark === 0x49492a00 || mark === 0x4d4d002a;
}

/** The EXIF and XMP blocks of a JPEG file. */
function segments(view: DataView): { exif: DataView | null; xmp: string } {
  let exif: DataView | null = null;
  let xmp = "";
  let at = view.byteLength > 4 && view.getUint16(0) === 0xffd8 ? 2 : view.byteLength;
  while (at + 4 <= view.byteLength && view.getUint8(at) === 0xff && view.getUint8(at + 1) !== 0xda) {
    const end = Math.min(at + 2 + view.getUint16(at + 2), view.byteLength);
    const [head, body] = [text(view, at + 4, Math.min(29, end - at - 4)), at + 4];
    if (view.getUint8(at + 1) === 0xe1 && head.startsWith("Exif\0\0")) {
      exif ??= new DataView(view.buffer, body + 6, Math.max(0, end - body - 6));
    } else if (head.startsWith("http://ns.adobe.com/xap/1.0/")) xmp += text(view, body + 29, end - body - 29);
    at = Math.max(end, at + 4);
  }
  return { exif, xmp };
}

function allTags(view: DataView): Tags {
  try {
    const little = view.getUint16(0) === 0x4949;
    const base = folder(view, view.getUint32(4, little), little);
    const inner = base.get(EXIF_FOLDER);
    const more = typeof inner === "number" ? folder(view, inner, little) : [];
    return new Map([...base, ...more]);
  } catch {
    return new Map(); // an offset beyond the block: damaged
  }
}

function folder(view: DataView, start: number, little: boolean): Tags {
  const tags: Tags = new Map();
  const count = Math.min(view.getUint16(start, little), MOST_TAGS);
  for (let i = 0; i < count; i++) {
    const at = start + 2 + 12 * i;
    const value = valueAt(view, at, little);
    if (value !== null) tags.set(view.getUint16(at, little), value);
  }
  return tags;
}

/** The first value of an entry; those longer than four bytes are elsewhere. */
function valueAt(view: DataView, at: number, little: boolean): string | number | null {
  const type = view.getUint16(at + 2, little);
  const count = view.getUint32(at + 4, little);
  const bytes = (BYTES[type] ?? 0) * count;
  if (bytes === 0) return null;
  const where = bytes > 4 ? view.getUint32(at + 8, little) : at + 8;
  if (where + bytes > view.byteLength) return null;
  return type === 2 ? text(view, where, count).replace(/\0.*$/s, "").trim() : number(view, where, type, little);
}

function number(view: DataView, at: number, type: number, little: boolean): number | null {
  if (type === 3) return view.getUint16(at, little);
  if (type === 4) return view.getUint32(at, little);
  if (type === 9) return view.getInt32(at, little);
  if (type === 5) return view.getUint32(at, little) / view.getUint32(at + 4, little);
  if (type === 10) return view.getInt32(at, little) / view.getInt32(at + 4, little);
  return null;
}

function text(view: DataView, at: number, length: number): string {
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at, Math.max(0, length));
  return new TextDecoder("latin1").decode(bytes);
}

function named(tags: Tags, xmp: string): PhotoTags {
  const [width, height] = [positive(tags.get(0xa002)), positive(tags.get(0xa003))];
  return {
    make: words(tags.get(0x010f)),
    model: words(tags.get(0x0110)),
    takenMs: timeMs(tags.get(0x9003) ?? tags.get(0x0132), tags.get(0x9291)),
    focalMm: positive(tags.get(0x920a)),
    equivalentMm: positive(tags.get(0xa405)),
    planeX: positive(tags.get(0xa20e)),
    planeUnit: positive(tags.get(0xa210)),
    declared: width && height ? { width, height } : null,
    calibratedPx: positive(Number(/CalibratedFocalLength(?:="|>)\s*([\d.]+)/.exec(xmp)?.[1])),
  };
}

function words(value: string | number | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function positive(value: string | number | undefined): number | null {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : null;
}

/** 2026:05:01 12:30:00, and a fraction of a second where the camera wrote one. */
function timeMs(value: string | number | undefined, fraction: string | number | undefined): number | null {
  const found = /^(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)/.exec(String(value ?? ""));
  if (!found) return null;
  const [year, month, day, hour, minute, second] = found.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const rest = /^\d+$/.test(String(fraction ?? "")) ? Number(`0.${fraction}`) * 1000 : 0;
  const ms = Date.UTC(year, month - 1, day, hour, minute, second) + rest;
  return month > 0 && Number.isFinite(ms) ? ms : null;
}
