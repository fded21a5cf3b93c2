"""Two processes that share a batch learn what one learns from all of it."""

from __future__ import annotations

import csv
import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

DRIVER = Path(__file__).with_name("train_driver.py")


def start(folder: Path, network: str, rank: int, count: int, port: int) -> subprocess.Popen[str]:
    company = {"RANK": rank, "WORLD_SIZE": count, "LOCAL_RANK": rank, "MASTER_PORT": port}
    environment = {**os.environ, "MASTER_ADDR": "127.0.0.1", **{k: str(v) for k, v in company.items()}}
    command = [sys.executable, str(DRIVER), network, str(folder), "--steps", "12", "--rate", "1e-5"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True)


def losses(folder: Path, network: str, count: int) -> np.ndarray:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for run in [start(folder, network, rank, count, port) for rank in range(count)]:
        _, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors
    with (folder / "log.csv").open() as file:
        return np.array([float(row["loss"]) for row in csv.DictReader(file) if row["loss"]])


@pytest.mark.slow
@pytest.mark.parametrize("network", ["altitude", "place"])
def test_two_processes_have_the_loss_curve_of_one(network: str, tmp_path: Path) -> None:
    alone = losses(tmp_path / "one", network, 1)
    together = losses(tmp_path / "two", network, 2)
    assert len(alone) == 12
    assert alone[-1] != alone[0]
    # Small steps: Adam divides by the size of a gradient, so rounding in a tiny one grows with the rate.
    np.testing.assert_allclose(together, alone, rtol=2e-4)
    np.testing.assert_allclose(together[:4], alone[:4], rtol=1e-5)
