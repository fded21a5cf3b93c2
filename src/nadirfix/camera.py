"""The camera in pixels: what a photo covers on the ground, from how high.

A camera is the pixel size of its pictures and its focal lengths in pixels; the principal point is the
middle of the frame. Whatever is done to a picture (resize, crop, turn) is done to its camera too.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from nadirfix.errors import InputError

__all__ = ["DEFAULT_CAMERA", "FULL_FRAME_DIAGONAL_MM", "Camera"]

#: Diagonal of a 24 × 36 mm frame: what "35-mm equivalent" refers to.
FULL_FRAME_DIAGONAL_MM = math.hypot(36.0, 24.0)

_SPEC = re.compile(r"^(\d+)x(\d+)@(\d+(?:\.\d+)?)(?:,(\d+(?:\.\d+)?))?$")
_DO = "give --camera as WIDTHxHEIGHT@FOCAL in pixels (2048x1536@1200) or as a TOML file"


@dataclass(frozen=True, slots=True)
class Camera:
    """A nadir camera: picture size and focal lengths, all in pixels."""

    width_px: int
    height_px: int
    fx_px: float
    fy_px: float

    def __post_init__(self) -> None:
        sizes_ok = all(isinstance(v, int) and v > 0 for v in (self.width_px, self.height_px))
        focals_ok = all(math.isfinite(v) and v > 0 for v in (self.fx_px, self.fy_px))
        if not (sizes_ok and focals_ok):
            raise InputError(
                "camera.invalid", "a camera needs a positive size and focal length", seen=self.spec, do=_DO
            )

    @classmethod
    def parse(cls, spec: str) -> Camera:
        """A camera from ``2048x1536@1200`` (or ``@fx,fy``), or from the path of a TOML file."""
        return cls.from_toml(Path(spec)) if spec.endswith(".toml") else cls.from_spec(spec)

    @classmethod
    def from_spec(cls, spec: str) -> Camera:
        """A camera from ``2048x1536@1200`` (or ``@fx,fy``); no file is ever read."""
        match = _SPEC.match(spec.strip())
        if match is None:
            raise InputError("camera.invalid", "this is not a camera", seen=repr(spec), do=_DO)
        width, height, fx, fy = match.groups()
        return cls(int(width), int(height), float(fx), float(fy or fx))

    @classmethod
    def from_toml(cls, path: Path) -> Camera:
        """A camera from a TOML file with width_px, height_px and focal_px (or fx_px and fy_px)."""
        table = _read_toml(path)
        both = table.pop("focal_px", None)
        if both is not None:
            table = {"fx_px": both, "fy_px": both, **table}
        wanted = {"width_px", "height_px", "fx_px", "fy_px"}
        if set(table) != wanted or not all(_is_number(v) for v in table.values()):
            raise InputError(
                "camera.invalid",
                "the camera file does not hold the numbers a camera needs",
                seen=f"{path}: {', '.join(f'{k} = {v!r}' for k, v in sorted(table.items())) or 'nothing'}",
                do="write width_px, height_px and focal_px (or fx_px and fy_px), and nothing else",
            )
        width, height = table["width_px"], table["height_px"]
        return cls(width, height, float(table["fx_px"]), float(table["fy_px"]))

    @classmethod
    def from_equivalent_focal(cls, width_px: int, height_px: int, focal_35mm: float) -> Camera:
        """A camera from its 35-mm-equivalent focal length, taken by the diagonal."""
        focal_px = focal_35mm / FULL_FRAME_DIAGONAL_MM * math.hypot(width_px, height_px)
        return cls(width_px, height_px, focal_px, focal_px)

    @property
    def spec(self) -> str:
        """The camera as one would type it."""
        focal = f"{self.fx_px:.10g}" if self.fx_px == self.fy_px else f"{self.fx_px:.10g},{self.fy_px:.10g}"
        return f"{self.width_px}x{self.height_px}@{focal}"

    def footprint_m(self, altitude_m: float) -> tuple[float, float]:
        """Width and height of the ground a nadir photo covers."""
        return self.width_px / self.fx_px * altitude_m, self.height_px / self.fy_px * altitude_m

    def gsd_m(self, altitude_m: float) -> float:
        """Ground sampling distance: metres of ground per pixel, along the width."""
        return altitude_m / self.fx_px

    def altitude_m(self, gsd_m: float) -> float:
        """The altitude at which one pixel covers ``gsd_m`` of ground."""
        return gsd_m * self.fx_px

    def resized(self, width_px: int, height_px: int) -> Camera:
        """The camera of the same picture resampled to another size."""
        fx_px = self.fx_px * width_px / self.width_px
        fy_px = self.fy_px * height_px / self.height_px
        return Camera(width_px, height_px, fx_px, fy_px)

    def cropped(self, width_px: int, height_px: int) -> Camera:
        """The camera of the picture's central part."""
        if width_px > self.width_px or height_px > self.height_px:
            raise InputError(
                "camera.invalid",
                "a crop cannot be larger than the picture",
                seen=f"{width_px}x{height_px} from {self.spec}",
                do="crop to the picture's size or less",
            )
        return Camera(width_px, height_px, self.fx_px, self.fy_px)

    def turned(self) -> Camera:
        """The camera of the picture turned by a quarter: width and height change places."""
        return Camera(self.height_px, self.width_px, self.fy_px, self.fx_px)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _read_toml(path: Path) -> dict[str, int]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            "camera.invalid", "the camera file cannot be read", seen=f"{path}: {error}", do=_DO
        ) from error


#: The nominal camera of the published method: 213.3 × 160 m of ground from 125 m.
DEFAULT_CAMERA = Camera(2048, 1536, 1200.0, 1200.0)
