"""Kill -9 in mid-training, resume, and the weights are the same to the bit."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

DRIVER = Path(__file__).with_name("train_driver.py")


def command(network: str, folder: Path, *more: str) -> list[str]:
    return [sys.executable, str(DRIVER), network, str(folder), *more]


def final(network: str, folder: Path, *more: str) -> str:
    done = subprocess.run(command(network, folder, *more), capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return next(line for line in done.stdout.splitlines() if line.startswith("weights "))


def kill_at(network: str, folder: Path, step: int) -> None:
    """Start it, wait for a step, and pull the plug."""
    run = subprocess.Popen(command(network, folder, "--pause", "0.05"), stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    for line in run.stdout:
        if line.startswith(f"step {step} "):
            break
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait(timeout=60) == -signal.SIGKILL


@pytest.mark.slow
@pytest.mark.parametrize("network", ["altitude", "place"])
def test_killed_twice_and_resumed_gives_the_same_weights(network: str, tmp_path: Path) -> None:
    wanted = final(network, tmp_path / "whole")
    folder = tmp_path / "killed"
    kill_at(network, folder, 8)
    resumed = subprocess.Popen(
        command(network, folder, "--pause", "0.05", "--resume"), stdout=subprocess.PIPE, text=True
    )
    assert resumed.stdout is not None
    first = int(resumed.stdout.readline().split()[1])
    assert first > 1, "it started again instead of going on"
    for line in resumed.stdout:
        if line.startswith("step 17 "):
            break
    os.kill(resumed.pid, signal.SIGKILL)
    resumed.wait(timeout=60)
    assert final(network, folder, "--resume") == wanted
    with (folder / "log.csv").open() as file:
        steps = [int(row["step"]) for row in csv.DictReader(file) if row["loss"]]
    assert steps == list(range(1, 31))
