"""``nadirfix locate``: where photos were taken, one answer per photo."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nadirfix.cli.common import Overwrite, Quiet
from nadirfix.cli.locating import Format, LocateArguments, locate_photos

__all__ = ["locate"]


def locate(
    photos: Annotated[
        list[str], typer.Argument(metavar="PHOTO|DIR", help="Photos, folders, or - for standard input.")
    ],
    bundle: Annotated[Path, typer.Option("--bundle", metavar="B", help="The NAME.nadir folder of the map.")],
    *,
    camera: Annotated[
        str | None,
        typer.Option(metavar="WxH@F|FILE", help="Size and focal length.", show_default="the photo's tags"),
    ] = None,
    altitude: Annotated[
        str | None,
        typer.Option(
            metavar="M[+-S][@FROM]",
            help="Metres above ground, or @takeoff or @sea.",
            show_default="estimated",
        ),
    ] = None,
    near: Annotated[
        str | None, typer.Option(metavar="LON,LAT+-M", help="About where photos were taken.")
    ] = None,
    heading: Annotated[
        str | None, typer.Option(metavar="D[+-S]", help="Where their tops point, clockwise from north.")
    ] = None,
    priors: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV of what is known of each photo.")
    ] = None,
    use_exif_position: Annotated[
        bool, typer.Option("--use-exif-position", help="Search near the position in the photos' tags.")
    ] = False,
    ground_height: Annotated[
        float | None,
        typer.Option(metavar="M", help="Of the ground above the sea; then GPSAltitude counts."),
    ] = None,
    takeoff_height: Annotated[
        float | None, typer.Option(metavar="M", help="Of the take-off above the sea, for @takeoff.")
    ] = None,
    no_wce: Annotated[
        bool, typer.Option("--no-wce", help="Answer with the nearest reference instead of the weighted mean.")
    ] = False,
    no_vote: Annotated[
        bool, typer.Option("--no-vote", help="Without verification: the photo's middle answers, not votes.")
    ] = False,
    no_verify: Annotated[
        bool, typer.Option("--no-verify", help="Answer without verifying it against the map.")
    ] = False,
    output_format: Annotated[
        Format, typer.Option("--format", help="How answers are written.")
    ] = Format.JSONL,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Write there, not to standard output.")
    ] = None,
    explain_dir: Annotated[
        Path | None,
        typer.Option("--explain", metavar="DIR", help="Write a picture of the reasons for each photo there."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Say where photos were taken, and from how high; one that cannot be used does not stop the others."""
    arguments = LocateArguments(
        photos=photos,
        bundle=bundle,
        camera=camera,
        altitude=altitude,
        near=near,
        heading=heading,
        priors=priors,
        use_exif_position=use_exif_position,
        ground_height_m=ground_height,
        takeoff_height_m=takeoff_height,
        no_wce=no_wce,
        no_vote=no_vote,
        no_verify=no_verify,
        output_format=output_format,
        out=out,
        explain_dir=explain_dir,
        overwrite=overwrite,
        quiet=quiet,
    )
    if exit_number := locate_photos(arguments):
        raise typer.Exit(exit_number)
