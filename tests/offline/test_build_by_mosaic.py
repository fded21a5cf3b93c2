"""A bundle whose references are cut from mosaics holds the descriptor of each of them, in its own row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.offline import build_bundle
from nadirfix.offline.describe import ReferenceRenderer
from tests.bundles import MOSAICS


@pytest.fixture(scope="module")
def by_mosaic(mosaic_bundle: Path) -> Bundle:
    return Bundle.load(mosaic_bundle)


@pytest.fixture(scope="module")
def one_by_one(ground_map: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Twice as many steps as the network has features: views cannot be cut, and are rendered alone."""
    finer = replace(MOSAICS, references=replace(MOSAICS.references, steps=16))
    return build_bundle(ground_map, tmp_path_factory.mktemp("b") / "alone.nadir", recipe=finer, device="cpu")


def most_similar(bundle: Bundle, rows: np.ndarray) -> list[int]:
    """For each reference, rendered alone, the row of the bundle that is most similar to it."""
    size = bundle.recipe.place_network.size_px
    renderer = ReferenceRenderer(bundle.texture, bundle.canonical, bundle.references, size)
    embeddings = bundle.place_network.run(np.stack([renderer.picture(int(row)) for row in rows]))
    return [int(bundle.index.search(bundle.describe(one), None, 1)[0][0]) for one in embeddings]


def test_references_cut_from_mosaics_are_found_by_views_rendered_alone(by_mosaic: Bundle) -> None:
    record = by_mosaic.manifest["described"]["sheets"]
    assert record is not None and record["count"] == 4 and record["recognised"] == 1.0
    rows = np.linspace(0, len(by_mosaic.references) - 1, 20).astype(int)
    assert len({*by_mosaic.references.heading_deg[rows]}) == 4, "views of every mosaic"
    assert most_similar(by_mosaic, rows) == rows.tolist()


def test_steps_the_network_does_not_take_leave_mosaics_out(one_by_one: Bundle) -> None:
    assert one_by_one.manifest["described"]["sheets"] is None
    rows = np.linspace(0, len(one_by_one.references) - 1, 20).astype(int)
    assert most_similar(one_by_one, rows) == rows.tolist()
