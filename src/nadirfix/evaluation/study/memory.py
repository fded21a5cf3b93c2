"""How much memory locating photos takes, even in a process that trained networks before."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

__all__ = ["PeakMemory"]

_RESET, _STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


class PeakMemory:
    """The most memory this process held since this was made; since it began where that is all one can ask."""

    def __init__(self) -> None:
        with suppress(OSError):
            _RESET.write_text("5", encoding="ascii")  # Linux: the high-water mark starts again from now

    def peak_mb(self) -> float | None:
        """Megabytes; None where the system does not tell."""
        with suppress(OSError):
            lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
            marks = [line.split()[1] for line in lines if line.startswith("VmHWM")]
            return round(int(marks[0]) / 1024, 1) if marks else None
        return _since_start_mb()


def _since_start_mb() -> float | None:
    try:
        import resource
    except ImportError:
        return None
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
