"""An EfficientNet-B5 that tells places apart, taught by the network that ships.

python -m bench.training.distill --map OLD --photos NEW --views VIEWS.csv --seconds 600 --out DIR

From a random start a margin over cells teaches a network of this depth little in minutes. Here it learns to
say of a view in the light of another day what the shipped network says of the same view as the map shows it:
its descriptor, whitened on the map as ``standard`` does, turned by a fixed rotation to as many numbers as
the pupil has. It serves to measure speed and parity (``bench/speed/end_to_end.py --paper-place``): its
accuracy is its teacher's and not the publication's. Maps and photos are textures. Needs no GDAL and no
FAISS.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from bench.lib.embedder_files import narrowed
from bench.lib.photos import embed_photos, kept_photos, read_views
from bench.lib.recall import describe_references, recalled, reference_views
from bench.lib.record import record, say
from bench.training.pretrain import print_steps
from bench.training.published import training_summary
from nadirfix.geo.texture import Texture
from nadirfix.options.recipe import SHIPPED_PLACE, Recipe, load_recipe
from nadirfix.options.training import TrainOptions
from nadirfix.retrieval.whitening import Projection
from nadirfix.train.data.batches import Pictures, batch_index
from nadirfix.train.data.device_renderer import DeviceRenderer
from nadirfix.train.data.place_views import PlaceSampler
from nadirfix.train.loop import Job, train
from nadirfix.train.models.embedder import Embedder, seeded
from nadirfix.train.models.embedder_checkpoint import load_embedder
from nadirfix.train.models.mixvpr import descriptor
from nadirfix.train.models.weights import load_encoder
from nadirfix.train.place import place_sampler

DIMS, POWER = 256, 0.5  # as the standard recipe whitens
FITTED = 4096  # views whitening is fitted to
CHUNK = 64
HELD_OUT = 512


def main() -> None:
    given = arguments()
    given.out.mkdir(parents=True, exist_ok=True)
    recipe, began = make_recipe(given), time.monotonic()
    source = DeviceRenderer(Texture.load(given.map), given.device)
    sampler = distillation_places(source.texture, recipe)
    with seeded(given.seed):
        pupil = Embedder(*loaded(recipe))
    teacher = Teacher(given.teacher, source, recipe, pupil.dimensions)
    job = distillation_job(pupil, teacher, sampler, source, recipe)
    done = train(job, recipe.place_training, device=given.device, report=print_steps())
    keep(pupil, given)
    results = {"seed": given.seed, "settings": settings_of(given), "training": training_summary(done)}
    results |= found(pupil.eval(), source, recipe, given)
    results["seconds"] = time.monotonic() - began
    say(str(results))
    record(given.name, results, given.out)


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("--map", "--photos", "--views", "--out"):
        options.add_argument(name, type=Path, required=True)
    options.add_argument("--teacher", default="standard-place", help="a shipped name or a safetensors file")
    options.add_argument("--name", default="distill_mine_b5")
    options.add_argument("--cache", type=Path, help="folder where photos are kept for other runs")
    options.add_argument("--encoder", default="efficientnet-b5")
    options.add_argument("--seconds", type=float, default=0.0, help="where no steps are given")
    options.add_argument("--steps", type=int, default=0)
    options.add_argument("--batch", type=int, default=128)
    options.add_argument("--rate", type=float, default=1e-3)
    options.add_argument("--limit", type=int, default=0, help="only so many photos")
    options.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    options.add_argument("--seed", type=int, default=0)
    return options.parse_args()


def settings_of(given: argparse.Namespace) -> dict:
    """What changes what is learned, and nobody's folders."""
    names = ("encoder", "seconds", "steps", "batch", "rate")
    return {name: getattr(given, name) for name in names} | {"teacher": Path(given.teacher).stem}


def make_recipe(given: argparse.Namespace) -> Recipe:
    paper = load_recipe("paper")
    training = TrainOptions(
        schedule="budget", budget_s=given.seconds, budget_steps=given.steps, batch=given.batch,
        extractor_rate=given.rate, steps_per_epoch=1, seed=given.seed,
    )  # fmt: skip
    network = dataclasses.replace(paper.place_network, encoder=given.encoder, weights="random")
    return dataclasses.replace(paper, seed=given.seed, place_network=network, place_training=training)


def loaded(recipe: Recipe) -> tuple:
    encoder, weights = load_encoder(recipe.place_network)
    return encoder, recipe.place_network, weights


def distillation_places(texture: Texture, recipe: Recipe) -> PlaceSampler:
    sampler = place_sampler(texture, recipe)
    sampler.use(sampler.order())
    return sampler


