import { describe, expect, it } from "vitest";
import { parseCsv } from "../src/pure/csv";
import { offM, placeOf, toCsv, toGeoJson, toKml, type Result } from "../src/pure/export";
import { inOrder, median, split } from "../src/pure/track";
import type { Failed, LonLat, Placed } from "../src/types";

const FIX: Placed = {
  photo: 'day "1", <a&b>.jpg',
  status: "fix",
  lon: 14.5,
  lat: 48.25,
  easting_m: 1,
  northing_m: 2,
  epsg: 32633,
  altitude_m: 120.125,
  altitude_classes: null,
  gsd_m: 0.1,
  heading_deg: 90,
  confidence: 0.9,
  radius95_m: 12,
  reason: null,
  crop_clamped: false,
  warnings: ["one", "two"],
  footprint: [
    [14, 49],
    [14, 48],
    [15, 48],
    [15, 49],
  ],
  candidates: [
    { rank: 1, reference: 7, lon: 14.6, lat: 48.3, heading_deg: 90, distance: 0.5, weight: null, cell: [1, 2] },
  ],
  timings_ms: { total: 5 },
  verified: true,
  inliers: 164,
  tilt_deg: 1.5,
  tilt_toward_deg: 45,
  aircraft: { lon: 14.51, lat: 48.26, radius95_m: 30 },
  hypotheses: [{ lon: 14.7, lat: 48.4, altitude_m: 110, confidence: 0.1, inliers: 9 }],
};
const LOST: Placed = {
  ...FIX,
  photo: "b.jpg",
  status: "no_fix",
  lon: null,
  lat: null,
  footprint: null,
  candidates: [],
  aircraft: null,
  hypotheses: [],
  reason: "fog",
  reason_code: "too_little_texture",
  warnings: [],
};
const BROKEN: Failed = {
  photo: "c.jpg",
  status: "error",
  error: { code: "photo.unreadable", message: "no picture", hint: "give a JPEG" },
};
const plain = (answer: Result["answer"]): Result => ({ answer, truth: null });
const ALL = [FIX, LOST, BROKEN].map(plain);
const TRUTH = { at: [14.5, 48.251] as LonLat, altitudeM: 119, headingDeg: null };

describe("an unverified position", () => {
  const unsure: Placed = { ...FIX, status: "unverified", verified: null, radius95_m: null };

  it("has a place and is nowhere called a fix", () => {
    expect(placeOf(unsure)).toEqual([14.5, 48.25]);
    const [role] = JSON.parse(toGeoJson([plain(unsure)])).features;
    expect(role.properties.role).toBe("unverified");
    expect(toKml([plain(unsure)])).toContain("(unverified)</name>");
  });
});

describe("CSV", () => {
  it("has the columns of `nadirfix locate --format csv`, and a line per photo", () => {
    const [head, fix, lost, broken] = parseCsv(toCsv(ALL)) as [string[], string[], string[], string[]];
    expect(head.join()).toBe(
      "photo,status,lon,lat,easting_m,northing_m,epsg,altitude_m,gsd_m,heading_deg,confidence,radius95_m," +
        "verified,inliers,tilt_deg,tilt_toward_deg,aircraft_lon,aircraft_lat,aircraft_altitude_m," +
        "aircraft_radius95_m,reason,reason_code,crop_clamped,warnings," +
        "error_code,error_message,error_hint",
    );
    expect(fix.slice(0, 4)).toEqual([FIX.photo, "fix", "14.5", "48.25"]);
    expect(fix.slice(12, 16)).toEqual(["true", "164", "1.5", "45"]);
    expect(fix.slice(16, 20)).toEqual(["14.51", "48.26", "", "30"]);
    expect(fix[23]).toBe("one; two");
    expect([lost[2], lost[20], lost[21]]).toEqual(["", "fog", "too_little_texture"]);
    expect(broken.slice(-3)).toEqual(["photo.unreadable", "no picture", "give a JPEG"]);
  });

  it("adds the truth where it is known", () => {
    const [head, fix] = parseCsv(toCsv([{ answer: FIX, truth: TRUTH }])) as [string[], string[]];
    expect(head.slice(-4)).toEqual(["true_lon", "true_lat", "true_altitude_m", "off_m"]);
    expect(Number(fix.at(-1))).toBeCloseTo(111.2, 0); // a thousandth of a degree of latitude
  });
});

