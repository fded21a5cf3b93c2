"""Aggregators: the part of a network that turns a map of features into one vector.

A plain dict. A new aggregator is a new entry: how to make it from the network's options and the map's shape.
"""

from __future__ import annotations

from collections.abc import Callable

from nadirfix.errors import InputError
from nadirfix.options.recipe import NetworkOptions
from nadirfix.train.models.encoders import encoder_of, positions_of
from nadirfix.train.models.gem import GeM
from nadirfix.train.models.mixvpr import MixVPR

__all__ = ["AGGREGATORS", "build_aggregator"]

#: Channels, rows and columns of a feature map.
Shape = tuple[int, int, int]


def build_aggregator(options: NetworkOptions) -> MixVPR | GeM:
    """The aggregator these options name, for the feature maps of their encoder."""
    if options.aggregator not in AGGREGATORS:
        raise InputError(
            "options.invalid",
            "there is no such aggregator",
            seen=repr(options.aggregator),
            do=f"name one of {', '.join(AGGREGATORS)}",
        )
    rows, columns = positions_of(options.encoder, width_px=options.width_px, height_px=options.height_px)
    return AGGREGATORS[options.aggregator](options, (encoder_of(options.encoder).channels, rows, columns))


def _mixvpr(options: NetworkOptions, shape: Shape) -> MixVPR:
    channels, rows, columns = shape
    return MixVPR(
        channels=channels,
        positions=rows * columns,
        mix_blocks=options.mix_blocks,
        mix_channels=options.mix_channels,
        mix_rows=options.mix_rows,
    )


def _gem(options: NetworkOptions, shape: Shape) -> GeM:
    channels, rows, columns = shape
    if not (options.gem_power > 0 and 1 <= options.gem_parts <= min(rows, columns)):
        raise InputError(
            "options.invalid",
            "a generalised mean needs a power above 0 and no more parts than the feature map has positions",
            seen=f"power {options.gem_power:g}, {options.gem_parts} parts, {rows} × {columns} positions",
            do="3 and 2 are usual",
        )
    return GeM(
        channels=channels, rows=rows, columns=columns, power=options.gem_power, parts=options.gem_parts
    )


#: Every aggregator by name.
AGGREGATORS: dict[str, Callable[[NetworkOptions, Shape], MixVPR | GeM]] = {"mixvpr": _mixvpr, "gem": _gem}
