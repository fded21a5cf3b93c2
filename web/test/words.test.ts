import { expect, it } from "vitest";
import { verdictFacts } from "../src/views/verdict";
import { percent } from "../src/views/words";
import type { Placed } from "../src/types";

it("calls nothing certain that is not", () => {
  expect([0, 0.05, 0.5, 0.99, 0.9996, 1].map(percent)).toEqual(["0 %", "5.0 %", "50 %", "99 %", "> 99 %", "> 99 %"]);
});

it("tells where a camera leans only where it does, and what is below it only where that is elsewhere", () => {
  const answer = (tilt_deg: number, lat: number): Placed =>
    ({
      status: "fix",
      lon: 14,
      lat: 48,
      tilt_deg,
      tilt_toward_deg: 45,
      aircraft: { lon: 14, lat, radius95_m: null },
    }) as Placed;
  expect(verdictFacts(answer(0.1, 48.000001))).toEqual([["Camera tilt", "less than 0.5°"]]);
  const [tilt, below] = verdictFacts(answer(3, 48.001));
  expect(tilt).toEqual(["Camera tilt", "3.0° to 45° NE"]);
  expect(below![0]).toBe("Below the camera");
});
