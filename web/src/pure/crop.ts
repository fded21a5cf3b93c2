/** The middle of a photo that shows as much ground as a reference does. */

import type { Size } from "../types";

export interface Window {
  x: number;
  y: number;
  width: number;
  height: number;
  clamped: boolean; // the photo shows less ground than a reference
}

/** The window to cut out, in photo pixels; a photo from too low is used as far as it goes. */
export function cropWindow(photo: Size, gsdM: number, ground: { widthM: number; heightM: number }): Window {
  const wanted = { width: ground.widthM / gsdM, height: ground.heightM / gsdM };
  const fits = Math.min(1, photo.width / wanted.width, photo.height / wanted.height);
  const width = wanted.width * fits;
  const height = wanted.height * fits;
  return { x: (photo.width - width) / 2, y: (photo.height - height) / 2, width, height, clamped: fits < 1 - 1e-9 };
}

/** The size of a picture made to fit into a square without changing its shape; never enlarged. */
export function fitted(size: Size, longest: number): Size {
  const scale = Math.min(1, longest / Math.max(size.width, size.height));
  return { width: Math.max(1, Math.round(size.width * scale)), height: Math.max(1, Math.round(size.height * scale)) };
}
