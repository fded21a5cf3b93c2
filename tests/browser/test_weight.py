"""How much a browser has to fetch; the figures of docs/adr/0020 are these."""

import gzip
from pathlib import Path

#: Kilobytes, compressed.
OURS_KB, MAP_KB, PROJECTIONS_KB = 30, 480, 50


def test_the_page_is_as_light_as_it_is_said_to_be(page_files: Path) -> None:
    weight = {"ours": 0.0, "map": 0.0, "projections": 0.0}
    for file in (*page_files.glob("assets/*"), page_files / "index.html"):
        kind = "projections" if file.name.startswith("lib-") else "ours"
        # MapLibre's styles are built into the scene's.
        is_map = file.name.startswith("maplibre-gl") or (
            file.name.startswith("scene-") and file.suffix == ".css"
        )
        weight["map" if is_map else kind] += len(gzip.compress(file.read_bytes(), 9)) / 1000
    print({name: round(kb) for name, kb in weight.items()})
    assert weight["ours"] < OURS_KB and weight["map"] < MAP_KB and weight["projections"] < PROJECTIONS_KB
    assert weight["ours"] > OURS_KB / 2 and weight["map"] > MAP_KB / 2, (
        "something is missing, or the bound stale"
    )
