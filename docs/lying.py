#!/usr/bin/env python3
"""The tables of docs/lying.md out of a reproduction: `docs/lying.py JSON DIR`; with `--write` they replace those of the page.

    qdelay reproduce lying --traces TRACES --json --out DIR > JSON

Tables of settings that `reproduce` does not run stay as they are: docs/lying.md says which. Needs Python 3.10, docs/tables.py beside it, and
nothing else.
"""

import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the pages

from tables import figure, mean, put, read_json, stop, table

PAGE = pathlib.Path(__file__).with_name("lying.md")
# Headings of the page for titles of tables; others have the title as their heading.
HEADINGS = {
    "Who gains by lying, and who pays": "The table",
    "Round trips: a constant link": "A constant link",
    "Round trips: cellular links, where DSD is told no rate": "Cellular links, where DSD is told no rate",
}
PLAIN = "What they have where nobody lies"
CLAIMS = "The claims"
ACTORS = ("download", "call", "cbr", "stream", "bulk")
# Queues whose plain figures the page has.
PLAIN_FIGURES = (
    "groups.download.goodput_mbps",
    "groups.bulk.goodput_mbps",
    "groups.stream.goodput_mbps",
    "groups.cbr.throughput_mbps",
    "groups.cbr.goodput_mbps",
    "groups.calls.voice.mos",
    "groups.calls.queue_delay_ms.mean",
    "groups.calls.queue_delay_ms.p99",
)
QUEUES = ("one queue", "strict priority", "BoDe", "DSD", "DSD, refusals", "FQ-CoDel")


def size(value):
    """Whole numbers from ten on, as `qdelay reproduce` writes changes."""
    value = abs(value)
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}"


def percent(share):
    text = size(100 * share)
    return "0" if text == "0.0" else ("-" if share < 0 else "+") + text


def change(of):
    """A change, or of several mixes of others the least and the most, and in how many it is certain."""
    if of["mixes"] > 1:
        return f"{percent(of['least'])} to {percent(of['most'])} ({of['better']}↑ {of['worse']}↓ of {of['mixes']})"
    text = percent(of["mean"])
    if of["margin"]:
        text += f" ±{size(100 * of['margin'])}"
    return text + (r"\*" if of["better"] + of["worse"] else "")


def cell(of):
    """What the lie changes for the liar, bold where it pays, and below for the other that fares worst."""
    if of is None:
        return "–"
    own = change(of["own"])
    own = f"**{own}**" if of["own"]["better"] else own
    worst = min(of["others"], key=lambda other: other["least"], default=None)
    return f"{own}<br>{change(worst)} {worst['name']}" if worst else own


def changes(of):
    return table([of["rows_are"], *of["columns"]], [[row["name"], *map(cell, row["cells"])] for row in of["rows"]])


def number(value):
    """Three digits, without an exponent."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def accepted(row):
    low, high = row["low"], row["high"]
    if low == high:
        return number(low)
    if low is None or high is None:
        return f"at most {number(high)}" if low is None else f"at least {number(low)}"
    return f"{number(low)} to {number(high)}"


def claims(rows):
    header = ["", "expectation", "accepted", "seen", "unit", "verdict"]
    seen = lambda row: "" if row["value"] is None else number(row["value"])  # noqa: E731
    return table(
        header,
        [[row["figure"] or "", row["claim"], accepted(row), seen(row), row["unit"], row["verdict"]] for row in rows],
    )


def plain(folder):
    """Figures of lying/link where everybody is honest."""
    summary = read_json(pathlib.Path(folder) / "lying/link/summary.json", "a folder that 'reproduce lying --out' made")
    honest = [
        case
        for case in summary["cases"]
        if all(case["labels"].get(f"flow.{actor}.dscp", "honest") == "honest" for actor in ACTORS)
    ]
    rows = []
    for queue in QUEUES:
        cases = [case for case in honest if case["labels"]["path.qdisc"] == queue]
        if not cases:
            stop(f"{folder}: no case of {queue} without a lie")
        means = {path: mean([figure(case, path) for case in cases]) for path in PLAIN_FIGURES}
        rows.append(
            [
                queue,
                f"{means['groups.download.goodput_mbps']:.2f}",
                f"{means['groups.bulk.goodput_mbps']:.2f}",
                f"{means['groups.stream.goodput_mbps']:.2f}",
                f"{means['groups.cbr.throughput_mbps']:.2f}",
                # Packets later than `discard_delay` do not count as goodput.
                f"{means['groups.cbr.goodput_mbps']:.2f}",
                f"{means['groups.calls.voice.mos']:.2f}",
                f"{means['groups.calls.queue_delay_ms.mean']:.1f}, {means['groups.calls.queue_delay_ms.p99']:.1f}",
            ]
        )
    rows[0][-1] += " ms"
    header = ["", "download", "five honest ones", "stream", "cbr", "of it in time", "calls: score"]
    return table([*header, "queue delay, mean and p99"], rows)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("json", help="what 'qdelay reproduce lying --json' printed")
    options.add_argument("folder", help="what its --out made")
    options.add_argument("--write", action="store_true", help="replace the tables of docs/lying.md")
    options = options.parse_args()
    result = read_json(options.json, "what 'qdelay reproduce lying --json' prints")
    if "tables" not in result:
        stop(f"{options.json}: no tables; expected the whole of 'qdelay reproduce lying --json'")
    tables = {}
    for of in result["tables"]:
        tables[HEADINGS.get(of["title"], of["title"]), of["rows_are"]] = changes(of)
    tables[PLAIN, ""] = plain(options.folder)
    tables[CLAIMS, ""] = claims(result["rows"])
    put(PAGE, tables, options.write)
    if options.write:
        verdicts = [row["verdict"] for row in result["rows"]]
        text, found = re.subn(
            r"\d+ match, \d+ miss", f"{verdicts.count('match')} match, {verdicts.count('miss')} miss", PAGE.read_text()
        )
        if found != 1:
            stop(f"{PAGE}: expected one 'N match, N miss'")
        PAGE.write_text(text)


if __name__ == "__main__":
    main()
