"""Maps that would hang, fetch from elsewhere or show other files are refused; local mosaics are not."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import rasterio

from nadirfix.camera import Camera
from nadirfix.errors import MapError
from nadirfix.geo.geomap import GeoMap
from nadirfix.options.map import MapOptions
from nadirfix.types import View
from tests.hostile_maps import PLACE, base_maps, mosaic, mutated_map, picture, raw_band, sparse, tile_service


def refusal(path: Path | str, **options: object) -> MapError:
    with pytest.raises(MapError) as caught:
        GeoMap.open(path, opening=MapOptions(**options))
    return caught.value


def middle(path: Path) -> np.ndarray:
    with GeoMap.open(path) as opened:
        return opened.render(View(opened.center, 60.0), Camera(64, 48, 100.0, 100.0)).pixels


@pytest.mark.parametrize("relative", [True, False])
def test_a_mosaic_of_local_pictures_shows_what_they_show(tmp_path: Path, relative: bool) -> None:
    """As gdalbuildvrt writes them, be the pictures named from the mosaic or from the root."""
    (tmp_path / "tiles").mkdir()
    tile = picture(tmp_path / "tiles" / "a.tif")
    name = "tiles/a.tif" if relative else str(tile)
    path = mosaic(tmp_path / "all.vrt", name, relative=relative)
    assert np.array_equal(middle(path), middle(tile))
    outer = mosaic(tmp_path / "outer.vrt", "all.vrt", relative=True)
    assert np.array_equal(middle(outer), middle(tile))


@pytest.mark.parametrize("driver", ["PNG", "JPEG"])
def test_a_picture_with_a_world_file_is_a_map(tmp_path: Path, driver: str) -> None:
    path = picture(tmp_path / f"a.{driver.lower()}", driver=driver)
    with GeoMap.open(path) as opened:
        assert opened.gsd_m == pytest.approx(0.5, rel=0.01)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "map.tif")
    began_s = time.monotonic()
    assert "a pipe, a device" in refusal(tmp_path / "map.tif").message
    assert "a pipe, a device" in refusal("/dev/zero").message
    picture(tmp_path / "good.tif")
    os.mkfifo(tmp_path / "good.tif.aux.xml")
    assert "a pipe, a device" in refusal(tmp_path / "good.tif").message
    for source in ("map.tif", "good.tif"):
        assert "not a plain file" in refusal(mosaic(tmp_path / "m.vrt", source, relative=True)).message
    assert time.monotonic() - began_s < 20


def test_a_raw_band_shows_no_other_file(tmp_path: Path) -> None:
    path = raw_band(tmp_path / "raw.vrt", "/etc/passwd")
    error = refusal(path)
    assert error.code == "map.unreadable"
    assert "VRTRawRasterBand" in error.message
    assert "--allow-remote" in error.do


class Listener:
    """A server that counts who calls."""

    def __enter__(self) -> Listener:
        self.calls, self._socket = 0, socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._answer, daemon=True).start()
        return self

    def _answer(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.calls += 1
            connection.close()

    def __exit__(self, *_: object) -> None:
        self._socket.close()


def test_nothing_is_fetched_unless_it_is_allowed(tmp_path: Path) -> None:
    with Listener() as server:
        url = f"http://127.0.0.1:{server.port}"
        named = mosaic(tmp_path / "named.vrt", f"/vsicurl/{url}/a.tif", relative=False)
        service = tile_service(tmp_path / "service.xml", url)
        nested = mosaic(tmp_path / "nested.vrt", "service.xml", relative=True)
        for path in (f"/vsicurl/{url}/a.tif", f"{url}/a.tif", f"WMS:{url}", named, service, nested):
            assert "--allow-remote" in refusal(path).do
        assert server.calls == 0
        refusal(f"/vsicurl/{url}/a.tif", allow_remote=True)
        assert server.calls > 0


def test_overviews_elsewhere_are_refused(tmp_path: Path) -> None:
    path = picture(tmp_path / "a.tif")
    (tmp_path / "a.tif.aux.xml").write_text(
        '<PAMDataset><Metadata domain="OVERVIEWS"><MDI key="OVERVIEW_FILE">/etc/x</MDI></Metadata>'
        "</PAMDataset>"
    )
    assert "its overviews" in refusal(path).message


@pytest.mark.parametrize(
    "text", ["x,y,z\n0,0,1\n", "<WMT_MS_Capabilities/>", "ncols 4\nnrows 4\n", "%PDF-1.7\n"]
)
def test_other_formats_of_gdal_need_the_switch(tmp_path: Path, text: str) -> None:
    path = tmp_path / "map.tif"
    path.write_text(text)
    error = refusal(path)
    assert error.code == "map.unreadable"
    assert "in no format a map is expected in" in error.message


def test_a_mosaic_of_itself_ends(tmp_path: Path) -> None:
    path = mosaic(tmp_path / "a.vrt", "b.vrt", relative=True)
    mosaic(tmp_path / "b.vrt", "a.vrt", relative=True)
    assert refusal(path).code == "map.unreadable"


def test_a_mosaic_of_a_missing_picture_names_it(tmp_path: Path) -> None:
    assert (
        "gone.tif, which it is made of, is not there"
        in refusal(mosaic(tmp_path / "a.vrt", "gone.tif", relative=True)).message
    )


@pytest.mark.parametrize(
    ("side_px", "words"), [(200_000, "limit 25,000,000,000 pixels"), (120_000, "no data at all")]
)
@pytest.mark.parametrize("tiled", [True, False])
def test_a_sparse_map_of_kilobytes_does_not_take_hours(
    tmp_path: Path, side_px: int, words: str, tiled: bool
) -> None:
    began_s = time.process_time()
    assert words in refusal(sparse(tmp_path / "sparse.tif", side_px, tiled=tiled)).message
    assert time.process_time() - began_s < 10


def test_a_small_part_of_a_huge_map_is_found_and_shown(tmp_path: Path) -> None:
    """A legitimate one: 100,000 px each way, most of it nodata, the picture in its middle."""
    path = sparse(tmp_path / "huge.tif", 100_000, tiled=True)
    with rasterio.open(path, "r+") as out:
        window = rasterio.windows.Window(44_000, 44_000, 12_000, 12_000)
        out.write(np.full((1, 12_000, 12_000), 200, np.uint8), window=window)
    with GeoMap.open(path) as opened:
        rendered = opened.render(View(opened.center, 60.0), Camera(64, 48, 100.0, 100.0))
    assert rendered.valid_share == 1.0
    assert np.abs(rendered.pixels.astype(int) - 200).max() <= 1


def test_a_block_larger_than_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tile.tif"
    kind = {"driver": "GTiff", "dtype": "uint8", "count": 1, "width": 40_000, "height": 40_000}
    tile = {"tiled": True, "blockxsize": 32_000, "blockysize": 32_000, "compress": "deflate"}
    with rasterio.open(path, "w", **kind, **PLACE, **tile, SPARSE_OK=True):
        pass
    assert "blocks of 32000 x 32000 px" in refusal(path).message


def test_a_map_of_millions_of_rows_is_judged_from_some(tmp_path: Path) -> None:
    """Found by the fuzzer: a strip is a row, and looking at each one took minutes."""
    path = tmp_path / "rows.tif"
    kind = {"driver": "GTiff", "dtype": "uint8", "count": 3, "width": 400, "height": 1_500_000, "nodata": 0}
    with rasterio.open(path, "w", **kind, **PLACE, blockysize=1, SPARSE_OK=True, compress="lzw"):
        pass
    began_s = time.process_time()
    assert refusal(path).code == "map.all_nodata"
    assert time.process_time() - began_s < 5


def test_mutated_maps_are_opened_or_refused(tmp_path: Path) -> None:
    """A small part of ``python -m bench.speed.fuzz_maps``: nothing but our own errors comes out."""
    maps, answers = base_maps(tmp_path), Counter[str]()
    for number in range(40):
        kind, path = mutated_map(maps, tmp_path, 24, number)
        try:
            GeoMap.open(path).close()
            answers["opened"] += 1
        except MapError as error:
            answers[error.code] += 1
        except Exception as error:
            raise AssertionError(f"number {number} ({kind})") from error
    assert answers["opened"] > 3
    assert answers["map.unreadable"] > 10
