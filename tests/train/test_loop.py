"""The training loop on a toy network: schedules, stopping, resuming, refusing."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
import pytest

from nadirfix.errors import InputError, TrainingError
from nadirfix.options.training import TrainOptions

torch = pytest.importorskip("torch")

from nadirfix.random_numbers import uniform  # noqa: E402
from nadirfix.train.loop import Job, StepReport, train  # noqa: E402

STEPS = TrainOptions(schedule="budget", budget_steps=40, batch=16, extractor_rate=1e-2, steps_per_epoch=5)


class Toy(torch.nn.Module):
    """Learns which side of a plane a point lies on; has dropout, so that torch's own numbers matter too."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.extractor = torch.nn.Sequential(
                torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Dropout(0.1)
            )
            self.classifier = torch.nn.Linear(16, 2)

    def forward(self, points: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(self.classifier(self.extractor(points)), labels)


def make_job(*, spoil_at: int = -1, details: dict | None = None) -> Job:
    toy = Toy()

    def batch(step: int, epoch: int, part: slice) -> tuple[torch.Tensor, torch.Tensor]:
        index = np.arange(step * 16, (step + 1) * 16)[part]
        points = torch.from_numpy(uniform(0, "toy", index, 4)).float() - 0.5
        if step == spoil_at:
            points = points * math.nan
        return points, (points.sum(1) > 0).long()

    return Job(
        name="toy", network=toy, loss=toy, classifier=list(toy.classifier.parameters()), batch=batch,
        validate=lambda: {"accuracy": 1.0}, epoch_views=80, details=details or {},
    )  # fmt: skip


def weights(job: Job) -> list[torch.Tensor]:
    return [p.detach().clone() for p in job.network.parameters()]


def log_rows(folder: Path) -> list[dict[str, str]]:
    with (folder / "log.csv").open() as file:
        return list(csv.DictReader(file))


def stop_after(steps: int) -> tuple[list[StepReport], object]:
    reports: list[StepReport] = []
    return reports, lambda: len(reports) >= steps


def test_a_budget_of_steps_learns_and_reports(tmp_path: Path) -> None:
    reports: list[StepReport] = []
    report = train(make_job(), STEPS, folder=tmp_path, report=reports.append)
    assert report.finished and report.steps == 40 and report.validation == {"accuracy": 1.0}
    assert reports[-1].loss < reports[0].loss
    assert reports[20].images_per_s > 0 and reports[20].left_s is not None
    rows = [r for r in log_rows(tmp_path) if r["loss"]]
    assert [int(r["step"]) for r in rows] == list(range(1, 41))
    rates = [float(r["extractor_rate"]) for r in rows]
    assert max(rates) == pytest.approx(1e-2, rel=0.05) and rates[-1] < 1e-3 and rates[0] < 1e-2


def test_nothing_outside_is_disturbed() -> None:
    torch.manual_seed(5)
    wanted = torch.rand(3)
    torch.manual_seed(5)
    train(make_job(), STEPS)
    assert torch.equal(torch.rand(3), wanted)


@pytest.mark.parametrize("stop_at", [1, 7, 20, 37])
def test_stopped_and_resumed_is_the_same_as_never_stopped(tmp_path: Path, stop_at: int) -> None:
    whole = make_job()
    train(whole, STEPS)
    reports, stop = stop_after(stop_at)
    first = train(make_job(), STEPS, folder=tmp_path, report=reports.append, should_stop=stop)
    assert not first.finished and first.steps in (stop_at, stop_at + 1)
    resumed = make_job()
    second = train(resumed, STEPS, folder=tmp_path, resume=True)
    assert second.finished and second.steps == 40
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(resumed), strict=True))
    steps = [int(r["step"]) for r in log_rows(tmp_path) if r["loss"]]
    assert steps == list(range(1, 41))


