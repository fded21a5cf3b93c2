/** How things look on the map: bright lines with a dark edge, because the ground has every colour. */

import type { LayerSpecification, StyleSpecification } from "maplibre-gl";
import type { Bundle } from "../types";

export const COLOURS = {
  fix: "#ff6a1f",
  truth: "#16d9c0",
  track: "#3d8bff",
  candidate: "#ffd23f",
  hypothesis: "#b57bff",
  edge: "#10212e",
};

/** Sources that hold shapes, in no particular order. */
export const SHAPES = [
  "outline",
  "track",
  "others",
  "footprint",
  "radius",
  "arrow",
  "truth",
  "candidate",
  "hypotheses",
] as const;
export type Shape = (typeof SHAPES)[number];

const ROUND = { "line-cap": "round", "line-join": "round" } as const;

/** The whole style: tiles of the map that is searched, the photo over it, and shapes over both. */
export function styleOf(bundle: Bundle): StyleSpecification {
  const { url, minZoom, maxZoom, sizePx } = bundle.tiles;
  const tiles = { type: "raster" as const, tiles: [url], tileSize: sizePx, minzoom: minZoom, maxzoom: maxZoom };
  const empty = { type: "geojson" as const, data: { type: "FeatureCollection" as const, features: [] } };
  return {
    version: 8,
    sources: {
      tiles: bundle.bounds ? { ...tiles, bounds: bundle.bounds } : tiles,
      ...Object.fromEntries(SHAPES.map((name) => [name, empty])),
    },
    layers: [{ id: "tiles", type: "raster", source: "tiles", paint: { "raster-fade-duration": 150 } }, ...layers()],
  };
}

function layers(): LayerSpecification[] {
  return [
    ...stroke("outline", "#8fa3b0", { width: 1 }),
    { id: "radius-fill", type: "fill", source: "radius", paint: { "fill-color": COLOURS.fix, "fill-opacity": 0.14 } },
    ...stroke("radius", "#ffffff", { width: 1.8, dash: [3, 2] }),
    ...stroke("track", COLOURS.track, { width: 3, share: ["case", ["get", "ahead"], 0.45, 1] }),
    ...stroke("truth", COLOURS.truth, { width: 2, dash: [2, 1.6] }),
    ...stroke("candidate", COLOURS.candidate, { width: 2, dash: [3, 2] }),
    ...stroke("footprint", COLOURS.fix, { width: 2.4 }),
    ...stroke("arrow", COLOURS.fix, { width: 3 }),
    ...dots("hypotheses", COLOURS.hypothesis, 6),
    ...dots("truth", COLOURS.truth, 5),
    ...dots("others", COLOURS.track, 5),
  ];
}

interface Stroke {
  width: number;
  dash?: number[];
  share?: unknown; // how much of the line is seen
}

/** A line with a dark edge under it. */
function stroke(source: Shape, colour: string, { width, dash, share = 1 }: Stroke): LayerSpecification[] {
  const edge = { "line-color": COLOURS.edge, "line-width": width + 2.2, "line-opacity": ["*", 0.5, share] };
  const line = {
    "line-color": colour,
    "line-width": width,
    "line-opacity": share,
    ...(dash ? { "line-dasharray": dash } : {}),
  };
  const filter = ["!=", ["geometry-type"], "Point"];
  const layer = { type: "line", source, filter, layout: dash ? {} : ROUND };
  return [
    { ...layer, id: `${source}-edge`, paint: edge },
    { ...layer, id: `${source}-line`, paint: line },
  ] as LayerSpecification[];
}

function dots(source: Shape, colour: string, radius: number): LayerSpecification[] {
  const paint = {
    "circle-color": colour,
    "circle-radius": radius,
    "circle-stroke-color": "#fff",
    "circle-stroke-width": 1.8,
  };
  const filter = ["==", ["geometry-type"], "Point"];
  return [{ id: `${source}-dots`, type: "circle", source, filter, paint } as LayerSpecification];
}
