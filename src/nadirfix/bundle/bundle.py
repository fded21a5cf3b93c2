"""A bundle that has been opened: cheap at first, each part read when it is first asked for."""

from __future__ import annotations

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
from nadirfix.bundle.contents import array_of
from nadirfix.bundle.networks import open_in_float32, open_network, similarity_tolerance
from nadirfix.bundle.plan import Plan, answered_by
from nadirfix.bundle.recipe import recipe_from_manifest
from nadirfix.bundle.references import References, read_references
from nadirfix.bundle.validator import check_all_parts, check_parts, read_checked_manifest
from nadirfix.camera import Camera
from nadirfix.geo.grid import ClassOrder, Grid
from nadirfix.image.crop import Canonical
from nadirfix.options.recipe import NETWORK_MATCHERS, Recipe
from nadirfix.options.verify import FeatureOptions
from nadirfix.parallel import run_in_background
from nadirfix.retrieval.cell_index import CellIndex, index_names
from nadirfix.retrieval.cells import CellClassifier, CellRanking
from nadirfix.retrieval.whitening import Projection
from nadirfix.runtime import Network, NetworkFiles

if TYPE_CHECKING:
    from nadirfix.geo.texture import Texture
    from nadirfix.retrieval.crops import ReferenceSearch
    from nadirfix.retrieval.index import ReferenceIndex
    from nadirfix.verify.features import Detector

__all__ = ["Bundle"]

#: About so many crops of a photo are described where its whole frame votes.
_CROPS = 32
#: About so many images go through the keypoint network for a photo: itself at two sizes, views of the map.
_MATCHED_IMAGES = 8


