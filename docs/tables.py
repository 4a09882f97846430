"""Tables of Markdown pages that programs write: docs/deploy.py, docs/lying.py, docs/rows.py and docs/which.py. Python 3.10 and nothing else."""

import json
import pathlib
import statistics
import sys

PROGRAM = pathlib.Path(sys.argv[0]).name


def stop(message):
    sys.exit(f"{PROGRAM}: {message}")


def read_json(path, expected):
    """The JSON of a file; a file that is absent or broken ends the program with what was expected."""
    try:
        return json.loads(pathlib.Path(path).read_text())
    except OSError as error:
        stop(f"{path}: {error.strerror}; expected {expected}")
    except json.JSONDecodeError as error:
        stop(f"{path}: line {error.lineno}: not JSON; expected {expected}")


def figure(case, path):
    """A figure of a case by its dotted path."""
    value = case
    for name in path.split("."):
        if name not in value:
            stop(f"case {case.get('id', '?')} has no {path}")
        value = value[name]
    return value


def mean(values):
    return statistics.fmean(values)


def half_interval(values):
    """Half of the 95% confidence interval of the mean (Student's t)."""
    if len(values) < 2:
        return 0.0
    t = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262}
    free = len(values) - 1
    # Beyond the table by the expansion of Abramowitz and Stegun, 26.7.5, there within 0.2%.
    z = 1.959964
    expanded = z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)
    return t.get(free, expanded) * statistics.stdev(values) / len(values) ** 0.5


def table(header, rows):
    """Lines of a table; `header` and each row are lists of cells."""
    lines = ["| " + " | ".join(header) + " |", "|" + " --- |" * len(header)]
    # An empty cell at the beginning has one blank, as the pages have it.
    return [line.replace("|  |", "| |") for line in lines + ["| " + " | ".join(row) + " |" for row in rows]]


def tables_of(lines):
    """Each table of a page: its heading, its first cell, and where it begins and ends."""
    heading, begin = "", None
    for number, line in enumerate([*lines, ""]):
        if line.startswith("|"):
            begin = number if begin is None else begin
            continue
        if begin is not None:
            yield heading, lines[begin].split("|")[1].strip(), begin, number
            begin = None
        if line.startswith("#"):
            heading = line.lstrip("#").strip()


def replace(page, tables):
    """Writes tables into a page. `tables`: by heading and first cell of the header, the lines. Returns how many of them changed."""
    path = pathlib.Path(page)
    lines = path.read_text().splitlines()
    changed, missing = 0, dict(tables)
    for heading, first, begin, end in reversed(list(tables_of(lines))):
        new = missing.pop((heading, first), None)
        if new is not None and new != lines[begin:end]:
            lines[begin:end] = new
            changed += 1
    if missing:
        heading, first = next(iter(missing))
        stop(f"{page}: no table '{first}' below the heading '{heading}', where one of the tables has to stand")
    path.write_text("\n".join(lines) + "\n")
    return changed


def put(page, tables, write):
    """Prints the tables, each below its heading; with `write` replaces them in the page instead."""
    if write:
        changed = replace(page, tables)
        print(f"{page}: {len(tables)} tables, {changed} changed")
        return
    for (heading, _), lines in tables.items():
        print(f"### {heading}\n\n" + "\n".join(lines) + "\n")
