"""Converting whatever bands a map file has to RGB bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import MapError

__all__ = ["rgb_converter"]

Bytes = NDArray[np.uint8]

#: What is cut off at either end when 16-bit or floating values are brought to bytes.
_STRETCH_PERCENT = 2.0


def rgb_converter(dataset: Any, path: str, *, sample_px: int) -> Callable[[NDArray[Any]], Bytes]:
    """How to turn the bands of this file, as (bands, rows, columns), into RGB (rows, columns, 3).

    The stretch of deep pictures is taken from so many pixels each way.
    """
    palette = _palette(dataset)
    if palette is not None:
        return lambda bands: palette[np.clip(bands[0], 0, 255)]
    chosen = _rgb_bands(dataset)
    if np.iscomplexobj(np.empty(0, dataset.dtypes[0])):
        raise MapError(
            "map.unreadable",
            "the map holds complex numbers",
            seen=f"{path}: {dataset.dtypes[0]}",
            do="convert it to bytes or 16 bits first (gdal_translate -ot Byte -scale)",
        )
    if all(kind == "uint8" for kind in dataset.dtypes[: max(chosen) + 1]):
        return lambda bands: np.ascontiguousarray(np.moveaxis(bands[chosen], 0, -1))
    low, high = _stretch(dataset, chosen, sample_px)
    return lambda bands: _to_bytes(np.moveaxis(bands[chosen], 0, -1), low, high)


def _palette(dataset: Any) -> Bytes | None:
    from rasterio.enums import ColorInterp

    if dataset.colorinterp[0] is not ColorInterp.palette:
        return None
    table = dataset.colormap(1)
    return np.array([table.get(i, (0, 0, 0, 0))[:3] for i in range(256)], np.uint8)


def _rgb_bands(dataset: Any) -> list[int]:
    """Indices of red, green and blue: as the file names them, else the first three, else one for all."""
    from rasterio.enums import ColorInterp

    named = {kind: i for i, kind in reversed(list(enumerate(dataset.colorinterp)))}
    wanted = (ColorInterp.red, ColorInterp.green, ColorInterp.blue)
    if all(kind in named for kind in wanted):
        return [named[kind] for kind in wanted]
    visible = [i for i, kind in enumerate(dataset.colorinterp) if kind is not ColorInterp.alpha]
    return visible[:3] if len(visible) >= 3 else visible[:1] * 3


def _stretch(
    dataset: Any, chosen: list[int], sample_px: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The range of each band that becomes 0-255, from a coarse overview of the whole picture."""
    shape = min(dataset.height, sample_px), min(dataset.width, sample_px)
    valid = dataset.dataset_mask(out_shape=shape) > 127
    limits = []
    for band in chosen:
        values = dataset.read(band + 1, out_shape=shape)[valid].astype(np.float64)
        values = values[np.isfinite(values)]
        spread = np.percentile(values, [_STRETCH_PERCENT, 100 - _STRETCH_PERCENT]) if values.size else (0, 1)
        limits.append((spread[0], max(spread[1], spread[0] + 1e-9)))
    low, high = np.array(limits).T
    return low, high


def _to_bytes(values: NDArray[Any], low: NDArray[np.float64], high: NDArray[np.float64]) -> Bytes:
    share = (np.nan_to_num(values.astype(np.float32)) - low) / (high - low)
    return np.rint(np.clip(share, 0.0, 1.0) * 255).astype(np.uint8)
