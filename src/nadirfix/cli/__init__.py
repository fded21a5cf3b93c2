"""The command line: one small file per command; only the command that is called is imported."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from nadirfix.cli.messages import error_line, give_up_stdout, write_stderr
from nadirfix.cli.streams import escaped_messages, stop_on_sigterm, usable_streams
from nadirfix.errors import NadirfixError, out_of_memory
from nadirfix.files import FULL_DISK, output_errors

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
    "compare",
    "relabel",
    "camera",
    "info",
    "check",
    "serve",
)
#: Old names, hidden in the help for one release.
_RENAMED = ("verify",)


def _app(commands: Sequence[str]) -> typer.Typer:
    """The command line with these commands."""
    import typer

    from nadirfix.cli.global_options import global_options

    parser = typer.Typer(
        name="nadirfix",
        help="Where was this drone photo taken, and from how high? From the picture and a map alone.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    parser.callback()(global_options)
    for name in commands:
        command = getattr(import_module(f"{__name__}.{name}"), name)
        parser.command(name, hidden=name in _RENAMED)(command)
    return parser


def __getattr__(name: str) -> Any:
    """``app``, with all commands, made when it is first used."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _app([*_COMMANDS, *_RENAMED])


def main() -> int:
    """Run the command line; every failure ends in one clear line and its own exit number."""
    # Large photos are expected here; decode() has a limit of its own, named in pixels.
    warnings.filterwarnings("ignore", message="Image size .* exceeds limit")
    # Threads that spin while they wait make training many times slower beside any other busy process.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    with stop_on_sigterm(), usable_streams():
        return _guarded(sys.argv[1:])


def _guarded(arguments: Sequence[str]) -> int:
    try:
        return _run(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:
        return _INTERRUPTED
    except NadirfixError as error:
        return _fail(error_line(error), error.exit_number)
    except Exception as error:  # nobody should have to read a traceback
        explained = _explained(error)
        return _fail(error_line(explained), explained.exit_number)


def _run(arguments: Sequence[str]) -> int:
    """A plain ``locate`` starts at once; everything else goes through the parser."""
    if arguments[:1] == ["locate"]:
        from nadirfix.cli.fast_path import parse_plain_arguments
        from nadirfix.cli.locating import locate_photos

        plain = parse_plain_arguments(arguments[1:])
        if plain is not None:
            return locate_photos(plain)
    known = [*_COMMANDS, *_RENAMED]
    with escaped_messages(arguments):
        _app([name for name in arguments[:1] if name in known] or known)()
    return 0


def _fail(text: str, exit_number: int) -> int:
    if os.environ.get("NADIRFIX_DEBUG") == "1":
        traceback.print_exc()
    write_stderr(text)
    return exit_number


def _explained(error: Exception) -> NadirfixError:
    """Too little memory or a full disk has nothing to do with us, wherever it shows."""
    if (short := out_of_memory(error)) is not None:
        return short
    if isinstance(error, OSError) and error.errno in {*FULL_DISK, errno.EPIPE, errno.EBADF}:
        give_up_stdout()
        try:
            with output_errors(error.filename or "standard output or a temporary file"):
                raise error
        except NadirfixError as explained:
            return explained
    return NadirfixError(
        "internal.error",
        "nadirfix did not expect this",
        seen=f"{type(error).__name__}: {error}",
        do=f"run it again with NADIRFIX_DEBUG=1 and report what it prints at {_REPORT}",
    )
