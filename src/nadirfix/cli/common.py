"""What every command has in common: shared options, and how it speaks."""

from __future__ import annotations

from typing import Annotated

import typer

from nadirfix.cli.messages import explain, print_result, remark

__all__ = ["Overwrite", "Quiet", "explain", "print_result", "remark"]

Quiet = Annotated[bool, typer.Option("--quiet", help="Say nothing but results and errors.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the output if it is already there.")]
