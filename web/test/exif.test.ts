import { describe, expect, it } from "vitest";
import { focalFromTags, isAltitude, isCamera, PRESETS } from "../src/pure/camera";
import { readTags } from "../src/pure/exif";
import { clock } from "../src/pure/track";

type Entry = [tag: number, type: number, value: string | number | [number, number]];

const EXIF: Entry[] = [
  [0x9003, 2, "2026:05:01 12:30:05"],
  [0x9291, 2, "250"],
  [0x920a, 5, [880, 100]],
  [0xa405, 3, 24],
  [0xa20e, 5, [4145, 1]],
  [0xa210, 3, 3],
  [0xa002, 4, 5472],
  [0xa003, 3, 3648],
];

/** A TIFF block written by the test, in either byte order. */
function tiff(base: Entry[], exif: Entry[], little: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(4096));
  view.setUint16(0, little ? 0x4949 : 0x4d4d);
  view.setUint16(2, 42, little);
  view.setUint32(4, 8, little);
  let free = 2048;
  const write = (at: number, entries: Entry[]): void => {
    view.setUint16(at, entries.length, little);
    entries.forEach(
      ([tag, type, value], i) => (free = writeEntry(view, at + 2 + 12 * i, tag, type, value, free, little)),
    );
  };
  write(8, [...base, [0x8769, 4, 1024]]);
  write(1024, exif);
  return new Uint8Array(view.buffer);
}

function writeEntry(
  view: DataView,
  at: number,
  tag: number,
  type: number,
  value: Entry[2],
  free: number,
  little: boolean,
): number {
  view.setUint16(at, tag, little);
  view.setUint16(at + 2, type, little);
  view.setUint32(at + 4, typeof value === "string" ? value.length + 1 : 1, little);
  if (type === 3) view.setUint16(at + 8, value as number, little);
  if (type === 4) view.setUint32(at + 8, value as number, little);
  const short = typeof value === "string" && value.length < 4;
  if (!Array.isArray(value) && (typeof value !== "string" || short)) {
    if (short) [...value].forEach((c, i) => view.setUint8(at + 8 + i, c.charCodeAt(0)));
    return free;
  }
  view.setUint32(at + 8, free, little);
  if (Array.isArray(value)) value.forEach((n, i) => view.setUint32(free + 4 * i, n, little));
  else [...value].forEach((c, i) => view.setUint8(free + i, c.charCodeAt(0)));
  return free + 64;
}

function segment(marker: number, head: string, body: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(4 + head.length + body.length);
  bytes.set([0xff, marker, (bytes.length - 2) >> 8, (bytes.length - 2) & 255]);
  bytes.set(
    [...head].map((c) => c.charCodeAt(0)),
    4,
  );
  bytes.set(body, 4 + head.length);
  return bytes;
}

function jpeg(...parts: Uint8Array[]): ArrayBuffer {
  const bytes = [0xff, 0xd8, ...parts.flatMap((part) => [...part]), 0xff, 0xda, 0, 2];
  return new Uint8Array(bytes).buffer;
}

const ascii = (text: string): Uint8Array => new Uint8Array([...text].map((c) => c.charCodeAt(0)));
const BASE: Entry[] = [
  [0x010f, 2, "DJI"],
  [0x0110, 2, "FC6310 Pro"],
];

describe("tags", () => {
  it.each([true, false])("are read in both byte orders (little: %s)", (little) => {
    const tags = readTags(
      jpeg(segment(0xe0, "JFIF\0", ascii("....")), segment(0xe1, "Exif\0\0", tiff(BASE, EXIF, little))),
    );
    expect(tags).toMatchObject({ make: "DJI", model: "FC6310 Pro", focalMm: 8.8, equivalentMm: 24, planeUnit: 3 });
    expect(tags.declared).toEqual({ width: 5472, height: 3648 });
    expect(tags.takenMs).toBe(Date.UTC(2026, 4, 1, 12, 30, 5) + 250);
    expect(clock(tags.takenMs!)).toBe("2026-05-01 12:30:05");
  });

  it("are read from a TIFF file as well", () => {
    expect(readTags(tiff(BASE, EXIF, true).buffer as ArrayBuffer).make).toBe("DJI");
  });

  it("include the maker's calibration, as attribute or element", () => {
    const packet = (inside: string): ArrayBuffer =>
      jpeg(segment(0xe1, "http://ns.adobe.com/xap/1.0/\0", ascii(inside)));
    expect(readTags(packet('<d drone-dji:CalibratedFocalLength="3666.666504"/>')).calibratedPx).toBeCloseTo(
      3666.6665,
      3,
    );
    expect(readTags(packet("<x:CalibratedFocalLength>3700</x:CalibratedFocalLength>")).calibratedPx).toBe(3700);
  });

  it("stay unknown where a file is damaged, wherever it is cut or changed", () => {
    const whole = new Uint8Array(jpeg(segment(0xe1, "Exif\0\0", tiff(BASE, EXIF, true))));
    for (let i = 0; i < whole.length; i += 7) {
      expect(() => readTags(whole.slice(0, i).buffer)).not.toThrow();
      const changed = whole.slice();
      changed[i] = 255 - changed[i]!;
      expect(() => readTags(changed.buffer)).not.toThrow();
    }
    expect(readTags(ascii("just some text").buffer as ArrayBuffer)).toMatchObject({
      make: null,
      takenMs: null,
      declared: null,
    });
  });
});

describe("focal length in pixels", () => {
  const none = readTags(new ArrayBuffer(0));
  const size = { width: 5472, height: 3648 };

  it("is trusted in this order: calibration, sensor density, 35 mm equivalent by the diagonal", () => {
    const all = { ...none, calibratedPx: 3666, focalMm: 8.8, planeX: 4145, planeUnit: 3, equivalentMm: 24 };
    expect(focalFromTags(all, size)!.focalPx).toBe(3666);
    expect(focalFromTags({ ...all, calibratedPx: null }, size)!.focalPx).toBeCloseTo(3647.6, 6);
    const film = focalFromTags({ ...none, equivalentMm: 24 }, size)!.focalPx;
    expect(film).toBeCloseTo((24 / Math.sqrt(36 ** 2 + 24 ** 2)) * Math.sqrt(5472 ** 2 + 3648 ** 2), 6);
    expect(focalFromTags(none, size)).toBeNull();
  });

  it("shrinks with a photo that was made smaller", () => {
    const tags = { ...none, calibratedPx: 3600, declared: size };
    expect(focalFromTags(tags, { width: 1368, height: 912 })!.focalPx).toBe(900);
  });
});

describe("what one may type", () => {
  it.each(["2048x1536@1200", "2048x1536@1200.5,1201", " 1x1@1 "])("%j is a camera", (text) =>
    expect(isCamera(text)).toBe(true),
  );
  it.each(["", "2048@1200", "2048x1536", "0x1536@1200", "2048x1536@0", "-1x1@1"])("%j is none", (text) =>
    expect(isCamera(text)).toBe(false),
  );
  it.each(["300", "300+-20", "300.5 +- 20"])("%j is an altitude", (text) => expect(isAltitude(text)).toBe(true));
  it.each(["", "0", "-5", "high", "300+-"])("%j is none", (text) => expect(isAltitude(text)).toBe(false));
  it("every preset is a camera", () => expect(PRESETS.every(({ spec }) => isCamera(spec))).toBe(true));
});
