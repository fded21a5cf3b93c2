"""``nadirfix demo``: the whole story on the embedded world, in one go."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.cli.common import Quiet, print_result, remark
from nadirfix.cli.progress import progress_bar
from nadirfix.cli.readme import figures_block, put_block
from nadirfix.cli.stages import Stage, Story, tell
from nadirfix.cli.tables import print_comparison, print_stages
from nadirfix.files import Progress, atomic_file
from nadirfix.options.map import SimulateOptions, WorldOptions
from nadirfix.options.recipe import RECIPES, SHIPPED_ALTITUDE, SHIPPED_PLACE, FitOptions, Recipe, ships
from nadirfix.photo_list import read_manifest

__all__ = ["demo"]

#: A world that nothing was chosen on: neither the embedders nor any setting has seen it.
_WORLD = WorldOptions(size_m=2000.0, seed=4)
_PHOTOS = SimulateOptions(count=300)
#: Half the nominal size with half its focal length: the same ground in every photo, a quarter of the pixels.
_CAMERA = DEFAULT_CAMERA.resized(DEFAULT_CAMERA.width_px // 2, DEFAULT_CAMERA.height_px // 2)
#: Networks as they ship, fixes verified; a third of the usual views tell altitudes apart well enough to show.
_AS_SHIPPED = dataclasses.replace(RECIPES["standard"], fit=FitOptions(views=200))
_FEW_PHOTOS = dataclasses.replace(_PHOTOS, count=40)
#: The published method as it is: verifying three hundred photos would take longer than all the rest.
_TRAINED = dataclasses.replace(RECIPES["tiny"], matcher="none")
#: More than these would be too small to look at on one sheet.
_SHOWN = 24


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
    """Make a world at two dates, build from the old one, place photos of the new one, and show how good."""
    plan = _plan(train=train)
    with progress_bar(quiet) as progress:
        story = _tell(out, plan, progress, anew=overwrite)
    told = json.loads((out / "evaluation" / "metrics.json").read_text(encoding="utf-8"))
    if write_readme is not None:
        put_block(write_readme, figures_block(told, _setting(plan)))
    if not quiet:
        print_stages(story.seconds, story.made)
        print_comparison(told["comparison"])
    remark(f"look at {story.made['evaluation'] / 'report.html'}", quiet=quiet)
    remark(f"drop photos on the map: nadirfix serve --bundle {story.made['bundle']}", quiet=quiet)
    made = {name: str(target) for name, target in story.made.items()}
    print_result(made | {"seconds": story.seconds, "comparison": told["comparison"]})


@dataclasses.dataclass(frozen=True)
class _Plan:
    """What is built, and how many photos are placed."""

    recipe: Recipe
    train: bool
    photos: SimulateOptions


def _plan(*, train: bool) -> _Plan:
    """Networks as they ship, unless training is asked for or the package came without them."""
    if train or not (ships(SHIPPED_ALTITUDE) and ships(SHIPPED_PLACE)):
        return _Plan(_TRAINED, train=True, photos=_PHOTOS)
    return _Plan(_AS_SHIPPED, train=False, photos=_FEW_PHOTOS)


def _tell(out: Path, plan: _Plan, progress: Progress, *, anew: bool) -> Story:
    """World, photos of its newer date, a bundle of its older one, and how well they fit."""
    world, photos, bundle, result = (out / name for name in ("world", "photos", "demo.nadir", "evaluation"))
    sheet, work = out / "contact.png", out / ".demo.nadir.work"
    stages = [
        Stage("world", world, lambda: _make_world(world, progress)),
        Stage("photos", photos, lambda: _take_photos(world, photos, plan, progress), ("world",)),
        Stage("contact", sheet, lambda: _show(world, photos, sheet, progress), ("world", "photos")),
        Stage("bundle", bundle, lambda: _build(world, bundle, plan, progress), ("world",), also=work),
        Stage(
            "evaluation",
            result,
            lambda: _evaluate(photos, bundle, result, progress),
            ("photos", "bundle"),
            whole=result / "report.html",
        ),
    ]
    return tell(stages, anew=anew)


def _setting(plan: _Plan) -> dict[str, Any]:
    """What the figures are of, for those who read them elsewhere."""
    return {
        "size_km": _WORLD.size_m / 1000,
        "seed": _WORLD.seed,
        "photos": plan.photos.count,
        "low_m": plan.photos.altitude_min_m,
        "high_m": plan.photos.altitude_max_m,
        "camera": _CAMERA.spec,
        "recipe": plan.recipe.name,
        "trained": plan.train,
        "fit_views": plan.recipe.fit.views,
    }


def _make_world(target: Path, progress: Progress) -> None:
    from nadirfix.world.files import write_world

    write_world(
        target, size_m=_WORLD.size_m, gsd_m=_WORLD.gsd_m, seed=_WORLD.seed, overwrite=True, progress=progress
    )


def _take_photos(world: Path, target: Path, plan: _Plan, progress: Progress) -> None:
    from nadirfix.geo.geomap import GeoMap
    from nadirfix.world.photos import simulate_photos

    with GeoMap.open(world / "new.tif") as ground:
        simulate_photos(
            ground, target, camera=_CAMERA, options=plan.photos, overwrite=True, progress=progress
        )


def _show(world: Path, photos: Path, target: Path, progress: Progress) -> None:
    from PIL import Image

    from nadirfix.geo.geomap import GeoMap
    from nadirfix.world.contact import contact_sheet

    progress("drawing the contact sheet", 0, 1)
    with GeoMap.open(world / "new.tif") as ground, atomic_file(target) as scratch:
        sheet = contact_sheet(ground, read_manifest(photos / "manifest.csv")[:_SHOWN], _CAMERA)
        Image.fromarray(sheet).save(scratch, format="PNG")
    progress("drawing the contact sheet", 1, 1)


def _build(world: Path, target: Path, plan: _Plan, progress: Progress) -> None:
    from nadirfix.offline import build_bundle

    build_bundle(
        world / "old.tif", target, recipe=plan.recipe, train=plan.train, resume=True, progress=progress
    )


def _evaluate(photos: Path, bundle: Path, target: Path, progress: Progress) -> None:
    from nadirfix.bundle import Bundle
    from nadirfix.evaluation.study.evaluation import run_evaluation
    from nadirfix.evaluation.study.run import Locator

    rows = read_manifest(photos / "manifest.csv")
    locator = Locator(bundle=Bundle.load(bundle))
    title = "The embedded world: map of the old date, photos of the new one"
    run_evaluation(
        rows, locator, target, folder=photos, resume=(target / "settings.json").exists(), title=title,
        progress=progress,
    )  # fmt: skip
