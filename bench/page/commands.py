"""What the commands were given that wrote the results of the accuracy page."""

from __future__ import annotations

from bench.page.flights import FLIGHTS, RENDERED

PLACES = ("mine", "town")
COMMANDS = {
    **{f"verify_{place}": "--bundle PLACE.nadir --manifest … --name PLACE" for place in PLACES},
    "verify_town_displaced": "--map town_clear.tif --manifest …",
    "verify_mine_foreign": "--bundle mine.nadir --manifest town … --foreign",
    "refuse_world": "",
    "refuse_mine": "--bundle mine.nadir --photos-from mine_2020-06.tif --name mine",
    **{f"real_flights_{name}": "--map MAP --truth TRUTH --name NAME …" for name in (*FLIGHTS, *RENDERED)},
    "stages_mine_dev": "--bundle mine.nadir --manifest … --name mine_dev",
    **{f"land_cover_{place}": "--data DIR --place PLACE" for place in PLACES},
    "dates": "--data DIR",
    **{f"retrieval_{place}_unseen": "--data DIR --place PLACE --rows standard --fixed …" for place in PLACES},
    "build_mine": "--map … --name mine",
    **{f"published_{place}_s{seed}": "--name PLACE_sSEED --seed SEED --altitudes WEST EAST …"
       for place in PLACES for seed in range(3)},
    "published_mine_b5": "--name mine_b5 --encoder efficientnet-b5 …",
    "ablations_mine_bins50": "--place mine --rows all …",
    "altitude_bins_mine": "--name mine …",
    "many_places_place_none": "place --rate 0 --name none",
    "many_places_place_nomine-place": "place --leave-out mine --rate 5e-5 --real-share 0.7 --mix 0.3 0.6",
    "interpolate_weights_worlds-place": "worlds-place.safetensors --measure mine --mix 0.5 …",
}  # fmt: skip
