/** Verification: whether the map confirms the answer, how the camera was tilted, and which other places were verified. */

import { h } from "../dom";
import { placeOf } from "../pure/export";
import { distanceM, inWords } from "../pure/geo";
import type { Hypothesis, LonLat, Placed } from "../types";
import { bearing, metres, percent } from "./words";

const UPRIGHT_DEG = 0.5;
const SAME_PLACE_M = 2;

/** Names and values; nothing where it was not verified. */
export function verdictFacts(answer: Placed): [string, string][] {
  const { verified = null, inliers = null, tilt_deg = null, tilt_toward_deg = null } = answer;
  const agree = inliers === null ? "" : `, ${inliers} points agree`;
  const facts: [string, string][] = [];
  if (verified !== null) facts.push(["Verification", (verified ? "it confirms" : "it does not confirm") + agree]);
  if (tilt_deg !== null) facts.push(["Camera tilt", tilt(tilt_deg, tilt_toward_deg)]);
  const below = belowCamera(answer);
  if (below) facts.push(["Below the camera", inWords(below)]);
  return facts;
}

/** A camera that points straight down is tilted nowhere in particular. */
function tilt(degrees: number, towardDeg: number | null): string {
  if (degrees < UPRIGHT_DEG) return `less than ${UPRIGHT_DEG}°`;
  return `${degrees.toFixed(1)}°` + (towardDeg === null ? "" : ` to ${bearing(towardDeg)}`);
}

/** Where the aircraft was, where that is another place than the middle of the photo. */
function belowCamera(answer: Placed): LonLat | null {
  const fix = placeOf(answer);
  if (!answer.aircraft || !fix) return null;
  const below: LonLat = [answer.aircraft.lon, answer.aircraft.lat];
  return distanceM(fix, below) < SAME_PLACE_M ? null : below;
}

/** The other places that were verified, best first; null where there are none. */
export function hypothesesView(answer: Placed): HTMLElement | null {
  const placed = (answer.hypotheses ?? []).filter((one) => one.lon !== null && one.lat !== null);
  if (placed.length === 0) return null;
  const rows = placed.map((one) => h("li", {}, ...row(one, placeOf(answer))));
  const list = h("ol", { class: "hypotheses" }, ...rows);
  return h("section", { "aria-label": "Other places" }, h("h3", {}, "Other places that were verified"), list);
}

function row(one: Hypothesis, fix: LonLat | null): HTMLElement[] {
  const at: LonLat = [one.lon!, one.lat!];
  const words = [
    fix && `${metres(distanceM(fix, at))} from the fix`,
    one.altitude_m !== null && `${metres(one.altitude_m)} above ground`,
    one.inliers !== null && `${one.inliers} points agree`,
    one.confidence !== null && percent(one.confidence),
  ].filter(Boolean);
  return [h("span", {}, inWords(at)), h("span", { class: "quiet" }, words.join(" · "))];
}