describe("GeoJSON", () => {
  const told = JSON.parse(toGeoJson(ALL)) as {
    type: string;
    features: { geometry: { type: string; coordinates: unknown } | null; properties: Record<string, unknown> }[];
  };

  it("has a role for each feature, and closed rings", () => {
    expect(told.features.map((f) => f.properties["role"])).toEqual([
      "fix",
      "footprint",
      "aircraft",
      "candidate",
      "hypothesis",
      "fix",
      "fix",
    ]);
    expect(told.features[0]!.geometry).toEqual({ type: "Point", coordinates: [14.5, 48.25] });
    expect(told.features[4]).toMatchObject({
      geometry: { type: "Point", coordinates: [14.7, 48.4] },
      properties: { photo: FIX.photo, inliers: 9 },
    });
    expect(told.features[0]!.properties).not.toHaveProperty("hypotheses");
    const ring = (told.features[1]!.geometry!.coordinates as number[][][])[0]!;
    expect(ring).toHaveLength(5);
    expect(ring[0]).toEqual(ring[4]);
  });

  it("has no geometry where there is no place, and says why", () => {
    expect(told.features[5]).toMatchObject({ geometry: null, properties: { reason: "fog" } });
    expect(told.features[6]).toMatchObject({ geometry: null, properties: { error: BROKEN.error } });
  });
});

describe("KML", () => {
  it("escapes names, and has a folder per photo with its places", () => {
    const text = toKml(ALL);
    expect(text).toContain('<name>day "1", &lt;a&amp;b&gt;.jpg</name>');
    expect(text.match(/<Folder>/g)).toHaveLength(3);
    expect(text).toContain("<coordinates>14.5,48.25</coordinates>");
    expect(text).toContain("14,49 14,48 15,48 15,49 14,49");
    expect(text).toContain('<Data name="error_message"><value>no picture</value></Data>');
  });

  it("opens and closes every element", () => {
    const open: string[] = [];
    for (const [, close, name] of toKml(ALL).matchAll(/<(\/?)([A-Za-z]+)[^>?]*>/g)) {
      if (close) expect(open.pop()).toBe(name);
      else open.push(name!);
    }
    expect(open).toEqual([]);
  });
});

it("says how far off an answer is only where both places are known", () => {
  expect(offM({ answer: FIX, truth: TRUTH })).toBeCloseTo(111.2, 0);
  expect(offM({ answer: LOST, truth: TRUTH })).toBeNull();
  expect(offM({ answer: FIX, truth: null })).toBeNull();
});

describe("the track", () => {
  const photo = (id: number, path: string, takenMs: number | null) => ({ id, path, takenMs });

  it("follows the clock where all photos have one, else numbers in names", () => {
    const timed = [photo(1, "a", 30), photo(2, "b", 10), photo(3, "c", 20)];
    expect(inOrder(timed).map((p) => p.id)).toEqual([2, 3, 1]);
    const named = [photo(1, "p10", 5), photo(2, "p9", null), photo(3, "p1", 1)];
    expect(inOrder(named).map((p) => p.id)).toEqual([3, 2, 1]);
  });

  it("is cut at the present place, which both parts share", () => {
    const places: LonLat[] = [
      [0, 0],
      [1, 0],
      [2, 0],
    ];
    expect(split(places, 1)).toEqual({
      flown: [
        [0, 0],
        [1, 0],
      ],
      ahead: [
        [1, 0],
        [2, 0],
      ],
    });
    expect(split(places, -1)).toEqual({ flown: [], ahead: places });
  });

  it("has a median", () => {
    expect([median([3, 1, 2]), median([4, 1, 2, 3]), median([])]).toEqual([2, 2.5, null]);
  });
});
