"""Which reference views a map has: a lattice of places, each at several headings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.errors import InputError, MapError
from nadirfix.geo.angle import along_heading, from_heading
from nadirfix.geo.coverage import MapCoverage
from nadirfix.geo.grid import Grid, lattice_places
from nadirfix.geo.texture import Texture
from nadirfix.geo.views import Views
from nadirfix.image.crop import Canonical
from nadirfix.options.recipe import Recipe, ReferenceOptions

__all__ = ["ChosenViews", "canonical_view", "choose_views", "low_view"]

Floats = NDArray[np.float64]

#: A map may be so much coarser than the pictures of references that are rendered from it.
_COARSEST = 1.25
#: Views tested for coverage at a time; each is 81 places.
_PIECE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class ChosenViews:
    """Views with enough of the map under them, and how many of the lattice had not."""

    views: Views
    left_out: int


def canonical_view(recipe: Recipe) -> Canonical:
    """The camera and altitude at which the recipe's references are rendered."""
    bins = AltitudeBins.from_options(recipe.bins)
    return Canonical(recipe.camera, canonical_altitude_m(recipe.references, bins))


def low_view(recipe: Recipe, map_gsd_m: float) -> Canonical | None:
    """The same for photos from low above; None where none are wanted, or the map is too coarse for them."""
    if recipe.references.low_altitude_m <= 0:
        return None
    canonical = Canonical(recipe.camera, recipe.references.low_altitude_m)
    pixel_m = canonical.footprint_m[0] / recipe.place_network.width_px
    return canonical if map_gsd_m <= _COARSEST * pixel_m else None


def choose_views(
    texture: Texture, canonical: Canonical, grid: Grid, options: ReferenceOptions
) -> ChosenViews:
    """Every place of the lattice at every heading, without those that see too little of the map."""
    _check(options)
    east, north = lattice_places(texture.bounds, options.stride_m, origin_m=grid.origin_m)
    heading = np.arange(options.headings) * (360.0 / options.headings)
    count = len(east) * options.headings
    views = Views.level(
        np.repeat(east, options.headings),
        np.repeat(north, options.headings),
        np.full(count, canonical.altitude_m),
        np.tile(heading, len(east)),
    )
    if options.steps:
        views = _on_whole_steps(views, canonical, grid.origin_m, options.steps)
    kept = views.take(_map_shares(texture, views, canonical) >= options.valid_share)
    if not len(kept):
        raise _no_views(count, options)
    return ChosenViews(kept, count - len(kept))


def _on_whole_steps(views: Views, canonical: Canonical, origin_m: tuple[float, float], steps: int) -> Views:
    """The views, each moved by at most half a step: there one run of the network serves many of them."""
    across_m, along_m = (side_m / steps for side_m in canonical.footprint_m)
    east, north = views.east_m.copy(), views.north_m.copy()
    for heading_deg in np.unique(views.heading_deg):
        turned = views.heading_deg == heading_deg
        right, ahead = along_heading(east[turned] - origin_m[0], north[turned] - origin_m[1], heading_deg)
        right, ahead = np.rint(right / across_m) * across_m, np.rint(ahead / along_m) * along_m
        moved = from_heading(right, ahead, heading_deg)
        east[turned], north[turned] = origin_m[0] + moved[0], origin_m[1] + moved[1]
    return Views.level(east, north, views.altitude_m, views.heading_deg)


def _map_shares(texture: Texture, views: Views, canonical: Canonical) -> Floats:
    ground, starts = MapCoverage(texture), range(0, len(views), _PIECE)
    pieces = (views.take(slice(start, start + _PIECE)) for start in starts)
    return np.concatenate([ground.valid_share(piece, canonical.camera) for piece in pieces])


def _check(options: ReferenceOptions) -> None:
    lattice_ok = options.stride_m > 0 and options.headings >= 1 and 0 < options.valid_share <= 1
    if not (lattice_ok and options.whiten_dims >= 0 and options.steps >= 0):
        raise InputError(
            "options.invalid",
            "references need a stride above 0 m, at least one heading, a valid share up to 1, and no fewer "
            "than 0 numbers to whiten to and steps",
            seen=f"stride_m {options.stride_m}, headings {options.headings}, valid_share "
            f"{options.valid_share}, whiten_dims {options.whiten_dims}, steps {options.steps}",
            do="change the recipe's references; 65 m, 12 headings and 0.8 are usual",
        )


def _no_views(count: int, options: ReferenceOptions) -> MapError:
    return MapError(
        "map.too_small",
        "the map has no room for a single reference view",
        seen=f"none of {count} views has {options.valid_share:.0%} of the map under it",
        do="take a larger map or one with fewer holes, or lower valid_share in the recipe's references",
    )
