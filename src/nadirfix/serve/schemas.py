"""The interface described for programs: what goes in, what comes out, with examples."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from nadirfix.errors import HTTP_STATUS
from nadirfix.serve.options import LONGEST_TEXT
from nadirfix.types import Status

__all__ = [
    "BATCH_BODY",
    "LINE_EXAMPLE",
    "PHOTO_BODY",
    "Aircraft",
    "AltitudeClasses",
    "Bundle",
    "Candidate",
    "Canonical",
    "Error",
    "Line",
    "Problem",
    "References",
    "Tiles",
    "picture",
    "problems",
]

_ERROR: dict[str, Any] = {
    "code": "photo.unreadable",
    "message": "the photo cannot be read: 120 bytes (not a picture in a known format)",
    "hint": "Give a JPEG, PNG, TIFF, WebP or JPEG 2000 photo",
}
#: A line as it comes, its unknown fields included.
LINE_EXAMPLE: dict[str, Any] = {
    "photo": "000001.jpg", "status": "fix", "lon": 14.350908, "lat": 48.856985, "easting_m": 452388.1,
    "northing_m": 5411760.7, "epsg": 32633, "altitude_m": 375.0,
    "altitude_classes": {"altitude_m": [325.0, 375.0, 425.0], "probability": [0.02, 0.95, 0.03]},
    "altitude_sources": [{"source": "picture", "altitude_m": 375.5, "sigma_m": 11.2}],
    "gsd_m": 0.312, "heading_deg": 270.0, "confidence": 0.998, "radius95_m": 4.6,
    "verified": True, "inliers": 97, "tilt_deg": None, "tilt_toward_deg": None, "aircraft": None,
    "reason": None, "reason_code": None, "crop_clamped": False, "warnings": [],
    "footprint": [[14.347674, 48.854088], [14.354217, 48.854125], [14.354143, 48.859882],
                  [14.347599, 48.859845]],
    "candidates": [{"rank": 1, "reference": 5220, "lon": 14.356402, "lat": 48.858471,
                    "easting_m": 452792.5, "northing_m": 5411922.5, "heading_deg": 270.0,
                    "distance": 0.781, "weight": 0.131, "cell": [2, 4]}],
    "hypotheses": [],
    "timings_ms": {"decode": 42.0, "total": 144.7},
}  # fmt: skip


class _Extensible(BaseModel):
    """Newer versions may have more fields."""

    model_config = ConfigDict(extra="allow")


class Candidate(_Extensible):
    """A reference view that looks like the photo."""

    rank: int
    reference: int = Field(description="Its row: /v1/references/{row}.jpg shows it.")
    lon: float
    lat: float
    easting_m: float
    northing_m: float
    heading_deg: float
    distance: float
    weight: float | None
    cell: list[int]


class AltitudeClasses(_Extensible):
    """How likely each altitude is."""

    altitude_m: list[float]
    probability: list[float]


class Aircraft(_Extensible):
    """Where the aircraft was: another answer than the position, with a covariance and a radius of its own."""

    lon: float
    lat: float
    easting_m: float
    northing_m: float
    altitude_m: float = Field(description="Above ground.")
    covariance_m2: list[list[float]] = Field(description="East and north.")
    radius95_m: float


class Line(_Extensible):
    """One line of `nadirfix locate`: every field is always there, unknown is null."""

    photo: str
    status: Status = Field(
        description="fix: a position that the map confirmed; unverified: one that was not compared with it; "
        "no_fix: none, for the reason."
    )
    lon: float | None
    lat: float | None
    easting_m: float | None
    northing_m: float | None
    epsg: int | None
    altitude_m: float | None
    altitude_classes: AltitudeClasses | None
    altitude_sources: list[dict[str, Any]] = Field(
        description="Estimates before verification against the map."
    )
    gsd_m: float | None
    heading_deg: float | None
    confidence: float | None
    radius95_m: float | None
    verified: bool | None = Field(
        description="Whether the position was verified against the map; null: not tried."
    )
    inliers: int | None
    tilt_deg: float | None
    tilt_toward_deg: float | None
    aircraft: Aircraft | None = Field(
        description="Where the aircraft was; lon and lat of the line are the middle of the frame."
    )
    reason: str | None
    reason_code: str | None = Field(
        description="Why there is no fix, as a stable code (docs/verification.md)."
    )
    crop_clamped: bool
    warnings: list[str]
    footprint: list[list[float]] | None
    candidates: list[Candidate]
    hypotheses: list[dict[str, Any]]
    timings_ms: dict[str, float]


class Error(BaseModel):
    """What was wrong, and what to do."""

    code: str = Field(description="Stable; every code is explained in docs/errors.md.")
    message: str
    hint: str


class Problem(BaseModel):
    """An error."""

    model_config = ConfigDict(json_schema_extra={"example": {"error": _ERROR}})

    error: Error


class Canonical(_Extensible):
    """How references were rendered."""

    altitude_m: float
    footprint_m: list[float]


class Tiles(_Extensible):
    """Where the map's tiles are."""

    url: str
    min_zoom: int
    max_zoom: int
    size_px: int


