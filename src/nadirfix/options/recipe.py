"""How a bundle is made: its networks, references, altitude classes and cells; the named recipes.

A recipe is frozen and can be written as TOML; an unknown key is an error, never ignored.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from nadirfix.camera import DEFAULT_CAMERA, Camera
from nadirfix.errors import InputError
from nadirfix.options.map import TextureOptions
from nadirfix.options.toml import changed, read_table
from nadirfix.options.training import AugmentOptions, ContrastOptions, TrainOptions

__all__ = [
    "NETWORK_MATCHERS",
    "RECIPES",
    "SHIPPED_ALTITUDE",
    "SHIPPED_PLACE",
    "BinOptions",
    "Enlarge",
    "FitOptions",
    "GridOptions",
    "HeadOptions",
    "NetworkOptions",
    "QuantiseOptions",
    "Recipe",
    "ReferenceOptions",
    "load_recipe",
    "ships",
]

#: How a photo from above the canonical altitude is resampled to its scale: by means of its own pixels, or, as
#: published, as if the whole of it were enlarged by a cubic first (ADR 42).
Enlarge = Literal["mean", "cubic"]

#: Matchers that are networks: the one that ships (ADR 48), and XFeat itself, which an extra brings.
NETWORK_MATCHERS = ("standard", "xfeat")


@dataclass(frozen=True, kw_only=True)
class BinOptions:
    """How altitude is cut into classes."""

    kind: Literal["fixed", "variable"] = "fixed"
    min_m: float = 100.0
    max_m: float = 700.0
    width_m: float = 50.0  # fixed bins
    first_width_m: float = 20.0  # variable bins
    ratio: float = 1.1  # variable bins


@dataclass(frozen=True, kw_only=True)
class GridOptions:
    """How the ground is cut into cells and groups of cells."""

    cell_m: float = 100.0
    groups_per_axis: int = 2
    anchor: Literal["map", "zone"] = "map"  # count from the middle of the map, or from the zone's origin


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """Which reference views the database holds."""

    canonical_altitude_m: float = 125.0  # lowered to the smallest altitude class centre where that is less
    stride_m: float = 65.0
    low_altitude_m: float = 0.0  # from which a second set is rendered, for photos from low above; 0: none
    low_stride_m: float = 45.0
    headings: int = 12
    valid_share: float = 0.8  # views with less of the map under them are left out and counted
    whiten_dims: int = 0  # descriptors are whitened on the map's own references to so many numbers; 0: not
    whiten_power: float = 1.0  # 1: all axes count alike; 0: as they are; half way carries to other dates
    steps: int = 0  # views lie on whole steps, so many to a view: one run serves many of them; 0: anywhere


@dataclass(frozen=True, kw_only=True)
class NetworkOptions:
    """One network: its input, encoder and aggregator."""

    input: Literal["spectrum", "pixels"] = "pixels"
    width_px: int = 224
    height_px: int = 224
    #: What the spectrum is taken of: 0-255, 0-1, or 0-255 with the usual contrast, whatever the haze.
    intensity: Literal["bytes", "unit", "contrast"] = "bytes"
    log_base: float = 1.5
    spectrum_levels: float = 7.0  # typical grey-level contrast per frequency: centres the spectrum near 0
    spectrum_scale: float = 2.5  # typical deviation of the log spectrum: scales it to about 1
    encoder: str = "resnet50-stage3"
    weights: str = "microsoft/resnet-50"  # model name, path, or "random" as an explicit choice
    start: str = ""  # whole embedder: a shipped name, a .safetensors file to start from, an .onnx to run
    weights_licence: str = ""  # of weights given by path, where no model card beside them states it
    aggregator: str = "mixvpr"
    gem_power: float = 3.0  # 1 is the mean, infinity the maximum
    gem_parts: int = 2  # pieces per side of the feature map
    mix_blocks: int = 4
    mix_channels: int = 256
    mix_rows: int = 4

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height of its input."""
        return self.width_px, self.height_px


@dataclass(frozen=True, kw_only=True)
class HeadOptions:
    """The classifier over cells."""

    kind: Literal["ce", "aamc", "qamc"] = "qamc"
    margin: float = 0.2
    scale: float = 100.0
    norm_share: float = 0.5  # the rest of the quality is sharpness
    concentration: float = 0.333
    epsilon: float = 1e-3


@dataclass(frozen=True, kw_only=True)
class FitOptions:
    """How altitude classes are fitted to views of a map where its network is not trained on it."""

    views: int = 600
    valid_share: float = 0.95  # share of a view that must lie on the map
    light: float = 0.3  # largest relative change of light and contrast
    noise_levels: float = 1.5  # largest deviation of noise, in grey levels of the network's input
    soften_px: float = 1.0  # largest radius of blur, in the network's pixels: other lenses are softer
    penalty: float = 1.0  # how much large weights cost
    seed: int = 0

    def __post_init__(self) -> None:
        changes = (self.light, self.noise_levels, self.soften_px)
        sound = 0 < self.valid_share <= 1 and 0 < self.penalty < math.inf
        if not (self.views >= 1 and sound and all(0 <= change < math.inf for change in changes)):
            raise InputError(
                "options.invalid",
                "altitude classes cannot be fitted with these options",
                seen=f"{self}",
                do="give views from 1, a share in 0 to 1, a penalty above 0, and changes from 0",
            )


