"""The command line: one small file per command; only the one that is asked for is loaded."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nadirfix.cli.messages import explain
from nadirfix.errors import NadirfixError

if TYPE_CHECKING:
    import typer

    app: typer.Typer

__all__ = ["app", "main"]

_INTERRUPTED = 130
_REPORT = "https://github.com/nadirfix/nadirfix/issues"
#: In the order of the help; each is a module of its own name with a function of its own name.
_COMMANDS = (
    "demo",
    "world",
    "simulate",
    "build",
    "locate",
    "evaluate",
    "relabel",
    "info",
    "check",
    "serve",
)


def _app(commands: Sequence[str]) -> typer.Typer:
    """The command line with these commands."""
    import typer

    from nadirfix.cli.global_options import door

    made = typer.Typer(
        name="nadirfix",
        help="Where was this drone photo taken, and from how high? From the picture and a map alone.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    made.callback()(door)
    for name in commands:
        made.command(name)(getattr(import_module(f"{__name__}.{name}"), name))
    return made


def __getattr__(name: str) -> Any:
    """``app``, all commands of it, where somebody asks for it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _app(_COMMANDS)


def main() -> int:
    """Run the command line; every failure ends in one clear line and its own exit number."""
    # Large photos are expected here; decode() has a limit of its own, named in pixels.
    warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
    # Threads that spin while they wait make training many times slower beside any other busy process.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    try:
        return _run(sys.argv[1:])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:  # whoever listened has heard enough, like head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except NadirfixError as error:
        return _fail(explain(error), error.exit_number)
    except Exception as error:  # the last net: nobody should have to read a traceback
        return _fail(explain(_unexpected(error)), NadirfixError.exit_number)


def _run(arguments: Sequence[str]) -> int:
    """Photos that are plainly asked about are placed at once; everything else goes through the parser."""
    if arguments[:1] == ["locate"]:
        from nadirfix.cli.fast_path import plainly_asked
        from nadirfix.cli.locating import place_photos

        asked = plainly_asked(arguments[1:])
        if asked is not None:
            return place_photos(asked)
    _app([name for name in arguments[:1] if name in _COMMANDS] or _COMMANDS)()
    return 0


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
