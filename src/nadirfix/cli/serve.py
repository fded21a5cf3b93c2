"""``nadirfix serve``: the same answers by HTTP, and a page to drop photos on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nadirfix.cli.common import Quiet, print_note
from nadirfix.errors import ServiceError
from nadirfix.serve.options import EXPECTED_PHOTOS, ServeOptions

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["serve"]

_DEFAULT = ServeOptions()


def serve(
    bundle: Annotated[Path, typer.Option("--bundle", metavar="B", help="The NAME.nadir folder of the map.")],
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = _DEFAULT.host,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = _DEFAULT.port,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Token that clients must send.", show_default="NADIRFIX_TOKEN"),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Pages of this origin are allowed; may be repeated."),
    ] = None,
    queue: Annotated[
        int,
        typer.Option(
            min=1, help="Photos pending at most; one in 8 runs at the same time, at most one per core."
        ),
    ] = _DEFAULT.queue,
    no_measure: Annotated[
        bool,
        typer.Option("--no-measure", help="Do not find out first which library is fastest here."),
    ] = not _DEFAULT.measure,
    quiet: Quiet = False,
) -> None:
    """Answer by HTTP where photos were taken, with a page to drop them on; Ctrl-C stops it."""
    options = ServeOptions(
        host=host,
        port=port,
        token=_token(token_file),
        allow_origins=tuple(allow_origin or ()),
        queue=queue,
        measure=not no_measure,
    )
    _run(bundle, options, quiet=quiet)


def _run(path: Path, options: ServeOptions, *, quiet: bool) -> None:
    """Errors in the address or the bundle are reported before any request is accepted."""
    from nadirfix.serve.app import create_app
    from nadirfix.serve.locator import PhotoLocator
    from nadirfix.serve.server import listen, one_heap, serve_forever
    from nadirfix.serve.static import PAGE_FOLDER

    one_heap()
    with listen(options) as listener:
        bundle = _open_bundle(path, options, quiet=quiet)
        PhotoLocator(bundle, options).warm_up()
        app = create_app(bundle, options)
        hint = "open" if (PAGE_FOLDER / "index.html").exists() else "the page is not built; see"
        name = f"[{options.host}]" if ":" in options.host else options.host
        print_note(f"{hint} http://{name}:{options.port}/", quiet=quiet)
        serve_forever(app, listener, options, quiet=quiet)


def _open_bundle(path: Path, options: ServeOptions, *, quiet: bool) -> Bundle:
    """The bundle, its networks on the fastest backend known for as many photos as run at the same time.

    Measured before any request is accepted: photos would make the measurement wrong, and it would slow them.
    """
    from nadirfix.bundle import Bundle
    from nadirfix.cli.tune import ensure_benchmarked

    if options.measure:
        ensure_benchmarked(path, quiet=quiet)
    return Bundle.load(path, threads=options.threads, photos=EXPECTED_PHOTOS)


def _token(file: Path | None) -> str | None:
    """The token from its file or the environment; never from the command line, which other users can read."""
    if file is None:
        return os.environ.get("NADIRFIX_TOKEN") or None
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ServiceError(
            "service.token",
            "the token cannot be read",
            seen=f"{file} ({error})",
            do="name a file that holds the token and nothing else",
        ) from error
