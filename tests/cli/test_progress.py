"""Progress: a bar for eyes, a line now and then for logs, nothing when quiet."""

from __future__ import annotations

import contextlib
import io
import signal
import time

import pytest

from nadirfix.cli import progress
from nadirfix.cli.progress import PlainProgress, progress_bar


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_log_gets_first_last_and_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    log = io.StringIO()
    lines = PlainProgress(log, every_s=10)
    for done in range(11):
        lines.show("photos", done, 10)
    # A step takes 3 s: lines at 0, 12, 24 s and at the end.
    assert log.getvalue().splitlines() == [
        "photos 0/10",
        "photos 4/10, about 18 s left",
        "photos 8/10, about 6 s left",
        "photos 10/10",
    ]


def test_stages_follow_each_other() -> None:
    log = io.StringIO()
    lines = PlainProgress(log, every_s=1e9)
    for stage in ("old map", "new map"):
        for done in range(4):
            lines.show(stage, done, 3)
    assert log.getvalue().splitlines() == ["old map 0/3", "old map 3/3", "new map 0/3", "new map 3/3"]


def test_quiet_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(True) as show:
        show("photos", 1, 2)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    screen = Screen() if terminal else io.StringIO()
    monkeypatch.setattr(progress.sys, "stderr", screen)
    with progress_bar(False) as show:
        for done in range(3):
            show("photos", done, 2)
    assert "photos" in screen.getvalue()
    assert "2/2" in screen.getvalue()


def test_ctrl_c_that_came_where_exceptions_are_lost_stops_the_next_step() -> None:
    """An exception in a finaliser or in a library's callback is printed and forgotten."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), progress_bar(quiet=True) as show:
        show("flying", 0, 2)
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        show("flying", 1, 2)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_log_hears_from_work_that_takes_long_without_news(capsys):
    with progress_bar(False, heartbeat_s=0.05) as progress:
        progress("describing references", 3, 9)
        time.sleep(0.4)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "describing references 3/9"
    assert sum("so far" in line for line in lines) >= 2
    assert all(line.startswith("describing references 3/9") for line in lines)
