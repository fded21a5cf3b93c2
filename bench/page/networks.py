"""The accuracy page on networks for maps nobody trained on."""

from __future__ import annotations

from accuracy_tables import has, pair, printed, result, source, table

WITHOUT_MINE = "bench/places.py place --leave-out mine --rate 5e-5 --real-share 0.7 --mix 0.3 0.6"
WORLDS_ALONE = "bench/mixed.py worlds-place.safetensors --measure mine --mix 0.5 …"
WAYS = ("plain", "centred", "whitened_0.5", "whitened_1.0")


def networks() -> str:
    none, taught = result("places_place_none")["results"], printed("places_place_notown")
    other = result("places_place_nomine-place")["results"]
    heads = ["photos within 10 % of the scale", "references", "plain", "centred", "half whitened", "whitened"]
    rows = [
        [f"{place}, ImageNet alone", none[place]["references"], *(pair(none[place][way]) for way in WAYS)]
        for place in ("mine", "town", "world2000")
    ] + [
        [f"{place}, learned without the town", told["references"], *(pair(told[way]) for way in WAYS)]
        for place, told in taught.items()
    ]
    shares = {**other["towards_start"], "1": other}
    rows += [
        [f"{place}, learned without the mine{so_far(share)}", found[place]["references"],
         *(pair(found[place][way]) for way in WAYS)]
        for share, found in shares.items() for place in ("mine", "world2000")
    ]  # fmt: skip
    rows += worlds_alone()
    return f"""## Networks for maps nobody trained on

Places: R@1 / R@5 in per cent among all references, 500 rendered views each of a seed of our own, other date.
The second network learned by contrast on the mine, the desert, the campus and twelve procedural worlds, the
third on the town in the place of the mine and for nearly three times as many steps; neither on world 2000.
What is learned elsewhere helps on the town and hurts on the mine, unless weights go only part of the way from
ImageNet's to the learned ones ([ADR 39](adr/0039-half-of-what-was-learned.md)). Half way to what was
learned on worlds alone is no worse, and ships ([ADR
41](adr/0041-the-place-network-that-learned-on-worlds.md)). Figures of the others were measured before
networks were written to their files, which then lacked one channel of 64.

{table(heads, rows)}

{source("places_place_none", "bench/places.py place --rate 0 --name none")} *The second network:
`bench/places.py place --leave-out town --rate 5e-5 --real-share 0.7 --seconds 260`; what it printed before it
was cut off: [`places_place_notown.log`](../bench/results/places_place_notown.log).*
{source("places_place_nomine-place", WITHOUT_MINE)}
{source("mixed_worlds-place", WORLDS_ALONE) if has("mixed_worlds-place") else ""}

{altitudes()}"""


def worlds_alone() -> list[list[object]]:
    """The same of a network that learned on procedural worlds only, where somebody has measured it."""
    if not has("mixed_worlds-place"):
        return []
    return [
        [
            f"{place}, learned on worlds alone{so_far(share)}",
            told["references"],
            *(pair(told[way]) for way in WAYS),
        ]
        for share, found in result("mixed_worlds-place")["results"]["shares"].items()
        for place, told in found.items()
    ]


def so_far(share: str) -> str:
    """Which part of the way, where it is not the whole."""
    return "" if share == "1" else f", {share} of the way"


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
