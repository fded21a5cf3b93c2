"""Photos placed with one bundle that stays open: the service's only way to ``locate``."""

from __future__ import annotations

import dataclasses
import io
import threading
from typing import TYPE_CHECKING, Any

from nadirfix.options.locate import LocateOptions
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.uploads.parameters import Wish, check_kind
from nadirfix.types import View

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["Placer"]


class Placer:
    """Says where photos were taken, in the lines of ``nadirfix locate``."""

    def __init__(self, bundle: Bundle, options: ServeOptions) -> None:
        self._bundle, self._opening = bundle, threading.Lock()
        self._options = LocateOptions(max_pixels=options.max_pixels)

    def __call__(self, photo: bytes, wish: Wish) -> dict[str, Any]:
        """The line of one photo."""
        from nadirfix.online import locate, open_parts

        check_kind(photo)
        with self._opening:  # so that no two photos do it at once
            open_parts(self._bundle, self._options)
        fix = locate(
            photo,
            bundle=self._bundle,
            camera=wish.camera,
            altitude_m=wish.altitude_m,
            altitude_sigma_m=wish.altitude_sigma_m,
            options=self._options,
        )
        return dataclasses.replace(fix, photo=wish.name).to_dict()

    def warm_up(self) -> None:
        """Look for the map's mirror image, from low and from high: what all photos share is ready then.

        It looks like ground and lies nowhere, so that every stage is tried and nothing is found; a grey
        picture would leave most of the work out. What a stage takes of memory it keeps, so it is taken now.
        What libraries keep for each thread is ready in the calling thread alone.
        """
        for altitude_m in (self._bundle.canonical.altitude_m, self._bundle.recipe.bins.max_m):
            self(self._mirror_image(altitude_m), Wish(camera=self._bundle.camera, altitude_m=altitude_m))

    def _mirror_image(self, altitude_m: float) -> bytes:
        """The middle of the map, seen from so high, left and right exchanged."""
        from PIL import Image

        camera, texture, file = self._bundle.camera, self._bundle.texture, io.BytesIO()
        shown = texture.render(View(texture.center, altitude_m), camera, (camera.width_px, camera.height_px))
        Image.fromarray(shown.pixels[:, ::-1]).save(file, format="JPEG")
        return file.getvalue()
