"""``nadirfix demo``: world, photos, bundle and evaluation in one go."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.cli.common import Quiet, print_note, print_result
from nadirfix.cli.progress import progress_bar
from nadirfix.cli.readme import figures_block, put_block
from nadirfix.cli.stages import Stage, StageResults, run_stages
from nadirfix.cli.tables import print_comparison, print_stages
from nadirfix.files import Progress, check_folder
from nadirfix.files.owned import Recognise, marked
from nadirfix.options.map import SimulateOptions, WorldOptions
from nadirfix.options.recipe import RECIPES, SHIPPED_ALTITUDE, SHIPPED_PLACE, FitOptions, Recipe, ships

__all__ = ["demo"]

#: A world that nothing was trained or tuned on.
_WORLD = WorldOptions(size_m=2000.0, seed=4)
_PHOTOS = SimulateOptions(count=300)
#: Half the nominal size with half its focal length: the same ground in every photo, a quarter of the pixels.
_CAMERA = DEFAULT_CAMERA.resized(DEFAULT_CAMERA.width_px // 2, DEFAULT_CAMERA.height_px // 2)
#: Networks as they ship, fixes verified; a third of the usual views tell altitudes apart well enough to show.
_AS_SHIPPED = dataclasses.replace(RECIPES["standard"], fit=FitOptions(views=200))
_FEW_PHOTOS = dataclasses.replace(_PHOTOS, count=40)
#: The published method as it is: verifying three hundred photos would take longer than all the rest.
_TRAINED = dataclasses.replace(RECIPES["tiny"], matcher="none")
#: More photos than these would be too small on one sheet.
_CONTACT_SHEET_PHOTOS = 24


def demo(
    *,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Folder for all it makes.")] = Path(
        "demo"
    ),
    train: Annotated[
        bool, typer.Option("--train", help="The published method, trained on the world: takes minutes more.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Begin anew instead of going on where it stopped.")
    ] = False,
    write_readme: Annotated[
        Path | None, typer.Option("--write-readme", metavar="FILE", help="Put the figures into this file.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make a world at two dates, build from the old one, locate photos of the new one, and evaluate."""
    setup = _setup(train=train)
    check_folder(out, overwrite=True)
    with progress_bar(quiet) as progress:
        results = _run_stages(out, setup, progress, restart=overwrite)
    metrics = json.loads((out / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    if write_readme is not None:
        put_block(write_readme, figures_block(metrics, _conditions(setup)))
    if not quiet:
        print_stages(results.seconds, results.made)
        print_comparison(metrics["comparison"])
    print_note(f"look at {results.made['evaluation'] / 'report.html'}", quiet=quiet)
    print_note(f"drop photos on the map: nadirfix serve --bundle {results.made['bundle']}", quiet=quiet)
    made = {name: str(target) for name, target in results.made.items()}
    print_result(made | {"seconds": results.seconds, "comparison": metrics["comparison"]})


@dataclasses.dataclass(frozen=True)
class _Setup:
    """What is built, and how many photos are located."""

    recipe: Recipe
    train: bool
    photos: SimulateOptions


def _setup(*, train: bool) -> _Setup:
    """Networks as they ship, unless training is asked for or the package came without them."""
    if train or not (ships(SHIPPED_ALTITUDE) and ships(SHIPPED_PLACE)):
        return _Setup(_TRAINED, train=True, photos=_PHOTOS)
    return _Setup(_AS_SHIPPED, train=False, photos=_FEW_PHOTOS)


def _run_stages(out: Path, setup: _Setup, progress: Progress, *, restart: bool) -> StageResults:
    """World, photos of its newer date, a bundle of its older one, and the evaluation."""
    world, photos, bundle, result = (out / name for name in ("world", "photos", "demo.nadir", "evaluation"))
    sheet, work = out / "contact.png", out / ".demo.nadir.work"
    ours = _recognisers()
    stages = [
        Stage("world", world, lambda: _make_world(world, progress), recognise=ours["world"]),
        Stage(
            "photos",
            photos,
            lambda: _take_photos(world, photos, setup, progress),
            ("world",),
            recognise=ours["photos"],
        ),
        Stage(
            "contact",
            sheet,
            lambda: _draw_contact_sheet(world, photos, sheet, progress),
            ("world", "photos"),
            recognise=ours["contact"],
        ),
        Stage(
            "bundle",
            bundle,
            lambda: _build(world, bundle, setup, progress),
            ("world",),
            recognise=ours["bundle"],
            work_folder=work,
            recognise_work=ours["work"],
        ),
        Stage(
            "evaluation",
            result,
            lambda: _evaluate(photos, bundle, result, progress),
            ("photos", "bundle"),
            recognise=ours["evaluation"],
            complete_when=result / "report.html",
        ),
    ]
    return run_stages(stages, restart=restart)


def _recognisers() -> dict[str, Recognise]:
    """How each stage's result is recognised: whatever else lies at its place is left alone."""
    from nadirfix.evaluation.study.contents import evaluation_contents
    from nadirfix.offline.contents import bundle_contents, work_contents
    from nadirfix.report.png import own_picture
    from nadirfix.world.files import KIND as WORLD
    from nadirfix.world.photos import KIND as PHOTOS

    return {
        "world": marked(WORLD),
        "photos": marked(PHOTOS),
        "contact": own_picture,
        "bundle": bundle_contents,
        "work": work_contents,
        "evaluation": evaluation_contents,
    }


def _conditions(setup: _Setup) -> dict[str, Any]:
    """The conditions of the figures, for the README."""
    return {
        "size_km": _WORLD.size_m / 1000,
        "seed": _WORLD.seed,
        "photos": setup.photos.count,
        "low_m": setup.photos.altitude_min_m,
        "high_m": setup.photos.altitude_max_m,
        "camera": _CAMERA.spec,
        "recipe": setup.recipe.name,
        "trained": setup.train,
    }


def _make_world(target: Path, progress: Progress) -> None:
    from nadirfix.world.files import write_world

    write_world(
        target, size_m=_WORLD.size_m, gsd_m=_WORLD.gsd_m, seed=_WORLD.seed, overwrite=True, progress=progress
    )


def _take_photos(world: Path, target: Path, setup: _Setup, progress: Progress) -> None:
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.world.photos import simulate_photos

    with GeoMap.open(world / "new.tif") as ground:
        simulate_photos(
            ground, target, camera=_CAMERA, options=setup.photos, overwrite=True, progress=progress
        )


def _draw_contact_sheet(world: Path, photos: Path, target: Path, progress: Progress) -> None:
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.photo_list import read_photo_list
    from nadirfix.report.png import write_png
    from nadirfix.world.contact import contact_sheet

    progress("drawing the contact sheet", 0, 1)
    with GeoMap.open(world / "new.tif") as ground:
        sheet = contact_sheet(
            ground, read_photo_list(photos / "manifest.csv")[:_CONTACT_SHEET_PHOTOS], _CAMERA
        )
        write_png(target, sheet)
    progress("drawing the contact sheet", 1, 1)


def _build(world: Path, target: Path, setup: _Setup, progress: Progress) -> None:
    from nadirfix.offline import build_bundle

    build_bundle(
        world / "old.tif", target, recipe=setup.recipe, train=setup.train, resume=True, progress=progress
    )


def _evaluate(photos: Path, bundle: Path, target: Path, progress: Progress) -> None:
    from nadirfix.bundle import Bundle
    from nadirfix.evaluation.study.evaluation import run_evaluation
    from nadirfix.evaluation.study.run import Locator
    from nadirfix.photo_list import read_photo_list

    rows = read_photo_list(photos / "manifest.csv")
    locator = Locator(bundle=Bundle.load(bundle))
    title = "The embedded world: map of the old date, photos of the new one"
    run_evaluation(
        rows, locator, target, folder=photos, resume=(target / "settings.json").exists(), title=title,
        progress=progress,
    )  # fmt: skip
