"""A bundle whose references are cut from sheets holds what each of them looks like, in its own row."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

from nadirfix.bundle import Bundle
from nadirfix.offline import build_bundle
from nadirfix.offline.describe import Lookout
from tests.bundles import SHEETS


@pytest.fixture(scope="module")
def by_sheets(sheets_bundle: Path) -> Bundle:
    return Bundle.load(sheets_bundle)


@pytest.fixture(scope="module")
def one_by_one(ground_map: Path, tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    """Twice as many steps as the network has features: views cannot be cut, and are looked at alone."""
    finer = replace(SHEETS, references=replace(SHEETS.references, steps=16))
    return build_bundle(ground_map, tmp_path_factory.mktemp("b") / "alone.nadir", recipe=finer, device="cpu")


def found_first(bundle: Bundle, rows: np.ndarray) -> list[int]:
    """For each reference, drawn and looked at alone, the row of the bundle that is most like it."""
    size = bundle.recipe.place_network.width_px, bundle.recipe.place_network.height_px
    lookout = Lookout(bundle.texture, bundle.canonical, bundle.references, size)
    seen = bundle.place_network.run(np.stack([lookout.picture(int(row)) for row in rows]))
    return [int(bundle.index.search(bundle.describe(one), None, 1)[0][0]) for one in seen]


def test_references_cut_from_sheets_are_found_by_views_looked_at_alone(by_sheets: Bundle) -> None:
    sheets = by_sheets.manifest["described"]["sheets"]
    assert sheets is not None and sheets["count"] == 4 and sheets["recognised"] == 1.0
    rows = np.linspace(0, len(by_sheets.references) - 1, 20).astype(int)
    assert len({*by_sheets.references.heading_deg[rows]}) == 4, "views of every sheet"
    assert found_first(by_sheets, rows) == rows.tolist()


def test_steps_the_network_does_not_take_leave_sheets_out(one_by_one: Bundle) -> None:
    assert one_by_one.manifest["described"]["sheets"] is None
    rows = np.linspace(0, len(one_by_one.references) - 1, 20).astype(int)
    assert found_first(one_by_one, rows) == rows.tolist()
