"""The straightforward path of bench/ and ``locate`` are one method: same networks, same answers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nadirfix.bundle import Bundle
from nadirfix.online import locate
from nadirfix.options.locate import LocateOptions
from nadirfix.types import Point, View
from tests.bundles import GROUND, photo_of, write_ground

torch = pytest.importorskip("torch")

from bench.lib.baseline import Straightforward  # noqa: E402
from bench.lib.compared_networks import built_with, halved  # noqa: E402
from nadirfix.train.models.altitude import build_altitude_network  # noqa: E402
from nadirfix.train.models.place import build_place_network  # noqa: E402


class AsModule(torch.nn.Module):
    """A bundle's own network, called as torch calls one."""

    def __init__(self, network) -> None:
        super().__init__()
        self.network = network

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(self.network.run(inputs.numpy()))


def views() -> list[View]:
    draw = np.random.default_rng(11)
    middle = Point(*GROUND.center, GROUND.epsg)
    return [
        View(middle.moved(*draw.uniform(-120, 120, 2)), altitude_m, float(draw.uniform(0, 360)))
        for altitude_m in (110.0, 125.0, 140.0, 160.0, 175.0, 195.0)
    ]


@pytest.fixture(
    scope="module", params=["untrained_bundle", "mosaic_bundle"], ids=["three cells", "all cells"]
)
def bundle(request: pytest.FixtureRequest) -> Bundle:
    return Bundle.load(request.getfixturevalue(request.param))


@pytest.mark.parametrize("cells", [None, 1])
def test_both_paths_answer_alike(bundle: Bundle, cells: int | None) -> None:
    plain = Straightforward(AsModule(bundle.altitude_network), AsModule(bundle.place_network), bundle)
    options = LocateOptions(verify=False, whole_frame=False, cells=cells)
    for view in views():
        photo = photo_of(view)
        answer, fix = plain.locate(photo, options), locate(photo, bundle=bundle, options=options)
        assert fix.altitude_m == pytest.approx(float(bundle.bins.centers_m[answer.altitude_class]))
        assert fix.candidates is not None and fix.position is not None
        ours, theirs = fix.candidates, answer.candidates
        assert ours.reference[0] == theirs.reference[0]
        assert len(set(ours.reference.tolist()) & set(theirs.reference.tolist())) >= len(theirs) - 1, (
            "near ties"
        )
        np.testing.assert_allclose(ours.distance, theirs.distance, atol=0.005)
        if set(ours.reference.tolist()) == set(theirs.reference.tolist()):
            assert fix.position.distance_m(answer.fused.position) < 5


def test_networks_brought_to_the_bench_keep_their_classes(bundle: Bundle, tmp_path: Path) -> None:
    recipe, ground = bundle.recipe, write_ground(tmp_path / "map.tif")
    altitude, note = build_altitude_network(recipe.altitude_network, bundle.bins, seed=7)
    place, _ = build_place_network(recipe.place_network, recipe.head, bundle.order, seed=7)
    made = {"altitude": altitude.eval(), "place": place.eval(), "record": note}
    brought = built_with(made, recipe, ground, tmp_path / "b.nadir")
    assert bundle.altitude_classes is not None and brought.altitude_classes is None
    size = recipe.altitude_network
    inputs = np.random.default_rng(0).uniform(0, 20, (3, 3, size.height_px, size.width_px)).astype(np.float32)
    with torch.no_grad():
        wanted = halved(altitude)(torch.from_numpy(inputs)).numpy()
    np.testing.assert_allclose(brought.altitude_scores(inputs), wanted, atol=1e-2)
