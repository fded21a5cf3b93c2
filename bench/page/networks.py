"""The model card on networks for maps nobody trained on."""

from __future__ import annotations

from bench.page.tables import Result, filled, link, pair, printed, result, table

WHITENINGS = ("plain", "centred", "whitened_0.5", "whitened_1.0")
#: Altitude networks, and what they are measured on without having seen it.
LEFT_OUT = {
    "nomine-altitude2": ("mine", "world2000"),
    "notown-altitude": ("town", "world2000"),
    "worlds-altitude": ("mine", "town"),
}


def _places() -> str:
    heads = ["photos within 10 % of the scale", "references", "plain", "centred", "half whitened", "whitened"]
    return f"""Places: R@1 / R@5 in per cent among all references, 500 rendered views each of a seed of our
own, other date. Networks learned by contrast. What is learned elsewhere helps on the town and hurts on
the mine, unless weights go only part of the way from ImageNet's to the learned ones ([ADR
39](adr/0039-half-of-what-was-learned.md)). Half way to what was learned on worlds alone is no
worse, and ships ([ADR 41](adr/0041-the-place-network-that-learned-on-worlds.md)). Other figures
were measured before networks were written to their files, which then lacked one channel of 64; of
the one without the town, which was cut off, there is what it printed:
{link("many_places_place_notown", "log")}.

{table(heads, _place_rows())}"""


def _place_rows() -> list[list[object]]:
    none, without_mine = result("many_places_place_none"), result("many_places_place_nomine-place")
    worlds = result("interpolate_weights_worlds-place")["shares"]
    rows = [_row(place, "ImageNet alone", none[place]) for place in ("mine", "town")]
    rows += [_row(place, "learned without the town", run)
             for place, run in printed("many_places_place_notown").items() if place == "town"]  # fmt: skip
    rows += [
        _row("mine", f"learned without the mine{_part(share)}", run["mine"])
        for share, run in {"0.6": without_mine["towards_start"]["0.6"], "1": without_mine}.items()
    ]
    return rows + [
        _row(place, f"learned on worlds alone{_part(share)}", run)
        for share, by_place in worlds.items()
        for place, run in by_place.items()
    ]


def _row(place: str, label: str, run: Result) -> list[object]:
    return [f"{place}, {label}", run["references"], *(pair(run[name]) for name in WHITENINGS)]


def _part(share: str) -> str:
    """Which part of the way, where it is not the whole."""
    return "" if share == "1" else f", {share} of the way"


def card_figures() -> str:
    """The model card's tables: altitude networks, and place networks."""
    heads = ["altitude network", "ground it never saw", "best class", "all classes"]
    rows: list[list[object]] = []
    for name, places in LEFT_OUT.items():
        for place in places:
            run = result(f"many_places_altitude_{name}")[place]
            own, fitted = run["own"], run["fitted_1"]
            rows.append([f"`{name}`", place, f"{fitted['hard_m']:.1f} m", f"{fitted['soft_m']:.1f} m",
                         f"{own['hard_m']:.0f} m"])  # fmt: skip
    return f"{table([*heads, 'with classes of its own'], rows)}\n\n{filled(_places())}"
