/** Camera and altitude: what the photos say, what the person knows better. */

import { byId, h } from "../dom";
import type { Photos } from "../photos";
import { focalFromTags, isAltitude, isCamera, PRESETS } from "../pure/camera";
import { clock } from "../pure/track";
import { selected, type Item, type State, type Store } from "../store";

const FROM_PHOTO = "";
const OTHER = "other";

export function mountSettings(store: Store, photos: Photos): void {
  const camera = cameraFields(store);
  const altitude = field("altitude", "Altitude above ground, if you know it", "m: 300 or 300+-20", isAltitude, (text) =>
    store.set({ altitude: text }),
  );
  const fromTags = h("p", { id: "exif", class: "from-tags" });
  const again = h(
    "button",
    { type: "button", click: () => photos.again(store.get().items) },
    "Locate all again with this",
  );
  byId("settings").append(h("summary", {}, "Camera and altitude"), ...camera.elements, fromTags, altitude, again);
  store.subscribe((state) => {
    camera.offer(state.bundle?.camera ?? null);
    fromTags.textContent = tagsInWords(selected(state));
    again.hidden = !state.items.some((item) => item.stage === "done");
    showSummary(state);
  });
}

function showSummary(state: State): void {
  const parts = [
    state.camera || "camera from the photo",
    state.altitude ? `${state.altitude} m` : "altitude estimated",
  ];
  byId("settings")
    .querySelector("summary")!
    .replaceChildren("Camera and altitude ", h("span", { class: "quiet" }, parts.join(", ")));
}

interface CameraFields {
  elements: HTMLElement[];
  offer(nominal: string | null): void;
}

function cameraFields(store: Store): CameraFields {
  const choice = h("select", { id: "camera-choice" });
  const own = field("camera", "Camera", "WIDTHxHEIGHT@FOCAL in pixels: 2048x1536@1200", isCamera, (text) =>
    store.set({ camera: text }),
  );
  const input = own.querySelector("input")!;
  choice.addEventListener("change", () => {
    own.hidden = choice.value === FROM_PHOTO;
    input.value = choice.value === OTHER ? "" : choice.value;
    input.dispatchEvent(new Event("input"));
  });
  own.hidden = true;
  fillChoice(choice, null);
  let offered: string | null = null;
  const offer = (nominal: string | null): void => {
    if (nominal !== offered) fillChoice(choice, nominal);
    offered = nominal;
  };
  return { elements: [h("label", { for: "camera-choice" }, "Which camera took the photos?"), choice, own], offer };
}

function fillChoice(choice: HTMLSelectElement, nominal: string | null): void {
  const option = (value: string, label: string): HTMLElement => h("option", { value }, label);
  choice.replaceChildren(
    option(FROM_PHOTO, "As the photo says (EXIF)"),
    ...(nominal ? [option(nominal, `The map's nominal camera (${nominal})`)] : []),
    ...PRESETS.map(({ name, spec }) => option(spec, name)),
    option(OTHER, "Another one…"),
  );
}

/** A text field that takes only what makes sense, and says what that is. */
function field(
  id: string,
  label: string,
  hint: string,
  fits: (text: string) => boolean,
  set: (text: string) => void,
): HTMLElement {
  const input = h("input", {
    id,
    type: "text",
    autocomplete: "off",
    spellcheck: "false",
    "aria-describedby": `${id}-hint`,
  });
  input.addEventListener("input", () => {
    const text = input.value.trim();
    const good = text === "" || fits(text);
    input.setAttribute("aria-invalid", String(!good));
    if (good) set(text);
  });
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, label),
    input,
    h("p", { id: `${id}-hint`, class: "quiet" }, hint),
  );
}

/** What the chosen photo's own tags say about its camera. */
export function tagsInWords(item: Item | null): string {
  if (!item?.tags) return "";
  const { make, model, focalMm, equivalentMm, takenMs } = item.tags;
  const focal = item.size && focalFromTags(item.tags, item.size);
  const words = [
    [make, model].filter(Boolean).join(" "),
    focalMm && `${round(focalMm)} mm`,
    equivalentMm && `${round(equivalentMm)} mm on 35 mm film`,
    focal && `so ${Math.round(focal.focalPx)} px (${focal.source})`,
    takenMs && `taken ${clock(takenMs)}`,
  ].filter(Boolean);
  return words.length ? `${item.path} says: ${words.join(", ")}.` : `${item.path} says nothing about its camera.`;
}

function round(value: number): string {
  return String(Math.round(value * 100) / 100);
}
