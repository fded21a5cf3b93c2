"""Where a photo shows nothing: the black that rectifying leaves along its edges."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["without_blank"]

Picture = NDArray[np.float32]

#: Grey levels up to which a pixel shows nothing: black, and what JPEG and averaging leave of it.
_BLACK_LEVELS = 6.0
#: Shares of a picture that are blank: less is a shadow, more leaves too little to go by.
_LEAST, _MOST = 0.002, 0.75


def without_blank(picture: Picture) -> Picture:
    """The picture with what is black from the edge on in the mean colour of the rest.

    So training views have it where they reach beyond the map: black there would outweigh all detail.
    """
    blank = _blank(picture)
    if blank is None or not _LEAST <= blank.mean() <= _MOST:
        return picture
    return np.where(blank[..., None], picture[~blank].mean(axis=0), picture).astype(np.float32)


def _blank(picture: Picture) -> NDArray[np.bool_] | None:
    """Black pixels that hang together with the edge, and those next to them, which are half black."""
    black = picture.max(axis=2) <= _BLACK_LEVELS
    edge = np.concatenate([black[0], black[-1], black[:, 0], black[:, -1]])
    if not edge.any():
        return None
    import cv2

    _, parts = cv2.connectedComponents(black.astype(np.uint8), connectivity=4)
    around = np.concatenate([parts[0], parts[-1], parts[:, 0], parts[:, -1]])
    hanging = np.isin(parts, np.setdiff1d(around, 0))
    return cv2.dilate(hanging.astype(np.uint8), np.ones((3, 3), np.uint8)).astype(bool)
