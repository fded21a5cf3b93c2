"""``nadirfix check``: whether every byte of a bundle is what was written."""

from __future__ import annotations

from nadirfix.cli.common import Quiet, print_result
from nadirfix.cli.info import BundlePath

__all__ = ["check"]


def check(bundle: BundlePath, *, quiet: Quiet = False) -> None:  # noqa: ARG001
    """Compare every part of a bundle with its hash; a damaged one ends with exit 4."""
    from nadirfix.bundle import Bundle

    opened = Bundle.check(bundle)
    print_result({"bundle": str(opened.path), "whole": True, "parts": sorted(opened.manifest["parts"])})
