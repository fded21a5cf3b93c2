"""``nadirfix simulate``: photos of a map with the truth beside them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.cli.common import AllowRemote, Overwrite, Quiet, print_note, print_result
from nadirfix.cli.progress import progress_bar
from nadirfix.errors import InputError
from nadirfix.options.map import MapOptions, SimulateOptions

if TYPE_CHECKING:
    from nadirfix.types import View

__all__ = ["simulate"]

_DEFAULT = SimulateOptions()
_RANGE = f"{_DEFAULT.altitude_min_m:g}:{_DEFAULT.altitude_max_m:g}"


def simulate(
    maps: Annotated[list[Path], typer.Argument(metavar="MAP", help="The map; several files make one.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for manifest.csv and photos/.")],
    *,
    count: Annotated[
        int | None, typer.Option(help="How many photos.", show_default=f"{_DEFAULT.count}")
    ] = None,
    altitude: Annotated[
        str | None, typer.Option(metavar="LOW:HIGH", help="Metres above ground.", show_default=_RANGE)
    ] = None,
    camera: Annotated[
        str | None,
        typer.Option(metavar="WxH@F|FILE", help="Size and focal length.", show_default=DEFAULT_CAMERA.spec),
    ] = None,
    noise: Annotated[float, typer.Option(help="Noise in grey levels.")] = _DEFAULT.noise_levels,
    jpeg: Annotated[int, typer.Option(help="JPEG quality, 1 to 100.")] = _DEFAULT.jpeg_quality,
    tilt: Annotated[float, typer.Option(help="Most tilt in degrees.")] = _DEFAULT.tilt_max_deg,
    views: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Exactly these views (CSV) instead of random ones.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other photos.")] = _DEFAULT.seed,
    write_pose: Annotated[
        bool, typer.Option("--write-pose", help="Write where they were taken into the photos, too.")
    ] = False,
    overwrite: Overwrite = False,
    allow_remote: AllowRemote = False,
    quiet: Quiet = False,
) -> None:
    """Make photos of a map from random or given views, with the truth in a manifest."""
    fixed_views = _given_views(views, count=count, altitude=altitude)
    options = _options(count, altitude, noise_levels=noise, jpeg_quality=jpeg, tilt_max_deg=tilt, seed=seed)
    photo_camera = Camera.pinhole(camera) if camera else DEFAULT_CAMERA
    inputs = [*maps, *([views] if views else [])]
    settings = {"camera": photo_camera, "options": options, "views": fixed_views, "inputs": inputs}
    opening = MapOptions(allow_remote=allow_remote)
    made = _run(maps, out, quiet, opening, **settings, write_pose=write_pose, overwrite=overwrite)
    if made.partial:
        share = f"{options.valid_share:.0%}"
        print_note(f"{made.partial} photos have less than {share} of the map under them", quiet=quiet)
    print_result({**dataclasses.asdict(made), "manifest": str(made.manifest), "camera": photo_camera.spec})


def _run(maps: list[Path], out: Path, quiet: bool, opening: MapOptions, **settings: Any) -> Any:
    """GDAL and OpenCV are imported here, not with the command line."""
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.world.photos import simulate_photos

    with GeoMap.open(maps, opening=opening) as photo_map, progress_bar(quiet) as progress:
        return simulate_photos(photo_map, out, progress=progress, **settings)


def _given_views(path: Path | None, *, count: int | None, altitude: str | None) -> list[View] | None:
    """Views as a list has them; numpy is imported here, not with the command line."""
    from nadirfix.photo_list import read_views

    if path is None:
        return None
    clash = [name for name, value in (("--count", count), ("--altitude", altitude)) if value is not None]
    if clash:
        raise InputError(
            "options.invalid",
            "--views says which photos there are",
            seen=f"--views {path} together with {' and '.join(clash)}",
            do=f"leave out --views or {' and '.join(clash)}",
        )
    return read_views(path)


def _options(count: int | None, altitude: str | None, **settings: Any) -> SimulateOptions:
    if count is not None:
        settings["count"] = count
    if altitude is not None:
        settings["altitude_min_m"], settings["altitude_max_m"] = _range_m(altitude)
    return dataclasses.replace(_DEFAULT, **settings)


def _range_m(text: str) -> tuple[float, float]:
    """``100:700``, or one altitude for all photos."""
    low, colon, high = text.partition(":")
    try:
        return float(low), float(high if colon else low)
    except ValueError as error:
        raise InputError(
            "altitude.invalid",
            "this is not a range of altitudes",
            seen=f"--altitude {text}",
            do=f"give LOW:HIGH in metres above ground, for example {_RANGE}",
        ) from error
