"""The command line: one small file per command; heavy libraries load only inside the command that runs."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from typing import Annotated

import typer

from nadirfix import __version__
from nadirfix.cli import build, demo, evaluate, info, locate, relabel, serve, simulate, verify, world
from nadirfix.cli.common import explain
from nadirfix.errors import NadirfixError

__all__ = ["app", "main"]

_INTERRUPTED = 130
_REPORT = "https://github.com/nadirfix/nadirfix/issues"

app = typer.Typer(
    name="nadirfix",
    help="Where was this drone photo taken, and from how high? From the picture and a map alone.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("demo")(demo.demo)
app.command("world")(world.world)
app.command("simulate")(simulate.simulate)
app.command("build")(build.build)
app.command("locate")(locate.locate)
app.command("evaluate")(evaluate.evaluate)
app.command("relabel")(relabel.relabel)
app.command("info")(info.info)
app.command("verify")(verify.verify)
app.command("serve")(serve.serve)


def main() -> int:
    """Run the command line; every failure ends in one clear line and its own exit number."""
    # Large photos are expected here; decode() has a limit of its own, named in pixels.
    warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
    # Threads that spin while they wait make training many times slower beside any other busy process.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except NadirfixError as error:
        return _fail(explain(error), error.exit_number)
    except Exception as error:  # the last net: nobody should have to read a traceback
        return _fail(explain(_unexpected(error)), NadirfixError.exit_number)
    return 0


def _show_version(asked: bool) -> None:
    if asked:
        print(f"nadirfix {__version__}")
        raise typer.Exit


@app.callback()
def _nadirfix(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version and stop.", callback=_show_version, is_eager=True),
    ] = False,
) -> None:
    """Where was this drone photo taken, and from how high? From the picture and a map alone."""


def _fail(text: str, exit_number: int) -> int:
    if os.environ.get("NADIRFIX_DEBUG") == "1":
        traceback.print_exc()
    print(text, file=sys.stderr, flush=True)
    return exit_number


def _unexpected(error: Exception) -> NadirfixError:
    return NadirfixError(
        "internal.error",
        "nadirfix did not expect this",
        seen=f"{type(error).__name__}: {error}",
        do=f"run it again with NADIRFIX_DEBUG=1 and report what it prints at {_REPORT}",
    )
