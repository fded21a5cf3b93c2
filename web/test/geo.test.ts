import { describe, expect, it } from "vitest";
import { arrow, between, boxOf, circle, distanceM, inWords, metresPerDegree, moved, topOf } from "../src/pure/geo";
import type { LonLat } from "../src/types";

// Lengths of one degree on WGS 84, from published tables (NGA): metres.
const DEGREES: [lat: number, lon: number, latitude: number][] = [
  [0, 111_319.49, 110_574.28],
  [45, 78_846.81, 111_131.75],
  [60, 55_800.0, 111_412.24],
];

describe("degrees and metres", () => {
  it.each(DEGREES)("knows a degree at %s°", (lat, lonM, latM) => {
    const scale = metresPerDegree(lat);
    expect(Math.abs(scale.lon - lonM)).toBeLessThan(0.1);
    expect(Math.abs(scale.lat - latM)).toBeLessThan(2); // tables give the mean over the degree
  });

  it("comes back to where it started", () => {
    const start: LonLat = [14.35, -48.85];
    const back = moved(moved(start, 800, -1200), -800, 1200);
    expect(distanceM(start, back)).toBeLessThan(0.001);
  });

  it.each([0, 48.85, -60])("draws a circle whose every point is as far as it should be, at %s°", (lat) => {
    const center: LonLat = [14.35, lat];
    const ring = circle(center, 150);
    const off = ring.map((p) => Math.abs(distanceM(center, p) - 150));
    expect(Math.max(...off)).toBeLessThan(0.001);
    expect(ring.at(-1)).toEqual(ring[0]);
  });
});

describe("the arrow", () => {
  it("ends in the middle of the photo's top edge", () => {
    const at: LonLat = [14, 48];
    const corners: LonLat[] = [
      [13.9, 48.1],
      [13.9, 47.9],
      [14.1, 47.9],
      [14.1, 48.1],
    ];
    expect(topOf(at, 0, corners)).toEqual([14, 48.1]);
  });

  it("points east for a heading of 90° where no corners are known", () => {
    const [lon, lat] = topOf([14, 48], 90, null, 100);
    expect(distanceM([14, 48], [lon, lat])).toBeCloseTo(100, 3);
    expect(lon).toBeGreaterThan(14);
    expect(Math.abs(lat - 48)).toBeLessThan(1e-9);
  });

  it("has a head that opens backwards, as long on both sides", () => {
    const [from, to]: [LonLat, LonLat] = [[14, 48], moved([14, 48], 30, 40)];
    const [left, tip, right] = arrow(from, to)[1]!;
    expect(tip).toEqual(to);
    expect(distanceM(left!, to)).toBeCloseTo(distanceM(right!, to), 3);
    expect(distanceM(from, between(left!, right!))).toBeLessThan(distanceM(from, to));
  });
});

it("boxes places, and nothing", () => {
  expect(
    boxOf([
      [1, 2],
      [-3, 5],
    ]),
  ).toEqual({ west: -3, south: 2, east: 1, north: 5 });
  expect(boxOf([])).toBeNull();
});

it("says a place in words", () => {
  expect(inWords([-14.35, -48.856])).toBe("48.85600° S, 14.35000° W");
});
