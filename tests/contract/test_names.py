"""Public names are listed, and what is listed exists."""

import ast

import pytest
from sources import modules

import nadirfix

OUTSIDE = {"nadirfix", "nadirfix.__main__"}


def listed(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in targets):
            return [str(name) for name in ast.literal_eval(node.value)]
    return None


def made_here(tree: ast.Module) -> set[str]:
    """Functions and classes without an underscore; constants and aliases are public only when listed."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {n.name for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")}


def bound(tree: ast.Module) -> set[str]:
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    aliases = [a for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom) for a in n.names]
    return names | made_here(tree) | {a.asname or a.name for a in aliases}


def needs_list(name: str) -> bool:
    """A package file that only holds a docstring has nothing to list."""
    return name not in OUTSIDE and len(modules()[name].body) > 1


@pytest.mark.parametrize("name", [n for n in sorted(modules()) if needs_list(n)])
def test_all_names_what_is_public(name: str) -> None:
    tree = modules()[name]
    names = listed(tree)
    assert names is not None, f"{name} has no __all__"
    assert made_here(tree) <= set(names), f"{name}: list or underscore {made_here(tree) - set(names)}"
    assert set(names) <= bound(tree), f"{name}: lists what is not there {set(names) - bound(tree)}"
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", nadirfix.__all__)
def test_public_api_loads(name: str) -> None:
    assert getattr(nadirfix, name).__module__.startswith("nadirfix.")


def test_public_api_is_the_lazy_one() -> None:
    assert set(nadirfix.__all__) == set(nadirfix._HOME)
    assert set(nadirfix.__all__) <= set(dir(nadirfix))


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        nadirfix.no_such_name  # noqa: B018
