"""How a map is resampled, packed and made: rendering, textures, procedural worlds, simulated photos."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MapOptions", "RenderOptions", "SimulateOptions", "TextureOptions", "WorldOptions"]


@dataclass(frozen=True, kw_only=True)
class MapOptions:
    """Which maps are opened, and how large one may be."""

    allow_remote: bool = False  # maps that fetch from elsewhere, or that GDAL reads in any other way
    max_pixels: int = 25_000_000_000  # of one file: 15 km each way at 0.1 m


@dataclass(frozen=True, kw_only=True)
class RenderOptions:
    """How a map is resampled into a picture."""

    supersample: int = 3  # samples per output pixel and axis while the map is finer than that
    lattice: int = 9  # exact positions per axis; between them positions are interpolated


@dataclass(frozen=True, kw_only=True)
class TextureOptions:
    """How a map is packed into one file."""

    tile_px: int = 512
    jpeg_quality: int = 92


@dataclass(frozen=True, kw_only=True)
class WorldOptions:
    """Which procedural place is made, and how large and fine its maps are."""

    size_m: float = 3000.0
    gsd_m: float = 0.5
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class SimulateOptions:
    """What a simulated photo goes through, and how many there are."""

    count: int = 500
    altitude_min_m: float = 100.0
    altitude_max_m: float = 700.0
    noise_levels: float = 2.0  # standard deviation in grey levels
    jpeg_quality: int = 95
    tilt_max_deg: float = 0.0
    valid_share: float = 0.99  # share of a photo that must lie on the map
    seed: int = 0
