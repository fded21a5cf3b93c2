"""One map file: its pixels as RGB, its holes as a mask, its place on earth.

Everything GDAL opens goes through here. A level is read from the file's own overviews where it has them and
halved from the next finer one where it has not.
"""

from __future__ import annotations

import itertools
import math
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.errors import MapError
from nadirfix.geo.colour import Bytes, rgb_converter
from nadirfix.geo.crs import plane_crs, transform
from nadirfix.geo.map_files import OFFLINE, check_map_size, checked_driver, unreadable
from nadirfix.geo.pyramid import REACH_PX, halve_times
from nadirfix.geo.render import Window
from nadirfix.options.map import MapOptions

__all__ = ["Raster"]

Floats = NDArray[np.float64]

#: Pixels read from a file at a time.
_STRIP_PIXELS = 8_000_000
#: What is judged by a coarse copy is judged from so many pixels each way; of files of more pixels than this
#: that have no overviews from fewer, as each one costs a block.
_SAMPLE_PX, _HUGE_PIXELS, _MANY_BLOCKS, _SPREAD = 1024, 2_000_000_000, 200_000, 24
#: Pixels of a file that is looked through from end to end, where a million of them all over it were empty.
_SCANNED_PIXELS = 400_000_000
#: Width of the windows in which a file is looked through, where its blocks are smaller.
_SIDE_PX = 2048
_DO_CHECK = "check that it is a whole raster file that GDAL opens (gdalinfo MAP)"
_USUAL = MapOptions()
#: Memory of GDAL for blocks it has read.
_GDAL_CACHE_MB = 64