@dataclass(frozen=True, eq=False)
class Bundle:
    """What is known about one map: its texture, its references, and the networks that run on photos."""

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
        """Open a bundle; checks its version, and that every part is what was written and can be meant.

        What is in a part is read once, and again when its file has changed or some days have passed (ADR 54).

        Networks run on so many threads, 0 being one per core: right for one photo at a time. Where a photo
        is located on every core at once, each gets one. Where it is known how many ``photos`` there are, a
        backend that is quick to open is chosen for a few, and one that is quick to run for many.
        """
        folder = Path(path)
        manifest = read_checked_manifest(folder)
        recipe = recipe_from_manifest(manifest, folder)
        bins, order = AltitudeBins.from_options(recipe.bins), ClassOrder.from_dict(manifest["classes"])
        check_parts(folder, manifest, recipe, bins=len(bins), cells=order.sizes)
        return cls(
            path=folder,
            manifest=manifest,
            recipe=recipe,
            epsg=int(manifest["map"]["epsg"]),
            bins=bins,
            canonical=Canonical(recipe.camera, canonical_altitude_m(recipe.references, bins)),
            grid=Grid.from_dict(manifest["grid"]),
            order=order,
            threads=threads,
            photos=photos,
        )

    @classmethod
    def check(cls, path: Path | str) -> Bundle:
        """Open a bundle and compare every byte of it with what was written."""
        bundle = cls.load(path)
        check_all_parts(bundle.path, bundle.manifest)
        return bundle

    @classmethod
    def verify(cls, path: Path | str) -> Bundle:
        """The old name of ``check``; it goes with the next release."""
        import warnings

        warnings.warn("Bundle.verify is now called Bundle.check", DeprecationWarning, stacklevel=2)
        return cls.check(path)

    @property
    def camera(self) -> Camera:
        """The nominal camera: the one the networks were made for."""
        return self.recipe.camera

    @cached_property
    def texture(self) -> Texture:
        """The map's picture."""
        from nadirfix.bundle.map_texture import load_texture

        return load_texture(self.path, self.manifest["map"])

    @cached_property
    def altitude_network(self) -> Network:
        """From the spectrum of a photo to a score for every altitude class, or to what they are made of."""
        fitted = self.altitude_classes
        width = len(self.bins) if fitted is None else fitted.shape[1] - 1
        return self._network(parts.ALTITUDE, (width,), self.photos)

    @cached_property
    def altitude_classes(self) -> NDArray[np.float32] | None:
        """Classes fitted to this map; None where the network brings its own."""
        if parts.ALTITUDE_CLASSES not in self.manifest["parts"]:
            return None
        return self.array(parts.ALTITUDE_CLASSES)

    def altitude_scores(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        """A score for every altitude class, for each input of the altitude network."""
        outputs = self.altitude_network.run(inputs)
        return outputs if self.altitude_classes is None else scores_of(outputs, self.altitude_classes)

    @cached_property
    def place_network(self) -> Network:
        """From a photo at canonical scale to its raw embedding."""
        runs = self.photos and self.photos * (1 if answered_by(self) == "retrieval" else _CROPS)
        return self._network(parts.PLACE, (self._embedding_width,), runs)

    @cached_property
    def float32_place_network(self) -> Network:
        """The same in single precision, for photos whose answer rounding would decide."""
        files = self.network_files(parts.PLACE)
        return open_in_float32(files, (self._embedding_width,), threads=self.threads)

    @property
    def _embedding_width(self) -> int:
        """How many numbers the place network gives, by what takes them."""
        taken = self.descriptors if self.projection is None else self.projection.axes
        return int(taken.shape[1])

    def _network(self, name: str, sides: tuple[int, ...], runs: int | None) -> Network:
        return open_network(self.network_files(name), sides, threads=self.threads, expected_runs=runs)

    @cached_property
    def similarity_tolerance(self) -> float:
        """How far cosine similarities must differ for the place network, as it runs, to rank them."""
        if self.network_files(parts.PLACE).precision == "single":
            return 0.0
        return similarity_tolerance(self.manifest, self.path)

    def networks_opening(self, plan: Plan) -> AbstractContextManager[None]:
        """Open what the plan needs while the block does something else: reading networks takes no Python."""
        openings: list[Callable[[], object]] = [lambda: self.place_network]
        if plan.estimates_altitude:
            openings.append(lambda: self.altitude_network)
        if plan.verifies:
            openings.append(lambda: self.matcher_network)
        return run_in_background(*openings)

    @cached_property
    def prototypes(self) -> NDArray[np.float16]:
        """One direction per class, in the class order."""
        return self.array(parts.PROTOTYPES)

    @cached_property
    def cell_classifier(self) -> CellClassifier:
        """Tells how likely each cell is, from its prototypes."""
        borders = np.cumsum(self.order.sizes)[:-1]
        tables, names = np.split(self.prototypes, borders), index_names(len(self.order.sizes))
        listed = set(names) <= set(self.manifest["parts"])
        index = CellIndex(self.path, groups=len(self.order.sizes)) if listed else None
        return CellClassifier(tables, self.order, self.recipe.head, index=index)

    @cached_property
    def projection(self) -> Projection | None:
        """What whitens descriptors; None where the bundle has them as the network gives them."""
        if parts.PROJECTION not in self.manifest["parts"]:
            return None
        return Projection.from_array(self.array(parts.PROJECTION))

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

        A head that was trained takes the embedding; prototypes that are means of references are compared with
        the photo's descriptor, as references are.
        """
        trained = self.manifest["networks"]["place"]["training"] is not None
        raw = trained or self.projection is None
        return self.cell_classifier.top(embedding if raw else self.describe(embedding), count)

    @cached_property
    def references(self) -> References:
        """Where the reference views look from."""
        older = parts.PARQUET in self.manifest["parts"]
        path = self.path / (parts.PARQUET if older else parts.REFERENCES)
        return read_references(path, len(self.order), rows=self.reference_count)

    @property
    def reference_count(self) -> int:
        """How many reference views there are, without opening them."""
        return int(self.manifest["counts"]["references"])

    @cached_property
    def descriptors(self) -> NDArray[np.float16]:
        """The descriptors of the reference views: one unit vector each, read from disk as needed."""
        return self.array(parts.DESCRIPTORS)

    @cached_property
    def index(self) -> ReferenceIndex:
        """Finds the reference views most similar to a photo, within chosen cells."""
        from nadirfix.retrieval.index import ReferenceIndex

        return ReferenceIndex(self.descriptors, self.references.starts)

    @cached_property
    def reference_search(self) -> ReferenceSearch:
        """What it takes to let a whole frame vote for where it lies."""
        from nadirfix.bundle.reference_search import search_of

        return search_of(self)

    @cached_property
    def low_reference_search(self) -> ReferenceSearch | None:
        """The same among references for photos from low above; None where the bundle has none."""
        from nadirfix.bundle.reference_search import low_search_of

        return low_search_of(self)

    @property
    def matcher_name(self) -> str | None:
        """The keypoint extractor fixes can be verified with; None where the bundle carries none."""
        card = self.manifest.get("matcher")
        return None if card is None else str(card["name"])

    def keypoint_detector(self, options: FeatureOptions) -> Detector:
        """Finds the keypoints by which a photo is matched with the map, where the bundle has a matcher."""
        from nadirfix.verify.features import detector_of

        return detector_of(str(self.matcher_name), self.matcher_network, options)

    @cached_property
    def matcher_network(self) -> Network | None:
        """What finds and describes keypoints; None where the matcher is no network, or there is none."""
        from nadirfix.verify.features import OUTPUT_SIDES

        if self.matcher_name not in (None, "sift", *NETWORK_MATCHERS):
            raise parts.unknown(self.path, f"a matcher called {self.matcher_name!r}")
        if self.matcher_name not in NETWORK_MATCHERS:
            return None
        runs = self.photos and self.photos * _MATCHED_IMAGES
        return self._network(parts.MATCHER, OUTPUT_SIDES, runs)

    def network_files(self, name: str) -> NetworkFiles:
        """A network's file, the same in int8 where the bundle has it, a name, and which of them runs here.

        Which, is the bundle's to say and not the machine's: another precision gives other answers (ADR 49).
        """
        listed, int8_name = self.manifest["parts"], parts.int8_part(name)
        int8 = self.path / int8_name if int8_name in listed else None
        quantised = int8 is not None and self.recipe.precision == "int8"
        sha256 = listed.get(name, {}).get("sha256", "")
        return NetworkFiles(self.path / name, int8, sha256, "eight_bit" if quantised else "single")

    def array(self, name: str) -> NDArray[Any]:
        """A part that holds numbers, read from disk as needed; the door has looked at it."""
        try:
            return array_of(self.path / name).open()
        except (OSError, ValueError) as error:
            raise parts.damaged(self.path, f"{name} cannot be read ({error})") from error
