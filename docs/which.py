#!/usr/bin/env python3
"""The tables of docs/which.md out of result folders: `docs/which.py calls DIR`, `game DIR` or `ran DIR`.

DIR is a folder of `qdelay run which/calls` (`which/game`, `which/ran`), or of an edited copy. Needs Python 3.10, docs/tables.py beside it, and nothing else.
The rule is that of docs/which.md, where it stands in words; `--misses NAME` lists the cases in which NAME misses a bound.
`qdelay run which/calls --print | docs/which.py calls --held-out` prints the scenario with the inputs that were held out.
"""

import argparse
import itertools
import json
import pathlib
import re
import statistics
import sys

from tables import half_interval, mean

# Of disciplines that are equal by the rule the first is recommended: the one with the least to set.
CALLS = ["taildrop", "fq_codel", "codel", "pie", "BoDe 100 ms", "BoDe 20 ms", "priority"]
RAN = [
    "taildrop in the RLC",
    "CoDel in the RLC",
    "PIE in the RLC",
    "BoDe 75 ms in the RLC",
    "pacer, taildrop at the SDAP",
    "pacer, fq_codel at the SDAP",
    "pacer, CoDel at the SDAP",
    "pacer, BoDe 75 ms at the SDAP",
]
EQUAL = 0.03  # of all cases
CONSTANT = ("mbit",)  # how the labels of links of a constant rate end


def figure(case, path):
    """A figure of a case by its dotted path."""
    value = case
    for name in path.split("."):
        if name not in value:
            sys.exit(f"which.py: case {case['id']} has no {path}; expected a case of which/calls, game or ran")
        value = value[name]
    return value


def at_most(bound, slack=None):
    """By how much it is met: `bound` or less, or at most `slack` above the best of all disciplines in that case."""
    return lambda value, best: (bound if slack is None else max(bound, best + slack)) - value


def at_least(bound, slack):
    """The same of `bound` or more, or at most `slack` below the best."""
    return lambda value, best: value - min(bound, best - slack)


def rtt_ms(axes):
    return float(axes["path.rtt"].removesuffix("ms"))


# Name: the figure of a case, which end is best, the bound, the unit.
RATING = (lambda case: figure(case, "groups.call.voice.r"), max, at_least(80, 3), "R")
DELAY = (lambda case: figure(case, "groups.game.queue_delay_ms.p95"), min, at_most(30, 10), "ms")
LOST = (lambda case: 100 * figure(case, "groups.game.loss_ratio"), min, at_most(1, 1), "%")
FRAME = (
    lambda case: figure(case, "groups.game.video.delay_p95_ms") - rtt_ms(case["labels"]) / 2,
    min,
    at_most(50, 10),
    "ms",
)
WHOLE = (lambda case: 100 * figure(case, "groups.game.video.complete"), max, at_least(98, 1), "%")
CALL = (lambda case: figure(case, "groups.call.total_ms.p99"), min, at_most(50), "ms")
CALL_LOST = (lambda case: 100 * figure(case, "groups.call.loss_ratio"), min, at_most(1), "%")
IN_ORDER = (
    lambda case: figure(case, "groups.download.in_order_ms.p99") - 2 * rtt_ms(case["labels"]),
    min,
    at_most(300),
    "ms",
)
# Over that of the first discipline, seed by seed.
GOODPUT = ("download", lambda case: figure(case, "groups.download.goodput_mbps"), 0.9)
BLOCKS = ("radio", lambda case: figure(case, "cell.rbs_used"), 0.95)

STUDIES = {
    "calls": (CALLS, "path.qdisc", {"call": RATING, "game": DELAY, "loss": LOST}, GOODPUT),
    "game": (CALLS, "path.qdisc", {"frames": FRAME, "whole": WHOLE}, GOODPUT),
    "ran": (RAN, "variant", {"call": CALL, "loss": CALL_LOST, "download": IN_ORDER}, BLOCKS),
}
# Which links and which bounds are a reader's.
READERS = {
    "calls": [
        ("home router", lambda place: place.endswith(CONSTANT), ("call", "game", "loss", "download")),
        ("call on a mobile link", lambda place: not place.endswith(CONSTANT), ("call", "download")),
    ],
    "game": [("game in the cloud", lambda place: True, ("frames", "whole", "download"))],
    "ran": [("radio bearer", lambda place: True, ("call", "loss", "radio", "download"))],
}


