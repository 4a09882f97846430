#!/usr/bin/env python3
"""The tables of docs/deploy.md out of result folders: `docs/deploy.py DIR...`; with `--write` they replace those of the page.

DIR are folders of `qdelay run 5g/deploy`, `5g/deploy-nr`, `5g/deploy-ideal` and `5g/n78-call`, any or all; `--write` needs the four. The criterion is that
of docs/deploy.md, where it stands in words. Needs Python 3.10, docs/tables.py beside it, and nothing else.
"""

import argparse
import pathlib
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the pages

from tables import figure, half_interval, mean, put, read_json, stop, table

PAGE = pathlib.Path(__file__).with_name("deploy.md")
BASE = "no pacer"
REFERENCE_OF_F1 = "ddds, BoDe 75 ms"  # without F1-U no reports come, so that it is as no pacer
IDEAL = "ideal PDCP"
N78 = "n78, "
# Label of cell.f1, heading of its table.
PLACES = {
    "one box": "One box, PDCP of the standard",
    "0.5 ms": "F1-U with 0.5 ms",
    "1 ms": "F1-U with 1 ms",
    "2 ms": "F1-U with 2 ms",
    "5 ms": "F1-U with 5 ms",
    IDEAL: "One box, with the ideal PDCP (LTE alone)",
    N78 + "one box": "n78, one box",
    N78 + "0.5 ms": "n78, F1-U with 0.5 ms",
    N78 + "1 ms": "n78, F1-U with 1 ms",
    N78 + "2 ms": "n78, F1-U with 2 ms",
    N78 + "5 ms": "n78, F1-U with 5 ms",
}
# Places of the tables of figures.
IN_FULL = ("one box", "1 ms", "5 ms", N78 + "one box", N78 + "2 ms")
CONTROLS = {"cubic": "Cubic", "bbr": "BBR"}
# Name: the figure of a case, whether the bound is the least that is met, the bound.
CALL = ("call", "groups.voip.total_ms.p99", False, 50)
LOSS = ("loss", "groups.voip.loss_ratio", False, 0.01)
RADIO = ("radio", "cell.rbs_used", True, 0.95)  # over that of the same case and seed without a pacer
DOWNLOAD = ("download", "groups.bulk.in_order_ms.p99", False, 300)
BOUNDS = (CALL, LOSS, RADIO, DOWNLOAD)
CALL_MEAN = "groups.voip.total_ms.mean"


def read(folders):
    """By place, way, congestion control and channel: each figure, a value for each seed."""
    cases = {}
    for folder in folders:
        summary = read_json(pathlib.Path(folder) / "summary.json", "a folder that 'qdelay run 5g/deploy' has completed")
        names = {axis["name"] for axis in summary["axes"]}
        n78 = {"cell.tdd", "cell.prbs"} <= names
        if not {"flow.bulk.transport", "variant"} <= names or not (n78 or "cell.ue.channel" in names):
            stop(f"{folder}: not of 5g/deploy, 5g/deploy-nr, 5g/deploy-ideal or 5g/n78-call")
        nr = summary.get("scenario", "").endswith("-nr") or "NR" in summary.get("title", "")
        for case in summary["cases"]:
            of = case["labels"]
            place = of.get("cell.f1", IDEAL)
            if place == "one box" and of["variant"] == REFERENCE_OF_F1:
                continue
            if n78:
                place, channel = N78 + place, f"{of['cell.prbs']} {of['cell.tdd']}"
            else:
                channel = ("NR " if nr else "") + of["cell.ue.channel"]
            key = (place, of["variant"], of["flow.bulk.transport"], channel)
            figures = {path: figure(case, path) for path in (CALL_MEAN, *(bound[1] for bound in BOUNDS))}
            cases.setdefault(key, {})[of["seed"]] = figures
    found = {}
    for key, seeds in cases.items():
        place, _, control, channel = key
        base = cases[place, BASE, control, channel]
        found[key] = {path: [run[path] for run in seeds.values()] for path in next(iter(seeds.values()))}
        found[key][RADIO[1]] = [run[RADIO[1]] / base[seed][RADIO[1]] for seed, run in seeds.items()]
    return found


def distinct(found, position, of=lambda key: True):
    return list(dict.fromkeys(key[position] for key in found if of(key)))


def misses(figures):
    """Names of the bounds that the means over the seeds miss."""
    for name, path, at_least, bound in BOUNDS:
        value = mean(figures[path])
        if (value < bound) if at_least else (value > bound):
            yield name


def ms(value):
    """Two digits below 10 ms."""
    return f"{value:.1f}" if value < 10 else f"{value:.0f}"


def where_missed(found, place, way, control, channels):
    """Each bound that is missed with its channels, in the order in which channels miss them."""
    by_bound = {}
    for channel in channels:
        for name in misses(found[place, way, control, channel]):
            by_bound.setdefault(name, []).append(channel)
    every = len(channels)
    # The one channel of NR needs no name of its fading here.
    said = {
        name: "all" if len(at) == every else ", ".join("NR" if channel.startswith("NR") else channel for channel in at)
        for name, at in by_bound.items()
    }
    return "; ".join(f"{name}: {at}" for name, at in said.items())


