"""Locates photos with one open bundle: the service's only way to ``locate``."""

from __future__ import annotations

import dataclasses
import io
import threading
from typing import TYPE_CHECKING, Any

from nadirfix.options.locate import LocateOptions
from nadirfix.prior import Prior
from nadirfix.serve.decoding import LimitedDecoder
from nadirfix.serve.options import DECODE_S, ServeOptions
from nadirfix.serve.uploads.parameters import RequestParameters, check_file_type
from nadirfix.types import View

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["PhotoLocator"]


class PhotoLocator:
    """Locates photos; the results are the lines of ``nadirfix locate``."""

    def __init__(self, bundle: Bundle, options: ServeOptions) -> None:
        self._bundle, self._lock = bundle, threading.Lock()
        self._options = LocateOptions(max_pixels=options.max_pixels)
        self._decoder = LimitedDecoder(DECODE_S)

    def __call__(self, photo: bytes, parameters: RequestParameters) -> dict[str, Any]:
        """The line of one photo."""
        from nadirfix.bundle.plan import Plan
        from nadirfix.online import locate, open_networks

        check_file_type(photo)
        with self._lock:  # so that no two photos open them at the same time
            open_networks(self._bundle, Plan.of(self._bundle, self._options))
        fix = locate(
            photo,
            bundle=self._bundle,
            camera=parameters.camera,
            prior=parameters.prior,
            options=self._options,
            decoder=self._decoder,
        )
        return dataclasses.replace(fix, photo=parameters.name).to_dict()

    def close(self) -> None:
        """Let go of what decodes photos."""
        self._decoder.close()

    def warm_up(self) -> None:
        """Locate the map's mirror image, from low and from high: what all photos share is loaded then.

        It looks like ground but is nowhere on the map, so every stage runs and nothing is found; a grey
        picture would skip most of the work. Stages keep the memory they need, so it is allocated now.
        What libraries keep for each thread is ready in the calling thread alone.
        """
        for altitude_m in (self._bundle.canonical.altitude_m, self._bundle.recipe.bins.max_m):
            self(
                self._mirror_image(altitude_m),
                RequestParameters(camera=self._bundle.camera, prior=Prior(altitude_m=altitude_m)),
            )

    def _mirror_image(self, altitude_m: float) -> bytes:
        """The middle of the map as a photo from this altitude, left and right exchanged."""
        from PIL import Image

        camera, texture, file = self._bundle.camera, self._bundle.texture, io.BytesIO()
        mirrored = texture.render(
            View(texture.center, altitude_m), camera, (camera.width_px, camera.height_px)
        )
        Image.fromarray(mirrored.pixels[:, ::-1]).save(file, format="JPEG")
        return file.getvalue()
