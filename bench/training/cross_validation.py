"""Settings for each half of a place, chosen by views of our own on the other half.

python -m bench.training.cross_validation --place mine --real DIR --rows DIR

Prints two rows of ``bench/training/ablations.py``: what photos of the western half are answered with (best
on views of the eastern half) and what those of the eastern half are (best on the western). ``--real`` holds
the textures, ``--rows`` what the trials wrote. The fixed views are not looked at.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path

import numpy as np

from nadirfix.geo.views import Views

HALVES = ("west", "east")

Lines = list[dict[str, str]]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--place", required=True)
    options.add_argument("--real", type=Path, required=True)
    options.add_argument("--rows", type=Path, required=True)
    options.add_argument("--only", nargs="+", help="trials to choose from; all that are there")
    given = options.parse_args()
    trials = read_trials(given.rows, given.place, given.only)
    west = own_west(given.real, given.place, trials)
    errors = {name: errors_of(lines, west) for name, lines in trials.items()}
    print(" ".join(chosen(errors)))


def western(east_m: np.ndarray, bounds: tuple[float, float, float, float]) -> np.ndarray:
    """Which views lie on the western half of the picture photos are taken of."""
    return east_m < (bounds[0] + bounds[2]) / 2


def own_west(real: Path, place: str, trials: dict[str, Lines]) -> np.ndarray:
    """Which of the trials' views lie in the west; they are drawn again, and must be the same."""
    from bench.lib.photos import own_views
    from bench.training.ablations import OWN_ALTITUDES_M
    from nadirfix.geo.texture import Texture
    from nadirfix.options.recipe import load_recipe
    from nadirfix.train.data.device_renderer import DeviceRenderer

    texture = Texture.load(real / f"{place}_new.ntx")
    source = DeviceRenderer(texture, "cpu")
    count = len(next(iter(trials.values())))
    views: Views = own_views(source, load_recipe("paper"), OWN_ALTITUDES_M[place], count)
    for name, lines in trials.items():
        check_same(lines, views.altitude_m, name)
    return western(views.east_m, texture.bounds)


def check_same(lines: Lines, truth_m: np.ndarray, name: str) -> None:
    """Lines of other photos must not be taken for these."""
    known_m = np.array([float(line["altitude_m"]) for line in lines])
    if known_m.shape != truth_m.shape or not np.allclose(known_m, truth_m, atol=0.01):
        raise SystemExit(f"{name} tells of other photos than these")


def read_trials(folder: Path, place: str, only: list[str] | None = None) -> dict[str, Lines]:
    """What altitude trials of a place estimated for its photos."""
    head = f"ablations_{place}_"
    found = {path.stem.removeprefix(head): read(path) for path in folder.glob(f"{head}try-altitude-*.csv")}
    found = {name: lines for name, lines in found.items() if not only or name in only}
    if not found:
        raise SystemExit(
            f"{folder} has no {head}try-altitude-….csv: run bench/training/ablations.py with such rows first"
        )
    if len({len(lines) for lines in found.values()}) > 1:
        raise SystemExit(f"the trials of {place} in {folder} were not measured on the same photos")
    return found


def read(path: Path) -> Lines:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def errors_of(lines: Lines, west: np.ndarray) -> dict[str, float]:
    """How far the best class is off in the mean, on either half."""
    off = np.array([abs(float(line["hard_m"]) - float(line["altitude_m"])) for line in lines])
    return {"west": float(off[west].mean()), "east": float(off[~west].mean())}


def chosen(errors: dict[str, dict[str, float]]) -> tuple[str, str]:
    """The rows photos of the west and of the east are answered with: each by the other half's views."""
    return tuple(min(errors, key=lambda name: errors[name][other]) for other in ("east", "west"))


def joined_m(paths: list[Path], west: np.ndarray, truth_m: np.ndarray) -> dict[str, np.ndarray]:
    """Estimated altitudes of the photos, each by the network of its half."""
    halves = [read(path) for path in paths]
    for path, lines in zip(paths, halves, strict=True):
        check_same(lines, truth_m, path.name)
    result = {
        decoding: [np.array([float(line[f"{decoding}_m"]) for line in lines]) for lines in halves]
        for decoding in ("hard", "soft")
    }
    return {decoding: np.where(west, *values) for decoding, values in result.items()}


def half_settings(paths: list[Path]) -> dict[str, dict]:
    """How the network of each half was trained, from the results beside its estimates."""
    by_half = {}
    for half, path in zip(HALVES, paths, strict=True):
        result = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["results"]
        by_half[half] = {key: result[key] for key in ("row", "seed", "settings", "altitude")}
    return by_half


if __name__ == "__main__":
    main()
