"""``nadirfix verify``: the old name of ``nadirfix check``, kept for one release."""

from __future__ import annotations

from nadirfix.cli.check import check
from nadirfix.cli.common import Quiet, print_note
from nadirfix.cli.info import BundlePath

__all__ = ["verify"]


def verify(bundle: BundlePath, *, quiet: Quiet = False) -> None:
    """The old name of check; it goes with the next release."""
    print_note("verify is now called check: nadirfix check BUNDLE", quiet=quiet)
    check(bundle, quiet=quiet)
