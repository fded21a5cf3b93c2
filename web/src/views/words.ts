/** Numbers and states in words. */

import type { Item } from "../store";
import { offM } from "../pure/export";
import { inWords } from "../pure/geo";

export type Tone = "good" | "unsure" | "bad" | "wait";

/** Metres with as many digits as they deserve. */
export function metres(value: number): string {
  return `${value < 10 ? value.toFixed(1) : Math.round(value).toLocaleString("en")} m`;
}

/** A share in hundredths; nothing is called certain, not even what was rounded to it. */
export function percent(share: number): string {
  if (share > 0.995) return "> 99 %";
  return `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

const POINTS = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];

/** 270° W: degrees, and the nearest of eight points. */
export function bearing(degrees: number): string {
  return `${Math.round(degrees) % 360}° ${POINTS[Math.round(degrees / 45) % 8]}`;
}

/** How it stands with a photo, in a word or two. */
export function standing(item: Item): { tone: Tone; word: string } {
  if (item.stage === "queued") return { tone: "wait", word: "Queued" };
  if (item.stage === "sending") return { tone: "wait", word: "Looking…" };
  if (item.stage === "waiting") return { tone: "wait", word: "Waiting for the service" };
  if (item.answer?.status === "fix") return { tone: "good", word: "Fix" };
  if (item.answer?.status === "unverified") return { tone: "unsure", word: "Unverified" };
  if (item.answer?.status === "no_fix") return { tone: "unsure", word: "No fix" };
  return { tone: "bad", word: "Cannot be used" };
}

/** One line below a photo's name: where, or why not. */
export function summary(item: Item): string {
  const { answer } = item;
  if (item.stage !== "done" || !answer) return "";
  if (answer.status === "error") return answer.error.message;
  if (answer.status === "no_fix") return answer.reason ?? "";
  const off = offM({ answer, truth: item.truth });
  const parts = [inWords([answer.lon!, answer.lat!]), answer.altitude_m === null ? null : metres(answer.altitude_m)];
  return [...parts, off === null ? null : `${metres(off)} off`].filter((part) => part !== null).join(" · ");
}
