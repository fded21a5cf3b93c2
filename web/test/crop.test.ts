import { expect, it } from "vitest";
import { cropWindow, fitted } from "../src/pure/crop";

const CANONICAL = { widthM: (2048 / 1200) * 125, heightM: (1536 / 1200) * 125 };

it("cuts the middle that shows the canonical ground: half the frame from twice the altitude", () => {
  const window = cropWindow({ width: 2048, height: 1536 }, 250 / 1200, CANONICAL);
  expect(window.width).toBeCloseTo(1024, 9);
  expect(window.height).toBeCloseTo(768, 9);
  expect(window.x).toBeCloseTo(512, 9);
  expect(window.y).toBeCloseTo(384, 9);
  expect(window.clamped).toBe(false);
});

it("takes the whole frame at the canonical altitude, and does not call that clamped", () => {
  const window = cropWindow({ width: 2048, height: 1536 }, 125 / 1200, CANONICAL);
  expect(window.width).toBeCloseTo(2048, 6);
  expect(window.clamped).toBe(false);
});

it("uses what there is of a photo from below, keeps the shape, and says so", () => {
  const window = cropWindow({ width: 2048, height: 1536 }, 60 / 1200, CANONICAL);
  expect([window.x, window.y]).toEqual([0, 0]);
  expect(window.width / window.height).toBeCloseTo(4 / 3, 9);
  expect(window.clamped).toBe(true);
});

it("keeps the ground's shape in a frame of another shape", () => {
  const window = cropWindow({ width: 4000, height: 2250 }, 0.05, CANONICAL);
  expect(window.width / window.height).toBeCloseTo(4 / 3, 9);
  expect(window.x * 2 + window.width).toBeCloseTo(4000, 9);
});

it("makes pictures fit, never larger", () => {
  expect(fitted({ width: 4000, height: 3000 }, 100)).toEqual({ width: 100, height: 75 });
  expect(fitted({ width: 40, height: 30 }, 100)).toEqual({ width: 40, height: 30 });
  expect(fitted({ width: 4000, height: 1 }, 100)).toEqual({ width: 100, height: 1 });
});
