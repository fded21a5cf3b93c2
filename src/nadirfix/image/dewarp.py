"""The calibration of a single camera that DJI writes into its photos: ``DewarpData`` and ``DewarpFlag``.

``date;fx,fy,cx,cy,k1,k2,p1,p2,k3``: Brown–Conrady in pixels of the original picture, the principal point from
the middle of its frame. A flag of 1 says that the drone has straightened the photo already (ADR 46).
"""

from __future__ import annotations

from dataclasses import replace

from nadirfix.camera import Camera, Lens
from nadirfix.errors import InputError
from nadirfix.image.undistort import straight_camera

__all__ = ["lens_of", "with_lens"]

_NUMBERS = ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2", "k3")


def lens_of(dewarp_data: str, notes: list[str]) -> Lens | None:
    """The lens the tag describes; None, with a note, where it is in another form."""
    parts = dewarp_data.rpartition(";")[2].split(",")
    try:
        fx_px, fy_px, cx_px, cy_px, k1, k2, p1, p2, k3 = map(float, parts)
        return Lens(
            model="brown-conrady",
            fx_px=fx_px,
            fy_px=fy_px,
            radial=(k1, k2, k3),
            tangential=(p1, p2),
            center_px=(cx_px, cy_px),
        )
    except (ValueError, InputError):
        notes.append(
            f"DewarpData is {dewarp_data!r}, not {','.join(_NUMBERS)} behind a date, and was not used"
        )
        return None


def with_lens(camera: Camera, lens: Lens, notes: list[str]) -> Camera:
    """The camera with its lens, or, with a note, without where its photos cannot be straightened by it."""
    bent = replace(camera, lens=lens)
    try:
        straight_camera(bent)
    except InputError as error:
        notes.append(f"DewarpData was not used: {error.message}")
        return camera
    return bent
