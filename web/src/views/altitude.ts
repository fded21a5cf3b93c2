/** How likely each altitude is, as bars. */

import { h, svg } from "../dom";
import type { AltitudeClasses } from "../types";
import { metres, percent } from "./words";

const [WIDTH, HEIGHT, BASE, TOP] = [340, 118, 96, 14];
const WORD = 22; // half as wide as a value that is written

/** Bars over the altitude classes, with the truth as a line where it is known. */
export function altitudeChart(classes: AltitudeClasses, trueM: number | null): HTMLElement {
  const best = classes.probability.indexOf(Math.max(...classes.probability));
  const label = `Most likely ${metres(classes.altitude_m[best]!)} above ground, ${percent(classes.probability[best]!)}.`;
  const step = WIDTH / classes.altitude_m.length;
  const trueX = trueM === null ? null : clamp((fractional(classes.altitude_m, trueM) + 0.5) * step, 0, WIDTH);
  const valueX = beside((best + 0.5) * step, trueX);
  const bars = classes.probability.map((p, i) => bar(classes, i, p, step, i === best ? valueX : null));
  const chart = svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": label, class: "chart" },
    svg("line", { x1: 0, x2: WIDTH, y1: BASE, y2: BASE, class: "axis" }),
    trueX !== null && svg("line", { x1: trueX, x2: trueX, y1: TOP - 8, y2: BASE, class: "truth-line" }),
    ...bars,
  );
  return h(
    "figure",
    {},
    chart,
    h("figcaption", { class: "quiet" }, trueM === null ? label : `${label} True: ${metres(trueM)}.`),
  );
}

/** Where the best bar's value is written: over its middle, or beside the line of the truth. */
function beside(middle: number, trueX: number | null): number {
  const apart = trueX !== null && Math.abs(trueX - middle) < WORD ? trueX + WORD : middle;
  return clamp(apart, WORD, WIDTH - WORD);
}

function bar(classes: AltitudeClasses, i: number, share: number, step: number, valueX: number | null): SVGElement {
  const height = Math.max(1, share * (BASE - TOP));
  const middle = (i + 0.5) * step;
  const altitude = classes.altitude_m[i]!;
  return svg(
    "g",
    { class: valueX === null ? "" : "best" },
    svg("title", {}, `${metres(altitude)}: ${percent(share)}`),
    svg("rect", { x: i * step + 2, y: BASE - height, width: Math.max(1, step - 4), height, rx: 2 }),
    valueX !== null && svg("text", { x: valueX, y: BASE - height - 4, class: "value" }, percent(share)),
    labelled(i, classes.altitude_m.length) &&
      svg("text", { x: clamp(middle, 10, WIDTH - 10), y: BASE + 15 }, String(Math.round(altitude))),
  );
}

/** As many labels as fit. */
function labelled(i: number, count: number): boolean {
  return i % Math.ceil(count / 9) === 0;
}

/** Where a value lies among rising centres, counted in classes. */
export function fractional(centers: number[], value: number): number {
  const above = centers.findIndex((c) => c >= value);
  const i = above < 0 ? centers.length - 1 : Math.max(1, above);
  const [low, high] = [centers[i - 1], centers[i]];
  return low === undefined || high === undefined ? 0 : i - 1 + (value - low) / (high - low);
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(high, Math.max(low, value));
}
