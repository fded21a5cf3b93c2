"""Everything that can go wrong, as one tree with stable codes.

NadirfixError                     exit 1
├── InputError                    exit 2   photo, camera, manifest, options
├── MapError                      exit 3   the georeferenced map
├── BundleError                   exit 4   the trained bundle on disk
├── WeightsError                  exit 5   pretrained network weights
├── TrainingError                 exit 6   a training run
├── OutputError                   exit 7   files and folders we write
├── ServiceError                  exit 8   the HTTP service, its requests and how it is started
└── MachineError                  exit 9   what this machine lacks

Every error says what was wrong, what was seen and what to do. "No fix" is an answer, not an error.
"""

from __future__ import annotations

import errno
import re
from typing import ClassVar

__all__ = [
    "HTTP_STATUS",
    "BundleError",
    "InputError",
    "MachineError",
    "MapError",
    "NadirfixError",
    "OutputError",
    "ServiceError",
    "TrainingError",
    "WeightsError",
    "out_of_memory",
]

#: Every code with the HTTP status that carries it; docs/errors.md has a heading for each.
HTTP_STATUS: dict[str, int] = {
    "internal.error": 500,
    "photo.missing": 404,
    "photo.unreadable": 422,
    "photo.too_large": 413,
    "photo.too_small": 422,
    "camera.invalid": 422,
    "camera.unknown": 422,
    "altitude.invalid": 422,
    "manifest.invalid": 422,
    "options.invalid": 422,
    "point.invalid": 422,
    "prior.invalid": 422,
    "map.missing": 404,
    "map.unreadable": 422,
    "map.no_crs": 422,
    "map.no_transform": 422,
    "map.empty": 422,
    "map.too_small": 422,
    "map.all_nodata": 422,
    "map.outside": 422,
    "map.outside_utm": 422,
    "texture.unreadable": 422,
    "bundle.missing": 404,
    "bundle.damaged": 500,
    "bundle.version": 500,
    "bundle.mismatch": 409,
    "bundle.no_matcher": 409,
    "weights.missing": 503,
    "weights.mismatch": 500,
    "weights.no_torch": 503,
    "training.diverged": 500,
    "training.empty_class": 422,
    "training.checkpoint": 409,
    "output.exists": 409,
    "output.busy": 409,
    "output.unwritable": 500,
    "output.disk_full": 507,
    "service.request": 400,
    "service.token": 401,
    "service.origin": 403,
    "service.not_found": 404,
    "service.method": 405,
    "service.slow": 408,
    "service.too_large": 413,
    "service.media_type": 415,
    "service.host": 421,
    "service.busy": 429,
    "service.headers": 431,
    "service.timeout": 503,
    "service.stopping": 503,
    "service.address": 503,
    "machine.memory": 503,
}


class NadirfixError(Exception):
    """Something nadirfix can explain: what was wrong, what was seen, what to do."""

    exit_number: ClassVar[int] = 1
    families: ClassVar[tuple[str, ...]] = ("internal",)

    def __init__(self, code: str, what: str, *, seen: str, do: str) -> None:
        if code not in HTTP_STATUS or code.partition(".")[0] not in self.families:
            raise ValueError(f"{code!r} is not a code of {type(self).__name__}")
        self.code, self.what, self.seen, self.do = code, what, seen, do
        super().__init__(f"{self.message}. {self.hint}")

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.code, self.what, self.seen, self.do)

    @property
    def message(self) -> str:
        """What was wrong and what was seen."""
        return f"{self.what}: {self.seen}"

    @property
    def hint(self) -> str:
        """What to do about it."""
        return self.do[:1].upper() + self.do[1:]

    @property
    def http_status(self) -> int:
        """The status the service answers with."""
        return HTTP_STATUS[self.code]

    def to_dict(self) -> dict[str, str]:
        """The form in which errors travel in JSON."""
        return {"code": self.code, "message": self.message, "hint": self.hint}


def _rebuild(kind: type[NadirfixError], code: str, what: str, seen: str, do: str) -> NadirfixError:
    """Errors cross process borders (pickle) whole."""
    return kind(code, what, seen=seen, do=do)


class InputError(NadirfixError):
    """A photo, camera, manifest or option that cannot be used."""

    exit_number = 2
    families = ("photo", "camera", "altitude", "manifest", "options", "point", "prior")


class MapError(NadirfixError):
    """A map that cannot be used."""

    exit_number = 3
    families = ("map", "texture")


class BundleError(NadirfixError):
    """A bundle that is missing, damaged or of another version."""

    exit_number = 4
    families = ("bundle",)


class WeightsError(NadirfixError):
    """Network weights that are missing or do not fit."""

    exit_number = 5
    families = ("weights",)


class TrainingError(NadirfixError):
    """A training run that cannot go on."""

    exit_number = 6
    families = ("training",)


class OutputError(NadirfixError):
    """A file or folder that cannot be written."""

    exit_number = 7
    families = ("output",)


class ServiceError(NadirfixError):
    """A request the service cannot answer, or a service that cannot be started."""

    exit_number = 8
    families = ("service",)


class MachineError(NadirfixError):
    """Something this machine has too little of."""

    exit_number = 9
    families = ("machine",)


#: How libraries say that there is no memory left, where they have no MemoryError of their own.
_NO_MEMORY = re.compile(
    "bad_alloc|insufficient memory|failed to allocate|can't allocate|not enough memory", re.I
)


def out_of_memory(error: BaseException, *, seen: str = "") -> MachineError | None:
    """The error to report where this one means that there is too little memory; None where it does not."""
    short = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
    if not short and not _NO_MEMORY.search(str(error)):
        return None
    about = ": ".join(text for text in (seen, type(error).__name__, str(error)[:200]) if text)
    return MachineError(
        "machine.memory",
        "this machine has too little memory for that",
        seen=about,
        do="stop what else runs here, locate fewer or smaller photos at a time, or use a machine with more",
    )
