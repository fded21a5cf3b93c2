"""A bundle that has been opened: cheap at first, each part read when it is first asked for."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nadirfix.altitude.bins import AltitudeBins, canonical_altitude_m
from nadirfix.altitude.scores import scores_of
from nadirfix.arrays import unit
from nadirfix.bundle import layout as parts
from nadirfix.bundle.recipe import recipe_from_manifest
from nadirfix.bundle.references import References, read_references
from nadirfix.camera import Camera
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.image.crop import Canonical
from nadirfix.options.recipe import Recipe
from nadirfix.options.verify import FeatureOptions
from nadirfix.parallel import at_once
from nadirfix.retrieval.cell_index import CellIndex, index_names
from nadirfix.retrieval.cells import CellRanking, CellVoter
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network, NetworkFiles, Way, load_fastest, load_way
from nadirfix.runtime.backend import remembered_likeness, remembered_way

if TYPE_CHECKING:
    from nadirfix.geo.texture import Texture
    from nadirfix.retrieval.crops import Lookup
    from nadirfix.retrieval.index import ReferenceIndex
    from nadirfix.verify.features import Detector

__all__ = ["Bundle"]

#: About so many crops of a photo are described where its whole frame votes.
_CROPS = 32
#: About so many pictures go through the matcher for a photo: itself at two sizes, and views of the map.
_LOOKS = 8
#: Of the length a descriptor is off by, so much shows between two that are nearly as like it: measured.
_SHOWS = 0.05
#: Crops of a photo that are described at a time.
_TOGETHER = 4


@dataclass(frozen=True, eq=False)
class Bundle:
    """What is known about one map: its picture, its references, and the networks that look at photos."""

    path: Path
    manifest: dict[str, Any]
    recipe: Recipe
    epsg: int
    bins: AltitudeBins
    canonical: Canonical
    grid: Grid
    order: ClassOrder
    threads: int = 0
    photos: int | None = None

    @classmethod
    def load(cls, path: Path | str, *, threads: int = 0, photos: int | None = None) -> Bundle:
        """Open a bundle; checks its version and that every part is there and as long as it should be.

        Networks run on so many threads, 0 being one per core: right for one photo at a time. Who places a
        photo on every core at once gives each of them one. Who knows how many photos there are says so: for
        a few, what is quick to open is chosen before what is quick to run.
        """
        folder = Path(path)
        manifest = parts.read_manifest(folder)
        parts.check_sizes(folder, manifest)
        recipe = recipe_from_manifest(manifest, folder)
        bins = AltitudeBins.from_options(recipe.bins)
        return cls(
            path=folder,
            manifest=manifest,
            recipe=recipe,
            epsg=int(manifest["map"]["epsg"]),
            bins=bins,
            canonical=Canonical(recipe.camera, canonical_altitude_m(recipe.references, bins)),
            grid=Grid.from_dict(manifest["grid"]),
            order=ClassOrder.from_dict(manifest["classes"]),
            threads=threads,
            photos=photos,
        )

    @classmethod
    def check(cls, path: Path | str) -> Bundle:
        """Open a bundle and compare every byte of it with what was written."""
        bundle = cls.load(path)
        parts.check_hashes(bundle.path, bundle.manifest)
        return bundle

    @property
    def camera(self) -> Camera:
        """The nominal camera: the one the networks were made for."""
        return self.recipe.camera

    @cached_property
    def texture(self) -> Texture:
        """The map's picture."""
        from nadirfix.geo.texture import Texture

        return Texture.load(self.path / parts.TEXTURE)

    @cached_property
    def altitude_network(self) -> Network:
        """From the spectrum of a photo to a score for every altitude class, or to what they are made of."""
        return load_fastest(self.network_files(parts.ALTITUDE), threads=self.threads, looks=self.photos)

    @cached_property
    def altitude_classes(self) -> NDArray[np.float32] | None:
        """Classes fitted to this map; None where the network brings its own."""
        if parts.ALTITUDE_CLASSES not in self.manifest["parts"]:
            return None
        return self._array(parts.ALTITUDE_CLASSES, dtype=np.float32, rows=len(self.bins))

    def altitude_scores(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """A score for every altitude class, for each input of the altitude network."""
        said = self.altitude_network.run(inputs)
        return said if self.altitude_classes is None else scores_of(said, self.altitude_classes)

    @cached_property
    def place_network(self) -> Network:
        """From a photo at canonical scale to its raw embedding."""
        return load_way(self.network_files(parts.PLACE), self._place_way, threads=self.threads)

    @cached_property
    def careful_place_network(self) -> Network:
        """The same in single precision, for photos whose answer rounding would decide."""
        return load_way(self.network_files(parts.PLACE), Way(), threads=self.threads)

    @cached_property
    def place_slack(self) -> float:
        """How far likenesses must lie apart for the place network, as it is run here, to tell them apart."""
        like = remembered_likeness(self.network_files(parts.PLACE), self._place_way)
        return _SHOWS * math.sqrt(max(0.0, 2 - 2 * like))

    @cached_property
    def _place_way(self) -> Way:
        looks = self.photos and self.photos * (_CROPS if self.described or self.matcher_name else 1)
        return remembered_way(self.network_files(parts.PLACE), looks=looks) or Way()

    def networks_opening(self, *, altitude: bool, matcher: bool) -> AbstractContextManager[None]:
        """Open networks while the block does something else: reading them takes no Python."""
        wanted: list[Callable[[], object]] = [lambda: self.place_network]
        if altitude:
            wanted.append(lambda: self.altitude_network)
        if matcher and self.matcher_name == "xfeat":
            wanted.append(lambda: self._matcher_network)
        return at_once(*wanted)

    @cached_property
    def prototypes(self) -> NDArray[np.float16]:
        """One direction per class, in the class order."""
        return self._array(parts.PROTOTYPES, rows=len(self.order))

    @cached_property
    def voter(self) -> CellVoter:
        """Tells how likely each cell is, from what its prototypes are made of."""
        borders = np.cumsum(self.order.sizes)[:-1]
        tables, names = np.split(self.prototypes, borders), index_names(len(self.order.sizes))
        listed = set(names) <= set(self.manifest["parts"])
        index = CellIndex([self.path / name for name in names]) if listed else None
        return CellVoter(tables, self.order, self.recipe.head, index=index)

    @cached_property
    def projection(self) -> Projection | None:
        """What whitens descriptors; None where the bundle has them as the network gives them."""
        if parts.PROJECTION not in self.manifest["parts"]:
            return None
        return Projection.from_array(self._array(parts.PROJECTION, dtype=np.float32))

    def describe(self, embeddings: NDArray[np.float32]) -> NDArray[np.float32]:
        """Raw embeddings (a row each) as descriptors: what references are compared by."""
        units = unit(embeddings)
        return units if self.projection is None else self.projection(units)

    @property
    def described(self) -> bool:
        """Whether a network that never saw the map describes it, whitened on the map's own references."""
        return self.projection is not None and self.manifest["networks"]["place"]["training"] is None

    def likeliest_cells(self, embedding: NDArray[np.float32], count: int) -> CellRanking:
        """The cells a photo with this raw embedding may lie in, the likeliest first.

        A head that was trained looks at the embedding; where each cell is spoken for by its references, they
        are descriptors, and so is what is compared with them.
        """
        learned = self.manifest["networks"]["place"]["training"] is not None
        raw = learned or self.projection is None
        return self.voter.top(embedding if raw else self.describe(embedding), count)

    @cached_property
    def references(self) -> References:
        """Where the reference views look from."""
        return read_references(self.path / parts.REFERENCES, self.order)

    @cached_property
    def descriptors(self) -> NDArray[np.float16]:
        """What the reference views look like: one unit vector each, read from disk as needed."""
        return self._array(parts.DESCRIPTORS, rows=len(self.references))

    @cached_property
    def index(self) -> ReferenceIndex:
        """Finds the reference views that look most like a photo, within chosen cells."""
        from nadirfix.retrieval.index import ReferenceIndex

        return ReferenceIndex(self.descriptors, self.references.starts)

    @cached_property
    def lookup(self) -> Lookup:
        """What it takes to let a whole frame vote for where it lies."""
        from nadirfix.retrieval.crops import Lookup

        size = self.recipe.place_network
        return Lookup(
            canonical=self.canonical,
            crop_px=(size.width_px, size.height_px),
            describe=self._described_crops,
            nearest=self.index.nearest,
            places=self.references,
            epsg=self.epsg,
            enlarge=self.recipe.enlarge,
        )

    def _described_crops(self, crops: NDArray[np.float32]) -> NDArray[np.float32]:
        """Crops (rows, columns, RGB) as descriptors; a few at a time, and the last ones one by one.

        Libraries prepare a network for each number of pictures anew, which takes longer than to run it.
        """
        planes = np.moveaxis(crops, -1, 1)
        whole = len(planes) - len(planes) % _TOGETHER
        cuts = [*range(0, whole, _TOGETHER), *range(whole, len(planes) + 1)]
        said = [self.place_network.run(planes[a:b]) for a, b in itertools.pairwise(cuts)]
        return self.describe(np.concatenate(said))

    @property
    def matcher_name(self) -> str | None:
        """What fixes can be verified with; None where the bundle carries nothing for it."""
        about = self.manifest.get("matcher")
        return None if about is None else str(about["name"])

    def matcher(self, options: FeatureOptions) -> Detector | None:
        """Finds points by which a photo is held against the map; None where fixes are not verified."""
        from nadirfix.verify.features import detector_of

        name = self.matcher_name
        if name not in (None, "xfeat", "sift"):
            raise parts.unknown(self.path, f"a matcher called {name!r}")
        return None if name is None else detector_of(name, self._matcher_network, options)

    @cached_property
    def _matcher_network(self) -> Network | None:
        if self.matcher_name != "xfeat":
            return None
        looks = self.photos and self.photos * _LOOKS
        return load_fastest(self.network_files(parts.MATCHER), threads=self.threads, looks=looks)

    def network_files(self, name: str) -> NetworkFiles:
        """A network's file, the same in eight bits where the bundle has it, and a name for both."""
        listed, eight_bit = self.manifest["parts"], parts.eight_bit(name)
        there = self.path / eight_bit if eight_bit in listed else None
        return NetworkFiles(self.path / name, there, listed.get(name, {}).get("sha256", ""))

    def _array(self, name: str, *, dtype: type = np.float16, rows: int | None = None) -> NDArray[Any]:
        try:
            array: NDArray[Any] = np.load(self.path / name, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise parts.damaged(self.path, f"{name} cannot be read ({error})") from error
        if array.dtype != dtype or array.ndim != 2 or rows not in (None, len(array)):
            raise parts.damaged(self.path, f"{name} holds {array.dtype} {array.shape} for {rows} rows")
        return array
