#!/usr/bin/env python3
"""The rows of docs/reproduce-PAPER.md out of a reproduction: `docs/rows.py PAPER JSON [DIR]`; with `--write` they replace those of the page.

    qdelay reproduce PAPER --traces TRACES --json --out DIR > JSON

The program writes the columns of a row that a run gives: ours, the margin and the verdict; with DIR also the range over the cases, and the mean in brackets where ours is an
end of the interval. Rows of new claims are added, rows of claims that are gone are left out; the paper's
figures stay as the page has them. The counts of verdicts at the head follow. Needs Python
3.11, docs/tables.py beside it, and nothing else; without DIR, Python 3.10 does.
"""

import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # no __pycache__ among the pages

from tables import figure, half_interval, mean, read_json, stop

DOCS = pathlib.Path(__file__).parent
PAPERS = DOCS.parent / "crates/qdelay-papers/papers"
NAMES = ("bode", "5g", "abe", "rd", "eqp")


def number(value):
    """Three decimals, as the pages have it."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def verdict(row):
    """The verdict, in brackets the factor or the figure with the setting that is to explain it."""
    name = row["verdict"]
    if name == "better" and row["factor"] is not None:
        return f"{name} ({number(row['factor'])}x)"
    return name if row["with_setting"] is None else f"{name} ({number(row['with_setting'])})"



def same(printed, value):
    """Whether a printed figure is this one, with as many decimals as it has."""
    try:
        decimals = len(printed.partition(".")[2])
        return abs(float(printed) - value) <= 0.501 * 10**-decimals
    except ValueError:
        return False


def margin(row):
    """Distance to the nearer bound in percent of the bound, as the command prints it."""
    share = row["margin"]
    if share is None:
        return ""
    if abs(share) >= 10:
        return "> 1000%" if share > 0 else "< -1000%"
    return f"{share * 100:.0f}%" if abs(share) >= 0.1 else f"{share * 100:.1f}%"


def accepted(row):
    """The bounds, in words."""
    low, high = row["low"], row["high"]
    if low is not None and high is not None:
        return f"{number(low)} to {number(high)}"
    return f"at least {number(low)}" if high is None and low is not None else "" if high is None else f"at most {number(high)}"


def with_rows(text, rows):
    """The page with a line for each claim: new ones behind the claim before them, without those of claims that are gone; and a column of margins."""
    lines, header, out, place = text.splitlines(), [], [], {}
    order = list(rows)
    for line in lines:
        cells = [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("|") else []
        if not cells:
            header = []
        elif {"claim", "ours", "verdict"} <= set(cells):
            if "margin" not in cells:
                cells.insert(cells.index("verdict"), "margin")
            header, line = cells, "| " + " | ".join(cells) + " |"
        elif header and set("".join(cells)) <= {"-"}:
            line = "| " + " | ".join(["---"] * len(header)) + " |"
        elif header:
            if len(cells) == len(header) - 1:
                cells.insert(header.index("margin"), "")
            claim = cells[header.index("claim")]
            if claim not in rows:
                continue
            place[claim], line = (len(out), header), "| " + " | ".join(cells) + " |"
        out.append(line)
    for at, claim in reversed(list(enumerate(order))):
        before = next((known for known in reversed(order[:at]) if known in place), None)
        if claim in place or before is None:
            continue
        behind, header = place[before]
        row = rows[claim]
        values = {"claim": claim, "section": row["section"], "unit": row["unit"], "figure": row["figure"] or ""}
        values |= {name: "" if row["paper"] is None else number(row["paper"]) for name in ("paper", "thesis")}
        values["table or figure"] = values["figure"]
        out.insert(behind + 1, "| " + " | ".join(values.get(name, "") for name in header) + " |")
        # Rows of a page need not have the order of the claims.
        place = {known: (line + (line > behind), columns) for known, (line, columns) in place.items()}
    return "\n".join(out) + "\n"


def by_author(rows):
    """The verdicts by the author of the statement, in a sentence."""
    texts = []
    for source in ("paper", "qdelay", "ns-3"):
        verdicts = [row["verdict"] for row in rows.values() if row["source"] == source]
        counts = [(verdicts.count(name), name) for name in ("match", "better", "fitted", "explained", "miss", "skipped")]
        if verdicts:
            texts.append(f"{source}: " + ", ".join(f"{count} {name}" for count, name in counts if count))
    return "By author of the statement: " + "; ".join(texts) + "."


def measured(case, measure):
    """The figure of a measure: a path, or one over another."""
    paths = measure.split(" / ")
    value = figure(case, paths[0])
    return value / figure(case, paths[1]) if paths[1:] else value


class Folders:
    """Figures of single cases: the claims of a paper, and the results that they were judged by."""

    def __init__(self, paper, folder):
        import tomllib  # Python 3.11

        claims = tomllib.loads((PAPERS / f"{paper}.toml").read_text())["claim"]
        self.claims = {claim["claim"]: claim for claim in claims}
        self.folder = pathlib.Path(folder)
        self.summaries = {}

    def values(self, name, of_seeds):
        """The figure of a claim for each case, or for each seed; none where it is of something other than cases."""
        claim = self.claims[name]
        if "measure" not in claim or "scenario" not in claim:
            return []
        scenario = claim["scenario"]
        if scenario not in self.summaries:
            path = self.folder / scenario / "summary.json"
            self.summaries[scenario] = read_json(path, "a folder that 'reproduce --out' made")
        cases = self.summaries[scenario]["cases"]
        several = lambda labels: [labels] if isinstance(labels, str) else labels  # noqa: E731
        where = {axis: several(labels) for axis, labels in claim.get("where", {}).items()}
        against = claim.get("normalise", {})
        factor = claim.get("factor", 1.0)
        values = {}
        for case in cases:
            labels = case["labels"]
            if any(labels.get(axis) not in wanted for axis, wanted in where.items()):
                continue
            value = measured(case, claim["measure"]) * factor
            if against:
                other = next((case for case in cases if case["labels"] == labels | against), None)
                if other is None:
                    return []
                # A quotient has no unit, so that the factor is of it.
                value /= measured(other, claim["measure"])
            values.setdefault(labels.get("seed") if of_seeds else case["id"], []).append(value)
        return [mean(of_one) for of_one in values.values()]


def beside(folders, row, ours):
    """Ours with the mean in brackets, and the range; None for what cannot be had."""
    if folders is None or row["value"] is None:
        return None, None
    claim = folders.claims[row["claim"]]
    aggregate = claim.get("aggregate", "mean")
    values = folders.values(row["claim"], aggregate.startswith("ci95"))
    if not values:
        return None, None
    if aggregate.startswith("ci95"):
        # Seeds that gave equal runs count once in the command: where that matters the mean is another.
        end = mean(values) + half_interval(values) * (1 if aggregate == "ci95_high" else -1)
        is_end = abs(end - row["value"]) <= 1e-3 * max(1, abs(row["value"]))
        return f"{ours} (mean {number(mean(values))})" if is_end and aggregate == "ci95_low" else None, None
    # A range of other cases than those that the figure is of would say nothing of it.
    of_all = {"mean": mean, "max": max, "min": min}[aggregate](values)
    is_of_them = abs(of_all - row["value"]) <= 1e-4 * max(1, abs(row["value"]))
    return None, f"{number(min(values))} to {number(max(values))}" if is_of_them and len(values) > 1 else None


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("paper", choices=NAMES)
    options.add_argument("json", help="what 'qdelay reproduce PAPER --json' printed")
    options.add_argument("folder", nargs="?", help="what its --out made")
    options.add_argument("--write", action="store_true", help="replace the rows of the page; otherwise the changed ones are printed")
    options = options.parse_args()
    page = DOCS / f"reproduce-{options.paper}.md"
    rows = {row["claim"]: row for row in read_json(options.json, "what 'qdelay reproduce --json' prints")["rows"]}
    if options.write:
        page.write_text(with_rows(page.read_text(), rows))
    folders = Folders(options.paper, options.folder) if options.folder else None
    lines, header, seen, changed = page.read_text().splitlines(), [], set(), 0
    for at, line in enumerate(lines):
        cells = [cell.strip() for cell in line[1:-1].split("|")] if line.startswith("|") else []
        if not cells:
            header = []
        elif {"claim", "ours", "verdict"} <= set(cells):
            header = cells
        elif header and len(cells) == len(header) and cells[header.index("claim")] in rows:
            row = rows[cells[header.index("claim")]]
            seen.add(row["claim"])
            old = cells[header.index("ours")]
            ours = "" if row["value"] is None else number(row["value"])
            if row["value"] is not None and same(old.split(" (")[0], row["value"]):
                ours = old.split(" (")[0]
            with_mean, spread = beside(folders, row, ours)
            # A mean or a range stays as long as the figure that it is of.
            if with_mean is None and old.split(" (")[0] == ours:
                with_mean = old
            cells[header.index("ours")] = with_mean or ours
            cells[header.index("verdict")] = verdict(row)
            # Rows that were made from digests have neither bounds nor margins.
            if "low" in row:
                cells[header.index("accepted")] = accepted(row)
            if "margin" in header and "margin" in row:
                cells[header.index("margin")] = margin(row)
            if "range" in header and cells[header.index("range")] and spread:
                cells[header.index("range")] = spread
            new = "| " + " | ".join(cells) + " |"
            if new != line:
                changed += 1
                lines[at] = new
                if not options.write:
                    print(f"- {line}\n+ {new}")
    if unseen := [claim for claim in rows if claim not in seen]:
        stop(f"{page}: no row '{unseen[0]}'" + (f" and {len(unseen) - 1} more" if unseen[1:] else ""))
    # Rows that were made from digests have no author.
    if all("source" in row for row in rows.values()):
        lines = [by_author(rows) if line.startswith("By author of the statement: ") else line for line in lines]
    counts = [row["verdict"] for row in rows.values()]
    for at, line in enumerate(lines):
        if found := re.match(r"\| (match|better|fitted|explained|miss|skipped) \| \d+ \| ", line):
            lines[at] = f"| {found[1]} | {counts.count(found[1])} | " + line[found.end() :]
    if options.write:
        page.write_text("\n".join(lines) + "\n")
    print(f"{page}: {len(rows)} rows, {changed} changed; " + ", ".join(f"{name} {counts.count(name)}" for name in dict.fromkeys(counts)))


if __name__ == "__main__":
    main()
