"""What is tracked is true everywhere: no machine's paths, a changelog entry, one home for defaults."""

import ast
import dataclasses
import re
import typing
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from sources import ROOT, modules, room, tracked_files

import nadirfix
from nadirfix.options.recipe import Recipe

#: Recipes are set in files, and what was measured or tuned together stays in one object.
NOT_SET_IN_CODE = {"CalibrationOptions", "PriorOptions", "SweepOptions"}

FOLDERS = ["work", "home", "root", "Users", "mnt", "tmp", "opt"]
MACHINE_PATH = re.compile(rf"(?<![\w.~>*)}}-])/(?:{'|'.join(FOLDERS)})/\w|\b[A-Z]:\\\w")


def test_no_machine_paths() -> None:
    texts = {p: p.read_bytes().decode("utf-8", "ignore") for p in tracked_files() if _is_text(p.suffix)}
    found = [f"{p.relative_to(ROOT)}: {m}" for p, text in texts.items() for m in MACHINE_PATH.findall(text)]
    assert not found


def _is_text(suffix: str) -> bool:
    return suffix in {"", ".py", ".md", ".toml", ".txt", ".json", ".csv", ".html", ".cfg", ".yml", ".yaml"}


def test_changelog_has_this_version() -> None:
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## \[{re.escape(nadirfix.__version__)}\]", log, re.MULTILINE)


def defaults(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for default in [*node.args.defaults, *node.args.kw_defaults]:
                if default is not None:
                    yield node.name, default


def is_own_number(default: ast.expr) -> bool:
    """A number, a text with digits, or typer.Option(number): all of these belong to options.py."""
    if isinstance(default, ast.Call):
        return any(is_own_number(a) for a in default.args[:1])
    if isinstance(default, ast.UnaryOp):
        return is_own_number(default.operand)
    value = default.value if isinstance(default, ast.Constant) else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number or (isinstance(value, str) and any(c.isdigit() for c in value))


@pytest.mark.parametrize("name", [n for n in sorted(modules()) if room(n) == "cli"])
def test_commands_have_no_defaults_of_their_own(name: str) -> None:
    own = [(f, ast.unparse(d)) for f, d in defaults(modules()[name]) if is_own_number(d)]
    assert not own, f"{name}: take these from options.py: {own}"


def options_classes() -> Iterator[type]:
    for name in modules():
        if room(name) == "options" or name == "nadirfix.serve.options":
            kinds = (one for one in vars(import_module(name)).values() if isinstance(one, type))
            yield from (one for one in kinds if dataclasses.is_dataclass(one) and one.__module__ == name)


def parts_of(kind: type) -> set[type]:
    """A class of options with those it is made of."""
    hints = [*typing.get_type_hints(kind).values()]
    inner = {one for hint in hints for one in (hint, *typing.get_args(hint)) if dataclasses.is_dataclass(one)}
    return {kind}.union(*(parts_of(typing.cast(type, one)) for one in inner))


def given_names() -> set[str]:
    """Every keyword of a call and every key of a table, anywhere."""
    files = [path for path in tracked_files() if path.suffix == ".py"]
    nodes = [node for path in files for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    keys: list[Any] = [key for node in nodes if isinstance(node, ast.Dict) for key in node.keys]
    words = {key.value for key in keys if isinstance(key, ast.Constant)}
    return words | {str(k.arg) for node in nodes if isinstance(node, ast.Call) for k in node.keywords}


def test_what_nobody_sets_is_a_constant_and_no_option() -> None:
    checked = {one for one in options_classes() if one.__name__ not in NOT_SET_IN_CODE} - parts_of(Recipe)
    fields = [(kind.__name__, f.name) for kind in checked for f in dataclasses.fields(kind)]
    assert len(fields) > 60
    given = given_names()
    assert not [f"{kind}.{name}" for kind, name in fields if name not in given]


def test_where_new_things_go_is_there() -> None:
    """Every path that CONTRIBUTING.md names, below the package or below the repository."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w./]+(?:\.py|\.md|/))`", text)
    bases = (ROOT / "src" / "nadirfix", ROOT)
    missing = [path for path in paths if not any((base / path).exists() for base in bases)]
    assert len(paths) > 40 and not missing
