"""``nadirfix demo``: the story so far on the embedded world, in one go."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.cli.common import Quiet, print_result
from nadirfix.cli.progress import progress_bar
from nadirfix.manifest import read_manifest
from nadirfix.options import SimulateOptions, WorldOptions
from nadirfix.output import Progress, atomic_file

__all__ = ["demo"]

_WORLD = WorldOptions(size_m=2000.0)
_PHOTOS = SimulateOptions(count=24)


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for all it makes.")] = Path(
        "demo"
    ),
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew instead of going on where it stopped.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Make a world at two dates, take photos of the newer one, and show them on a contact sheet."""
    world, photos, sheet = out / "world", out / "photos", out / "contact.png"
    story = _Story(anew=overwrite)
    with progress_bar(quiet) as progress:
        story.stage("world", world, lambda: _make_world(world, progress))
        story.stage("photos", photos, lambda: _take_photos(world, photos, progress))
        story.stage("contact", sheet, lambda: _show(world, photos, sheet, progress))
    if not quiet:
        _print_table(story)
    print_result({name: str(target) for name, target in story.made.items()} | {"seconds": story.seconds})


class _Story:
    """Stages in order: one that is whole is left alone, unless one before it was made anew."""

    def __init__(self, *, anew: bool) -> None:
        self._anew = anew
        self.made: dict[str, Path] = {}
        self.seconds: dict[str, float | None] = {}

    def stage(self, name: str, target: Path, make: Callable[[], None]) -> None:
        self.made[name], self.seconds[name] = target, None
        if target.exists() and not self._anew:
            return
        began_s = time.monotonic()
        make()
        self.seconds[name], self._anew = round(time.monotonic() - began_s, 1), True


def _make_world(target: Path, progress: Progress) -> None:
    from nadirfix.world.files import write_world

    write_world(target, **vars(_WORLD), overwrite=True, progress=progress)


def _take_photos(world: Path, target: Path, progress: Progress) -> None:
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.world.photos import simulate_photos

    with GeoMap.open(world / "new.tif") as ground:
        simulate_photos(
            ground, target, camera=DEFAULT_CAMERA, options=_PHOTOS, overwrite=True, progress=progress
        )


def _show(world: Path, photos: Path, target: Path, progress: Progress) -> None:
    from PIL import Image

    from nadirfix.geo.geomap import GeoMap
    from nadirfix.world.contact import contact_sheet

    progress("drawing the contact sheet", 0, 1)
    with GeoMap.open(world / "new.tif") as ground, atomic_file(target) as scratch:
        sheet = contact_sheet(ground, read_manifest(photos / "manifest.csv"), DEFAULT_CAMERA)
        Image.fromarray(sheet).save(scratch, format="PNG")
    progress("drawing the contact sheet", 1, 1)


def _print_table(story: _Story) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("stage", "time", "result", box=None)
    for name, target in story.made.items():
        spent_s = story.seconds[name]
        table.add_row(name, "was there" if spent_s is None else f"{spent_s:.1f} s", str(target))
    Console(stderr=True).print(table)
