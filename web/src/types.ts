/** What the service says, field by field, as in a line of `nadirfix locate`; unknown is null. */

export type LonLat = [number, number];

export interface Candidate {
  rank: number;
  reference: number;
  lon: number;
  lat: number;
  heading_deg: number;
  distance: number;
  weight: number | null;
  cell: [number, number];
}

export interface AltitudeClasses {
  altitude_m: number[];
  probability: number[];
}

/** Another place that was verified against the map. */
export interface Hypothesis {
  lon: number | null;
  lat: number | null;
  altitude_m: number | null;
  confidence: number | null;
  inliers: number | null;
}

export interface Placed {
  photo: string;
  status: "fix" | "unverified" | "no_fix"; // only a position the map confirmed is a fix
  lon: number | null;
  lat: number | null;
  easting_m: number | null;
  northing_m: number | null;
  epsg: number | null;
  altitude_m: number | null;
  altitude_classes: AltitudeClasses | null;
  gsd_m: number | null;
  heading_deg: number | null;
  confidence: number | null;
  radius95_m: number | null;
  reason: string | null;
  reason_code?: string | null; // why there is no fix, for programs; older services do not say it
  crop_clamped: boolean;
  warnings: string[];
  footprint: LonLat[] | null; // from the photo's top left, against the clock
  candidates: Candidate[];
  timings_ms: Record<string, number>;
  // By bundles that verify answers against the map; absent or null where they were not verified.
  verified?: boolean | null;
  inliers?: number | null;
  tilt_deg?: number | null;
  tilt_toward_deg?: number | null;
  // Where the aircraft was: not above the middle of the frame where the camera was tilted.
  aircraft?: { lon: number; lat: number; altitude_m?: number; radius95_m: number | null } | null;
  hypotheses?: Hypothesis[];
}

export interface Problem {
  code: string;
  message: string;
  hint: string;
}

export interface Failed {
  photo: string;
  status: "error";
  error: Problem;
}

export type Answer = Placed | Failed;

/** What the page needs to know about the map that is searched. */
export interface Bundle {
  name: string;
  bounds: [number, number, number, number] | null; // west, south, east, north
  outline: LonLat[] | null;
  tiles: { url: string; minZoom: number; maxZoom: number; sizePx: number };
  canonical: { widthM: number; heightM: number } | null;
  camera: string | null;
  references: number | null;
}

/** What is known about where a photo was really taken. */
export interface Truth {
  at: LonLat;
  altitudeM: number | null;
  headingDeg: number | null;
}

export interface Size {
  width: number;
  height: number;
}
