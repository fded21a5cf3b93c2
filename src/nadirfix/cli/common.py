"""What every command has in common: shared options, and how it prints."""

from __future__ import annotations

from typing import Annotated

import typer

from nadirfix.cli.messages import error_line, print_note, print_result

__all__ = ["AllowRemote", "Overwrite", "Quiet", "error_line", "print_note", "print_result"]

Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but results and errors.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it is already there.")]
AllowRemote = Annotated[
    bool,
    typer.Option("--allow-remote", help="Open maps in any format of GDAL, from anywhere."),
]
