"""Small modules, small functions."""

import ast
from collections.abc import Callable, Iterator
from statistics import median

import pytest
from sources import module_path, modules

MODULE_LINES = 300
FUNCTION_LINES = 40
#: As short as before the rooms of ADR 44.
MEDIAN_LINES = 6


def functions(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or 0) - node.lineno + 1


@pytest.mark.parametrize("name", sorted(modules()))
def test_modules_and_functions_stay_small(name: str) -> None:
    lines = len(module_path(name).read_text(encoding="utf-8").splitlines())
    assert lines <= MODULE_LINES, f"{name} has {lines} lines"
    long = {f: n for f, n in functions(modules()[name]) if n > FUNCTION_LINES}
    assert not long, f"{name}: {long}"


def test_median_function_is_short(record_property: Callable[[str, object], None]) -> None:
    lengths = [n for tree in modules().values() for _, n in functions(tree)]
    record_property("median_function_lines", median(lengths))
    print(f"{len(lengths)} functions, median {median(lengths)} lines, longest {max(lengths)}")
    assert median(lengths) <= MEDIAN_LINES
