"""The camera in pixels: what a photo covers on the ground, from how high.

A camera is the pixel size of its pictures and its focal lengths in pixels; the principal point is the
middle of the frame. Whatever is done to a picture (resize, crop, turn) is done to its camera too. A lens that
draws straight lines bent is a noun of its own beside it; its photos are straightened first (ADR 46).
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from nadirfix.errors import InputError

__all__ = ["DEFAULT_CAMERA", "FULL_FRAME_DIAGONAL_MM", "Camera", "Lens", "LensModel"]

#: Diagonal of a 24 × 36 mm frame: what "35-mm equivalent" refers to.
FULL_FRAME_DIAGONAL_MM = math.hypot(36.0, 24.0)

_SPEC = re.compile(r"^(\d+)x(\d+)@(\d+(?:\.\d+)?)(?:,(\d+(?:\.\d+)?))?$")
_DO = "give --camera as WIDTHxHEIGHT@FOCAL in pixels (2048x1536@1200) or as a TOML file"
_DO_LENS = 'give [lens] model = "brown-conrady" with k1, k2, p1, p2, k3 or model = "fisheye" with k1 to k4'

LensModel = Literal["brown-conrady", "fisheye"]
#: The radial coefficients of each model; Brown–Conrady has tangential ones as well.
_RADIAL: dict[str, tuple[str, ...]] = {
    "brown-conrady": ("k1", "k2", "k3"),
    "fisheye": ("k1", "k2", "k3", "k4"),
}
_TANGENTIAL: dict[str, tuple[str, ...]] = {"brown-conrady": ("p1", "p2"), "fisheye": ()}
#: EXIF orientations in which the stored picture lies on its side, and those mirrored after that.
_ON_ITS_SIDE, _FLIPPED_RIGHT, _FLIPPED_DOWN = (5, 6, 7, 8), (2, 3, 6, 7), (3, 4, 7, 8)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lens:
    """How a lens bends its pictures: focal lengths, principal point and coefficients as calibrated.

    Lengths are pixels of its camera's pictures; the principal point is counted from the middle of the frame,
    to the right and down. Brown–Conrady has three radial coefficients (k1, k2, k3) and two tangential ones
    (p1, p2), fisheye (equidistant) four radial ones; both as OpenCV counts them.
    """

    model: LensModel
    fx_px: float
    fy_px: float
    radial: tuple[float, ...]
    tangential: tuple[float, float] = (0.0, 0.0)
    center_px: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        known = self.model in _RADIAL and len(self.radial) == len(_RADIAL[self.model])
        straight = self.model == "brown-conrady" or self.tangential == (0.0, 0.0)
        numbers = (self.fx_px, self.fy_px, *self.radial, *self.tangential, *self.center_px)
        finite = all(math.isfinite(v) for v in numbers) and min(self.fx_px, self.fy_px) > 0
        if not (known and straight and finite):
            raise InputError("camera.invalid", "this is not a lens", seen=str(self), do=_DO_LENS)

    def resized(self, right: float, down: float) -> Lens:
        """The lens of the same picture with so many times the pixels each way."""
        center = self.center_px[0] * right, self.center_px[1] * down
        return replace(self, fx_px=self.fx_px * right, fy_px=self.fy_px * down, center_px=center)

    def oriented(self, orientation: int) -> Lens:
        """The lens of the picture turned upright, by its EXIF orientation."""
        fx_px, fy_px = self.fx_px, self.fy_px
        if orientation in _ON_ITS_SIDE:
            fx_px, fy_px = fy_px, fx_px
        p2, p1 = _turned(self.tangential[1], self.tangential[0], orientation)  # a vector as well: p2 right
        center = _turned(*self.center_px, orientation)
        return replace(self, fx_px=fx_px, fy_px=fy_px, tangential=(p1, p2), center_px=center)


def _turned(right: float, down: float, orientation: int) -> tuple[float, float]:
    """A vector of the stored picture in the upright one."""
    if orientation in _ON_ITS_SIDE:
        right, down = down, right
    return -right if orientation in _FLIPPED_RIGHT else right, -down if orientation in _FLIPPED_DOWN else down


@dataclass(frozen=True, slots=True)
class Camera:
    """A nadir camera: picture size and focal lengths, all in pixels.

    Where it has a lens, its pictures are bent, and the focal lengths are those they have once straightened.
    """

    width_px: int
    height_px: int
    fx_px: float
    fy_px: float
    lens: Lens | None = field(default=None, kw_only=True)

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
    def pinhole(cls, spec: str) -> Camera:
        """A camera whose pictures are straight, as those rendered from a map are."""
        camera = cls.parse(spec)
        if camera.lens is None:
            return camera
        raise InputError(
            "camera.invalid",
            "pictures rendered from a map have no lens",
            seen=camera.spec,
            do="leave [lens] out of the camera file; it is for photos",
        )

    @classmethod
    def from_toml(cls, path: Path) -> Camera:
        """A camera from a TOML file with width_px, height_px and focal_px (fx_px and fy_px), and its lens."""
        table = _read_toml(path)
        lens = table.pop("lens", None)
        both = table.pop("focal_px", None)
        if both is not None:
            table = {"fx_px": both, "fy_px": both, **table}
        wanted = {"width_px", "height_px", "fx_px", "fy_px"}
        if set(table) != wanted or not all(_is_number(v) for v in table.values()):
            raise InputError(
                "camera.invalid",
                "the camera file does not hold the numbers a camera needs",
                seen=f"{path}: {', '.join(f'{k} = {v!r}' for k, v in sorted(table.items())) or 'nothing'}",
                do="write width_px, height_px and focal_px (or fx_px and fy_px), and [lens] where it bends",
            )
        width, height = table["width_px"], table["height_px"]
        camera = cls(width, height, float(table["fx_px"]), float(table["fy_px"]))
        return camera if lens is None else replace(camera, lens=_lens(camera, lens, path))

    @classmethod
    def from_equivalent_focal(cls, width_px: int, height_px: int, focal_35mm: float) -> Camera:
        """A camera from its 35-mm-equivalent focal length, taken by the diagonal."""
        focal_px = focal_35mm / FULL_FRAME_DIAGONAL_MM * math.hypot(width_px, height_px)
        return cls(width_px, height_px, focal_px, focal_px)

    @property
    def spec(self) -> str:
        """The camera as one would type it; a lens, which no one types, in words behind it."""
        focal = f"{self.fx_px:.10g}" if self.fx_px == self.fy_px else f"{self.fx_px:.10g},{self.fy_px:.10g}"
        return f"{self.width_px}x{self.height_px}@{focal}" + (f" with {self.lens}" if self.lens else "")

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
        right, down = width_px / self.width_px, height_px / self.height_px
        lens = self.lens and self.lens.resized(right, down)
        fx_px = self.fx_px * width_px / self.width_px
        fy_px = self.fy_px * height_px / self.height_px
        return Camera(width_px, height_px, fx_px, fy_px, lens=lens)

    def cropped(self, width_px: int, height_px: int) -> Camera:
        """The camera of the picture's central part."""
        if width_px > self.width_px or height_px > self.height_px:
            raise InputError(
                "camera.invalid",
                "a crop cannot be larger than the picture",
                seen=f"{width_px}x{height_px} from {self.spec}",
                do="crop to the picture's size or less",
            )
        return replace(self, width_px=width_px, height_px=height_px)

    def turned(self) -> Camera:
        """The camera of the picture turned clockwise by a quarter: width and height change places."""
        return self.oriented(6)

    def oriented(self, orientation: int) -> Camera:
        """The camera of the picture turned upright, by its EXIF orientation."""
        lens = self.lens and self.lens.oriented(orientation)
        if orientation in _ON_ITS_SIDE:
            return Camera(self.height_px, self.width_px, self.fy_px, self.fx_px, lens=lens)
        return replace(self, lens=lens)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lens(camera: Camera, table: Any, path: Path) -> Lens:
    """The lens of a camera file; a coefficient that is not named is zero, the principal point the middle."""
    numbers = dict(table) if isinstance(table, dict) else {}
    model = numbers.pop("model", None)
    names = (*_RADIAL[model], *_TANGENTIAL[model]) if model in ("brown-conrady", "fisheye") else ()
    if not names or set(numbers) - {*names, "cx_px", "cy_px"} or not all(map(_is_number, numbers.values())):
        raise InputError("camera.invalid", "this is not a lens", seen=f"{path}: {table!r}", do=_DO_LENS)
    middle = (camera.width_px - 1) / 2, (camera.height_px - 1) / 2  # from the middle of the first pixel
    return Lens(
        model=model,
        fx_px=camera.fx_px,
        fy_px=camera.fy_px,
        radial=tuple(float(numbers.get(name, 0.0)) for name in _RADIAL[model]),
        tangential=(float(numbers.get("p1", 0.0)), float(numbers.get("p2", 0.0))),
        center_px=(numbers.get("cx_px", middle[0]) - middle[0], numbers.get("cy_px", middle[1]) - middle[1]),
    )


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(
            "camera.invalid", "the camera file cannot be read", seen=f"{path}: {error}", do=_DO
        ) from error


#: The nominal camera of the published method: 213.3 × 160 m of ground from 125 m.
DEFAULT_CAMERA = Camera(2048, 1536, 1200.0, 1200.0)
