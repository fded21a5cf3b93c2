"""Which library is fastest here: found out before many photos come, where this machine does not know yet."""

from __future__ import annotations

from pathlib import Path

from nadirfix.cli.messages import remark
from nadirfix.errors import MapError

__all__ = ["know_fastest"]


def know_fastest(bundle: Path, *, quiet: bool) -> None:
    """Measure, once, how this bundle's networks run fastest on this machine; networks opened later run so."""
    from nadirfix.bundle import Bundle
    from nadirfix.offline.tune import find_fastest, is_known
    from nadirfix.runtime.backend import cache_file

    opened = Bundle.load(bundle)
    if is_known(opened):
        return
    remark("measuring, once, which library runs this bundle's networks fastest here", quiet=quiet)
    try:
        find_fastest(opened)
    except MapError as error:  # a map too small to take examples from is still one to place photos on
        remark(f"not measured: {error}", quiet=quiet)
        return
    if not is_known(opened):
        where = f"{cache_file().parent} cannot be written to; NADIRFIX_CACHE names another folder"
        remark(f"what was measured cannot be kept, and is not used: {where}", quiet=quiet)
