/** Puts the page together. */

import { createApi, ServiceError, type Api } from "./api";
import { byId, h } from "./dom";
import { createPhotos, type Say } from "./photos";
import { createStore, type Store } from "./store";
import type { Bundle } from "./types";
import { mountDetail } from "./views/detail";
import { mountDrop } from "./views/drop";
import { mountList } from "./views/list";
import { mountDrape, mountTrack } from "./views/over";
import { createSay } from "./views/say";
import { mountSettings } from "./views/settings";
import { mountTheme } from "./views/theme";
import { askToken } from "./views/token";

function start(): void {
  const store = createStore();
  const api = createApi(askToken);
  const say = createSay();
  const photos = createPhotos(store, api, say);
  mountTheme();
  mountDrop(photos);
  mountSettings(store, photos);
  mountList(store, photos);
  mountDetail(store, api, photos);
  mountDrape(store);
  mountTrack(store);
  void open(store, api, say);
}

/** Asks what map is searched, and shows it. Photos may be dropped meanwhile. */
async function open(store: Store, api: Api, say: Say): Promise<void> {
  try {
    const bundle = await api.bundle();
    store.set({ bundle });
    byId("bundle").textContent = inWords(bundle);
    await showMap(store, api, say, bundle);
  } catch (error) {
    const { message, hint } = error instanceof ServiceError ? error.problem : { message: String(error), hint: "" };
    byId("bundle").replaceChildren(
      `${message} ${hint} `,
      h("button", { type: "button", class: "small", click: () => void open(store, api, say) }, "Try again"),
    );
  }
}

/** Without a graphics interface there is no map, but answers are still listed. */
async function showMap(store: Store, api: Api, say: Say, bundle: Bundle): Promise<void> {
  try {
    const [{ createScene }, { showOnMap }] = await Promise.all([import("./map/scene"), import("./map/show")]);
    const onProblem = (): void => say("A part of the map could not be loaded.", "bad");
    showOnMap(await createScene(byId("map"), bundle, () => api.headers(), onProblem), store);
  } catch (error) {
    const note = byId("map-note");
    note.hidden = false;
    note.textContent = `The map cannot be shown (${error instanceof Error ? error.message : String(error)}). Answers are listed all the same.`;
  }
}

function inWords({ name, references }: Bundle): string {
  return references === null ? `Map: ${name}` : `Map: ${name}, ${references.toLocaleString("en")} reference views`;
}

start();
