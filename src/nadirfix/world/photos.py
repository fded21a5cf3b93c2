"""Simulated photos: views of a map with noise, tilt and JPEG, and the truth beside them."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from nadirfix.camera import Camera
from nadirfix.files import Progress, atomic_dir, check_target, quiet
from nadirfix.files.owned import marked
from nadirfix.image.exif_writer import encode_jpeg
from nadirfix.options.map import SimulateOptions
from nadirfix.parallel import map_in_order
from nadirfix.photo_list import PhotoRecord, write_photo_list
from nadirfix.types import View
from nadirfix.world.photo_views import PhotoMap, check_views, plan_views

__all__ = ["KIND", "Simulated", "simulate_photos"]

#: Rendering waits for the disk and for GDAL: a second thread fills the gaps.
_THREADS = 2
_NOISE_STREAM = 2
_MANIFEST, _PHOTOS = "manifest.csv", "photos"
#: What the marker in the folder says.
KIND = "photos"


@dataclass(frozen=True, slots=True)
class Simulated:
    """What was made: how many photos, and how many of them cover less of the map than asked."""

    manifest: Path
    count: int
    partial: int


def simulate_photos(
    photo_map: PhotoMap,
    out_dir: Path,
    *,
    camera: Camera,
    options: SimulateOptions | None = None,
    views: Sequence[View] | None = None,
    write_pose: bool = False,
    overwrite: bool = False,
    inputs: Sequence[Path] = (),
    progress: Progress = quiet,
) -> Simulated:
    """Photos of a map from random or given views, as one folder with a photo list of the truth.

    Every photo has a random stream of its own, so that it is the same whatever is made before it. Camera tags
    are always in the photos; where they were taken only when asked, so that nothing leaks into a test. What
    is read from (``inputs``) is never replaced.
    """
    settings = options or SimulateOptions()
    check_target(out_dir, overwrite=overwrite, recognise=marked(KIND), inputs=inputs)
    if views is None:
        planned = plan_views(photo_map, camera, settings, progress)
    else:
        planned = check_views(photo_map, camera, settings, views)
    maker = _Maker(photo_map, camera, settings, write_pose)
    with atomic_dir(out_dir, kind=KIND, overwrite=overwrite, inputs=inputs) as scratch:
        (scratch / _PHOTOS).mkdir()
        # Closed before the folder goes: no thread may still be at work when a pilot stops it half-way.
        with closing(maker.make_all(planned, scratch)) as making:
            rows = list(_counted(making, len(planned), progress))
        write_photo_list(scratch / _MANIFEST, rows)
    partial = sum((row.valid_share or 0.0) < settings.valid_share for row in rows)
    return Simulated(out_dir / _MANIFEST, len(rows), partial)


@dataclass(frozen=True, slots=True)
class _Maker:
    photo_map: PhotoMap
    camera: Camera
    options: SimulateOptions
    write_pose: bool

    def make_all(self, views: Sequence[View], folder: Path) -> Generator[PhotoRecord]:
        yield from map_in_order(lambda item: self._make(folder, *item), enumerate(views), workers=_THREADS)

    def _make(self, folder: Path, index: int, view: View) -> PhotoRecord:
        rendered = self.photo_map.render(view, self.camera)
        noisy = _with_noise(rendered.pixels, self.options, index)
        pose = view if self.write_pose else None
        photo = folder / _PHOTOS / f"{index:06d}.jpg"
        photo.write_bytes(encode_jpeg(noisy, self.camera, quality=self.options.jpeg_quality, pose=pose))
        return PhotoRecord(
            photo=photo,
            point=view.center,
            altitude_m=view.altitude_m,
            heading_deg=view.heading_deg,
            tilt_deg=view.tilt_deg,
            tilt_toward_deg=view.tilt_toward_deg,
            valid_share=rendered.valid_share,
        )


def _with_noise(pixels: NDArray[np.uint8], options: SimulateOptions, index: int) -> NDArray[np.uint8]:
    """The picture with Gaussian noise from the photo's own stream."""
    if options.noise_levels == 0:
        return pixels
    stream = np.random.default_rng([options.seed, _NOISE_STREAM, index])
    noisy = stream.standard_normal(pixels.shape, dtype=np.float32)
    noisy *= options.noise_levels
    noisy += pixels
    return np.clip(np.rint(noisy, out=noisy), 0, 255, out=noisy).astype(np.uint8)


def _counted(rows: Iterable[PhotoRecord], total: int, progress: Progress) -> Iterator[PhotoRecord]:
    progress("rendering photos", 0, total)
    for done, row in enumerate(rows, start=1):
        progress("rendering photos", done, total)
        yield row
