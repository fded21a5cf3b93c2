"""``nadirfix serve``: the same answers by HTTP, and a page to drop photos on."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nadirfix.cli.common import Quiet, remark
from nadirfix.errors import ServiceError
from nadirfix.serve.options import ServeOptions

if TYPE_CHECKING:
    from nadirfix.bundle import Bundle

__all__ = ["serve"]

_USUAL = ServeOptions()
_NEEDED = ("fastapi", "uvicorn", "python_multipart", "prometheus_client", "mercantile")


def serve(
    bundle: Annotated[Path, typer.Option("--bundle", metavar="B", help="The NAME.nadir folder of the map.")],
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = _USUAL.host,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = _USUAL.port,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Token that clients must send.", show_default="NADIRFIX_TOKEN"),
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="ORIGIN", help="Pages of this origin may ask; may be repeated."),
    ] = None,
    queue: Annotated[
        int,
        typer.Option(min=1, help="Photos in the house; for every 8 one is at work, at most one a core."),
    ] = _USUAL.queue,
    no_measure: Annotated[
        bool,
        typer.Option("--no-measure", help="Do not find out first which library is fastest here."),
    ] = not _USUAL.measure,
    quiet: Quiet = False,
) -> None:
    """Answer by HTTP where photos were taken, with a page to drop them on; Ctrl-C stops it."""
    _require_packages()
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
    """Whatever is wrong with the address or the bundle is said before anybody is let in."""
    from nadirfix.serve.app import create_app
    from nadirfix.serve.locator import Placer
    from nadirfix.serve.server import listen, one_heap, serve_forever
    from nadirfix.serve.static import PAGE_FOLDER

    one_heap()
    with listen(options) as listener:
        bundle = _opened(path, options, quiet=quiet)
        Placer(bundle, options).warm_up()
        app = create_app(bundle, options)
        shown = "open" if (PAGE_FOLDER / "index.html").exists() else "the page is not built; see"
        name = f"[{options.host}]" if ":" in options.host else options.host
        remark(f"{shown} http://{name}:{options.port}/", quiet=quiet)
        serve_forever(app, listener, options, quiet=quiet)


def _opened(path: Path, options: ServeOptions, *, quiet: bool) -> Bundle:
    """The bundle, its networks to be run in the fastest way known, for as many photos at once as are placed.

    Before anybody is let in: photos beside it would make the measurement wrong, and it them slow.
    """
    from nadirfix.bundle import Bundle
    from nadirfix.cli.tune import know_fastest

    if options.measure:
        know_fastest(path, quiet=quiet)
    return Bundle.load(path, threads=options.threads, photos=options.photos_to_come)


def _token(file: Path | None) -> str | None:
    """The token from its file or from the environment; never from the command line, which others can read."""
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


def _require_packages() -> None:
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ServiceError(
            "service.not_installed",
            "the service's packages are not installed",
            seen=f"no {', '.join(missing)}",
            do="install them: pip install 'nadirfix[serve]'",
        )
