"""``nadirfix locate``: where photos were taken, one answer per photo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nadirfix.cli.common import Overwrite, Quiet
from nadirfix.cli.locating import Format, LocateArguments, locate_photos

__all__ = ["locate"]

_Photos = Annotated[
    list[str], typer.Argument(metavar="PHOTO|DIR", help="Photos, folders, or - for standard input.")
]
_Bundle = Annotated[Path, typer.Option("--bundle", metavar="B", help="The NAME.nadir folder of the map.")]
_Camera = Annotated[
    str | None,
    typer.Option(metavar="WxH@F|FILE", help="Size and focal length.", show_default="the photo's tags"),
]
_Altitude = Annotated[
    str | None,
    typer.Option(
        metavar="M[+-S][@FROM]", help="Metres above ground, or @takeoff or @sea.", show_default="estimated"
    ),
]
_Near = Annotated[str | None, typer.Option(metavar="LON,LAT+-M", help="About where photos were taken.")]
_Heading = Annotated[
    str | None, typer.Option(metavar="D[+-S]", help="Where their tops point, clockwise from north.")
]
_Gimbal = Annotated[
    str | None,
    typer.Option(
        metavar="P[,R[,Y]]", help="Pitch, roll and yaw, -90 straight down.", show_default="the photo's tags"
    ),
]
_Priors = Annotated[Path | None, typer.Option(metavar="FILE", help="CSV of what is known of each photo.")]
_UseExifPosition = Annotated[
    bool, typer.Option("--use-exif-position", help="Search near the position in the photos' tags.")
]
_GroundHeight = Annotated[
    float | None,
    typer.Option(
        "--ground-height", metavar="M", help="Of the ground above the sea; then GPSAltitude counts."
    ),
]
_TakeoffHeight = Annotated[
    float | None,
    typer.Option("--takeoff-height", metavar="M", help="Of the take-off above the sea, for @takeoff."),
]
_NoWce = Annotated[
    bool, typer.Option("--no-wce", help="Answer with the nearest reference instead of the weighted mean.")
]
_NoVote = Annotated[
    bool, typer.Option("--no-vote", help="Without verification: the photo's middle answers, not votes.")
]
_NoVerify = Annotated[bool, typer.Option("--no-verify", help="Answer without verifying it against the map.")]
_Format = Annotated[Format, typer.Option("--format", help="How answers are written.")]
_Out = Annotated[
    Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to standard output.")
]
_Explain = Annotated[
    Path | None,
    typer.Option("--explain", metavar="DIR", help="Write a picture of the reasons for each photo there."),
]


def locate(
    photos: _Photos,
    bundle: _Bundle,
    *,
    camera: _Camera = None,
    altitude: _Altitude = None,
    near: _Near = None,
    heading: _Heading = None,
    gimbal: _Gimbal = None,
    priors: _Priors = None,
    use_exif_position: _UseExifPosition = False,
    ground_height_m: _GroundHeight = None,
    takeoff_height_m: _TakeoffHeight = None,
    no_wce: _NoWce = False,
    no_vote: _NoVote = False,
    no_verify: _NoVerify = False,
    output_format: _Format = Format.JSONL,
    out: _Out = None,
    explain_dir: _Explain = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Say where photos were taken, and from how high; one that cannot be used does not stop the others."""
    if exit_number := locate_photos(LocateArguments(**locals())):
        raise typer.Exit(exit_number)
