"""``nadirfix camera``: what a photo's own tags say of its camera."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nadirfix.cli.common import Quiet, print_note, print_result

if TYPE_CHECKING:
    from nadirfix.camera import Lens
    from nadirfix.image.tags import PhotoTags

__all__ = ["camera", "known_camera"]

PhotoPath = Annotated[Path, typer.Argument(metavar="PHOTO", help="A photo as the camera wrote it.")]


def camera(photo: PhotoPath, *, quiet: Quiet = False) -> None:
    """Print what a photo's tags say of its camera: focal length, lens, and what could not be used."""
    from nadirfix.image.tags import read_tags

    tags = read_tags(photo)
    for note in tags.notes:
        print_note(note, quiet=quiet)
    print_result({"photo": str(photo), **known_camera(tags)})


def known_camera(tags: PhotoTags) -> dict[str, Any]:
    """Camera and lens of the upright photo, and the camera it is straightened for; null is not known."""
    from nadirfix.image.undistort import straight_camera

    straight = tags.camera and straight_camera(tags.camera)
    return {
        "width_px": tags.width_px,
        "height_px": tags.height_px,
        "orientation": tags.orientation,
        "camera": straight and straight.spec,
        "source": tags.camera_source or None,
        "fx_px": straight and straight.fx_px,
        "fy_px": straight and straight.fy_px,
        "view_deg": straight and _view_deg(straight.width_px, straight.fx_px),
        "lens": tags.camera and _lens(tags.camera.lens),
        "notes": list(tags.notes),
    }


def _view_deg(width_px: int, fx_px: float) -> float:
    return round(2 * math.degrees(math.atan(width_px / 2 / fx_px)), 3)


def _lens(lens: Lens | None) -> dict[str, Any] | None:
    """The lens in the words of a camera file; the principal point from the middle of the frame."""
    if lens is None:
        return None
    radial = {f"k{i}": value for i, value in enumerate(lens.radial, 1)}
    tangential = dict(zip(("p1", "p2"), lens.tangential, strict=True)) if any(lens.tangential) else {}
    focal = {"fx_px": lens.fx_px, "fy_px": lens.fy_px}
    return {"model": lens.model, **focal, "center_px": list(lens.center_px), **radial, **tangential}
