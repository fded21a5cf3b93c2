"""What all methods share: the map, its reference views, the photos' cameras and what is known of altitude."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import TEXTURE
from nadirfix.camera import Camera
from nadirfix.errors import InputError
from nadirfix.geo.texture import Texture
from nadirfix.image.crop import Crop, canonical_crop, network_frame
from nadirfix.offline.describe import ReferenceRenderer
from nadirfix.online.altitude import estimate_altitude
from nadirfix.online.photo import DecodedPhoto, read_photo
from nadirfix.options.locate import LocateOptions
from nadirfix.photo_list import PhotoRecord
from nadirfix.timing import Stopwatch

__all__ = ["Altitude", "CommonGround", "ScaledPicture"]

#: How the scale of a photo is known: estimated from its picture, from the truth, or not at all.
Altitude = Literal["estimated", "true", "none"]

#: Decoded tiles of the map kept while references are rendered from everywhere.
_CACHED_TILES = 256


@dataclass(frozen=True, eq=False)
class ScaledPicture:
    """The middle of a photo at the references' scale, or the whole of it, and the camera that takes it."""

    crop: Crop
    gsd_m: float | None  # of the photo itself; None where its altitude is not known

    def pixels(self) -> NDArray[np.uint8]:
        """As eight bits, rows × columns × RGB."""
        return np.clip(np.rint(self.crop.pixels), 0, 255).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class CommonGround:
    """One map with its references, and how photos are brought to their scale: the same for every method."""

    bundle: Bundle
    altitude: Altitude
    camera: Camera | None = None

    @property
    def options(self) -> LocateOptions:
        """How photos are read; in a test what their tags say of the pose would be the answer."""
        usual = LocateOptions()
        return replace(usual, crop=self.altitude != "none", tags=replace(usual.tags, believed=False))

    def renderer(self, size_px: tuple[int, int]) -> ReferenceRenderer:
        """Renders the reference views in the size a method takes."""
        return ReferenceRenderer(self._texture, self.bundle.canonical, self.bundle.references, size_px)

    @cached_property
    def _texture(self) -> Texture:
        return Texture.load(self.bundle.path / TEXTURE, kept_tiles=_CACHED_TILES)

    def read(self, row: PhotoRecord) -> DecodedPhoto:
        """The photo straightened, and its camera."""
        return read_photo(row.photo, self.camera, self.bundle, self.options)

    def known_altitude_m(self, row: PhotoRecord) -> float | None:
        """The true altitude where it is to be used; None where it is not."""
        if self.altitude != "true":
            return None
        if row.altitude_m is None:
            raise InputError(
                "altitude.invalid",
                "the true altitude of a photo is not known",
                seen=f"{row.photo}: no altitude_m",
                do="give altitude_m in the manifest, or use --altitude estimated or none",
            )
        return row.altitude_m

    def picture(self, row: PhotoRecord, size_px: tuple[int, int], watch: Stopwatch) -> ScaledPicture:
        """What is compared with references: the photo's middle at their scale, or the whole photo."""
        width_px, height_px = size_px
        with watch.stage("decode"):
            photo = self.read(row)
        with watch.stage("altitude"):
            gsd_m = self._gsd_m(row, photo)
        with watch.stage("crop"):
            if gsd_m is None:
                whole = network_frame(
                    photo.pixels, photo.camera, self.bundle.camera, width_px=width_px, height_px=height_px
                )
                return ScaledPicture(Crop(whole, photo.camera.resized(*size_px), clamped=False), None)
            crop = canonical_crop(
                photo.pixels, photo.camera, gsd_m, self.bundle.canonical, width_px=width_px,
                height_px=height_px, enlarge=self.bundle.recipe.enlarge,
            )  # fmt: skip
        return ScaledPicture(crop, gsd_m)

    def _gsd_m(self, row: PhotoRecord, photo: DecodedPhoto) -> float | None:
        if self.altitude == "none":
            return None
        known_m = self.known_altitude_m(row)
        if known_m is not None:
            return photo.camera.gsd_m(known_m)
        return estimate_altitude(photo, self.bundle).gsd_m
