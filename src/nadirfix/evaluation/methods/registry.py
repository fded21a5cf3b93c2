"""Every method by name: ours, published ones, and those that installed packages bring (ADR 58).

A package names its own under the entry points ``nadirfix.methods``: a callable without arguments that gives
a ``Describer``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nadirfix.errors import InputError, WeightsError
from nadirfix.evaluation.methods.described import DescriberMethod
from nadirfix.evaluation.methods.ground import CommonGround
from nadirfix.evaluation.methods.located import retrieval_alone, standard, unverified
from nadirfix.evaluation.methods.protocol import Describer, Method, MethodCard
from nadirfix.evaluation.methods.template import template_method
from nadirfix.evaluation.methods.tile_scan import tile_scan

__all__ = ["ENTRY_POINTS", "chosen_cards", "known_methods", "parsed_weights"]

#: The group under which packages name their descriptors.
ENTRY_POINTS = "nadirfix.methods"

_LIBRARIES = ("torch", "safetensors")

_OURS = (
    MethodCard(
        name="standard",
        title="nadirfix: retrieval, votes of the whole frame, verification",
        kind="ships with nadirfix",
        make=standard,
    ),
    MethodCard(
        name="standard-unverified",
        title="nadirfix without verification: votes of the whole frame",
        kind="ships with nadirfix",
        make=unverified,
    ),
    MethodCard(
        name="standard-retrieval",
        title="nadirfix's place network alone: generalised mean, nearest reference",
        kind="ships with nadirfix",
        make=retrieval_alone,
    ),
    MethodCard(
        name="tile-scan",
        title="every tile matched with the keypoint network, most inliers win",
        kind="ships with nadirfix",
        make=tile_scan,
    ),
    MethodCard(
        name="template",
        title="template correlation of grey levels over the whole map",
        kind="nothing learned",
        make=template_method,
    ),
)


def _published() -> list[MethodCard]:
    """Other people's networks, written from their papers; torch is loaded when one of them is made."""
    from nadirfix.options.methods import PUBLISHED

    return [
        MethodCard(
            name=one.name, title=one.title, kind="checkpoint", make=_maker(one.name), paper=one.paper,
            checkpoint=one.checkpoint,
        )
        for one in PUBLISHED
    ]  # fmt: skip


def _maker(name: str) -> Any:
    def make(ground: CommonGround, weights: Path | None, folder: Path) -> Method:
        assert weights is not None  # those without are left out before
        _require_libraries(name)
        from nadirfix.train.published import published_describer

        return DescriberMethod(ground, published_describer(name, weights), folder, weights=weights)

    return make


def known_methods() -> dict[str, MethodCard]:
    """Every method by name, ours first."""
    cards = [*_OURS, *_published()]
    outside = [_outside(one) for one in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name)]
    taken = {card.name for card in cards}
    for card in outside:
        if card.name in taken:
            raise _refused(
                f"{card.name!r} of an installed package", "rename its entry point; the name is taken"
            )
        taken.add(card.name)
    return {card.name: card for card in [*cards, *outside]}


def _outside(entry: EntryPoint) -> MethodCard:
    def make(ground: CommonGround, _weights: Path | None, folder: Path) -> Method:
        try:
            describer = entry.load()()
        except Exception as error:  # somebody else's code may raise anything
            seen = f"{entry.value} cannot be made: {type(error).__name__}: {error}"
            raise _refused(seen, "repair the package, or leave the method out") from error
        if not isinstance(describer, Describer):
            seen = f"{entry.value} gives a {type(describer).__name__}"
            raise _refused(seen, "give it size_px and describe(images); see examples/own_method.py")
        return DescriberMethod(ground, describer, folder)

    where = f" of {entry.dist.name} {entry.dist.version}" if entry.dist else ""
    return MethodCard(name=entry.name, title=f"{entry.value}{where}", kind="outside", make=make)


def chosen_cards(names: Sequence[str], weights: Mapping[str, Path]) -> list[MethodCard]:
    """The methods of these names, in that order; all that can run where none is named."""
    known = known_methods()
    unknown = [name for name in [*names, *weights] if name not in known]
    if unknown:
        raise _refused(f"{', '.join(map(repr, unknown))}", f"name some of {', '.join(known)}")
    without = [name for name in weights if known[name].kind != "checkpoint"]
    if without:
        raise _refused(f"--weights for {', '.join(without)}", "give checkpoints to methods that take one")
    if len(set(names)) < len(names):
        raise _refused(f"{', '.join(names)}", "name each method once")
    usual = [card for card in known.values() if card.kind != "checkpoint" or card.name in weights]
    cards = [known[name] for name in names] if names else usual
    for card in cards:
        if card.name in weights:
            _require_libraries(card.name)
    return cards


def parsed_weights(pairs: Sequence[str]) -> dict[str, Path]:
    """Checkpoints by the name of their method, from ``name=path``."""
    found: dict[str, Path] = {}
    for pair in pairs:
        name, equals, path = pair.partition("=")
        if not (name and equals and path):
            raise _refused(f"--weights {pair}", "give --weights as NAME=PATH")
        if not Path(path).is_file():
            raise WeightsError(
                "weights.missing", "the checkpoint of a method is not here", seen=path,
                do=f"give the path of the file for {name}, or leave --weights {name}=… out",
            )  # fmt: skip
        found[name] = Path(path)
    return found


def _require_libraries(name: str) -> None:
    missing = [library for library in _LIBRARIES if find_spec(library) is None]
    if missing:
        raise WeightsError(
            "weights.no_torch",
            f"the method {name} needs the training libraries",
            seen=f"{', '.join(missing)} not installed",
            do="install them with: pip install 'nadirfix[train]', or leave the method out",
        )


def _refused(seen: str, do: str) -> InputError:
    return InputError("options.invalid", "a method cannot be compared", seen=seen, do=do)
