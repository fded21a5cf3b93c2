"""Bundles that somebody tampered with, made from a whole one: by kind of damage, repeatable by seed.

Most are sealed again, with sizes and hashes that agree: a manifest proves nothing about who wrote it. What is
not changed is linked to, not copied. Some are only damaged, as a bad disk or a broken copy leaves them.
"""

from __future__ import annotations

import copy
import io
import json
import os
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from nadirfix.bundle.layout import MANIFEST, seal_of, sha256_of

__all__ = ["KINDS", "flip_bit", "seal", "tampered"]

Draw = np.random.Generator
#: Changes a bundle's folder; the manifest it is given is written afterwards, sealed.
Change = Callable[[Path, dict[str, Any], Draw], None]

_VALUES: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**63, 2**200, -0.0, 1e-300, 1e308, 1e999, -1e999, 0.5, "",
    "x" * 10_000, "\x1b[31m", "../../etc/passwd", [], {}, [[]], [None], {"a": 1}, [1e300] * 4,
    list(range(1000)),
]  # fmt: skip
_TYPES = ["<f2", "<f4", "<f8", ">f2", "<i4", "|u1", "|O", "<U9", "|V2", "[('a', '<f2')]", "garbage"]
_SHAPES = [
    "()",
    "(0,)",
    "(5,)",
    "(0, 256)",
    "(256, 0)",
    "(1000000000, 256)",
    "(2, 2, 2)",
    "(-1, 4)",
    "(1, 1)",
]
_OPERATORS = [
    b"Loop",
    b"If",
    b"Scan",
    b"Conv",
    b"Relu",
    b"Expand",
    b"Range",
    b"Pad",
    b"Tile",
    b"Softmax",
    b"Sin",
]


def tampered(whole: Path, target: Path, draw: Draw, *, kind: str = "") -> str:
    """A bundle to which something was done, beside a whole one; returns what."""
    target.mkdir()
    for path in whole.iterdir():
        (target / path.name).symlink_to(path.resolve())
    manifest = json.loads((whole / MANIFEST).read_text(encoding="utf-8"))
    kind = kind or str(draw.choice(list(KINDS)))
    KINDS[kind](target, manifest, draw)
    if kind not in _UNSEALED:
        seal(target, manifest)
    return kind


def seal(folder: Path, manifest: dict[str, Any]) -> None:
    """Write a manifest that agrees with the parts that are there, as far as it lists any."""
    parts = manifest.get("parts")
    for name, known in parts.items() if isinstance(parts, dict) else ():
        usable = isinstance(name, str) and "\0" not in name and len(name) < 256
        path = folder / name if usable else folder
        if isinstance(known, dict) and path.is_file() and path.resolve().parent != Path("/etc"):
            known.update(bytes=path.stat().st_size, sha256=sha256_of(path))
    unsealed = {key: value for key, value in manifest.items() if key != "seal"}
    try:
        sealed = {**unsealed, "seal": seal_of(unsealed)}
    except ValueError:  # numbers that are none have no seal
        sealed = unsealed
    _write(folder / MANIFEST, json.dumps(sealed).encode())


def flip_bit(path: Path, draw: Draw) -> None:
    """One bit, anywhere in a file, which becomes the folder's own."""
    content = bytearray(path.read_bytes())
    content[draw.integers(len(content))] ^= 1 << int(draw.integers(8))
    _write(path, bytes(content))


