"""Settings written as TOML: a table changes some of them; a key they do not have is an error."""

from __future__ import annotations

import dataclasses
import tomllib
import types as python_types
import typing
from pathlib import Path
from typing import Any, Literal, TypeVar

from nadirfix.camera import Camera
from nadirfix.errors import InputError

__all__ = ["changed", "read_table"]

T = TypeVar("T")


def changed(settings: T, table: dict[str, Any], *, where: str) -> T:
    """The settings with the table's values in place; a key they do not have is an error."""
    hints = typing.get_type_hints(type(settings))
    unknown = sorted(set(table) - set(hints))
    if unknown:
        raise _bad_option(where, f"unknown {', '.join(unknown)}", f"use {', '.join(sorted(hints))}")
    values = {k: _value(getattr(settings, k), v, hints[k], f"{where}: {k}") for k, v in table.items()}
    return dataclasses.replace(settings, **values)  # type: ignore[type-var]


def _value(old: Any, new: Any, hint: Any, where: str) -> Any:
    if isinstance(old, Camera):
        return Camera.pinhole(str(new))
    if dataclasses.is_dataclass(old) and isinstance(new, dict):
        return changed(old, new, where=where)
    if hint is float and isinstance(new, int) and not isinstance(new, bool):
        return float(new)
    if not _fits(new, hint):
        raise _bad_option(where, f"{new!r}", f"give {_choices(hint)}")
    return new


def _fits(value: Any, hint: Any) -> bool:
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if isinstance(hint, python_types.UnionType):
        return any(_fits(value, h) for h in typing.get_args(hint))
    return type(value) is hint


def _choices(hint: Any) -> str:
    names = typing.get_args(hint)
    return " or ".join(map(repr, names)) if names else f"a value of type {hint.__name__}"


def _bad_option(where: str, seen: str, do: str) -> InputError:
    return InputError("options.invalid", f"an option is wrong ({where})", seen=seen, do=do)


def read_table(path: Path) -> dict[str, Any]:
    """The table a TOML file holds."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise _bad_option("recipe file", f"{path}: {error}", "give a readable TOML file") from error
