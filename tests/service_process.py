"""``nadirfix serve`` as a process, for tests and benches: started, waited for, and ended in any way."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType

__all__ = ["ServiceProcess"]

_READY_S = 180.0  # a machine that does not know its fastest library measures first


class ServiceProcess:
    """The service on a port of its own; its log and its temporary files are in ``folder``."""

    def __init__(
        self,
        bundle: Path,
        folder: Path,
        *,
        token: str | None = None,
        quiet: bool = False,
        measure: bool = True,
    ) -> None:
        self.bundle, self.folder, self.tmp = bundle, folder, folder / "tmp"
        self._token, self._quiet, self._measure = token, quiet, measure
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> ServiceProcess:
        self.start()
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self.process.poll() is None:
            self.end(signal.SIGKILL)

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    @property
    def left_behind(self) -> list[str]:
        """What it has left in its temporary folder."""
        return sorted(p.name for p in self.tmp.iterdir())

    def start(self) -> None:
        """Start it, again after an end, and wait until it takes photos."""
        self.tmp.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "nadirfix", "serve", "--bundle", self.bundle]
        command += ["--port", str(self.port), *(["--quiet"] if self._quiet else [])]
        command += [] if self._measure else ["--no-measure"]
        if self._token is not None:
            (self.folder / "token").write_text(self._token + "\n")
            command += ["--token-file", self.folder / "token"]
        with (self.folder / "log").open("a") as log:
            environment = {**os.environ, "TMPDIR": str(self.tmp)}
            self.process = subprocess.Popen(command, stderr=log, stdout=log, env=environment)
        self._wait()

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send the signal; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(90)

    def _wait(self) -> None:
        until_s = time.monotonic() + _READY_S
        while time.monotonic() < until_s:
            assert self.process.poll() is None, self.log
            try:
                urllib.request.urlopen(f"{self.url}/readyz").close()
            except OSError:
                time.sleep(0.1)
            else:
                return
        raise AssertionError(f"not ready within {_READY_S:g} s: {self.log}")
