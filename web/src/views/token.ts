/** Asks for the service's token. It is kept in memory and nowhere else. */

import { h } from "../dom";

/** A dialog; null where it was closed without an answer. */
export function askToken(refused: boolean): Promise<string | null> {
  const input = h("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const form = h(
    "form",
    {},
    h("h2", {}, "This service asks for a token"),
    h(
      "p",
      {},
      refused
        ? "That token was not accepted. Please try again."
        : "Whoever runs it can tell you. It is kept until this page is closed.",
    ),
    h("label", { for: "token" }, "Token"),
    input,
    h(
      "div",
      { class: "row" },
      h("button", { class: "strong" }, "Go on"),
      h("button", { type: "button", click: () => dialog.close() }, "Not now"),
    ),
  );
  const dialog = h("dialog", { "aria-label": "Token" }, form);
  return new Promise((done) => {
    let given: string | null = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault(); // the content policy lets no form leave the page
      given = input.value;
      dialog.close();
    });
    dialog.addEventListener("close", () => (dialog.remove(), done(given)));
    document.body.append(dialog);
    dialog.showModal();
  });
}
