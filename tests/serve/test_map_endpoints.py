"""Tiles are where they should be, in metres; reference views show their ground; caching is right."""

from __future__ import annotations

import io
import math

import numpy as np
import pyproj
import pytest
from PIL import Image

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from nadirfix.geo.texture import Texture
from nadirfix.serve.app import create_app
from nadirfix.serve.options import ServeOptions
from nadirfix.serve.tiles.render import draw_tile, zooms
from nadirfix.types import Fix
from tests.serving import EPSG, LOCAL, NORTH_M, SIDE_M, WEST_M, FakeLocator, small_bundle

#: The oracle: tile numbers to Mercator metres by the definition, and from there by PROJ.
HALF_M = math.pi * 6378137.0
UTM = pyproj.Transformer.from_crs(3857, EPSG, always_xy=True)
LONLAT = pyproj.Transformer.from_crs(EPSG, 4326, always_xy=True)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> TestClient:
    bundle = small_bundle(tmp_path_factory.mktemp("bundle") / "small.nadir")
    return TestClient(create_app(bundle, ServeOptions(), locator=FakeLocator()), base_url=LOCAL)


def tile_of(lon: float, lat: float, z: int) -> tuple[int, int]:
    x = (lon + 180) / 360
    y = (1 - math.asinh(math.tan(math.radians(lat))) / math.pi) / 2
    return int(x * 2**z), int(y * 2**z)


def ground_of(z: int, x: int, y: int) -> tuple[np.ndarray, np.ndarray]:
    """East and north of the middle of every pixel of a tile."""
    step = 2 * HALF_M / 2**z / 256
    px = np.arange(256) + 0.5
    mx, my = np.meshgrid(-HALF_M + (x * 256 + px) * step, HALF_M - (y * 256 + px) * step)
    return UTM.transform(mx, my)


