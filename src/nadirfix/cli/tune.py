"""Which library is fastest here: found out before many photos come, where this machine does not know yet."""

from __future__ import annotations

from pathlib import Path

from nadirfix.cli.messages import print_note
from nadirfix.errors import MapError

__all__ = ["ensure_benchmarked"]


def ensure_benchmarked(bundle: Path, *, quiet: bool) -> None:
    """Measure, once, how this bundle's networks run fastest on this machine; networks opened later run so."""
    from nadirfix.bundle import Bundle
    from nadirfix.offline.tune import is_tuned, tune_backends
    from nadirfix.runtime.backend import cache_file

    opened = Bundle.load(bundle)
    if is_tuned(opened):
        return
    print_note("measuring, once, which library runs this bundle's networks fastest here", quiet=quiet)
    try:
        tune_backends(opened)
    except MapError as error:  # a map too small to render examples from can still locate photos
        print_note(f"not measured: {error}", quiet=quiet)
        return
    if not is_tuned(opened):
        where = f"{cache_file().parent} cannot be written to; NADIRFIX_CACHE names another folder"
        print_note(f"what was measured cannot be kept, and is not used: {where}", quiet=quiet)