def _write(path: Path, content: bytes) -> None:
    """In the place of a link, not through it."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def _part(folder: Path, draw: Draw, ending: str) -> Path:
    return Path(str(draw.choice(sorted(str(p) for p in folder.iterdir() if p.name.endswith(ending)))))


def _entries(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a manifest where a value stands: its table or list, and its key."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, inner in items for place in [(value, key), *_entries(inner)]]


def _entry_changed(_folder: Path, manifest: dict[str, Any], draw: Draw) -> None:
    for _ in range(int(draw.integers(1, 4))):
        places = _entries({k: v for k, v in manifest.items() if k not in ("seal", "format")})
        table, key = places[draw.integers(len(places))]
        table = manifest if key in manifest and table.get(key) is manifest[key] else table
        choice = draw.integers(4)
        if choice == 0 and isinstance(table, dict):
            table.pop(key)
        elif choice == 1 and isinstance(table[key], int | float):
            table[key] = table[key] * float(draw.choice([-1, 0, 0.5, 2, 1000, 1e9])) + int(
                draw.integers(-1, 2)
            )
        else:
            table[key] = copy.deepcopy(_VALUES[draw.integers(len(_VALUES))])


def _setting_changed(_folder: Path, manifest: dict[str, Any], draw: Draw) -> None:
    places = _entries({k: manifest[k] for k in ("recipe", "map", "grid", "networks", "counts")})
    table, key = places[5 + draw.integers(len(places) - 5)]
    old = table[key]
    table[key] = (
        old * float(draw.choice([-1, 0, 1e-6, 1e6]))
        if isinstance(old, float)
        else _VALUES[draw.integers(len(_VALUES))]
    )


def _text_damaged(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    text = (folder / MANIFEST).read_bytes()
    at = int(draw.integers(len(text)))
    choices = [
        text[:at], text[:at] + b"NaN" + text[at:], b"[" * 100_000, b"", b"null", b"\xff\xfe" + text,
        text[:at] + b"9" * 5000 + text[at:], text.replace(b'"format": 5', b'"format": 1e999'),
    ]  # fmt: skip
    _write(folder / MANIFEST, choices[draw.integers(len(choices))])


def _parts_changed(folder: Path, manifest: dict[str, Any], draw: Draw) -> None:
    parts, name = manifest["parts"], str(draw.choice(sorted(manifest["parts"])))
    choice = draw.integers(6)
    if choice == 0:
        manifest["parts"] = {}
    elif choice == 1:
        del parts[name]
    elif choice == 2:
        strange = str(draw.choice(["../b.npy", "/etc/passwd", "a/b.npy", "", ".", "..", "a\0b", "x" * 300]))
        parts[strange] = parts.pop(name) if draw.random() < 0.5 else {"bytes": 0, "sha256": "0" * 64}
    elif choice == 3:
        other = str(draw.choice(sorted(parts)))
        content = (folder / name).read_bytes(), (folder / other).read_bytes()
        _write(folder / name, content[1])
        _write(folder / other, content[0])
    else:
        parts[name] = _VALUES[draw.integers(len(_VALUES))]


def _file_replaced(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    path = folder / str(draw.choice(sorted(p.name for p in folder.iterdir())))
    choice, content = draw.integers(7), path.read_bytes()
    path.unlink()
    if choice == 0:
        path.mkdir()
    elif choice == 1:
        os.mkfifo(path)
    elif choice == 2:
        path.symlink_to(path.name)
    elif choice == 3:
        path.symlink_to("/dev/zero")
    elif choice == 4:
        path.write_bytes(content[: int(draw.integers(len(content)))])
    elif choice == 5:
        path.write_bytes(bytes(len(content)))


def _bits_flipped(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    path = _part(folder, draw, "")
    for _ in range(int(draw.integers(1, 20))):
        flip_bit(path, draw)


def _header_changed(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    path = _part(folder, draw, ".npy")
    content = path.read_bytes()
    header, numbers = (
        content[10 : content.index(b"\n") + 1].decode("latin-1"),
        content[content.index(b"\n") + 1 :],
    )
    if draw.random() < 0.4:
        header = re.sub(r"'descr': .*?, 'f", f"'descr': '{draw.choice(_TYPES)}', 'f", header)
    if draw.random() < 0.5:
        header = re.sub(r"'shape': \(.*?\)", f"'shape': {draw.choice(_SHAPES)}", header)
    if draw.random() < 0.2:
        header = header.replace("False", str(draw.choice(["True", "None", "(" * 500])))
    start = b"\x93NUMPY\x02\x00" + int(draw.choice([len(header), 2**32 - 1])).to_bytes(4, "little")
    if draw.random() < 0.7:
        start = b"\x93NUMPY\x01\x00" + (len(header) % 65_536).to_bytes(2, "little")
    _write(path, start + header.encode("latin-1") + numbers[: int(draw.choice([len(numbers), 100, 0]))])


def _numbers_changed(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    """A well-formed array of the right kind, with other numbers or rows."""
    path = _part(folder, draw, ".npy")
    array = np.load(path)
    strange = [np.nan, np.inf, -1, 0, 1e30, 6e4, 2**30]
    if array.dtype.names:
        column = str(draw.choice(array.dtype.names))
        rows = slice(None) if draw.random() < 0.5 else int(draw.integers(len(array)))
        with np.errstate(all="ignore"):
            array[column][rows] = np.array(strange[draw.integers(7)]).astype(array.dtype[column])
    elif draw.random() < 0.5:
        with np.errstate(all="ignore"):
            array[tuple(draw.integers(n) for n in array.shape)] = strange[draw.integers(7)]
    else:
        array = [array[:-1], array[:, :-1], array[:1], array.T, np.tile(array, (1, 2)), array * 0][
            draw.integers(6)
        ]
    if draw.random() < 0.2:
        array = array[::-1]
    file = io.BytesIO()
    np.save(file, array)
    _write(path, file.getvalue())


def _texture_changed(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    path = folder / "texture.ntx"
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(entries["texture.json"])
    tile = str(draw.choice([name for name in entries if name != "texture.json"]))
    choice = draw.integers(5)
    if choice == 0:
        places = _entries(header)
        table, key = places[draw.integers(len(places))]
        table[key] = _VALUES[draw.integers(len(_VALUES))]
    elif choice == 1:
        entries[tile] = _picture(draw)
    elif choice == 2:
        entries[str(draw.choice([tile + ".mask", "9/9/9", "../x", tile]))] = _picture(draw)
    elif choice == 3:
        header["sizes_px"] = [
            [int(n) for n in draw.choice([1, 512, 10**5, 2**24, 2**40], 2)] for _ in range(3)
        ]
    else:
        for name in [tile, *entries][: int(draw.integers(1, 9))]:
            entries.pop(name, None)
    packed = zipfile.ZIP_DEFLATED if draw.random() < 0.15 else zipfile.ZIP_STORED
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packed) as archive:
        for name, content in {**entries, "texture.json": json.dumps(header).encode()}.items():
            archive.writestr(name, bytes(3 * 10**7) if packed and name == tile else content)
    _write(path, file.getvalue())


def _picture(draw: Draw) -> bytes:
    """A picture that does not belong there: of another size or kind, cut, noise, or said to be vast."""
    side = int(draw.choice([1, 60, 500, 512, 3000]))
    ending = str(draw.choice([".jpg", ".png", ".bmp"]))
    data = cv2.imencode(ending, draw.integers(0, 255, (side, side, 3), np.uint8))[1].tobytes()
    at = data.find(b"\xff\xc0")
    vast = data[: at + 5] + b"\xff\xff\xff\xff" + data[at + 9 :] if at > 0 else data
    choices = [data, data[: len(data) // 2], draw.bytes(300), b"", vast, data + data[-400:] * 40]
    return choices[draw.integers(len(choices))]


def _network_changed(folder: Path, _manifest: dict[str, Any], draw: Draw) -> None:
    path = _part(folder, draw, ".onnx")
    content = bytearray(path.read_bytes())
    if draw.random() < 0.5:  # where the nodes are: weights are most of the file
        names = [
            found.start() for found in re.finditer(rb"\"[\x03-\x14](Conv|Relu|Add|Mul|Reshape|Div)", content)
        ]
        at = int(draw.choice(names)) if names else 0
        name = _OPERATORS[draw.integers(len(_OPERATORS))]
        if draw.random() < 0.5:
            content[at + 2 : at + 2 + content[at + 1]] = name
            content[at + 1] = len(name)
        else:
            for _ in range(int(draw.integers(1, 6))):
                content[max(0, at + int(draw.integers(-60, 60)))] = int(draw.integers(256))
    else:
        start, count = int(draw.integers(len(content))), int(draw.choice([1, 4, 1000]))
        content[start : start + count] = draw.bytes(count)
    _write(path, bytes(content))


KINDS: dict[str, Change] = {
    "entry": _entry_changed,
    "setting": _setting_changed,
    "manifest text": _text_damaged,
    "list of parts": _parts_changed,
    "file": _file_replaced,
    "bits": _bits_flipped,
    "sealed bits": _bits_flipped,
    "array header": _header_changed,
    "array numbers": _numbers_changed,
    "texture": _texture_changed,
    "network": _network_changed,
}
_UNSEALED = ("manifest text", "file", "bits")