def read(study, folder):
    """By case without discipline and seed, by discipline: each measure, a value for each seed."""
    disciplines, axis, measures, (relative, of, _) = STUDIES[study]
    by_case = {}
    try:
        summary = json.loads((pathlib.Path(folder) / "summary.json").read_text())
    except OSError as error:
        sys.exit(f"which.py: {folder}: {error.strerror}; expected a folder that 'qdelay run' has completed")
    labels = {label for of in summary["axes"] if of["name"] == axis for label in of["labels"]}
    if labels != set(disciplines):
        sys.exit(f"which.py: {folder}: not of which/{study}, which has the disciplines {', '.join(disciplines)}")
    for case in summary["cases"]:
        axes = dict(case["labels"])
        discipline, seed = axes.pop(axis), axes.pop("seed")
        runs = by_case.setdefault(tuple(sorted(axes.items())), {}).setdefault(discipline, {})
        runs[seed] = {name: measure[0](case) for name, measure in measures.items()} | {relative: of(case)}
    found = {}
    for axes, runs in by_case.items():
        base = runs[disciplines[0]]
        found[axes] = {}
        for discipline in disciplines:
            of_seeds = runs[discipline]
            values = {name: [run[name] for run in of_seeds.values()] for name in measures}
            values[relative] = [of_seeds[seed][relative] / base[seed][relative] for seed in base]
            found[axes][discipline] = values
    return found


def missed(study, values, names):
    """By discipline: the bounds that it misses in a case, and whether every bound is beyond its interval."""
    disciplines, _, measures, (relative, _, share) = STUDIES[study]
    result = {}
    for discipline in disciplines:
        own = values[discipline]
        misses, sure = [], []
        for name in names:
            if name == relative:
                margins = [value - share for value in own[name]]
            else:
                _, end, bound, _ = measures[name]
                best = end(mean(other[name]) for other in values.values())
                margins = [bound(value, best) for value in own[name]]
            misses += [name] if mean(margins) < 0 else []
            sure.append(mean(margins) - half_interval(margins) >= 0)
        result[discipline] = (misses, all(sure))
    return result


def place(axes):
    axes = dict(axes)
    for name in ("path.link", "path.trace", "variant", "cell.ue.channel"):
        if name in axes:
            return axes[name]
    return "one link"


def round_trip(axes):
    return dict(axes)["path.rtt"]


def congestion_control(axes):
    return dict(axes)["flow.download.transport"]


