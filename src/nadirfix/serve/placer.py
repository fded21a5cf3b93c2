"""Photos placed with one bundle that stays open: the service's only way to ``locate``."""

from __future__ import annotations

import dataclasses
import io
from typing import TYPE_CHECKING, Any

from nadirfix.options import LocateOptions
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.wish import Wish, check_kind

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
        """Look at a grey picture once: the first photo then takes no longer than the others."""
        from PIL import Image

        camera = self._bundle.camera
        grey, file = Image.new("RGB", (camera.width_px, camera.height_px), "grey"), io.BytesIO()
        grey.save(file, format="JPEG")
        self(file.getvalue(), Wish(camera=camera))
