"""What the command line takes before any command."""

from __future__ import annotations

from typing import Annotated

import typer

from nadirfix import __version__

__all__ = ["door"]


def _show_version(asked: bool) -> None:
    if asked:
        print(f"nadirfix {__version__}")
        raise typer.Exit


def door(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and stop.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Where was this drone photo taken, and from how high? From the picture and a map alone."""