def test_the_log_is_cut_back_to_the_checkpoint(tmp_path: Path) -> None:
    reports, stop = stop_after(10)
    train(make_job(), STEPS, folder=tmp_path, report=reports.append, should_stop=stop)
    with (tmp_path / "log.csv").open("a") as file:
        file.write("11,0.5,0.1,0.1,1,1,\n12,0.4,0.1")  # written after the checkpoint by a killed process
    train(make_job(), STEPS, folder=tmp_path, resume=True)
    assert [int(r["step"]) for r in log_rows(tmp_path) if r["loss"]] == list(range(1, 41))


def test_resuming_a_finished_run_changes_nothing(tmp_path: Path) -> None:
    train(make_job(), STEPS, folder=tmp_path)
    before = (tmp_path / "log.csv").read_bytes()
    report = train(make_job(), STEPS, folder=tmp_path, resume=True)
    assert report.finished and report.steps == 40 and report.validation == {"accuracy": 1.0}
    assert (tmp_path / "log.csv").read_bytes() == before


def test_a_checkpoint_of_another_run_is_refused(tmp_path: Path) -> None:
    train(make_job(), STEPS, folder=tmp_path)
    with pytest.raises(TrainingError) as other_data:
        train(make_job(details={"map": "another"}), STEPS, folder=tmp_path, resume=True)
    assert other_data.value.code == "training.checkpoint"
    (tmp_path / "checkpoint.pt").write_bytes(b"not a checkpoint")
    with pytest.raises(TrainingError) as damaged:
        train(make_job(), STEPS, folder=tmp_path, resume=True)
    assert damaged.value.code == "training.checkpoint"


def test_without_resume_it_starts_again(tmp_path: Path) -> None:
    train(make_job(), STEPS, folder=tmp_path)
    train(make_job(), STEPS, folder=tmp_path)
    assert len([r for r in log_rows(tmp_path) if r["loss"]]) == 40


def test_a_loss_that_is_no_number_stops_with_its_step(tmp_path: Path) -> None:
    with pytest.raises(TrainingError) as error:
        train(make_job(spoil_at=12), STEPS, folder=tmp_path)
    assert error.value.code == "training.diverged"
    assert "step 13" in str(error.value) and "learning rate" in str(error.value)


def test_the_plateau_schedule_lowers_both_rates_and_ends(tmp_path: Path) -> None:
    options = TrainOptions(
        schedule="plateau",
        batch=16,
        steps_per_epoch=2,
        patience_epochs=1,
        extractor_rate=1e-2,
        stop_rate=1e-4,
    )
    report = train(make_job(), options, folder=tmp_path)
    rows = log_rows(tmp_path)
    rates = sorted({float(r["extractor_rate"]) for r in rows}, reverse=True)
    assert report.finished and rates[0] == 1e-2
    np.testing.assert_allclose(rates[:3], [1e-2, 1e-3, 1e-4])
    for row in rows:
        assert float(row["classifier_rate"]) == pytest.approx(float(row["extractor_rate"]))


def test_the_plateau_schedule_resumes_in_mid_epoch(tmp_path: Path) -> None:
    options = TrainOptions(
        schedule="plateau",
        batch=16,
        steps_per_epoch=3,
        patience_epochs=2,
        extractor_rate=1e-2,
        stop_rate=2e-3,
    )
    whole = make_job()
    train(whole, options)
    reports, stop = stop_after(11)
    train(make_job(), options, folder=tmp_path, report=reports.append, should_stop=stop)
    resumed = make_job()
    train(resumed, options, folder=tmp_path, resume=True)
    assert all(torch.equal(a, b) for a, b in zip(weights(whole), weights(resumed), strict=True))


def test_a_budget_without_a_budget_is_an_error() -> None:
    with pytest.raises(InputError) as error:
        train(make_job(), TrainOptions(schedule="budget", batch=16))
    assert error.value.code == "options.invalid"


def test_a_budget_of_seconds_ends_in_time() -> None:
    report = train(make_job(), TrainOptions(schedule="budget", budget_s=0.5, batch=16))
    assert report.finished and 0.5 <= report.seconds < 3.0
