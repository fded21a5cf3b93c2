/** The map itself: its tiles, a place for shapes, and a photo laid over the ground. */

import "maplibre-gl/dist/maplibre-gl.css";
import { Map, NavigationControl, ScaleControl, setWorkerUrl } from "maplibre-gl";
import type { GeoJSONSource, ImageSource, LngLatBoundsLike } from "maplibre-gl";
import workerUrl from "maplibre-gl/dist/maplibre-gl-worker.mjs?url";
import type { Box } from "../pure/geo";
import type { Bundle, LonLat } from "../types";
import type { Feature } from "./shapes";
import { styleOf, type Shape } from "./style";

export interface Scene {
  map: Map;
  show(shape: Shape, features: Feature[]): void;
  lay(picture: ImageBitmap | null, footprint: LonLat[] | null): void;
  fade(opacity: number): void;
  fly(box: Box): void;
}

const DRAPE = "drape";
const CLOSEST_ZOOM = 19;

/** The map in its place on the page, once its style is read; tells when a part of it cannot be had. */
export async function createScene(
  container: HTMLElement,
  bundle: Bundle,
  headers: () => Record<string, string>,
  onProblem: () => void,
): Promise<Scene> {
  setWorkerUrl(workerUrl); // a file of our own: the content policy lets no other worker start
  const map = new Map({
    container,
    style: styleOf(bundle),
    attributionControl: false,
    transformRequest: (url) => ({ url, headers: headers() }),
    maxZoom: bundle.tiles.maxZoom + 4,
    ...(bundle.bounds ? { bounds: bundle.bounds as LngLatBoundsLike, fitBoundsOptions: { padding: 24 } } : {}),
  });
  map.addControl(new NavigationControl({ visualizePitch: false }), "top-right");
  map.addControl(new ScaleControl({ maxWidth: 120 }), "bottom-right");
  map.on("error", onProblem);
  tellWhetherIdle(map);
  await new Promise<void>((done) => map.once("style.load", () => done()));
  return sceneOf(map, bundle);
}

function sceneOf(map: Map, bundle: Bundle): Scene {
  let opacity = 1;
  return {
    map,
    show: (shape, features) => {
      stir(map);
      void map.getSource<GeoJSONSource>(shape)?.setData({ type: "FeatureCollection", features });
    },
    lay: (picture, footprint) => {
      stir(map);
      lay(map, picture, footprint, opacity);
    },
    fade: (value) => {
      if (value !== opacity) stir(map);
      opacity = value;
      if (map.getLayer(DRAPE)) map.setPaintProperty(DRAPE, "raster-opacity", value);
    },
    fly: (box) => fly(map, box, bundle),
  };
}

/** The photo over the ground it shows, below every line; null takes it away. */
function lay(map: Map, picture: ImageBitmap | null, footprint: LonLat[] | null, opacity: number): void {
  if (map.getLayer(DRAPE)) map.removeLayer(DRAPE);
  if (map.getSource(DRAPE)) map.removeSource(DRAPE);
  if (!picture || footprint?.length !== 4) return;
  const [topLeft, bottomLeft, bottomRight, topRight] = footprint as [LonLat, LonLat, LonLat, LonLat];
  const coordinates: [LonLat, LonLat, LonLat, LonLat] = [topLeft, topRight, bottomRight, bottomLeft];
  map.addSource(DRAPE, { type: "image", coordinates } as never); // the picture is given, not fetched
  map.getSource<ImageSource>(DRAPE)!.updateImage({ image: picture, coordinates });
  const paint = { "raster-opacity": opacity, "raster-fade-duration": 0 };
  map.addLayer({ id: DRAPE, type: "raster", source: DRAPE, paint }, "outline-edge");
}

function fly(map: Map, { west, south, east, north }: Box, bundle: Bundle): void {
  const { clientWidth, clientHeight } = map.getContainer();
  const padding = Math.min(90, Math.round(Math.min(clientWidth, clientHeight) / 6));
  const maxZoom = Math.max(CLOSEST_ZOOM, bundle.tiles.maxZoom);
  map.fitBounds([west, south, east, north], { padding, maxZoom, duration: 1400 });
}

/** Says on the page whether the map still moves or loads, for tests and for styles. */
function tellWhetherIdle(map: Map): void {
  map.on("movestart", () => tell(map, "busy"));
  map.on("dataloading", () => tell(map, "busy"));
  map.on("idle", () => tell(map, "idle"));
}

function tell(map: Map, state: "busy" | "idle"): void {
  map.getContainer().dataset["state"] = state;
}

/** Something is about to change: not idle until it has been drawn. */
function stir(map: Map): void {
  tell(map, "busy");
  map.triggerRepaint();
}
