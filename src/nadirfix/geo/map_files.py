"""Which files are opened as a map: plain ones, in a few formats, that fetch nothing from elsewhere (ADR 55).

GDAL opens far more: addresses, programs' pipes, and descriptions that make it call any server or show the
bytes of any file as pixels. A map from somebody else must not decide that, so a file is looked into before
GDAL sees it, and so is every file that a mosaic (VRT) is made of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nadirfix.errors import MapError
from nadirfix.options.map import MapOptions

__all__ = ["OFFLINE", "check_map_size", "checked_driver", "unreadable"]

#: GDAL's settings for a map that may fetch nothing: should something slip through, it finds no way out.
OFFLINE = {
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": ".nothing-is-fetched",
    "GDAL_HTTP_PROXY": "http://127.0.0.1:9",
    "GDAL_HTTP_TIMEOUT": "1",
    "GDAL_VRT_ENABLE_PYTHON": "NO",
    "GDAL_VRT_ENABLE_RAWRASTERBAND": "NO",
    "GDAL_VRT_RAWRASTERBAND_ALLOWED_SOURCE": "NO",
}
#: What files in the formats that are opened begin with, and GDAL's names for these; mosaics (VRT) are XML.
_DRIVERS = {
    b"II*\0": "GTiff",
    b"MM\0*": "GTiff",
    b"II+\0": "GTiff",
    b"MM\0+": "GTiff",
    b"\x89PNG\r\n\x1a\n": "PNG",
    b"\xff\xd8\xff": "JPEG",
    b"\xff\x4f\xff\x51": "JP2OpenJPEG",
    b"\0\0\0\x0cjP  \r\n\x87\n": "JP2OpenJPEG",
    b"SQLite format 3\0": "GPKG",
}
#: What GDAL reads along with a map, where it lies beside it.
_SIDECARS = (".aux.xml", ".ovr", ".msk")
_WORLD_FILES = (".tfw", ".tifw", ".pgw", ".pngw", ".jgw", ".jpgw", ".jpegw", ".wld", ".tab", ".aux", ".prj")
#: Mosaics within mosaics, files in all of them, and bytes of one description.
_DEEPEST, _MOST_FILES, _MOST_XML = 8, 100_000, 64 << 20
#: Pixels of a raster each way, bands, and values of a block of all bands, which GDAL reads as a whole.
_LONGEST_SIDE_PX, _MOST_BANDS, _MOST_BLOCK_VALUES = 2_000_000, 512, 500_000_000
#: Kinds of mosaic whose pixels come from pictures alone.
_DATASETS = {None, "VRTWarpedDataset"}
_BANDS = {None, "VRTSourcedRasterBand", "VRTWarpedRasterBand", "VRTDerivedRasterBand"}
#: Names of elements that hold the name of a file, and text that leads elsewhere.
_SOURCES = {"SourceFilename", "SourceDataset", "DEMPath"}
_ELSEWHERE = re.compile(r"^\s*(/vsi|<|[A-Za-z][A-Za-z0-9_+.-]+:)")
_DO_PLAIN = "name a GeoTIFF, or another plain raster file on this disk"
_DO_TRUST = "turn it into a GeoTIFF first (gdal_translate), or give --allow-remote if you trust it"


def checked_driver(path: str, options: MapOptions) -> str | None:
    """Which of GDAL's drivers reads this map; what is wrong with its file is reported before GDAL opens it.

    Where remote maps are allowed GDAL's own names and addresses pass as they are, and it chooses the driver.
    """
    if options.allow_remote and _ELSEWHERE.match(path) and not Path(path).exists():
        return None
    file = _plain_file(path)
    return None if options.allow_remote else _driver(file, path, above=(), seen=set())


def check_map_size(dataset: Any, path: str, options: MapOptions) -> None:
    """Refuse a raster of more pixels, bands or larger blocks than can be worked with."""
    pixels = dataset.width * dataset.height
    if pixels > options.max_pixels or max(dataset.width, dataset.height) > _LONGEST_SIDE_PX:
        limits = f"limit {options.max_pixels:,} pixels, {_LONGEST_SIDE_PX:,} each way"
        raise _too_large(path, f"{dataset.width} x {dataset.height} px, {limits}")
    if dataset.count > _MOST_BANDS:
        raise _too_large(path, f"{dataset.count} bands, limit {_MOST_BANDS}")
    rows, columns = dataset.block_shapes[0]
    if rows * columns * dataset.count > _MOST_BLOCK_VALUES:
        seen = f"blocks of {columns} x {rows} px and {dataset.count} bands"
        raise _too_large(path, f"{seen}, limit {_MOST_BLOCK_VALUES:,} values")


def unreadable(
    path: str, seen: str, do: str = "check that it is a whole raster file that GDAL opens"
) -> MapError:
    """The error of a map that cannot be read."""
    return MapError("map.unreadable", "the map cannot be read", seen=f"{path}: {seen}", do=do)


def _too_large(path: str, seen: str) -> MapError:
    do = "cut out the part you need, or make it coarser (gdal_translate -projwin, -tr, -co TILED=YES)"
    return unreadable(path, seen, do)


def _plain_file(path: str) -> Path:
    """The file a path names, which must be there, with something in it, and no pipe that may never speak."""
    file = Path(path.split(":")[1] if path.startswith("GPKG:") else path)
    if file.is_dir():
        raise unreadable(path, "a folder" if any(file.iterdir()) else "an empty folder", _DO_PLAIN)
    if not file.exists():
        if _ELSEWHERE.match(path):
            raise unreadable(path, "not a file on this disk", _DO_TRUST)
        raise MapError("map.missing", "there is no such map", seen=path, do="check the path of the map file")
    _check_plain(file, path)
    if file.stat().st_size == 0:
        raise MapError("map.empty", "the map holds no picture", seen=f"{path}: 0 bytes", do=_DO_PLAIN)
    return file


def _check_plain(file: Path, path: str) -> None:
    """Refuse a file that may never say a word, and one beside it that GDAL would read along."""
    beside = [Path(f"{file}{end}") for end in _SIDECARS] + [file.with_suffix(end) for end in _WORLD_FILES]
    for one in (file, *beside):
        if one.exists() and not one.is_file():
            raise unreadable(path, f"{one.name} is a pipe, a device or a folder, not a plain file", _DO_PLAIN)


def _driver(file: Path, path: str, *, above: tuple[Path, ...], seen: set[Path]) -> str:
    """Refuse what is in no known format; a mosaic is as good as the files it is made of."""
    with file.open("rb") as opened:
        head = opened.read(1024)
    if _leads_elsewhere(Path(f"{file}.aux.xml")):
        raise unreadable(path, f"{file.name}.aux.xml names another file as its overviews", _DO_TRUST)
    known = next((driver for begins, driver in _DRIVERS.items() if head.startswith(begins)), None)
    if known is not None:
        return "MBTiles" if known == "GPKG" and file.suffix.lower() == ".mbtiles" else known
    if b"<VRTDataset" not in head:
        raise unreadable(path, f"{_called(file, path)} is in no format a map is expected in", _DO_TRUST)
    above = (*above, file.resolve())
    if above[-1] in above[:-1] or len(above) > _DEEPEST or len(seen) > _MOST_FILES:
        raise unreadable(path, "a mosaic of mosaics without end", "make it from the pictures themselves")
    for source in _sources(file, path):
        if source not in seen:
            _driver(_plain_source(source, path), path, above=above, seen=seen)
            seen.add(source)
    return "VRT"


def _leads_elsewhere(sidecar: Path) -> bool:
    return sidecar.is_file() and b"OVERVIEW_FILE" in sidecar.read_bytes()[:_MOST_XML]


def _plain_source(source: Path, path: str) -> Path:
    if not source.exists():
        do = "bring its files along with it"
        raise unreadable(path, f"{source}, which it is made of, is not there", do)
    _check_plain(source, path)
    return source


def _sources(file: Path, path: str) -> Iterator[Path]:
    """The files a mosaic is made of, once it holds nothing but pictures."""
    for element in _elements(file, path):
        name, text = element.tag.rpartition("}")[2], (element.text or "").strip()
        kinds = _DATASETS if name == "VRTDataset" else _BANDS
        if name in ("VRTDataset", "VRTRasterBand") and element.get("subClass") not in kinds:
            raise unreadable(path, f"a mosaic with a {element.get('subClass')}", _DO_TRUST)
        if name == "PixelFunctionLanguage" and text != "C":
            raise unreadable(path, f"a mosaic with a program in {text}", _DO_TRUST)
        if name == "MDI" and element.get("key") not in ("X_DATASET", "Y_DATASET"):
            continue
        if name in _SOURCES or name == "MDI" or name.lower().endswith(("filename", "dataset", "path")):
            if text and (_ELSEWHERE.match(text) or "/vsi" in text):
                raise unreadable(path, f"a mosaic made of {text[:80]!r}", _DO_TRUST)
            if text:
                yield file.parent / text if element.get("relativeToVRT") == "1" else Path(text)


def _elements(file: Path, path: str) -> Iterator[Any]:
    from defusedxml import ElementTree

    if file.stat().st_size > _MOST_XML:
        raise unreadable(path, f"a mosaic of more than {_MOST_XML:,} bytes", _DO_TRUST)
    try:
        root = ElementTree.parse(file).getroot()
    except Exception as error:  # what the XML reader and its guard raise is of many kinds
        raise unreadable(path, f"a mosaic that is damaged ({type(error).__name__})", _DO_PLAIN) from error
    yield from root.iter()


def _called(file: Path, path: str) -> str:
    return "it" if str(file) == path else str(file)
