"""Options that come before the command."""

from __future__ import annotations

from typing import Annotated

import typer

from nadirfix import __version__

__all__ = ["global_options"]


def _show_version(requested: bool) -> None:
    if requested:
        print(f"nadirfix {__version__}")
        raise typer.Exit


def global_options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and stop.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Where was this drone photo taken, and from how high? From the picture and a map alone."""
