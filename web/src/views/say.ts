/** What the page tells: quietly to screen readers, plainly when something is wrong. */

import { byId, h } from "../dom";
import type { Say } from "../photos";

const MESSAGE_MS = 12_000;

export function createSay(): Say {
  const [live, notice] = [byId("live"), byId("notice")];
  let timer = 0;
  const hide = (): void => void (notice.hidden = true);
  return (message, tone = "calm") => {
    if (tone === "calm") return void (live.textContent = message);
    clearTimeout(timer);
    notice.replaceChildren(message, h("button", { type: "button", class: "small", click: hide }, "Close"));
    notice.hidden = false;
    timer = window.setTimeout(hide, MESSAGE_MS);
  };
}