def region(found, place):
    """The table that says which way meets the criterion where."""
    ways = distinct(found, 1, lambda key: key[0] == place)
    channels = distinct(found, 3, lambda key: key[0] == place)
    rows = []
    for way in ways:
        own = {key: figures for key, figures in found.items() if key[:2] == (place, way)}
        met = sum(not list(misses(figures)) for figures in own.values())
        # Bold: at least three quarters of the cases.
        count = f"**{met} of {len(own)}**" if 4 * met >= 3 * len(own) else f"{met} of {len(own)}"
        ends = {}
        for name, path, _, _ in BOUNDS:
            means = [mean(figures[path]) for figures in own.values()]
            ends[name] = (min(means), max(means))
        rows.append(
            [
                way,
                count,
                *(where_missed(found, place, way, control, channels) or "none" for control in CONTROLS),
                f"{ms(ends['call'][0])} to {ms(ends['call'][1])} ms",
                f"{ends['radio'][0]:.2f} to {ends['radio'][1]:.2f}",
                f"{ends['download'][0] / 1000:.2f} to {ends['download'][1] / 1000:.2f} s",
            ]
        )
    return ["", "meets it", "Cubic misses", "BBR misses", "call p99", "blocks", "download p99"], rows


# Ways of the table of counts: their names in 5g/deploy and 5g/deploy-nr, and in 5g/n78-call; none where they were not run.
COUNTED = {
    "e5G-BDP, BoDe 75 ms": ("e5G-BDP, fill, BoDe 75 ms", "e5G-BDP, BoDe 75 ms"),
    "DRQL, BoDe 75 ms": ("DRQL, BoDe 75 ms",) * 2,
    "DynRLC, BoDe 75 ms": (None, "DynRLC, BoDe 75 ms"),
    "5G-BDP, BoDe 75 ms": (None, "5G-BDP, BoDe 75 ms"),
    "credit, BoDe 75 ms": (None, "credit, BoDe 75 ms"),
    "ddds, BoDe 75 ms": ("ddds, BoDe 75 ms",) * 2,
    "second bearer": ("second bearer",) * 2,
    "second bearer, e5G-BDP, BoDe 75 ms": (None, "second bearer, e5G-BDP, BoDe 75 ms"),
    "early drop, 6.2 MB": (None, "early drop, 6.2 MB"),
    "early drop, 100 kB": (None, "early drop, 100 kB"),
    "no pacer": ("no pacer",) * 2,
}
DELAYS = ("one box", "0.5 ms", "1 ms", "2 ms", "5 ms")


def counts(found):
    """The table of the number of cases in which a way meets all bounds, on LTE and 20 MHz of NR, and on n78."""

    def met(place, way):
        own = [figures for key, figures in found.items() if key[:2] == (place, way)]
        return str(sum(not list(misses(figures)) for figures in own)) if own else "-"

    rows = []
    for way, (older, n78) in COUNTED.items():
        row = [way]
        for delay in DELAYS:
            row.append(f"{met(delay, older)}, {met(N78 + delay, n78)}")
        rows.append(row)
    return ["of 12 and 12", *DELAYS], rows


def in_full(found, place, control):
    """The table of means and intervals of one congestion control."""
    of = lambda key: key[0] == place  # noqa: E731
    channels = distinct(found, 3, of)
    rows = []
    for way in distinct(found, 1, of):
        row = [way]
        for channel in channels:
            figures = found[place, way, control, channel]
            call, radio, download = (figures[bound[1]] for bound in (CALL, RADIO, DOWNLOAD))
            row.append(
                f"{ms(mean(figures[CALL_MEAN]))}, {ms(mean(call))} ± {ms(half_interval(call))} ms; "
                f"{mean(radio):.2f} ± {half_interval(radio):.2f}; "
                f"{mean(download) / 1000:.2f} ± {half_interval(download) / 1000:.2f} s"
            )
        rows.append(row)
    return [f"{PLACES[place]}, {CONTROLS[control]}", *channels], rows


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folder", nargs="+", help="result folders; cases of all of them together")
    options.add_argument("--write", action="store_true", help="replace the tables of docs/deploy.md")
    options = options.parse_args()
    found = read(options.folder)
    places = distinct(found, 0)
    if options.write and (set(places) != set(PLACES) or len(distinct(found, 3)) < 6):
        stop("--write: expected the folders of 5g/deploy, 5g/deploy-nr, 5g/deploy-ideal and 5g/n78-call")
    tables = {}
    for place, heading in PLACES.items():
        if place in places:
            header, rows = region(found, place)
            tables[heading, header[0]] = table(header, rows)
    if set(places) == set(PLACES):
        header, rows = counts(found)
        tables["Deploy this", header[0]] = table(header, rows)
    for place in IN_FULL:
        if place in places:
            for control in CONTROLS:
                header, rows = in_full(found, place, control)
                tables["Figures of n78" if place.startswith(N78) else "Figures", header[0]] = table(header, rows)
    put(PAGE, tables, options.write)


if __name__ == "__main__":
    main()
