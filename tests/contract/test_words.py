"""The field's noun in names, plain English in sentences: private words stay out of names.

The table of words is in ADR 44; how to name things is in CONTRIBUTING.md.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from sources import PACKAGE, ROOT, modules

#: No name at all: what is told, said, asked or looked at is a result, an option, a query, a match.
PARTICIPLES = set(re.findall(r"\w+", "told said asked seen shown looked"))

#: No file, function, class or constant: the field has a word for each.
PRIVATE = PARTICIPLES | set(
    re.findall(
        r"\w+",
        """
        abreast atlas bare desk doors envelope gate kin kinship ladder lean ledger letter
        likeness looker lookout looks mend reckoning rival rivals seat sheet sheets shot shots sighting
        sightings spared steady twin twins voter voters wave waves way ways weigh wish
        """,
    )
)

#: No file: as a file's name these say nothing; inside one they have their ordinary meaning.
VAGUE = PRIVATE | set(
    re.findall(
        r"\w+",
        """
        account agreements ahead aim alike apart beside compare comparison confirm counter decide door draws
        front host line look mapped movement points pulls rest rows shares slope stamp support
        surroundings trust turns
        """,
    )
)

#: Names with the ordinary meaning of the word, or that others read: a public field, a key of a recipe.
ALLOWED = {
    "seen": "the field of every error: what was found where something else was needed",
    "compare": "the command of that name",
}

FOLDERS = ("src/nadirfix", "bench", "tests", "examples")


def words(name: str) -> set[str]:
    """``read_two_photos``, ``ReadTwoPhotos`` and ``_READ_TWO_PHOTOS`` are the same three words."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3_\2\4", name)
    return set(spaced.lower().split("_"))


def top_level(tree: ast.Module) -> Iterator[str]:
    """Functions, classes with their methods, and constants of a module."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else []
        yield from (n.name for n in [node, *inside] if isinstance(n, kinds))
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        yield from (t.id for t in targets if isinstance(t, ast.Name))


def bound(tree: ast.Module) -> Iterator[str]:
    """Every variable, parameter and attribute that a module gives a value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def without_ordinary(name: str) -> str:
    """A name without what has its ordinary meaning in it: contact sheet, data sheet."""
    if name.lstrip("_") in ALLOWED:
        return ""
    return re.sub("contact_sheet|data_sheet", "", name, flags=re.IGNORECASE)


def found(names: Iterator[str], banned: set[str]) -> set[str]:
    return {name for name in names if words(without_ordinary(name)) & banned}


def python_files() -> list[Path]:
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))


def no_tests(names: Iterator[str]) -> Iterator[str]:
    return (name for name in names if not name.startswith("test_"))


def typescript_names(text: str) -> Iterator[str]:
    """What a TypeScript file declares, parameters and fields included."""
    declared = r"\b(?:const|let|function|class|interface|type)\s+(\w+)|[(,{;]\s*(\w+)\??:\s"
    yield from (name for names in re.findall(declared, text) for name in names if name)


OTHERS = [path for path in python_files() if not path.is_relative_to(PACKAGE)]


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_has_a_private_name(folder: str) -> None:
    paths = [p.relative_to(ROOT) for p in python_files() if p.is_relative_to(ROOT / folder)]
    wrong = [str(p) for p in paths if found(iter([p.stem.removeprefix("test_"), p.parent.name]), VAGUE)]
    assert not wrong


@pytest.mark.parametrize("name", sorted(modules()))
def test_names_are_the_field_s(name: str) -> None:
    tree = modules()[name]
    wrong = found(top_level(tree), PRIVATE) | found(bound(tree), PARTICIPLES)
    assert not wrong, f"{name}: use the field's word, or one that says what it is, for {sorted(wrong)}"


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_outside_the_package_are_the_field_s(path: Path) -> None:
    """Names of tests are sentences; all other names follow the same rule as the package's."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    wrong = found(no_tests(top_level(tree)), PRIVATE) | found(no_tests(bound(tree)), PARTICIPLES)
    assert not wrong, f"use the field's word, or one that says what it is, for {sorted(wrong)}"


@pytest.mark.parametrize(
    "path",
    sorted((ROOT / "web" / "src").rglob("*.ts")),
    ids=lambda path: path.relative_to(ROOT).as_posix(),
)
def test_names_of_the_web_page_are_the_field_s(path: Path) -> None:
    wrong = found(typescript_names(path.read_text(encoding="utf-8")), PRIVATE)
    assert not wrong, f"use the field's word, or one that says what it is, for {sorted(wrong)}"
    assert not found(iter([path.stem]), VAGUE)


def test_names_in_typescript_are_found() -> None:
    text = "export function look(asked: string, { a, b }: Two): void {\n  const toldUs = 1;\n}"
    assert set(typescript_names(text)) == {"look", "asked", "toldUs"}
    assert found(typescript_names(text), PRIVATE) == {"asked", "toldUs"}


def test_what_is_allowed_is_used() -> None:
    used = {name.lstrip("_") for tree in modules().values() for name in [*top_level(tree), *bound(tree)]}
    assert set(ALLOWED) <= used


def test_words_are_split_at_underscores_and_capitals() -> None:
    assert words("_READ_TwoHTTPPhotos") >= {"read", "two", "http", "photos"}
    assert not found(iter(["shotgun", "likely", "gateway", "sheeted"]), PRIVATE)
