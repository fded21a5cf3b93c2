"""The accuracy page on networks: the method as published, and networks for maps nobody trained on."""

from __future__ import annotations

from accuracy_tables import pair, percent, printed, result, source, table

WAYS = ("plain", "centred", "whitened_0.5", "whitened_1.0")
RUNS = {
    "published_mine": "mine, ResNet-50 to stage 3",
    "published_town": "town, ResNet-50 to stage 3",
    "published_mine_b5": "mine, EfficientNet-B5 from a random start",
}


def published() -> str:
    told = {name: result(name)["results"] for name in RUNS}
    heads = ["other date, fixed views", "altitude", "R@1", "R@5", "within 100 m", "50 m", "median"]
    rows = [
        [f"{RUNS[name]}", way, *place_cells(run[f"place_{way}_altitude"]["three_cells"])]
        for name, run in told.items()
        for way in ("true", "estimated", "none")
    ]
    heights = ["altitude from the spectrum", "best class", "all classes", "within 50 m", "own date, held out"]
    high = [[RUNS[name], *altitude_cells(run["altitude_spectrum"])] for name, run in told.items()]
    budgets = ", ".join(
        f"{run['altitude_spectrum']['training_s']:.0f} + {run['place']['training_s']:.0f} s"
        for run in told.values()
    )
    pixels = result("train_mine")["results"]
    return f"""## The method as published, trained on the map

Spectrum and MixVPR for the altitude, QAMC over cells of 100 m, one central crop, three cells, weighted
coordinate; 400 fixed views each, of another date than the map. Trained for {budgets} on an H200 that other
runs shared, one seed. Altitude networks go on from one that learned on *other* places; place networks start
from ImageNet, or from nothing where it says so (no ImageNet weights of EfficientNet-B5 could be had: that
row shows the start, not the encoder).

{table(heads, rows)}

{table(heights, high)}

An earlier run without a start from other places ([`train_mine.json`](../bench/results/train_mine.json)) was
{pixels["altitude_spectrum"]["e_avg_m"]:.1f} m off from the spectrum and
{pixels["altitude_pixels"]["e_avg_m"]:.1f} m from pixels on the mine.

{source("published_mine", "bench/published.py --name mine …")}

The publication has, on its own four data sets, R@1 47.5 to 77.2 with altitude and 11.3 to 26.8 without,
E_avg 17.8 to 59.4 m and 59.6 to 96.2 % within 100 m. Its imagery is other imagery: these stand beside ours,
not against them."""


def place_cells(found: dict) -> list[object]:
    near = (percent(found["wce_100"]), percent(found["wce_50"]), f"{found['wce_median_m']:.0f} m")
    return [f"{found['r1']:.1f}", f"{found['r5']:.1f}", *near]


def altitude_cells(found: dict) -> list[object]:
    hard = f"{found['hard_m']:.1f} m ({found['hard_percent']:.0f} %)"
    soft = f"{found['soft_m']:.1f} m ({found['soft_percent']:.0f} %)"
    return [hard, soft, percent(found["hard_within_50_m"]), f"{found['held_out_e_avg_m']:.1f} m"]


def networks() -> str:
    none, taught = result("places_place_none")["results"], printed("places_place_notown")
    heads = ["photos within 10 % of the scale", "references", "plain", "centred", "half whitened", "whitened"]
    rows = [
        [f"{place}, ImageNet alone", none[place]["references"], *(pair(none[place][way]) for way in WAYS)]
        for place in ("mine", "town", "world2000")
    ] + [
        [f"{place}, learned on other places", told["references"], *(pair(told[way]) for way in WAYS)]
        for place, told in taught.items()
    ]
    return f"""## Networks for maps nobody trained on

Places: R@1 / R@5 in per cent among all references, 500 rendered views each of a seed of our own, other date.
The second network learned by contrast on the mine, the desert, the campus and twelve procedural worlds, never
on the town or on world 2000. The run without the mine was cut off, so there is no such row for the mine.

{table(heads, rows)}

{source("places_place_none", "bench/places.py place --rate 0 --name none")} *The second network:
`bench/places.py place --leave-out town --rate 5e-5 --real-share 0.7 --seconds 260`; what it printed before it
was cut off: [`places_place_notown.log`](../bench/results/places_place_notown.log).*

{altitudes()}"""


LEFT_OUT = {
    "places_altitude_nomine-altitude2": ("mine", "town, desert, campus, worlds"),
    "places_altitude_notown-altitude": ("town", "mine, desert, campus, worlds"),
}


def altitudes() -> str:
    cases = [(name, *told) for name, told in LEFT_OUT.items()]
    cases += [("places_altitude_worlds-altitude", place, "worlds alone") for place in ("mine", "town")]
    heads = ["measured on", "learned on", "its own classes", "fitted to the map", "and to softer views"]
    rows = []
    for name, place, learned in cases:
        told = result(name)["results"][place]
        each = [told[way] for way in ("own", "fitted_0", "fitted_1")]
        rows.append([place, learned, *(f"{e['hard_m']:.0f} / {e['soft_m']:.0f} m" for e in each)])
    return f"""Altitudes: mean error by the best class / by all classes, 500 rendered views of a seed of our
own, other date, of networks that never saw the place. Classes fitted to the map's own views carry it; views
softened by up to a pixel, as by other lenses, help where the sensor differs.

{table(heads, rows)}

{source("places_altitude_notown-altitude", "bench/places.py altitude --leave-out PLACE --soften 0.7 …")}"""
