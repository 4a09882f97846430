#!/usr/bin/env python3
"""Public recordings, read by qdelay and by this program: `docs/recordings.py QDELAY FOLDER`.

FOLDER has a folder for each source below; one that is absent is left out. Duration and mean rate of each file by `QDELAY trace info --json` are
compared with those computed here, from the text of the file and the rule of docs/scenarios.md; of results of irtt (`import irtt --json`) the number, least,
largest, mean and median (by nearest rank) of each delay, from the times in the file. Prints a row for each source: files, equal ones,
refused ones, and differing ones, which follow by name. Fails if any differs. Needs Python 3.10 and nothing else.
"""

import csv
import datetime
import json
import pathlib
import subprocess
import sys

TOLERANCE = 1e-5  # relative; figures are printed with six decimals


def rows(path):
    """The lines with numbers, split at blanks, tabs and commas."""
    for line in path.read_text(encoding="utf-8-sig").splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            yield line.replace(",", " ").split()


def merged(samples):
    """Samples of one time become their mean."""
    found = []
    for time, value in samples:
        if found and found[-1][0] == time:
            found[-1][1].append(value)
        else:
            found.append((time, [value]))
    return [(time, sum(values) / len(values)) for time, values in found]


def figures(samples, before=None):
    """Duration in s and mean of (s, Mbit/s). Uneven samples speak of the interval before them, even ones of the one after."""
    samples = merged(samples)
    spans = [b[0] - a[0] for a, b in zip(samples, samples[1:])]
    if not spans or min(spans) <= 0:
        return None
    if before is None:
        before = any(abs(span - spans[0]) > spans[0] / 100 for span in spans)
    if before:
        weighted = [(value, span) for (_, value), span in zip(samples[1:], spans)]
    else:
        weighted = [(value, span) for (_, value), span in zip(samples, spans + [spans[-1]])]
    duration = sum(span for _, span in weighted)
    return duration, sum(value * span for value, span in weighted) / duration


def columns(path, scale_time=1.0, scale=1.0, column=1):
    return figures([(float(row[0]) * scale_time, float(row[column]) * scale) for row in rows(path)])


def opportunities(path):
    """mahimahi's lines: each an opportunity of 1504 bytes, in ms."""
    times = [int(row[0]) for row in rows(path)]
    return times[-1] / 1e3, len(times) * 1504 * 8 / (times[-1] * 1e3)


def listed(path):
    """Rates one second apart, whether in lines or on one."""
    values = [float(field) for row in rows(path) for field in row]
    return figures([(float(n), value) for n, value in enumerate(values)], before=False)


def table(path, time, rate, scale, every=None):
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = list(csv.DictReader(file))
    if every and lines:
        return len(lines) * every, sum(float(line[rate]) * scale for line in lines) / len(lines)
    samples = [(seconds(line[time]), float(line[rate]) * scale) for line in lines]
    return figures(samples, before=False)