class References(_Extensible):
    """Where the reference views are."""

    count: int
    url: str
    width_px: int
    height_px: int
    geojson: str


class Bundle(_Extensible):
    """The bundle, and the limits of the service."""

    nadirfix: str
    name: str
    hash: str
    epsg: int
    bounds_m: list[float] = Field(description="West, south, east, north in the zone.")
    bounds_lonlat: list[float]
    outline_lonlat: list[list[float]]
    gsd_m: float
    camera: str
    canonical: Canonical
    altitude_range_m: list[float]
    recipe: str
    trained: dict[str, bool]
    counts: dict[str, Any]
    accuracy: dict[str, Any]
    tiles: Tiles
    references: References
    limits: dict[str, float]
    token_needed: bool


#: Statuses every path may answer with, and the codes a service has.
_COMMON_STATUSES = (401, 403, 421, 429, 431, 500, 503)
_CODE_PREFIXES = ("service.", "photo.", "camera.", "altitude.", "prior.", "internal.")


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Errors a path may answer with, those of every path included."""
    codes_by_status: dict[int, list[str]] = {status: [] for status in sorted({*_COMMON_STATUSES, *statuses})}
    for code, status in HTTP_STATUS.items():
        if status in codes_by_status and code.startswith(_CODE_PREFIXES):
            codes_by_status[status].append(code)
    return {
        status: {"model": Problem, "description": ", ".join(codes)}
        for status, codes in codes_by_status.items()
    }


def picture(*kinds: str) -> dict[int | str, dict[str, Any]]:
    """A picture, or that the client's cached one is still valid."""
    binary = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {"description": "The picture.", "content": dict.fromkeys(kinds, binary)},
        304: {"description": "The same as before."},
    }


_BINARY = {"type": "string", "format": "binary"}
_FIELDS = {
    "camera": {"type": "string", "maxLength": LONGEST_TEXT, "example": "2048x1536@1200"},
    "altitude": {"type": "string", "maxLength": LONGEST_TEXT, "example": "300+-20"},
    "near": {"type": "string", "maxLength": LONGEST_TEXT, "example": "14.35,48.86+-50"},
    "heading": {"type": "string", "maxLength": LONGEST_TEXT, "example": "270+-10"},
    "gimbal": {"type": "string", "maxLength": LONGEST_TEXT, "example": "-60,0,270"},
}


def _form(photo: dict[str, Any]) -> dict[str, Any]:
    fields = {**_FIELDS, "photo": photo}
    return {"schema": {"type": "object", "required": ["photo"], "properties": fields}}


def _body(content: dict[str, Any]) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": content}}


_RAW = ("image/jpeg", "image/png", "image/tiff", "image/webp", "image/jp2", "application/octet-stream")
PHOTO_BODY = _body({"multipart/form-data": _form(_BINARY), **{kind: {"schema": _BINARY} for kind in _RAW}})
BATCH_BODY = _body({"multipart/form-data": _form({"type": "array", "minItems": 1, "items": _BINARY})})