@dataclass(frozen=True, kw_only=True)
class QuantiseOptions:
    """How networks are quantised to int8 when a bundle is built."""

    views: int = 48  # of the map, to measure ranges and to compare; 0: networks stay as they are
    likeness: float = 0.99  # least cosine similarity of outputs to float32's, at the 5th percentile

    def __post_init__(self) -> None:
        if not (self.views >= 0 and 0 < self.likeness <= 1):
            raise InputError(
                "options.invalid",
                "networks cannot be quantised to int8 with these options",
                seen=f"{self}",
                do="give views from 0 (none: they stay as they are) and a likeness above 0, at most 1",
            )


#: What ``bench/training/ship.py`` makes for the standard recipe: networks of many places; no torch.
SHIPPED_ALTITUDE = NetworkOptions(
    input="spectrum", width_px=448, height_px=336, encoder="resnet50-stage3-he", weights="random",
    start="standard-altitude",
)  # fmt: skip


SHIPPED_PLACE = NetworkOptions(
    encoder="resnet50-stage3-he", weights="random", start="standard-place", aggregator="gem"
)


_TINY_ALTITUDE = NetworkOptions(
    input="spectrum", width_px=224, height_px=168, encoder="small", weights="random", start="tiny-altitude",
    mix_blocks=2, mix_channels=64,
)  # fmt: skip


def ships(network: NetworkOptions) -> bool:
    """Whether the package has the network these options start from, ready to run."""
    return (Path(__file__).parents[1] / "weights" / f"{network.start}.onnx").is_file()


#: A checkout without the large files falls back to what it has: the small altitude network, and ImageNet
#: weights by name, which need torch and a hub.
_STANDARD_ALTITUDE = SHIPPED_ALTITUDE if ships(SHIPPED_ALTITUDE) else _TINY_ALTITUDE


_STANDARD_PLACE = SHIPPED_PLACE if ships(SHIPPED_PLACE) else NetworkOptions(aggregator="gem")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a bundle is made: networks, grid, references, training; as it comes, nothing need be trained."""

    name: str = "standard"
    camera: Camera = DEFAULT_CAMERA
    seed: int = 0
    bins: BinOptions = field(default_factory=BinOptions)
    grid: GridOptions = field(default_factory=GridOptions)
    references: ReferenceOptions = field(
        default_factory=lambda: ReferenceOptions(
            whiten_dims=256, whiten_power=0.5, steps=14, low_altitude_m=62.5
        )
    )
    head: HeadOptions = field(default_factory=HeadOptions)
    augment: AugmentOptions = field(default_factory=AugmentOptions)
    contrast: ContrastOptions = field(default_factory=ContrastOptions)
    fit: FitOptions = field(default_factory=FitOptions)
    texture: TextureOptions = field(default_factory=TextureOptions)
    quantise: QuantiseOptions = field(default_factory=QuantiseOptions)
    precision: Literal["float32", "int8"] = "float32"  # of networks that photos go through, on any machine
    altitude_network: NetworkOptions = _STANDARD_ALTITUDE
    place_network: NetworkOptions = _STANDARD_PLACE
    altitude_training: TrainOptions = field(default_factory=TrainOptions)
    place_training: TrainOptions = field(default_factory=TrainOptions)
    matcher: Literal["standard", "xfeat", "sift", "none"] = "standard"  # what fixes are verified with
    enlarge: Enlarge = "mean"  # how the middle of a photo is brought to the references' scale


_PAPER_ALTITUDE = NetworkOptions(input="spectrum", width_px=448, height_px=336)


_PAPER_PLACE = NetworkOptions(encoder="efficientnet-b5", weights="google/efficientnet-b5")


#: The named recipes: the published protocol to the letter, our best, and one for tests on two cores.
RECIPES: dict[str, Recipe] = {
    "paper": Recipe(
        name="paper", altitude_network=_PAPER_ALTITUDE, place_network=_PAPER_PLACE,
        references=ReferenceOptions(), grid=GridOptions(anchor="zone"), matcher="none",
        enlarge="cubic",
    ),
    "standard": Recipe(name="standard"),
    "tiny": Recipe(
        name="tiny", references=ReferenceOptions(), fit=FitOptions(views=400, soften_px=0.0),
        altitude_network=_TINY_ALTITUDE,
        quantise=QuantiseOptions(views=0),
        place_network=NetworkOptions(
            width_px=112, height_px=112, encoder="small", weights="random", start="tiny-place",
            mix_blocks=2, mix_channels=64,
        ),
        altitude_training=TrainOptions(
            schedule="budget", budget_steps=60, batch=32, extractor_rate=3e-4, altitude_step_m=0.0,
            validation_views=128,
        ),
        place_training=TrainOptions(
            schedule="budget", budget_steps=350, batch=32, extractor_rate=3e-4, classifier_rate=1e-3,
            steps_per_epoch=1, imprint_views=6, validation_views=128,
        ),
    ),
}  # fmt: skip


def load_recipe(name_or_path: str) -> Recipe:
    """A named recipe, or one from a TOML file (its ``base`` names the recipe it changes)."""
    if name_or_path in RECIPES:
        return RECIPES[name_or_path]
    if not name_or_path.endswith(".toml"):
        raise InputError(
            "options.invalid",
            "there is no such recipe",
            seen=repr(name_or_path),
            do=f"name one of {', '.join(RECIPES)}, or a TOML file",
        )
    table = read_table(Path(name_or_path))
    base = load_recipe(table.pop("base", "standard"))
    return changed(base, table, where=name_or_path)
