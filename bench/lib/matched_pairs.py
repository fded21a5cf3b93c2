"""How well a matcher's network does on pairs of known geometry, and how many matches agree elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from nadirfix.geo.pose import project
from nadirfix.options.verify import FeatureOptions, MatchOptions
from nadirfix.runtime.network import Network
from nadirfix.verify.features import Features, NetworkDetector
from nadirfix.verify.matching import estimate_models, mutual_matches

Floats = NDArray[np.float64]

#: A match is right when it is this near to where the ground lies; the product's own tolerance.
RIGHT_PX = MatchOptions().inlier_px
#: Inliers from which a pair counts as found.
ENOUGH = 20


@dataclass(frozen=True, eq=False)
class Pairs:
    """Photos, the map near each, and where the photo's pixels lie on it."""

    photo: NDArray[np.uint8]
    map: NDArray[np.uint8]
    map_from_photo: Floats

    def __len__(self) -> int:
        return len(self.photo)

    @classmethod
    def read(cls, paths: Sequence[Path]) -> Pairs:
        files = [np.load(path) for path in paths]
        return cls(*(np.concatenate([f[name] for f in files]) for name in ("photo", "map", "map_from_photo")))


def measured(network: Network, pairs: Pairs) -> dict[str, Any]:
    """Right matches of each pair, their share, the inliers found, and those with the next pair's map."""
    detect = NetworkDetector(network, FeatureOptions())
    rows = []
    for i in range(len(pairs)):
        photo, ground, elsewhere = (
            detect(picture.astype(np.float32))
            for picture in (pairs.photo[i], pairs.map[i], pairs.map[(i + 1) % len(pairs)])
        )
        right, matches = right_matches(photo, ground, pairs.map_from_photo[i])
        rows.append((right, right / max(matches, 1), inliers(photo, ground), inliers(photo, elsewhere)))
    return summary(np.array(rows))


def summary(rows: Floats) -> dict[str, Any]:
    right, share, found, elsewhere = rows.T
    return {
        "pairs": len(rows),
        "right_matches": round(float(right.mean()), 2),
        "right_share_percent": round(100 * float(share.mean()), 2),
        "inliers_median": float(np.median(found)),
        "found_percent": round(100 * float(np.mean(found >= ENOUGH)), 2),
        "inliers_elsewhere": round(float(elsewhere.mean()), 2),
        "inliers_elsewhere_most": float(elsewhere.max()),
    }


def right_matches(photo: Features, ground: Features, map_from_photo: Floats) -> tuple[int, int]:
    """How many mutual matches lie where the ground does, and how many there are."""
    rows, others = mutual_matches(photo, ground)
    x, y = project(map_from_photo, *photo.keypoints_px[rows].astype(np.float64).T)
    off = np.hypot(x - ground.keypoints_px[others, 0], y - ground.keypoints_px[others, 1])
    return int(np.count_nonzero(off <= RIGHT_PX)), len(rows)


def inliers(photo: Features, ground: Features) -> int:
    """How many matches the homography most agree on has."""
    cv2.setRNGSeed(0)
    rows, others = mutual_matches(photo, ground)
    places = photo.keypoints_px[rows].astype(np.float64), ground.keypoints_px[others].astype(np.float64)
    model = next(estimate_models(*places, inlier_px=RIGHT_PX), None)
    return 0 if model is None else int(model.inliers.sum())
