"""Changes that training views go through, by name."""

from __future__ import annotations

import dataclasses

from bench.training.many_places import ALTITUDE_CHANGES, PLACE_CHANGES
from nadirfix.options.training import AugmentOptions

#: What training views go through. Between the two dates of the town contrast differs by half, between those
#: of the mine the finest detail by a third (bench/accuracy/dates.py): "hazy" reaches so far, "wide" farther.
CHANGES: dict[str, dict[str, AugmentOptions]] = {
    "usual": {"altitude": ALTITUDE_CHANGES, "place": AugmentOptions()},
    "soft": {"altitude": dataclasses.replace(ALTITUDE_CHANGES, soften_px=0.7), "place": PLACE_CHANGES},
    "hazy": {
        "altitude": dataclasses.replace(ALTITUDE_CHANGES, soften_px=0.4, haze=0.7),
        "place": AugmentOptions(colour=0.4, haze=0.7, soften_px=0.6),
    },
    "wide": {
        "altitude": dataclasses.replace(ALTITUDE_CHANGES, soften_px=1.0, haze=0.9, blur=0.6),
        "place": dataclasses.replace(PLACE_CHANGES, haze=0.9),
    },
}