def decoded(data: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Colours and cover of a tile."""
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("RGBA"), float)
    return picture[..., :3], picture[..., 3] > 0


def position_of(colours: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the ramp has these colours: the middle of the first pixel has the first step."""
    share = (colours - 20) / 215
    east = WEST_M + 0.5 + share[..., 0] * (SIDE_M - 1)
    return east, NORTH_M - 0.5 - share[..., 1] * (SIDE_M - 1)


@pytest.mark.parametrize("z", [14, 15, 16, 17])
def test_tiles_lie_where_they_say(client: TestClient, z: int) -> None:
    centre = LONLAT.transform(WEST_M + SIDE_M / 2, NORTH_M - SIDE_M / 2)
    x, y = tile_of(*centre, z)
    answer = client.get(f"/v1/tiles/{z}/{x}/{y}.jpg")
    colours, cover = decoded(answer.content)
    east, north = ground_of(z, x, y)
    inside = (
        (east > WEST_M + 5)
        & (east < WEST_M + SIDE_M - 5)
        & (north < NORTH_M - 5)
        & (north > NORTH_M - SIDE_M + 5)
    )
    assert inside.sum() > 500 and cover[inside].all()
    drawn_east_m, drawn_north_m = position_of(colours)
    off_m = [float(np.mean((a - b)[inside])) for a, b in ((drawn_east_m, east), (drawn_north_m, north))]
    print(f"zoom {z}: {off_m[0]:+.3f} m east, {off_m[1]:+.3f} m north of the oracle")
    assert max(abs(v) for v in off_m) < 0.35  # a grey level is 2.3 m; JPEG rounds


@pytest.mark.parametrize("z", [13, 15, 17])
def test_the_edge_of_the_map_is_the_edge_of_the_tile_s_cover(client: TestClient, z: int) -> None:
    x, y = tile_of(*LONLAT.transform(WEST_M + 3, NORTH_M - 3), z)
    answer = client.get(f"/v1/tiles/{z}/{x}/{y}.jpg")
    assert answer.headers["content-type"] == "image/png"
    _, cover = decoded(answer.content)
    east, north = ground_of(z, x, y)
    beyond_m = np.maximum.reduce(
        [WEST_M - east, east - WEST_M - SIDE_M, north - NORTH_M, NORTH_M - SIDE_M - north]
    )
    pixel_m = abs(east[0, 1] - east[0, 0])
    assert cover[beyond_m < -pixel_m].all() and not cover[beyond_m > pixel_m].any()


def test_neighbours_fit_together(client: TestClient) -> None:
    """The ramp goes on from one tile into the next: twenty columns on, it is twenty columns further east."""
    x, y = tile_of(*LONLAT.transform(WEST_M + SIDE_M / 2, NORTH_M - SIDE_M / 2), 17)
    left, right = (
        position_of(decoded(client.get(f"/v1/tiles/17/{column}/{y}.jpg").content)[0])[0]
        for column in (x, x + 1)
    )
    step_m = ground_of(17, x, y)[0][0, 1] - ground_of(17, x, y)[0][0, 0]
    jump_m = right[:, :20].mean() - left[:, -20:].mean()
    assert abs(jump_m - 20 * step_m) < 0.4, f"{jump_m:.2f} m for 20 pixels of {step_m:.2f} m"


def test_a_turned_map_in_another_system_shows_the_same_ground(tmp_path) -> None:
    """A texture whose pixels lie obliquely: the tile is where the ground is, not where the pixels are."""
    turn = math.radians(30)
    a, b = math.cos(turn), math.sin(turn)
    pixels = np.zeros((500, 500, 3), np.uint8)
    col, row = np.meshgrid(np.arange(500) + 0.5, np.arange(500) + 0.5)
    east, north = WEST_M + a * col + b * row, NORTH_M + b * col - a * row
    pixels[..., 0] = np.clip((east - WEST_M) / 700 * 255, 0, 255)
    pixels[..., 1] = np.clip((NORTH_M + 250 - north) / 700 * 255, 0, 255)
    texture = Texture.from_array(pixels, None, affine=(a, b, WEST_M, b, -a, NORTH_M), epsg=EPSG)
    middle = WEST_M + 250 * (a + b), NORTH_M + 250 * (b - a)
    x, y = tile_of(*LONLAT.transform(*middle), 17)
    drawn = draw_tile(texture, 17, x, y, quality=95)
    colours, cover = decoded(drawn.data)
    east, north = ground_of(17, x, y)
    inside = cover & (np.hypot(east - middle[0], north - middle[1]) < 100)
    off_east = np.mean((colours[..., 0] / 255 * 700 + WEST_M - east)[inside])
    off_north = np.mean((NORTH_M + 250 - colours[..., 1] / 255 * 700 - north)[inside])
    assert inside.sum() > 1000
    assert abs(off_east + 1.37) < 0.7 and abs(off_north - 1.37) < 0.7  # half a grey level is cut off: 1.37 m


def test_zooms_fit_the_map(client: TestClient) -> None:
    """At the finest zoom a pixel shows no more than the map has; at the coarsest the map is still seen."""
    texture = small_texture()
    low, high = zooms(texture)
    lat = LONLAT.transform(WEST_M, NORTH_M)[1]
    pixel_m = 2 * HALF_M / 256 * math.cos(math.radians(lat))
    assert pixel_m / 2**high <= texture.gsd_m < pixel_m / 2 ** (high - 1)
    assert 16 < SIDE_M / (pixel_m / 2**low) < 64
    description = client.get("/v1/bundle").json()["tiles"]
    assert (description["min_zoom"], description["max_zoom"]) == (low, high)


def small_texture() -> Texture:
    return Texture.from_array(
        np.full((500, 500, 3), 99, np.uint8), None, affine=(1, 0, WEST_M, 0, -1, NORTH_M), epsg=EPSG
    )


def test_beyond_the_map_tiles_are_transparent(client: TestClient) -> None:
    for path in ("17/0/0", "13/4000/4000", "0/0/0"):
        answer = client.get(f"/v1/tiles/{path}.jpg")
        colours, cover = decoded(answer.content)
        assert answer.status_code == 200 and colours.shape == (256, 256, 3) and not cover.any()
        assert answer.headers["content-type"] == "image/png"


def test_a_tile_wholly_on_the_map_is_a_jpeg_with_or_without_its_ending(client: TestClient) -> None:
    x, y = tile_of(*LONLAT.transform(WEST_M + SIDE_M / 2, NORTH_M - SIDE_M / 2), 17)
    with_ending, without = client.get(f"/v1/tiles/17/{x}/{y}.jpg"), client.get(f"/v1/tiles/17/{x}/{y}")
    assert with_ending.headers["content-type"] == "image/jpeg"
    assert with_ending.content == without.content


@pytest.mark.parametrize(
    "path",
    [
        "tiles/24/0/0.jpg", "tiles/99/0/0.jpg", "tiles/3/8/0.jpg", "tiles/3/-1/0", "tiles/a/b/c",
        "tiles/3/1e3/0", f"tiles/3/{'9' * 5000}/0", "references/3.jpg", "references/-1.jpg",
        "references/x.jpg", "references/0.png",
    ],
)  # fmt: skip
def test_what_is_not_there_is_404(client: TestClient, path: str) -> None:
    answer = client.get(f"/v1/{path}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "service.not_found")


def test_tiles_and_references_are_cached_under_a_versioned_address(client: TestClient) -> None:
    description = client.get("/v1/bundle").json()
    named = description["references"]["url"].replace("{row}", "1")
    versioned, plain = client.get(named), client.get(named.partition("?")[0])
    assert "immutable" in versioned.headers["cache-control"] and plain.headers["cache-control"] == "no-cache"
    assert (
        versioned.headers["etag"] == plain.headers["etag"]
        and description["hash"] in versioned.headers["etag"]
    )
    for path in (named, "/v1/tiles/17/0/0.jpg", "/v1/references.geojson"):
        again = client.get(path, headers={"If-None-Match": versioned.headers["etag"]})
        assert again.status_code == 304 and not again.content
        assert client.get(path, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_reference_shows_its_own_ground_with_its_heading_up(client: TestClient) -> None:
    """The second one looks east: to its right lies the south, so green grows to the right, red upwards."""
    picture = np.asarray(Image.open(io.BytesIO(client.get("/v1/references/1.jpg").content)), float)
    description = client.get("/v1/bundle").json()
    assert picture.shape[:2] == (
        description["references"]["height_px"],
        description["references"]["width_px"],
    )
    east, north = position_of(picture)
    assert abs(east.mean() - (WEST_M + 250)) < 1.5 and abs(north.mean() - (NORTH_M - 250)) < 1.5
    width_m, height_m = description["canonical"]["footprint_m"]
    assert (north[:, 5].mean() - north[:, -6].mean()) == pytest.approx(width_m, rel=0.04)
    assert (east[5].mean() - east[-6].mean()) == pytest.approx(height_m, rel=0.04)


def test_references_are_all_listed(client: TestClient) -> None:
    answer = client.get("/v1/references.geojson")
    assert answer.headers["content-type"].startswith("application/geo+json")
    features = answer.json()["features"]
    assert [f["properties"]["row"] for f in features] == [0, 1, 2]
    assert features[1]["properties"] == {
        "row": 1, "heading_deg": 90.0, "cell": [1, 1], "easting_m": WEST_M + 250, "northing_m": NORTH_M - 250,
    }  # fmt: skip
    assert features[1]["geometry"]["coordinates"] == pytest.approx(
        LONLAT.transform(WEST_M + 250, NORTH_M - 250)
    )


def test_the_bundle_tells_where_its_map_lies(client: TestClient) -> None:
    description = client.get("/v1/bundle").json()
    assert description["bounds_m"] == [WEST_M, NORTH_M - SIDE_M, WEST_M + SIDE_M, NORTH_M]
    corners = [
        (WEST_M, NORTH_M),
        (WEST_M, NORTH_M - SIDE_M),
        (WEST_M + SIDE_M, NORTH_M - SIDE_M),
        (WEST_M + SIDE_M, NORTH_M),
    ]
    np.testing.assert_allclose(
        description["outline_lonlat"], [LONLAT.transform(*c) for c in corners], atol=1e-9
    )
    west, south, east, north = description["bounds_lonlat"]
    assert all(west <= lon <= east and south <= lat <= north for lon, lat in description["outline_lonlat"])
    assert description["name"] == "small" and description["token_needed"] is False
    assert "/" not in description["name"]


def count_of(name: str, text: str) -> float:
    values = [line.split()[-1] for line in text.splitlines() if line.startswith(name)]
    return float(values[0]) if values else 0.0


def test_metrics_count_what_was_done(client: TestClient) -> None:
    before = client.get("/metrics").text
    client.get("/v1/references/0.jpg")
    after = client.get("/metrics").text
    name = 'nadirfix_requests_total{method="GET",path="/v1/references/{row}.jpg",status="200"}'
    count = {
        t: float(next(line.split()[-1] for line in t.splitlines() if line.startswith(name)))
        for t in (before, after)
    }
    assert count[after] == count[before] + 1
    assert "process_resident_memory_bytes" in after


def test_the_description_lists_every_path_with_examples(client: TestClient) -> None:
    description = client.get("/openapi.json").json()
    assert set(description["paths"]) == {
        "/v1/locate", "/v1/locate/batch", "/v1/bundle", "/v1/tiles/{z}/{x}/{y}.jpg", "/v1/tiles/{z}/{x}/{y}",
        "/v1/references.geojson", "/v1/references/{row}.jpg", "/healthz", "/readyz", "/metrics",
    }  # fmt: skip
    schemas = description["components"]["schemas"]
    nowhere = Fix(photo="a.jpg", status="no_fix", position=None, reason="nothing to see")
    assert schemas["Line"]["required"] == list(nowhere.to_dict())
    assert set(schemas["Line"]["example"]) == set(schemas["Line"]["required"])
    assert schemas["Problem"]["example"]["error"]["code"] == "photo.unreadable"
    for path in ("/docs", "/redoc"):
        assert client.get(path).status_code == 404  # they would load their scripts from elsewhere
