"""Imports go one way, and what is light stays light."""

import ast
import graphlib
import re
import subprocess
import sys
from collections.abc import Iterator

import pytest
from sources import BIN, PACKAGE, module_path, modules, room

#: Who may import whom: a room imports from the lines above its own, never from its own line or below.
#: A dotted name is a part of a room that has a line of its own.
LAYERS = """
    errors  arrays  random_numbers  parallel  timing  weights     nothing of ours below them
    files.owned  files.text                                       what of ours lies at a path; safe text
    types.point  types.gimbal                                     a place; how a camera hung
    types  camera  files                                          the nouns, safe files
    prior                                                         what is known beforehand
    formats  serialise  photo_list                                the nouns written down
    options                                                       every setting with its default
    geo  image                                                    the map; the photo
    runtime  world                                                running networks; the procedural place
    altitude  retrieval  verify                                   the three questions a photo is asked
    bundle  train                                                 reading a bundle; everything with torch
    online  offline                                               the two stories
    evaluation                                                    measures and test sets
    report                                                        pages and pictures of them
    evaluation.study                                              whole test sets, with every variant
    serve                                                         the service
    cli                                                           the command line
"""
ROWS = [re.split(r"\s{3,}", line.strip())[0].split() for line in LAYERS.strip().splitlines()]
RANK = {name: rank for rank, row in enumerate(ROWS) for name in row}

#: What a fix looks like outside is not the noun's business: it hands itself over when it is asked.
EXCEPTIONS = {("types", "serialise"), ("types", "formats")}

#: The two files that stand outside the house: the public API and ``python -m nadirfix``.
OUTSIDE = {"nadirfix", "nadirfix.__main__"}

#: What a GPU machine needs to train, and what it must do without.
TRAINING_ROOMS = {"types", "errors", "arrays", "random_numbers", "options", "camera", "image", "train"}
TRAINING_MODULES = {
    f"nadirfix.{name}" for name in ("altitude.bins", "geo.coverage", "geo.grid", "geo.texture")
}
NOT_ON_A_GPU_MACHINE = ["rasterio", "pyproj", "faiss", "pydantic", "typer", "rich"]


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from _imported_from(node)


def _imported_from(node: ast.ImportFrom) -> Iterator[str]:
    """``from nadirfix import geo`` names a room, ``from nadirfix import Point`` the public API."""
    if node.module != "nadirfix":
        yield node.module or ""
        return
    for alias in node.names:
        yield f"nadirfix.{alias.name}" if alias.name in RANK else f"nadirfix:{alias.name}"


def layer_of(name: str) -> str:
    """The room a module belongs to in the table: the longest name there that its own begins with."""
    parts = name.split(".")[1:]
    found = [".".join(parts[:i]) for i in range(len(parts), 0, -1)]
    return next((room for room in found if room in RANK), "")


def allowed(importer: str, target: str) -> bool:
    return importer == target or RANK[target] < RANK[importer] or (importer, target) in EXCEPTIONS


@pytest.mark.parametrize("name", sorted(set(modules()) - OUTSIDE))
def test_imports_go_one_way(name: str) -> None:
    assert layer_of(name), f"{name} belongs to no layer: say which one in LAYERS"
    ours = [i for i in imported(modules()[name]) if i.startswith("nadirfix.")]
    wrong = [i for i in ours if not allowed(layer_of(name), layer_of(i))]
    assert not wrong, f"{name} may not import {wrong}"


def imported_modules(name: str) -> set[str]:
    """Modules of ours that a module imports, also in a function or for its types alone."""
    found: set[str] = set()
    for node in ast.walk(modules()[name]):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            full = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {full[a] if full[a] in modules() else str(node.module) for a in full}
    return found & set(modules()) - {name, "nadirfix"}


def test_no_module_needs_one_that_needs_it() -> None:
    excepted = {(f"nadirfix.{importer}", f"nadirfix.{target}") for importer, target in EXCEPTIONS}
    graph = {
        name: {target for target in imported_modules(name) if (name, target) not in excepted}
        for name in set(modules()) - OUTSIDE
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())


def imports_torch(tree: ast.Module) -> bool:
    return any(i.split(".")[0] in {"torch", "kornia", "transformers"} for i in imported(tree))


def test_torch_is_in_one_room_and_one_module() -> None:
    found = {name for name, tree in modules().items() if imports_torch(tree)}
    assert {name for name in found if room(name) != "train"} == {"nadirfix.offline.trained_networks"}


def test_few_modules_stand_outside_the_rooms() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 16


@pytest.mark.parametrize("name", sorted(set(modules()) - OUTSIDE))
def test_modules_import_from_a_name_s_home(name: str) -> None:
    tree = modules()[name]
    used = {i.partition(":")[2] for i in imported(tree) if i.startswith("nadirfix:")}
    used |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and _is_package(n.value)}
    assert used <= {"__version__"}, f"{name} goes through the public API: {used}"


def _is_package(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "nadirfix"


def test_every_name_in_the_table_is_there() -> None:
    assert {layer_of(name) for name in set(modules()) - OUTSIDE} == set(RANK)


def test_exceptions_are_needed() -> None:
    used = {
        (layer_of(name), layer_of(i)) for name in set(modules()) - OUTSIDE for i in imported(modules()[name])
        if i.startswith("nadirfix.")
    }  # fmt: skip
    assert used >= EXCEPTIONS


def loaded_after(*command: str) -> set[str]:
    """The top-level modules a Python command leaves loaded."""
    report = "import atexit, sys; atexit.register(lambda: print('LOADED', *sys.modules))"
    code = f"{report}\n{command[0]}"
    done = subprocess.run([sys.executable, "-c", code, *command[1:]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("LOADED ")[2].split())


def test_importing_nadirfix_is_light() -> None:
    assert not {"torch", "rasterio", "numpy", "cv2"} & loaded_after("import nadirfix")


def test_help_is_light() -> None:
    assert module_path("nadirfix.cli").exists()
    code = "from nadirfix.cli import main; sys.argv[0] = 'nadirfix'; main()"
    heavy = {"numpy", "cv2", "onnxruntime", "torch", "rasterio", "transformers", "sklearn"}
    assert not heavy & loaded_after(code, "--help")


def test_help_works_as_installed() -> None:
    done = subprocess.run([BIN / "nadirfix", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "simulate" in done.stdout


def test_training_core_needs_no_gdal() -> None:
    core = [n for n in modules() if room(n) in TRAINING_ROOMS or n in TRAINING_MODULES]
    absent = f"import sys\nfor name in {NOT_ON_A_GPU_MACHINE}: sys.modules[name] = None"
    code = f"{absent}\nimport {', '.join(core)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
