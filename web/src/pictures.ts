/** Photos as the browser shows them: small ones for the list, one for the map, and the canonical cut-out. */

import { cropWindow, fitted } from "./pure/crop";
import type { Bundle, Size } from "./types";

const THUMBNAIL_PX = 112;
const DRAPE_PX = 1600; // enough for the map, and a texture every graphics chip takes

export interface Thumbnail {
  url: string;
  size: Size;
}

/** A small picture and the size of the photo; null where the browser cannot show this kind of file. */
export async function thumbnail(file: File): Promise<Thumbnail | null> {
  const whole = await decoded(file);
  if (!whole) return null;
  const size = { width: whole.width, height: whole.height };
  const url = URL.createObjectURL(await jpeg(drawn(whole, fitted(size, THUMBNAIL_PX))));
  whole.close();
  return { url, size };
}

/** The photo at a size fit for the map. */
export async function drape(file: File): Promise<ImageBitmap | null> {
  const whole = await decoded(file);
  if (!whole) return null;
  const canvas = drawn(whole, fitted(whole, DRAPE_PX));
  whole.close();
  return createImageBitmap(canvas);
}

/** The middle of the photo that shows as much ground as a reference, to be held beside it. */
export async function canonicalCrop(
  file: File,
  gsdM: number,
  ground: NonNullable<Bundle["canonical"]>,
): Promise<HTMLCanvasElement | null> {
  const whole = await decoded(file);
  if (!whole) return null;
  const window = cropWindow(whole, gsdM, ground);
  const canvas = drawn(whole, fitted({ width: 512, height: (512 * window.height) / window.width }, 512), window);
  whole.close();
  return canvas;
}

async function decoded(file: File): Promise<ImageBitmap | null> {
  try {
    return await createImageBitmap(file); // upright, as its tags say
  } catch {
    return null;
  }
}

function drawn(
  picture: ImageBitmap,
  size: Size,
  part: { x: number; y: number; width: number; height: number } = {
    x: 0,
    y: 0,
    width: picture.width,
    height: picture.height,
  },
): HTMLCanvasElement {
  const canvas = document.createElement("canvas");
  canvas.width = size.width;
  canvas.height = size.height;
  const pen = canvas.getContext("2d")!;
  pen.imageSmoothingQuality = "high";
  pen.drawImage(picture, part.x, part.y, part.width, part.height, 0, 0, size.width, size.height);
  return canvas;
}

async function jpeg(canvas: HTMLCanvasElement): Promise<Blob> {
  return new Promise((done, fail) =>
    canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error("no picture"))), "image/jpeg", 0.8),
  );
}