def irtt(path):
    """Figures of round trips and one-way delays in ms from the times of each packet, as irtt's manual defines them."""
    found = [[], [], []]
    for trip in json.loads(path.read_text())["round_trips"]:
        client, server = trip["timestamps"]["client"], trip["timestamps"]["server"]
        if "monotonic" not in client["receive"]:
            continue
        arrived, left = server["receive"] or server["send"], server["send"] or server["receive"]
        round_trip = client["receive"]["monotonic"] - client["send"]["monotonic"]
        found[0].append(round_trip - (left["monotonic"] - arrived["monotonic"]))
        if "wall" in arrived:
            found[1].append(arrived["wall"] - client["send"]["wall"])
            found[2].append(client["receive"]["wall"] - left["wall"])
    figures = []
    for nanos in (sorted(nanos) for nanos in found if nanos):
        ranked = nanos[(len(nanos) + 1) // 2 - 1]
        figures += [len(nanos), nanos[0] / 1e6, nanos[-1] / 1e6, sum(nanos) / len(nanos) / 1e6, ranked / 1e6]
    return tuple(figures)


def seconds(text):
    try:
        return float(text)
    except ValueError:
        return datetime.datetime.strptime(text, "%Y.%m.%d_%H.%M.%S").timestamp()


# Folder below the one given, source, format as the user types it, and the reading of this program.
SOURCES = [
    ("oboe", "USC-NSL/Oboe, traces", "[mbps:time=ms:unit=kbit]", lambda path: columns(path, 1e-3, 1e-3)),
    ("puffer", "confiwent/Real-world-bandwidth-traces, puffer_211017/cooked_test_traces", "mbps", columns),
    ("puffer-raw", "the same, puffer_211017/test_traces", "mbps", columns),
    ("fcc", "the same, fcc_ori/cooked_traces", "mbps", columns),
    ("3gp-raw", "the same, traces_3gp", "mbps", columns),
    ("3gp", "the same, cooked_3gp", "mbps", columns),
    ("lumos-4g", "SIGCOMM21-5G/artifact, Network-Traces/Lumous5G/4G", "mbps", columns),
    ("lumos-5g", "the same, Network-Traces/Lumous5G/5G", "mbps", columns),
    ("multipath", "the same, ABR-5G/cooked_traces_multipath/walking", "[mbps:column=3]", lambda path: columns(path, column=2)),
    ("rl5g", "the same, ABR-5G/rl_server/traces", "[mbps:every=1s]", listed),
    ("iperf", "the same, MN-Wild/data-processed/iperf-logs", "[csv:bits_per_second:unit=bit:every=1s]", lambda path: table(path, None, "bits_per_second", 1e-6, 1.0)),
    ("genet-norway", "GenetProject/Genet, abr_trace/testing_trace/norway-test", "mbps", columns),
    ("genet-fcc", "the same, abr_trace/testing_trace/fcc-test", "mbps", columns),
    ("genet-p1", "the same, src/emulator/abr/pensieve/data/trace_set_1", "mahimahi", opportunities),
    ("lens", "results of irtt, such as LENS's", "import irtt", irtt),
    ("nuwins", "NUWiNS/starlink-measurement, datasets/maine_starlink_trip of commit 4beb9fa, TCP and UDP", "[csv:throughput_mbps:every=500ms]", lambda path: table(path, None, "throughput_mbps", 1.0, 0.5)),
    ("ucc", "uccmisl/5Gdataset, all of its archive", "[csv:DL_bitrate:unit=kbit:time=Timestamp]", lambda path: table(path, "Timestamp", "DL_bitrate", 1e-3)),
]


def told(program, path, form):
    """Figures by the program, or its refusal."""
    if form == "import irtt":
        done = subprocess.run([program, "import", "irtt", "--json", path], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr.strip().splitlines()[-1]
        delays = [(delay["min_ms"], delay["delay_ms"]) for delay in json.loads(done.stdout)["irtt"]["delays"]]
        figures = ((delay["count"], least, delay["max"], delay["mean"], delay["p50"]) for least, delay in delays if delay)
        return tuple(figure for delay in figures for figure in delay)
    done = subprocess.run([program, "trace", "info", "--json", f"{path}:format={form}"], capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1]
    trace = json.loads(done.stdout)["traces"][0]
    return trace["duration_s"], trace["mean_mbps"]


def near(one, other, least):
    return abs(one - other) <= max(TOLERANCE * abs(other), least)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    differing, lines = [], []
    print("| source | format | files | equal | refused |\n| --- | --- | --- | --- | --- |")
    for name, source, form, reading in SOURCES:
        files = sorted(path for path in (folder / name).glob("*") if path.is_file())
        if not files:
            continue
        equal, refused = 0, []
        for path in files:
            found = told(program, path, form)
            try:
                expected = reading(path)
            except (ValueError, IndexError, KeyError, UnicodeDecodeError) as error:
                expected = f"{type(error).__name__}: {error}"
            if isinstance(found, str):
                refused.append((path.name, found, expected))
            elif isinstance(expected, tuple) and len(found) == len(expected) and near(found[0], expected[0], 0.0015) and all(
                near(one, other, 2e-6) for one, other in zip(found[1:], expected[1:])
            ):
                equal += 1
            else:
                differing.append((path, found, expected))
        print(f"| {source} | `{form}` | {len(files)} | {equal} | {len(refused)} |")
        lines += [f"refused: {name}/{file}: {message} (here: {expected})" for file, message, expected in refused]
    print("\n".join(lines + [f"differs: {path}: {found}, expected {expected}" for path, found, expected in differing]))
    sys.exit(1 if differing else 0)


main()
