"""Black borders: what rectifying a photo leaves along its edges, filled with the mean colour."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["fill_black_borders"]

Picture = NDArray[np.float32]

#: Grey levels up to which a pixel is black, after noise, JPEG and averaging. Water as black as that, at the
#: edge, counts as border, too.
_BLACK_LEVELS = 3.0
#: Shares of a picture that black borders may have: less is a shadow, more leaves too little of the picture.
_LEAST, _MOST = 0.002, 0.75


def fill_black_borders(picture: Picture) -> Picture:
    """The picture with what is black from the edge on in the mean colour of the rest.

    So training views have it where they reach beyond the map: black there would outweigh all detail.
    """
    border = _border(picture)
    if border is None or not _LEAST <= border.mean() <= _MOST:
        return picture
    return np.where(border[..., None], picture[~border].mean(axis=0), picture).astype(np.float32)


def _border(picture: Picture) -> NDArray[np.bool_] | None:
    """Black pixels that hang together with the edge, and those next to them, which are half black."""
    if min(float(side.max(axis=1).min()) for side in _sides(picture)) > _BLACK_LEVELS:
        return None  # as with nearly every photo: no more is spent on it
    import cv2

    black = np.maximum(np.maximum(picture[..., 0], picture[..., 1]), picture[..., 2]) <= _BLACK_LEVELS
    count, parts = cv2.connectedComponents(black.astype(np.uint8), connectivity=4)
    hanging = np.zeros(count, np.uint8)
    hanging[np.concatenate(_sides(parts))] = 1
    hanging[0] = 0  # what is not black
    return cv2.dilate(hanging[parts], np.ones((3, 3), np.uint8)).astype(bool)


def _sides(picture: NDArray[Any]) -> list[NDArray[Any]]:
    return [picture[0], picture[-1], picture[:, 0], picture[:, -1]]
