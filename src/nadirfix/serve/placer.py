"""Photos placed with one bundle that stays open: the service's only way to ``locate``."""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING, Any

from nadirfix.options import LocateOptions
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.wish import Wish, check_kind
from nadirfix.types import View

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["Placer"]


class Placer:
    """Says where photos were taken, in the lines of ``nadirfix locate``."""

    def __init__(self, bundle: Bundle, options: ServeOptions) -> None:
        self._bundle = bundle
        self._options = LocateOptions(max_pixels=options.max_pixels)

    def __call__(self, photo: bytes, wish: Wish) -> dict[str, Any]:
        """The line of one photo."""
        from nadirfix.online import locate

        check_kind(photo)
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
        """Look at a piece of the map once: the first photo then takes no longer than the others.

        A grey picture would not do: it has nothing to match, and most of the work is left out.
        """
        from PIL import Image

        camera, texture, file = self._bundle.camera, self._bundle.texture, io.BytesIO()
        view = View(texture.center, self._bundle.canonical.altitude_m)
        shown = texture.render(view, camera, (camera.width_px, camera.height_px))
        Image.fromarray(shown.pixels).save(file, format="JPEG")
        self(file.getvalue(), Wish(camera=camera))
