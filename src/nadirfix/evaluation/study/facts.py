"""What a bundle is, in lines a person can read."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from nadirfix.bundle import Bundle
from nadirfix.bundle.layout import MANIFEST
from nadirfix.options.recipe import NetworkOptions

__all__ = ["bundle_facts"]


def bundle_facts(bundle: Bundle) -> list[tuple[str, str]]:
    """Map, camera, recipe, networks, references and hashes."""
    manifest = bundle.manifest
    return [
        (
            "Bundle",
            f"{bundle.path.name}, {_bytes(manifest)},"
            f" made by nadirfix {manifest['nadirfix']}, {_date(bundle)}",
        ),
        ("Map", _map(bundle)),
        ("Map files", _files(manifest)),
        ("Nominal camera", bundle.camera.spec),
        ("Recipe", f"{bundle.recipe.name}, seed {bundle.recipe.seed}"),
        ("Altitude", _altitude(bundle)),
        ("Altitude network", _network(bundle.recipe.altitude_network, manifest["networks"]["altitude"])),
        ("Place network", _network(bundle.recipe.place_network, manifest["networks"]["place"])),
        ("References", _references(bundle)),
        ("Parts", "; ".join(f"{n} {p['sha256'][:12]}…" for n, p in sorted(manifest["parts"].items()))),
    ]


def _map(bundle: Bundle) -> str:
    west, south, east, north = bundle.manifest["map"]["bounds_m"]
    gsd_m = bundle.manifest["map"]["gsd_m"]
    size = f"{(east - west) / 1000:.2f} × {(north - south) / 1000:.2f} km at {gsd_m:.2f} m per pixel"
    return f"{size}, EPSG:{bundle.epsg}"


def _files(manifest: dict[str, Any]) -> str:
    files = [file for source in manifest["source"] for file in source["files"]]
    return "; ".join(f"{file['name']} (SHA-256 {file['sha256'][:16]}…)" for file in files)


def _altitude(bundle: Bundle) -> str:
    bins = bundle.recipe.bins
    kind = f"{bins.width_m:.0f} m wide" if bins.kind == "fixed" else "of growing width"
    classes = f"{len(bundle.bins)} classes {kind}, {bins.min_m:.0f} to {bins.max_m:.0f} m"
    return f"{classes}; references as from {bundle.canonical.altitude_m:g} m"


def _network(options: NetworkOptions, network: dict[str, Any]) -> str:
    trained = network["training"]
    steps = f"{trained['steps']} training steps" if trained else "not trained on this map"
    network_input = f"{options.input}, {options.width_px} × {options.height_px} px"
    return f"{options.encoder} on {network_input}; start: {network['weights']['source']}; {steps}"


def _references(bundle: Bundle) -> str:
    counts, options = bundle.manifest["counts"], bundle.recipe.references
    views = f"{counts['references']} views in {counts['cells']} cells"
    lattice = f"every {options.stride_m:g} m at {options.headings} headings"
    return f"{views}, {lattice}; {counts['left_out']} left out for lack of map"


def _date(bundle: Bundle) -> str:
    """When it was put in place here: equal builds are equal, so the bundle itself names no day."""
    placed_s = (bundle.path / MANIFEST).stat().st_mtime
    return f"put here on {datetime.fromtimestamp(placed_s, UTC):%Y-%m-%d}"


def _bytes(manifest: dict[str, Any]) -> str:
    return f"{sum(part['bytes'] for part in manifest['parts'].values()) / 1e6:.1f} MB"
