"""Runs nadirfix as a process: its exit number, and what it wrote to stdout and stderr."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import rasterio
from rasterio.transform import from_origin

PROGRAM = Path(sys.executable).parent / "nadirfix"


def nadirfix(*arguments: object, **settings: Any) -> subprocess.CompletedProcess[str]:
    """One command line, run to its end. A wide terminal keeps messages on one line."""
    environment = {**os.environ, "COLUMNS": "200", **settings.pop("env", {})}
    command = [PROGRAM, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, **settings)


def write_map(path: Path, *, side_px: int = 600, west_m: float = 500_000.0) -> Path:
    """A square of UTM ground, one metre a pixel, with something to see on it."""
    coarse = np.random.default_rng(0).integers(0, 256, (3, side_px // 20, side_px // 20), dtype=np.uint8)
    pixels = np.repeat(np.repeat(coarse, 20, axis=1), 20, axis=2)
    profile = {"driver": "GTiff", "width": side_px, "height": side_px, "count": 3, "dtype": "uint8"}
    place = {"crs": "EPSG:32633", "transform": from_origin(west_m, 4_650_000.0, 1.0, 1.0)}
    with rasterio.open(path, "w", **profile, **place) as target:
        target.write(pixels)
    return path
