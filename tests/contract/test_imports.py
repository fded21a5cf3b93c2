"""Imports go one way, and what is light stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterator

import pytest
from sources import BIN, module_path, modules, room

#: A room may import from the layers above it in this list, never from below.
LAYERS = [
    {
        "types",
        "errors",
        "options",
        "options_frame",
        "options_train",
        "options_verify",
        "camera",
        "output",
        "manifest",
    }
    | {"ahead", "formats", "line", "settings", "stopwatch", "weights"},
    {"geo", "image"},
    {"nn", "runtime", "world"},
    {"altitude", "place", "retrieval", "verify"},
    {"bundle", "evaluate", "datasets"},
    {"online", "confirm", "recognise", "shot", "offline", "report"},
    {"study"},
    {"cli", "serve"},
]
RANK = {name: i for i, layer in enumerate(LAYERS) for name in layer}

#: Within a layer rooms do not know each other, except for these (importer, imported).
NEIGHBOURS = {
    ("types", "errors"),
    ("types", "formats"),
    ("types", "line"),
    ("line", "types"),  # what a fix looks like outside is not the noun's business
    ("formats", "errors"),
    ("camera", "errors"),
    ("options", "errors"),
    ("options", "options_frame"),
    ("options", "options_train"),
    ("options", "settings"),
    ("options", "options_verify"),
    ("options_verify", "options_frame"),
    ("options_frame", "errors"),
    ("options_verify", "errors"),
    ("settings", "camera"),
    ("settings", "errors"),
    ("options", "camera"),
    ("output", "errors"),
    ("manifest", "errors"),
    ("manifest", "types"),
    ("manifest", "camera"),
    ("manifest", "output"),
    ("place", "altitude"),  # references are made at the lowest altitude class
    ("online", "confirm"),
    ("online", "recognise"),
    ("recognise", "shot"),
    ("online", "shot"),
    ("confirm", "shot"),
    ("cli", "serve"),
}

#: The two files that stand outside the house: the public API and ``python -m nadirfix``.
DOORS = {"nadirfix", "nadirfix.__main__"}

#: What a GPU box needs to train, and what it must do without.
TRAINING_ROOMS = {
    "types",
    "errors",
    "options",
    "options_frame",
    "settings",
    "camera",
    "image",
    "nn",
    "altitude",
    "place",
}
TRAINING_MODULES = {"nadirfix.geo", "nadirfix.geo.grid", "nadirfix.geo.texture", "nadirfix.verify.learn"}
NOT_ON_A_GPU_BOX = ["rasterio", "pyproj", "faiss", "pydantic", "typer", "rich"]


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


def allowed(importer: str, target: str) -> bool:
    return importer == target or RANK[target] < RANK[importer] or (importer, target) in NEIGHBOURS


@pytest.mark.parametrize("name", sorted(set(modules()) - DOORS))
def test_imports_go_one_way(name: str) -> None:
    assert room(name) in RANK, f"{name} belongs to no layer: say which one in LAYERS"
    ours = [i for i in imported(modules()[name]) if i.startswith("nadirfix.")]
    wrong = [i for i in ours if not allowed(room(name), room(i))]
    assert not wrong, f"{name} may not import {wrong}"


@pytest.mark.parametrize("name", sorted(set(modules()) - DOORS))
def test_modules_import_from_a_name_s_home(name: str) -> None:
    tree = modules()[name]
    used = {i.partition(":")[2] for i in imported(tree) if i.startswith("nadirfix:")}
    used |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and _is_package(n.value)}
    assert used <= {"__version__"}, f"{name} goes through the public API: {used}"


def _is_package(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "nadirfix"


def test_neighbours_share_a_layer() -> None:
    assert all(RANK[a] == RANK[b] for a, b in NEIGHBOURS)


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
    assert not {"torch", "rasterio", "transformers", "sklearn"} & loaded_after(code, "--help")


def test_help_works_as_installed() -> None:
    done = subprocess.run([BIN / "nadirfix", "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "simulate" in done.stdout


def test_training_core_needs_no_gdal() -> None:
    core = [n for n in modules() if room(n) in TRAINING_ROOMS or n in TRAINING_MODULES]
    code = f"import sys\nfor name in {NOT_ON_A_GPU_BOX}: sys.modules[name] = None\nimport {', '.join(core)}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
