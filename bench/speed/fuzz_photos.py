"""Whether a photo that was tampered with can break reading it: tags, sizes, scans, tables, cut and spliced.

Asked for: no error but our own, none over 30 s, no peak over 2 GB, nothing left behind. Each photo's tags are
read, its camera chosen and its pixels decoded, as the service does. ``--photos`` adds headers of your own.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from bench.lib.hostile import Attempt, attempt_all
from bench.lib.record import record
from tests.hostile_photos import base_photos, mutated_photo

#: As many as the service takes.
MAX_PIXELS = 64_000_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--count", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=24)
    options.add_argument("--most-minutes", type=float, default=60.0)
    options.add_argument("--photos", type=Path, help="a folder of photos to tamper with, too")
    given = options.parse_args()
    folder = given.photos and given.photos.resolve()
    most_s = 60 * given.most_minutes
    results = attempt_all(photo_reader, given.count, seed=given.seed, most_s=most_s, photos=folder)
    print(json.dumps(results, indent=2))
    name = "fuzz_photos_own" if folder else "fuzz_photos"
    print(f"wrote {record(name, results)}")


def photo_reader(seed: int, _folder: Path, *, photos: Path | None) -> Attempt:
    from nadirfix.camera import DEFAULT_CAMERA
    from nadirfix.errors import InputError
    from nadirfix.image.decode import decode
    from nadirfix.image.tags import choose_camera, read_tags

    suffixes = {".jpg", ".jpeg", ".png", ".tif", ".tiff", ".webp", ".jp2"}
    own = sorted(p for p in photos.iterdir() if p.suffix.lower() in suffixes) if photos else []
    bases = base_photos() + [path.read_bytes() for path in own]

    def attempt(number: int) -> str:
        kind, photo = mutated_photo(bases, seed, number)
        try:
            tags = read_tags(photo, max_pixels=MAX_PIXELS)
            try:
                choose_camera(tags, explicit=None, nominal=DEFAULT_CAMERA)
            except InputError as error:
                if not error.code.startswith("camera."):
                    raise
            decode(photo, max_pixels=MAX_PIXELS)
        except Exception as error:
            error.add_note(kind)
            raise
        return kind

    return attempt


if __name__ == "__main__":
    main()
