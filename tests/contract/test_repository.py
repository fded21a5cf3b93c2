"""What is tracked is true everywhere: no machine's paths, a changelog entry, one home for defaults."""

import ast
import re
from collections.abc import Iterator

import pytest
from sources import ROOT, modules, room, tracked_files

import nadirfix

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


def test_where_new_things_go_is_there() -> None:
    """Every path that CONTRIBUTING.md names, below the package or below the repository."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"`([\w./]+(?:\.py|\.md|/))`", text)
    bases = (ROOT / "src" / "nadirfix", ROOT)
    missing = [path for path in paths if not any((base / path).exists() for base in bases)]
    assert len(paths) > 40 and not missing