def short(value):
    """Three digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def with_blank(label):
    """A label such as 2ms or 50mbit as text has it."""
    return re.sub(r"(?<=\d)ms$", " ms", re.sub(r"(?<=\d)mbit$", " Mbit/s", label))


def in_words(axes):
    return ", ".join(value for name, value in axes)


def judge(study, found, who, is_reader, names):
    disciplines, _, measures, (relative, _, _) = STUDIES[study]
    cases = {axes: missed(study, values, names) for axes, values in found.items() if is_reader(place(axes))}
    if not cases:
        return {}
    regions = {
        of: list(dict.fromkeys(of(axes) for axes in cases)) for of in (place, round_trip, congestion_control)
    }
    held = {name: sum(not of[name][0] for of in cases.values()) for name in disciplines}
    sure = {name: sum(of[name][1] for of in cases.values()) for name in disciplines}
    equal = [name for name in disciplines if held[name] >= max(held.values()) - EQUAL * len(cases)]
    print(f"## {who}: {', '.join(names)}\n")
    if max(held.values()) == 0:
        print("By the rule: **none**; no discipline holds in any case, and the second table says what each misses and costs\n")
    else:
        print(f"By the rule: **{equal[0]}**" + (f"; equal: {', '.join(equal[1:])}" if equal[1:] else "") + "\n")
    columns = [f"{with_blank(at)}, %" for places in regions.values() for at in places]
    print(f"| discipline | holds, of {len(cases)} | beyond ± | " + " | ".join(columns) + " |")
    print("| --- |" + " --- |" * (2 + len(columns)))
    for name in disciplines:
        row = [f"{held[name]}", f"{sure[name]}"]
        for of, places in regions.items():
            for at in places:
                here = [judged[name][0] for axes, judged in cases.items() if of(axes) == at]
                row.append(f"{100 * sum(not misses for misses in here) / len(here):.0f}")
        print(f"| {name} | " + " | ".join(row) + " |")
    units = [f"{name}, {'ratio' if name == relative else measures[name][3]}" for name in names]
    print("\n| least, median, most | missed | " + " | ".join(units) + " |")
    print("| --- |" + " --- |" * (1 + len(names)))
    for name in disciplines:
        counts = {bound: sum(bound in of[name][0] for of in cases.values()) for bound in names}
        row = [", ".join(f"{bound} {count}" for bound, count in counts.items() if count) or "none"]
        for bound in names:
            values = sorted(mean(found[axes][name][bound]) for axes in cases)
            row.append(", ".join(short(value) for value in (values[0], statistics.median(values), values[-1])))
        print(f"| {name} | " + " | ".join(row) + " |")
    print()
    return cases


def brackets(found):
    """How often the other disciplines lie between two, by the call's rating and the game's delay."""
    slack = {"call": 3, "game": 10}
    counts = {}
    for pair in itertools.combinations(CALLS, 2):
        for values in found.values():
            inside = True
            for name, more in slack.items():
                ends = [mean(values[of][name]) for of in pair]
                inside &= all(
                    min(ends) - more <= mean(values[of][name]) <= max(ends) + more for of in CALLS if of not in pair
                )
            counts[pair] = counts.get(pair, 0) + inside
    print("## developer: pairs between which all other disciplines lie\n")
    for pair, count in sorted(counts.items(), key=lambda entry: -entry[1])[:6]:
        print(f"* {pair[0]} and {pair[1]}: {count} of {len(found)}")
    print()


# Label, key and value of the link, rate of the stream: two fifths of the link.
HELD_OUT = [
    ("5mbit", 'link = "5mbit"', "2mbit"),
    ("25mbit", 'link = "25mbit"', "10mbit"),
    ("home1", 'trace = "nyc-2019/trace-2925703-home1"', "3mbit"),
    ("bus", 'trace = "nyc-2019/trace-3114405-bus"', "3mbit"),
    ("LTE subway", 'trace = "nyc-2018/downlink-4g-with-cross-subway.pps"', "4mbit"),
    ("Verizon", 'trace = "mahimahi/Verizon-LTE-short.down"', "2mbit"),
]
HELD_OUT_CHANNELS = """cell.ue.channel = [
    { label = "4G drive", value = "cqi-trace:cqi/4g-B_2018.01.19_07.31.48.csv" },
    { label = "5G drive", value = "cqi-trace:cqi/5g-Download_Driving_B_2019.12.16_07.22.43.csv" },
]"""


def held_out(study, text):
    """The scenario with the links, channels, round trips and seeds that were held out."""
    text = re.sub(r"(?m)^path\.rtt = .*$", 'path.rtt = ["10ms", "35ms", "75ms", "150ms"]', text)
    text = re.sub(r"(?m)^seeds = .*$", 'seeds = "11..13"', text)
    text = text.split("[[expect]]")[0].rstrip()
    if study == "ran":
        return re.sub(r"(?ms)^cell\.ue\.channel = \[.*?^\]", HELD_OUT_CHANNELS, text)
    text = re.sub(r"(?ms)^path\.link = \[.*?^\]\n", "", text).split("[[matrix.variant]]")[0].rstrip()
    for label, link, rate in HELD_OUT:
        text += f'\n\n[[matrix.variant]]\nlabel = "{label}"\npath.{link}'
        text += f'\nflow.game.transport = "frames:{rate}"' if study == "game" else ""
    return text


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("study", choices=STUDIES)
    options.add_argument("folder", nargs="*", help="result folders; cases of all of them together")
    options.add_argument("--held-out", action="store_true", help="edit the scenario that standard input has")
    options.add_argument("--misses", metavar="NAME", help="the cases in which this discipline misses a bound")
    options = options.parse_args()
    if options.held_out:
        print(held_out(options.study, sys.stdin.read()))
        return
    if not options.folder:
        sys.exit("which.py: no folder; expected one of 'qdelay run'")
    found = {}
    for folder in options.folder:
        found |= read(options.study, folder)
    for who, is_reader, names in READERS[options.study]:
        cases = judge(options.study, found, who, is_reader, names)
        if options.misses in STUDIES[options.study][0]:
            for axes, of in cases.items():
                values, misses = found[axes][options.misses], of[options.misses][0]
                if misses:
                    told = (f"{name} {mean(values[name]):.3g} ± {half_interval(values[name]):.2g}" for name in misses)
                    print(f"* {in_words(axes)}: {', '.join(told)}")
            print()
        elif options.misses:
            sys.exit(f"which.py: no discipline '{options.misses}'; expected one of {', '.join(STUDIES[options.study][0])}")
    if options.study == "calls":
        brackets(found)


if __name__ == "__main__":
    main()
