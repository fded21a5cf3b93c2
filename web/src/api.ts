/** The service over HTTP: asks for a token when one is needed, waits when the service is busy. */

import type { Answer, Bundle, LonLat, Problem } from "./types";

export interface Settings {
  camera: string;
  altitude: string;
}

export interface Api {
  bundle(): Promise<Bundle>;
  locate(photo: File, settings: Settings, onWait: () => void): Promise<Answer>;
  reference(row: number): Promise<Blob>;
  headers(): Record<string, string>;
}

/** Asks the person for a token; null where they decline. */
export type AskToken = (refused: boolean) => Promise<string | null>;

const BASE = new URL(".", document.baseURI).href.replace(/\/$/, "");
const LONGEST_WAIT_S = 60;

/** A refusal by the service, or by the network on the way to it. */
export class ServiceError extends Error {
  constructor(readonly problem: Problem) {
    super(problem.message);
  }
}

/** The whole address of a path the service named. */
export function address(path: string): string {
  return BASE + path;
}

export function createApi(askToken: AskToken): Api {
  const keys = tokenKeeper(askToken);
  const get = async (path: string): Promise<Response> => checked(await send(path, {}, keys));
  let referenceUrl = "/v1/references/{row}.jpg";
  return {
    bundle: async () => {
      const line = (await (await get("/v1/bundle")).json()) as BundleLine;
      referenceUrl = line.references?.url ?? referenceUrl;
      return bundleOf(line);
    },
    locate: async (photo, settings, onWait) => {
      const request = { method: "POST", body: form(photo, settings) };
      return (await (await patient(() => send("/v1/locate", request, keys), onWait)).json()) as Answer;
    },
    reference: async (row) => (await get(referenceUrl.replace("{row}", String(row)))).blob(),
    headers: () => keys.headers(),
  };
}

function form(photo: File, { camera, altitude }: Settings): FormData {
  const body = new FormData();
  if (camera) body.append("camera", camera.trim());
  if (altitude) body.append("altitude", altitude.replaceAll(/\s/g, ""));
  body.append("photo", photo, photo.name);
  return body;
}

/** Sends until the service has room. */
async function patient(attempt: () => Promise<Response>, onWait: () => void): Promise<Response> {
  for (;;) {
    const response = await attempt();
    if (response.status !== 429) return checked(response);
    onWait();
    await new Promise((go) => setTimeout(go, 1000 * waitS(response)));
  }
}

/** How long to wait, spread a little so that several pages do not come back at once. */
function waitS(response: Response): number {
  const seconds = Number(response.headers.get("Retry-After"));
  const wait = Number.isFinite(seconds) && seconds > 0 ? Math.min(seconds, LONGEST_WAIT_S) : 1;
  return wait * (1 + 0.2 * Math.random());
}

interface Keys {
  headers(): Record<string, string>;
  ask(used: string | null): Promise<boolean>;
  current(): string | null;
}

/** Keeps the token in memory, and asks once even when many requests need it at the same time. */
function tokenKeeper(askToken: AskToken): Keys {
  let token: string | null = null;
  let asking: Promise<boolean> | null = null;
  const ask = async (): Promise<boolean> => {
    const given = await askToken(token !== null);
    asking = null;
    token = given ?? token;
    return given !== null;
  };
  return {
    headers: () => (token === null ? {} : { Authorization: `Bearer ${token}` }),
    current: () => token,
    ask: async (used) => used !== token || (asking ??= ask()),
  };
}

async function send(path: string, request: RequestInit, keys: Keys): Promise<Response> {
  for (;;) {
    const used = keys.current();
    const response = await reached(path, { ...request, headers: keys.headers() });
    if (response.status !== 401 || !(await keys.ask(used))) return response;
  }
}

async function reached(path: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address(path), request);
  } catch {
    const hint = "See whether it still runs, then try again.";
    throw new ServiceError({ code: "page.offline", message: "The service cannot be reached.", hint });
  }
}

/** The response, or what the service said was wrong. */
async function checked(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new ServiceError(problemOf(await response.text(), response.status));
}

/** The service's own words where it sent them. */
export function problemOf(body: string, status: number): Problem {
  try {
    const { code, message, hint } = (JSON.parse(body) as { error: Problem }).error;
    if (typeof message === "string") return { code: code ?? "", message, hint: hint ?? "" };
  } catch {
    // not from our service: say what little is known
  }
  return { code: `http.${status}`, message: `The service answered ${status}.`, hint: "Look into its log." };
}

interface BundleLine {
  name?: string;
  bounds_lonlat?: [number, number, number, number];
  outline_lonlat?: LonLat[];
  canonical?: { footprint_m?: [number, number] };
  camera?: string;
  tiles?: { url: string; min_zoom: number; max_zoom: number; size_px: number };
  references?: { count: number; url: string };
}

function bundleOf(line: BundleLine): Bundle {
  const footprint = line.canonical?.footprint_m;
  return {
    name: line.name ?? "map",
    bounds: line.bounds_lonlat ?? null,
    outline: line.outline_lonlat ?? null,
    tiles: {
      url: address(line.tiles?.url ?? "/v1/tiles/{z}/{x}/{y}.jpg"),
      minZoom: line.tiles?.min_zoom ?? 0,
      maxZoom: line.tiles?.max_zoom ?? 22,
      sizePx: line.tiles?.size_px ?? 256,
    },
    canonical: footprint ? { widthM: footprint[0], heightM: footprint[1] } : null,
    camera: line.camera ?? null,
    references: line.references?.count ?? null,
  };
}
