"""Embedder files of an older form, made whole: a variance that half precision could not hold.

python bench/mend.py FILE.safetensors --weights FOLDER --out FILE                 as it was at the start
python bench/mend.py FILE.safetensors --weights FOLDER --out FILE --photos DIR    measured anew over spectra

Files were written in half precision throughout, and one of the 64 variances after the first convolution of
the ImageNet weights is larger than that holds: it came out infinite, and its channel dead. Where training
left statistics alone (place networks) the start's own value is the right one. Where it did not (altitude
networks) the channel's variance is measured over photos, in units of what the file says of its neighbours,
and is no less than what half precision holds.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from nadirfix.camera import DEFAULT_CAMERA
from nadirfix.image.crop import network_frame
from nadirfix.image.decode import decode
from nadirfix.image.spectrum import log_spectrum
from nadirfix.nn.embedder import Embedder
from nadirfix.nn.start import save_embedder
from nadirfix.nn.weights import load_encoder
from nadirfix.options import SHIPPED_ALTITUDE, SHIPPED_PLACE

STEM = "encoder.embedder.embedder"
VARIANCE = f"{STEM}.normalization.running_var"


def main() -> None:
    given = arguments()
    stored = load_file(given.file)
    lost = ~torch.isfinite(stored[VARIANCE].float())
    embedder = start(given)
    whole = {k: v.float() if v.is_floating_point() else v for k, v in stored.items()}
    found = measured(embedder, whole, given.photos) if given.photos else embedder.state_dict()[VARIANCE]
    whole[VARIANCE] = torch.where(lost, found, whole[VARIANCE])
    print(f"{int(lost.sum())} of {len(lost)} variances: {[round(float(v)) for v in found[lost]]}")
    embedder.load_state_dict(whole, strict=False)
    with safe_open(given.file, "pt") as file:
        said = dict(file.metadata() or {})
    how = "measured over photos" if given.photos else "taken from its start"
    save_embedder(embedder, given.out, {**said, "mended": f"{int(lost.sum())} lost variance {how}"})


def arguments() -> argparse.Namespace:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("file", type=Path)
    options.add_argument("--weights", required=True, help="folder or name of the ImageNet weights")
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--photos", type=Path, help="folder of photos: for altitude networks")
    return options.parse_args()


def start(given: argparse.Namespace) -> Embedder:
    kind = SHIPPED_ALTITUDE if given.photos else SHIPPED_PLACE
    options = dataclasses.replace(kind, encoder="resnet50-stage3", weights=given.weights, start="")
    encoder, record = load_encoder(options)
    return Embedder(encoder, options, record)


@torch.no_grad()
def measured(embedder: Embedder, whole: dict[str, Tensor], photos: Path) -> Tensor:
    """Each channel's variance over the photos' spectra, in units of what the file says."""
    convolution = embedder.encoder.get_submodule("embedder.embedder.convolution")
    convolution.load_state_dict({"weight": whole[f"{STEM}.convolution.weight"]})
    total, squares, count = torch.zeros(64), torch.zeros(64), 0
    for path in sorted(photos.glob("*.jpg")):
        seen = (spectrum(path) - embedder.get_buffer("mean")) / embedder.get_buffer("scale")
        told = convolution(seen)[0].flatten(1)
        total, squares, count = total + told.sum(1), squares + (told**2).sum(1), count + told.shape[1]
    variance = squares / count - (total / count) ** 2
    ratio = whole[VARIANCE] / variance
    usual = ratio[torch.isfinite(ratio)]
    print(
        f"files hold {usual.median():.2f} of what is measured here ({usual.min():.2f} to {usual.max():.2f})"
    )
    return (variance * usual.median()).clamp(min=float(torch.finfo(torch.half).max))  # it did not hold it


def spectrum(path: Path) -> Tensor:
    size = {"width_px": SHIPPED_ALTITUDE.width_px, "height_px": SHIPPED_ALTITUDE.height_px}
    frame = network_frame(decode(path, max_pixels=10**8), DEFAULT_CAMERA, DEFAULT_CAMERA, **size)
    return torch.from_numpy(np.ascontiguousarray(log_spectrum(frame, SHIPPED_ALTITUDE)))[None]


if __name__ == "__main__":
    main()
