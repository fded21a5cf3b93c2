/** Milliseconds per stage, as one bar cut into its stages. */

import { h, svg } from "../dom";

const WIDTH = 340;

/** A bar of the stages in order, and the numbers below it. */
export function timingsChart(timings: Record<string, number>): HTMLElement {
  const { total = 0, ...stages } = timings;
  const whole = Math.max(
    total,
    Object.values(stages).reduce((sum, ms) => sum + ms, 0),
    1e-9,
  );
  let x = 0;
  const parts = Object.entries(stages).map(([name, ms], i) => {
    const width = (ms / whole) * WIDTH;
    x += width;
    return svg(
      "rect",
      { x: x - width, y: 0, width: Math.max(0, width - 1), height: 12, class: `part${i % 6}` },
      svg("title", {}, `${name} ${inMs(ms)}`),
    );
  });
  const bar = svg("svg", { viewBox: `0 0 ${WIDTH} 12`, class: "timings", "aria-hidden": "true" }, ...parts);
  const names = Object.entries(stages).map(([name, ms], i) =>
    h("li", {}, h("span", { class: `chip part${i % 6}` }), `${name} ${inMs(ms)}`),
  );
  return h(
    "div",
    {},
    bar,
    h("ul", { class: "legend" }, h("li", {}, h("strong", {}, `total ${inMs(total)}`)), ...names),
  );
}

function inMs(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