class Teacher(nn.Module):
    """What the shipped network says of views, whitened on the map, in as many numbers as the pupil has."""

    def __init__(self, start: str, source: DeviceRenderer, recipe: Recipe, dimensions: int) -> None:
        super().__init__()
        encoder, weights = load_encoder(SHIPPED_PLACE)
        self.embedder = Embedder(encoder, SHIPPED_PLACE, weights)
        load_embedder(self.embedder, start, weights)
        self.requires_grad_(False).to(source.device).eval()
        fitted = Projection.fit(self._view_descriptors(source, recipe), DIMS, power=POWER)
        turned = np.linalg.qr(np.random.default_rng(recipe.seed).normal(size=(dimensions, dimensions)))[0]
        axes = fitted.axes.T @ turned[: len(fitted.axes)].astype(np.float32)
        self.register_buffer("mean", torch.from_numpy(fitted.mean).to(source.device))
        self.register_buffer("axes", torch.from_numpy(axes).to(source.device))

    @torch.no_grad()
    def forward(self, pictures: Tensor) -> Tensor:
        """A unit descriptor of each picture."""
        units = descriptor(self.embedder(pictures).float())
        with torch.autocast(pictures.device.type, enabled=False):
            return functional.normalize((units - self.mean) @ self.axes, dim=1)

    @torch.no_grad()
    def _view_descriptors(self, source: DeviceRenderer, recipe: Recipe) -> np.ndarray:
        """Descriptors of views from all over the map."""
        views = reference_views(source.texture, recipe)
        views = views.take(slice(None, None, max(1, len(views) // FITTED)))
        pictures = pictures_of(source, recipe)
        parts = [views.take(slice(i, i + CHUNK)) for i in range(0, len(views), CHUNK)]
        units = [descriptor(self.embedder(pictures.rendered(part)).float()).cpu() for part in parts]
        return torch.cat(units).numpy()


class Lesson(nn.Module):
    """How far the pupil's descriptors are from the teacher's: one less their cosine, in the mean."""

    def __init__(self, pupil: Embedder) -> None:
        super().__init__()
        self.pupil = pupil

    def forward(self, pictures: Tensor, wanted: Tensor) -> Tensor:
        return (1 - (descriptor(self.pupil(pictures).float()) * wanted).sum(1)).mean()


def pictures_of(source: DeviceRenderer, recipe: Recipe) -> Pictures:
    options = recipe.place_network
    size = options.width_px, options.height_px
    return Pictures(source, recipe.camera, size, recipe.augment, seed=recipe.place_training.seed)


def distillation_job(
    pupil: Embedder, teacher: Teacher, sampler: PlaceSampler, source: DeviceRenderer, recipe: Recipe
) -> Job:
    """What the loop needs: groups of cells take turns, as in the published training."""
    pictures, groups = pictures_of(source, recipe), len(sampler.order().sizes)
    lesson = Lesson(pupil)

    def batch(step: int, epoch: int, part: slice) -> tuple[Tensor, Tensor]:
        index = batch_index(step, recipe.place_training.batch, part)
        views, _ = sampler.draw(index, epoch % groups)
        plain = pictures.rendered(views)
        return pictures.augment(plain, index), teacher(plain)

    def validate() -> dict[str, float]:
        cosine_errors = []
        for start in range(0, HELD_OUT, CHUNK):
            index = np.arange(start, start + CHUNK)
            views, _ = sampler.draw(index, start // CHUNK % groups, validation=True)
            plain = pictures.rendered(views)
            cosine_errors.append(1 - float(lesson(plain, teacher(plain))))
        return {"cosine": float(np.mean(cosine_errors))}

    return Job(
        name="taught", network=pupil, loss=lesson, classifier=[], batch=batch, validate=validate,
        epoch_views=len(reference_views(source.texture, recipe)), epochs_per_cycle=groups,
    )  # fmt: skip


def keep(pupil: Embedder, given: argparse.Namespace) -> None:
    """The pupil as ``bench/speed/end_to_end.py`` takes trained networks."""
    stored = {f"embedder.{name}": narrowed(value) for name, value in pupil.state_dict().items()}
    save_file(stored, given.out / f"{given.name}.safetensors")


def found(pupil: Embedder, source: DeviceRenderer, recipe: Recipe, given: argparse.Namespace) -> dict:
    """What comes of the fixed photos with their true altitude, among all references."""
    new = DeviceRenderer(Texture.load(given.photos), given.device)
    views = read_views(given.views, new.texture.epsg, given.limit)
    photos = kept_photos(given.cache, f"{given.photos.stem}-fixed", new, views, load_recipe("paper"))
    known = describe_references(source, pupil, place_sampler(source.texture, recipe).grid, recipe)
    raw = embed_photos(pupil, photos, views.altitude_m, recipe, given.device)
    return {"photos": len(photos), "place_true_altitude": recalled(raw, views, known, None)[0]}


if __name__ == "__main__":
    main()
