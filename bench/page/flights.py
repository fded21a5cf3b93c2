"""The accuracy page on real flights: how high before verification, and what is answered."""

from __future__ import annotations

from bench.page.tables import Result, percent, result, table

FLIGHTS = {"flight": "town, 100 m, tilted 8.5°", "sequence": "town and fields, 48–112 m"}
RENDERED = {"mine": "mine, every fifth fixed view", "town": "town, every fifth fixed view"}
SOURCES = ("spectrum_m", "sweep_m", "fused_m")
ANSWERS = ["without / with the sweep", "photos", "answered", "wrong", "within 25 m", "median"]
ANSWERS += ["time", "slowest tenth"]
ALTITUDES = ["altitude by spectrum / sweep / both", "median ratio", "within 20 %", "25 %", "35 %", "40 %"]
ALTITUDES += ["mean off", "R@1 at the true / estimated altitude"]
SHARES = (20, 25, 35, 40)


def flights() -> str:
    labels = {**FLIGHTS, **RENDERED}
    runs = {label: result(f"real_flights_{name}") for name, label in labels.items()}
    answers = [_answers(label, run) for label, run in runs.items()]
    altitudes = [_altitudes(label, run) for label, run in runs.items()]
    return f"""## Real flights, and the map as altimeter

Two real flights of 16:9, each photo by itself, by the picture alone, without and with the sweep over
altitudes ([ADR 53](adr/0053-references-for-low-photos.md)) in turns; time is processor time, with it by
without. Its settings come from other views of the mine; that the spectrum must not rule out altitudes
it has no class for was noticed on the second flight. The first flight's altitudes are above take-off;
the altitude network has seen the town. Within 25 m counts answers whose truth is known. {_aircraft()}

{table(ANSWERS, answers)}

{table(ALTITUDES, altitudes)}"""


def _aircraft() -> str:
    """How far the place below the camera is off on a flight whose photos lean and do not say so."""
    found = result("tilt_flight")
    off_m, inside = found["aircraft_median_m"], found["aircraft_within_radius"]
    return (
        f"The aircraft, by its GNSS, on the first flight: {off_m:.0f} m off in the median, inside its 95 % "
        f"radius for {inside:.0f} % of {found['photos']} photos: **a loss**, as no tag tells the tilt and "
        "the fit finds too little of it."
    )


def _answers(label: str, run: Result) -> list[object]:
    both = [run["answers"]["without"], run["answers"]["with"]]
    near = f"{both[1]['within_25_m']} of {both[1]['truth_known']}"
    medians = ["–" if found["median_m"] is None else f"{found['median_m']:.1f}" for found in both]
    answered, wrong = (" / ".join(str(found[key]) for found in both) for key in ("answered", "wrong"))
    times = [f"{run['time_ratio'][key]:.2f}" for key in ("median", "slowest_tenth")]
    return [label, run["photos"], answered, wrong, near, f"{' / '.join(medians)} m", *times]


def _altitudes(label: str, run: Result) -> list[object]:
    found = [run["altitude"][source] for source in SOURCES]
    shares = [
        f"{' / '.join(percent(one[f'within_{share}']).removesuffix(' %') for one in found)} %"
        for share in SHARES
    ]
    ratios = " / ".join(f"{one['median_ratio']:.2f}" for one in found)
    off_m = " / ".join(f"{one['e_avg_m']:.0f}" for one in found)
    recall = " / ".join(f"{run['recall_1'][altitude]:.0f}" for altitude in ("true", "estimated"))
    return [label, ratios, *shares, f"{off_m} m", f"{recall} %"]