class Raster:
    """A georeferenced picture on disk, read by windows; safe to use from several threads."""

    def __init__(self, path: str, options: MapOptions = _USUAL) -> None:
        self.path, self._options = path, options
        self._local, self._opened, self._lock = threading.local(), list[Any](), threading.Lock()
        with self._reading():
            dataset = self._dataset(0)
            check_map_size(dataset, path, options)
            self.width, self.height = dataset.width, dataset.height
            self.affine = _affine(dataset, path)
            self.wkt = plane_crs(dataset.crs.to_wkt() if dataset.crs else "", path=path)
            self._degrees = bool(dataset.crs.is_geographic)
            self._scales = [(1.0, 1.0), *self._overview_scales(dataset)]
            self._holes = any("all_valid" not in {f.name for f in flags} for flags in dataset.mask_flag_enums)
            self._check_content(dataset)
            self._to_rgb: Callable[[NDArray[Any]], Bytes] = rgb_converter(
                dataset, path, sample_px=_sample_px(dataset)
            )
        self.level_count = 1 + max(0, math.floor(math.log2(max(self.width, self.height))))

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            for dataset in self._opened:
                dataset.close()
            self._opened.clear()
            self._local = threading.local()

    def files(self) -> list[Path]:
        """Every file on this disk the pixels come from: itself, and what it refers to.

        Overviews and statistics that other programs leave beside a map do not change it.
        """
        with self._reading():
            names = sorted(self._dataset(0).files)
        return [Path(n) for n in names if Path(n).is_file() and not n.endswith((".ovr", ".aux.xml"))]

    def center(self) -> tuple[float, float]:
        """The middle of the picture in its own coordinates."""
        return self.at(self.width / 2, self.height / 2)

    def border(self) -> tuple[Floats, Floats]:
        """Points all around the picture's edge, in its own coordinates."""
        steps = np.linspace(0, 1, 17)
        nothing, whole = np.zeros(17), np.ones(17)
        col = np.concatenate([steps, whole, steps, nothing]) * self.width
        row = np.concatenate([nothing, steps, whole, steps]) * self.height
        return self.at(col, row)

    def pixel_from_ground(self, east_m: Floats, north_m: Floats, epsg: int) -> tuple[Floats, Floats]:
        """Column and row (level 0, pixel corners at whole numbers) of places in a UTM zone."""
        x, y = transform(f"EPSG:{epsg}", self.wkt, east_m, north_m)
        if self._degrees:  # a map across the date line counts on past 180
            x = x + 360.0 * np.round((self.center()[0] - x) / 360.0)
        a, b, c, d, e, f = self.affine
        det = a * e - b * d
        return (e * (x - c) - b * (y - f)) / det, (a * (y - f) - d * (x - c)) / det

    def read(self, level: int, cols: tuple[float, float], rows: tuple[float, float]) -> Window | None:
        """The piece of a level that covers these level-0 columns and rows; None when it is off the map."""
        overview = self._overview_for(level)
        col_scale, row_scale = self._scales[overview]
        times = round(math.log2(2**level / col_scale))
        with self._reading():
            dataset = self._dataset(overview)
            left, right = _span(cols, col_scale, times, dataset.width)
            top, bottom = _span(rows, row_scale, times, dataset.height)
            if left >= right or top >= bottom:
                return None
            pixels, mask = self._read_halved(dataset, (left, right), (top, bottom), times)
        step = 2**times
        return Window(pixels, mask, left * col_scale, top * row_scale, col_scale * step, row_scale * step)

    def read_pixels(self, cols: tuple[int, int], rows: tuple[int, int]) -> tuple[Bytes, Bytes]:
        """RGB pixels and mask of a window, as fine as the file has them."""
        with self._reading():
            return self._read_halved(self._dataset(0), cols, rows, 0)

    def _read_halved(
        self, dataset: Any, cols: tuple[int, int], rows: tuple[int, int], times: int
    ) -> tuple[Bytes, Bytes]:
        """A window halved so many times, read in overlapping strips so that memory stays small."""
        block = 2**times
        strip = max(block, _STRIP_PIXELS // (cols[1] - cols[0]) // block * block)
        spare = REACH_PX * block if times else 0
        parts = []
        for top in range(rows[0], rows[1], strip):
            first, last = max(rows[0], top - spare), min(rows[1], top + strip + spare)
            pixels, mask = halve_times(*self._read_full(dataset, cols, (first, last)), times)
            inner = slice((top - first) // block, -(-(min(top + strip, rows[1]) - first) // block))
            parts.append((pixels[inner], mask[inner]))
        return np.concatenate([p for p, _ in parts]), np.concatenate([m for _, m in parts])

    def _read_full(self, dataset: Any, cols: tuple[int, int], rows: tuple[int, int]) -> tuple[Bytes, Bytes]:
        from rasterio.windows import Window as FileWindow

        window = FileWindow(cols[0], rows[0], cols[1] - cols[0], rows[1] - rows[0])
        pixels = self._to_rgb(dataset.read(window=window))
        if not self._holes:
            return pixels, np.full(pixels.shape[:2], 255, np.uint8)
        cover = dataset.dataset_mask(window=window)
        return pixels, np.where(cover > 127, 255, 0).astype(np.uint8)

    def _check_content(self, dataset: Any) -> None:
        """A map without a single valid pixel is an error, found quickly where there are some."""
        if not self._holes:
            return
        side = _sample_px(dataset)
        shape = (min(side, self.height), min(side, self.width))
        if dataset.dataset_mask(out_shape=shape).any():
            return
        if not any(dataset.dataset_mask(window=w).any() for w in self._blocks(dataset)):
            raise MapError(
                "map.all_nodata",
                "the map holds no data at all",
                seen=f"{self.path}: {self.width} x {self.height} px, nodata or masked wherever looked at",
                do="check its nodata value and its mask or alpha band (gdalinfo -stats MAP)",
            )

    def _blocks(self, dataset: Any) -> Iterator[Any]:
        """Windows of whole blocks, together the file; of a huge one, which would take hours, some of them."""
        from rasterio.windows import Window as FileWindow

        rows, columns = dataset.block_shapes[0]
        wide = min(self.width, max(columns, _SIDE_PX // columns * columns))
        high = max(rows, _STRIP_PIXELS // wide // rows * rows)
        tops, lefts = range(0, self.height, high), range(0, self.width, wide)
        if _is_huge(dataset) or self.width * self.height > _SCANNED_PIXELS:
            wide, high = min(wide, columns), min(high, rows)
            tops, lefts = _spread(self.height, rows), _spread(self.width, columns)
        for top, left in itertools.product(tops, lefts):
            yield FileWindow(left, top, min(wide, self.width - left), min(high, self.height - top))

    def _overview_for(self, level: int) -> int:
        """The overview one step finer than the level.

        Overviews come with all kinds of kernels and compression; the last step is always our own.
        """
        fitting = [i for i, (scale, _) in enumerate(self._scales) if scale <= max(1.0, 2**level * 0.51)]
        return max(fitting, key=lambda i: self._scales[i][0])

    def _overview_scales(self, dataset: Any) -> Iterator[tuple[float, float]]:
        for i in range(len(dataset.overviews(1))):
            smaller = self._dataset(i + 1)
            yield self.width / smaller.width, self.height / smaller.height

    def at(self, col: Any, row: Any) -> tuple[Any, Any]:
        """Coordinates, in the file's own system, of columns and rows."""
        a, b, c, d, e, f = self.affine
        return a * col + b * row + c, d * col + e * row + f

    def _dataset(self, overview: int) -> Any:
        """A handle for this thread alone; GDAL's are not to be shared."""
        handles = self._local.__dict__.setdefault("handles", {})
        if overview not in handles:
            handles[overview] = _open(self.path, overview, self._options)
            with self._lock:
                self._opened.append(handles[overview])
        return handles[overview]

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """GDAL's errors become ours; its block cache stays small."""
        import rasterio
        from rasterio.errors import RasterioError

        try:
            closed = {} if self._options.allow_remote else OFFLINE
            with rasterio.Env(GDAL_CACHEMAX=_GDAL_CACHE_MB, GDAL_NUM_THREADS=1, **closed):
                yield
        except RasterioError as error:
            raise unreadable(self.path, str(error.__cause__ or error), _DO_CHECK) from error


def _open(path: str, overview: int, options: MapOptions) -> Any:
    import rasterio
    from rasterio.errors import NotGeoreferencedWarning

    driver = checked_driver(path, options)
    extra = {"overview_level": overview - 1} if overview else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotGeoreferencedWarning)
        dataset = rasterio.open(path, driver=driver, **extra)
    if not dataset.count:
        inside = ", ".join(dataset.subdatasets[:3]) or "nothing"
        dataset.close()
        raise MapError(
            "map.empty",
            "the map holds no picture",
            seen=f"{path}: no bands; inside: {inside}",
            do="name a raster file with pixels",
        )
    return dataset


def _sample_px(dataset: Any) -> int:
    """How many places each way are looked at to judge the whole: few where it has no overview to read."""
    return _SPREAD if _is_huge(dataset) and not dataset.overviews(1) else _SAMPLE_PX


def _is_huge(dataset: Any) -> bool:
    """Whether looking at all of a file would take minutes: for its pixels, or for its many small blocks."""
    rows, columns = dataset.block_shapes[0]
    blocks = -(-dataset.height // rows) * -(-dataset.width // columns)
    return bool(dataset.width * dataset.height > _HUGE_PIXELS or blocks > _MANY_BLOCKS)


def _spread(size_px: int, block_px: int) -> range:
    """Where some blocks begin, from the first to the last."""
    blocks = -(-size_px // block_px)
    return range(0, size_px, max(1, -(-blocks // _SPREAD)) * block_px)


def _affine(dataset: Any, path: str) -> tuple[float, float, float, float, float, float]:
    t = dataset.transform
    if t.is_identity or abs(t.determinant) < 1e-20:
        points = len(dataset.gcps[0])
        raise MapError(
            "map.no_transform",
            "the map does not say where its pixels lie",
            seen=f"{path}: no geotransform" + (f", {points} ground control points" if points else ""),
            do="georeference it first; with control points, gdalwarp MAP OUT.tif does it",
        )
    return t.a, t.b, t.c, t.d, t.e, t.f


def _span(limits: tuple[float, float], scale: float, times: int, size: int) -> tuple[int, int]:
    """Whole pixels of an overview that cover the limits, in steps that can be halved so many times."""
    block, spare = 2**times, REACH_PX
    low = math.floor(limits[0] / scale / block - spare) * block
    high = math.ceil(limits[1] / scale / block + spare) * block
    return max(low, 0), min(high, size)
