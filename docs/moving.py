#!/usr/bin/env python3
"""The tables of docs/moving.md: `docs/moving.py BODE 5G`, the folders of

    qdelay run bode/moving --traces TRACES --out BODE
    qdelay run 5g/moving --out 5G

With `--write` they replace those of the page. Needs Python 3.10, docs/tables.py beside it, and nothing else.
"""

import argparse
import collections
import pathlib
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the pages

from tables import figure, half_interval, mean, read_json, stop, table

PAGE = pathlib.Path(__file__).with_name("moving.md")
MOVES = ("resets", "ramps", "fast")
# The smallest change that counts, of throughput and of delay, and the ms below which a delay's change counts for nothing.
LEAST = {"rate": 0.05, "p95": 0.10}
LEAST_MS = 2.0


def figures(folder, names, rate, delay):
    """Lists over seeds of throughput and p95 of the delay, by round trip and the labels `names`."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    for case in read_json(pathlib.Path(folder) / "summary.json", "the folder of a run")["cases"]:
        labels = case["labels"]
        key = tuple(labels[name] for name in names)
        values = found[labels["path.rtt"], key]
        values["rate"].append(figure(case, rate))
        values["p95"].append(figure(case, delay))
    return found


def changes(found, what, base):
    """For each key but that of `base`: its ratio to `base` with a constant round trip, and with each that moves, over seeds."""
    rows = []
    for (rtt, key) in found:
        if rtt != "constant" or key[-1] == base:
            continue
        other = key[:-1] + (base,)
        ratios = {}
        for move in ("constant",) + MOVES:
            own, reference = found[move, key][what], found[move, other][what]
            ratios[move] = [a / b for a, b in zip(own, reference)]
        rows.append((key, ratios, found["constant", key][what], {move: found[move, key][what] for move in MOVES}))
    return rows


def counts(what, ratios, constant, moved, move):
    """Whether the change of the ratio is one that counts: by the least effect, and more than chance (95%)."""
    differences = [b / a - 1 for a, b in zip(ratios["constant"], ratios[move])]
    change, half = mean(differences), half_interval(differences)
    is_large = abs(change) > LEAST[what]
    if what == "p95":
        is_large = is_large and abs(mean(moved[move]) - mean(constant)) > LEAST_MS
    return is_large and abs(change) > half, change, half


def ratios_of(found, names, base, titles):
    """Rows that change, and how many do."""
    lines, total, changed = [], 0, 0
    for what, title in titles:
        for key, ratios, constant, moved in sorted(changes(found, what, base)):
            cells, any_counts = [f"{mean(ratios['constant']):.2f}"], False
            for move in MOVES:
                is_one, change, half = counts(what, ratios, constant, moved, move)
                total, changed, any_counts = total + 1, changed + is_one, any_counts or is_one
                cells.append(f"{'**' if is_one else ''}{mean(ratios[move]):.2f}{'**' if is_one else ''}")
            if any_counts:
                lines.append([title, *key, *cells])
    head = f"{changed} of {total} ratios to {base} change by an effect that counts; these rows have one:"
    return [head, "", *table(["", *names, "constant", *MOVES], lines)]


def means(found, names):
    """The figures themselves: means over seeds."""
    lines = []
    for key in [key for rtt, key in found if rtt == "constant"]:
        cells = [f"{mean(found[m, key]['rate']):.2f}; {mean(found[m, key]['p95']):.1f}" for m in ("constant",) + MOVES]
        lines.append([*key, *cells])
    return table([*names, "constant", *MOVES], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bode")
    parser.add_argument("five_g", metavar="5G")
    parser.add_argument("--write", action="store_true", help="replaces the tables of the page")
    options = parser.parse_args()
    bode_names, cell_names = ("path.trace", "flow.transport", "path.qdisc"), ("flow.bulk.transport", "cell.pacer")
    bode = figures(options.bode, bode_names, "groups.tcp.throughput_mbps", "queue_delay_ms.p95")
    cell = figures(options.five_g, cell_names, "groups.bulk.throughput_mbps", "groups.voip.one_way_delay_ms.p95")
    parts = {
        "bode-ratios": ratios_of(bode, ("trace", "transport", "discipline"), "CoDel", (("rate", "throughput"), ("p95", "p95 of the queue"))),
        "bode": means(bode, ("trace", "transport", "discipline")),
        "5g-ratios": ratios_of(cell, ("bulk", "pacer"), "no pacer", (("rate", "throughput of bulk"), ("p95", "p95 of the call"))),
        "5g": means(cell, ("bulk", "pacer")),
    }
    text = PAGE.read_text()
    for name, lines in parts.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        if begin not in text or end not in text:
            stop(f"{PAGE}: no '{begin.strip()}'; expected it before the table")
        before, rest = text.split(begin, 1)
        after = rest.split(end, 1)[1]
        text = before + begin + "\n".join(lines) + "\n" + end + after
    if options.write:
        PAGE.write_text(text)
    else:
        print("\n\n".join("\n".join(lines) for lines in parts.values()))


main()
