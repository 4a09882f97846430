"""Scenarios, runs and results: the command's bytes, frames, figures and errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import TWO, run

import qdelay


def files(folder: Path) -> dict[str, bytes]:
    """Contents of the files of a run, without the page."""
    found = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != "report.html")
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_folder_has_the_command_s_bytes(two: qdelay.Scenario, command: list[str], tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(two.text)
    run(command, "run", "two.toml", "--out", "theirs", "--packets", "--series", "--no-report", folder=tmp_path)
    scenario = qdelay.Scenario(tmp_path / "two.toml")
    scenario.run(tmp_path / "ours", packets=True, series=True, progress=False)
    theirs, ours = files(tmp_path / "theirs"), files(tmp_path / "ours")
    assert list(theirs) == list(ours)
    assert len(theirs) == 3 + 4 * 5
    assert theirs == ours
    # Python continues a run of the command, and the command continues one of Python.
    scenario.run(tmp_path / "theirs", seeds="1..3", packets=True, series=True, progress=False)
    run(command, "run", "two.toml", "--seeds", "1..3", "--out", "ours", "--packets", "--series", "--no-report", folder=tmp_path)
    assert files(tmp_path / "theirs") == files(tmp_path / "ours")


def test_a_comparison_has_the_command_s_figures(command: list[str], tmp_path: Path) -> None:
    options = ["--link", "10mbit", "--qdisc", "codel,bode", "--transport", "cubic", "--seed", "1..3", "--duration", "5s"]
    theirs = json.loads(run(command, "compare", *options, "--json", folder=tmp_path))
    ours = qdelay.compare(
        link="10mbit", qdisc=["codel", "bode"], transport="cubic", seeds="1..3", duration="5s", progress=False
    )
    for case, own in zip(theirs["cases"], ours.summary["cases"], strict=True):
        for key in ("throughput_mbps", "queue_delay_ms", "drops", "flows"):
            assert case[key] == own[key]
    assert theirs["points"] == ours.summary["points"]
    assert theirs["differences"] == ours.summary["differences"]


def test_frames(two: qdelay.Scenario, tmp_path: Path) -> None:
    folder = tmp_path / "two"
    ran = two.run(folder, packets=True, series=True, progress=False)
    assert isinstance(ran, qdelay.Run)
    for results in (ran, qdelay.Run(folder), two.run(packets=True, progress=False)):
        cases = results.cases.collect()
        assert cases.shape[0] == 4 and cases["path.qdisc"].to_list() == ["codel", "codel", "bode", "bode"]
        assert pl.DataFrame(results).equals(cases)
        packets = results.packets.filter(pl.col("fate") == "delivered", ~pl.col("acknowledgement")).collect()
        delays = packets.with_columns(((pl.col("dequeued_ns") - pl.col("arrival_ns")) / 1e6).alias("ms"))
        assert delays["path.qdisc"].n_unique() == 2 and delays["seed"].n_unique() == 2
        # All measurements can be computed from the packets.
        bode = delays.filter(pl.col("path.qdisc") == "bode")["ms"].max()
        assert isinstance(bode, float) and bode <= 21
    series = ran.series.collect()
    assert {"case", "path.qdisc", "seed", "start_s", "delay_mean_ms"} <= set(series.columns)
    pandas = ran.pandas()
    assert list(pandas["path.qdisc"]) == ["codel", "codel", "bode", "bode"]
    assert "Departure less arrival at the bottleneck" in ran.units()["queue_delay_ms.p95"]
    with pytest.raises(qdelay.InputError, match="there are no packets of case .*expected a run with packets=True"):
        two.run(progress=False).packets  # noqa: B018


def test_the_packets_in_memory_are_those_of_the_file(two: qdelay.Scenario, tmp_path: Path) -> None:
    of_file = two.run(tmp_path / "two", packets=True, progress=False).packets.collect()
    in_memory = two.run(packets=True, progress=False).packets.collect()
    same = in_memory.with_columns(pl.col("fate").cast(pl.String)).cast(of_file.schema)
    assert same.equals(of_file)


def test_intervals(two: qdelay.Scenario) -> None:
    results = two.run(seeds=range(1, 6), progress=False)
    interval = results.interval("queue_delay_ms.p95")
    assert interval.columns == ["path.qdisc", "mean", "half_width", "unit", "seeds", "distinct_runs"]
    assert interval["seeds"].to_list() == [5, 5]
    means = results.frame().group_by("path.qdisc", maintain_order=True).agg(pl.col("queue_delay_ms.p95").mean())
    assert interval["mean"].to_list() == pytest.approx(means["queue_delay_ms.p95"].to_list(), abs=1e-5)
    assert results.differences.height > 0
    assert "±" in repr(results) and "codel" in results._repr_html_()
    assert results.interval("p95").equals(interval)
    with pytest.raises(qdelay.InputError, match="once: was renamed to 'repeat' and inverted; expected repeat=False instead of once=True"):
        qdelay.compare(link="10mbit", once=True)  # type: ignore[call-arg]
    with pytest.raises(qdelay.InputError, match="unknown figure; expected one of"):
        results.interval("delay")
    with pytest.raises(qdelay.InputError, match="one seed have no intervals"):
        two.run(seeds="1", progress=False).interval("queue_delay_ms.p95")


def test_traces_that_stand_in_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QDELAY_TRACES", raising=False)
    scenario = qdelay.Scenario("bode/fig10")
    with pytest.warns(UserWarning, match="is not available; synth-.* is used instead"):
        scenario.check()
    with pytest.warns(UserWarning, match="is used instead"):
        scenario.run(duration="2s", seeds="1", progress=False)


def test_figures(two: qdelay.Scenario, command: list[str], tmp_path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    ran = two.run(tmp_path / "two", series=True, progress=False)
    in_memory = two.run(progress=False)
    for kind in ("cdf", "plane", "time", "bars", "box"):
        run(command, "plot", "two", "--figure", kind, "--out", f"{kind}.svg", folder=tmp_path)
        assert qdelay.plot.picture(ran, kind).contents == (tmp_path / f"{kind}.svg").read_bytes()
        assert qdelay.plot.data(ran, kind).equals(pl.read_csv(tmp_path / f"{kind}.csv", infer_schema_length=None))
        assert qdelay.plot.data(in_memory, kind).equals(qdelay.plot.data(ran, kind))
        ax = getattr(qdelay.plot, kind)(ran)
        drawn = ax.lines or ax.patches or ax.containers
        assert len(drawn) >= 2
        ax.figure.savefig(tmp_path / f"{kind}.png")
    assert qdelay.plot.palette()[0] == "#0072b2"
    lines = qdelay.plot.cdf(ran, log=True).lines
    assert [line.get_color() for line in lines] == qdelay.plot.palette()[:2]
    with pytest.raises(qdelay.InputError, match="path.qdisc"):
        qdelay.plot.data(ran, "cdf", select={"path.qdisc": "red"})


def test_editing_a_scenario() -> None:
    scenario = qdelay.Scenario("demo/first")
    edited = scenario.edited({"path.rtt": "80ms", "run.duration": "2s", "matrix.path.qdisc": ["codel", "pie"], "expect": None})
    assert edited.tables()["path"]["rtt"] == "80ms" and edited.axes["path.qdisc"] == ["codel", "pie"]
    assert scenario.tables()["path"].get("rtt") != "80ms"
    assert "rtt" not in edited.edited({"path.rtt": None}).tables()["path"]
    assert qdelay.Scenario(TWO).edited({"matrix.path.qdisc": ["pie"]}).axes["path.qdisc"] == ["pie"]
    assert qdelay.Scenario(TWO).edited({"flow.0.transport": "bbr"}).tables()["flow"][0]["transport"] == "bbr"
    with pytest.raises(qdelay.InputError, match="there is no entry '3'"):
        qdelay.Scenario(TWO).edited({"flow.3.transport": "bbr"})
    # Entries of [[flow]] by their names, points of an axis by the labels that the scenario has given.
    assert scenario.edited({"flow.call.transport": "webrtc"}).tables()["flow"][1]["transport"] == "webrtc"
    with pytest.raises(qdelay.InputError, match="there is no entry 'cal'; expected a number below 2 or 'download' or 'call'"):
        scenario.edited({"flow.cal.transport": "webrtc"})
    few = scenario.edited({"matrix.path.qdisc": ["BoDe 20 ms", "red"], "expect": None})
    assert few.axes["path.qdisc"] == ["BoDe 20 ms", "red"]
    assert few.tables()["matrix"]["path"]["qdisc"][0]["value"] == {"bode": {"target": "20ms"}}
    variants = qdelay.Scenario("demo/seeds").edited({"matrix.variant": ["shallow buffer", "BoDe 20 ms"], "expect": None})
    assert variants.axes["variant"] == ["shallow buffer", "BoDe 20 ms"]
    with pytest.raises(qdelay.InputError, match=r"unknown label 'BoDe 20 ms'.*'expect': None takes all of them away"):
        scenario.edited({"matrix.path.qdisc": ["codel"]})
    with pytest.raises(qdelay.InputError, match="flow: is one dict; expected a list of them"):
        qdelay.Scenario({**TWO, "flow": {"transport": "cubic"}})
    assert "demo/first" in qdelay.scenarios()


@pytest.mark.parametrize(
    ("change", "key", "message"),
    [
        ({"path": {"link": "10mbit", "qdics": "codel"}}, "qdics", "unknown key.*did you mean 'qdisc'"),
        ({"path": {"link": "10mbit", "qdisc": "codle"}}, "qdisc", "unknown qdisc 'codle'"),
        ({"path": {"link": "10mbit", "rtt": 40}}, "rtt", "rtt"),
        ({"roads": {}}, "roads", "unknown key"),
        ({"path": {"link": object()}}, "path.link", "expected text, a number"),
        ({"path": {"link": None}}, "path.link", "expected text, a number"),
    ],
)
def test_a_wrong_dict(change: dict[str, object], key: str, message: str) -> None:
    with pytest.raises(qdelay.InputError, match=message) as raised:
        qdelay.Scenario({**TWO, **change})
    assert raised.value.key is not None and key in raised.value.key


def test_a_wrong_file(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text("[path]\nlink = '10mbit'\n\n[[flow]]\ntransport = 'cubic'\nstart = 'soon'\n")
    with pytest.raises(qdelay.InputError) as raised:
        qdelay.Scenario(path)
    error = raised.value
    assert (error.place, error.line, error.key) == (str(path), 6, "flow.start")
    assert str(error).startswith(f"{path}: line 6: flow.start: ")
    assert isinstance(error, ValueError) and isinstance(error, qdelay.Error)
    with pytest.raises(qdelay.InputError, match="no such file, and no shipped scenario"):
        qdelay.Scenario("nowhere.toml")
    with pytest.raises(qdelay.InputError, match="no such folder"):
        qdelay.Run(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("keywords", "place"),
    [
        ({}, "trace"),
        ({"link": "10mbt"}, "link"),
        ({"link": "10mbit", "trace": "x"}, "link"),
        ({"trace": "no-such-trace"}, "trace"),
        ({"link": "10mbit", "duration": "5"}, "duration"),
        ({"link": "10mbit", "duration": [5]}, "duration"),
        ({"link": "10mbit", "rtt": float("nan")}, "rtt"),
        ({"link": "10mbit", "seeds": "a"}, "seeds"),
        ({"link": "10mbit", "seeds": 1.5}, "seeds"),
        ({"link": "10mbit", "seeds": []}, "seeds"),
        ({"link": "10mbit", "seeds": True}, "seeds"),
        ({"link": 10}, "link"),
        ({"link": "10mbit", "uplink": 5}, "uplink"),
        ({"link": "10mbit", "qdisc": []}, "qdisc"),
        ({"link": "10mbit", "traces": "synth-lte-driving.down"}, "traces"),
        ({"link": "10mbit", "jobs": 0}, "jobs"),
        ({"link": "10mbit", "min_packet_bytes": 100000}, "min_packet_bytes"),
    ],
)
def test_wrong_keywords(keywords: dict[str, object], place: str) -> None:
    with pytest.raises(qdelay.InputError) as raised:
        qdelay.compare(**keywords)  # type: ignore[arg-type]
    assert raised.value.place == place
    assert "--" not in str(raised.value)


def test_one_notation_for_seeds_times_and_folders(tmp_path: Path) -> None:
    options: dict[str, Any] = {"link": "10mbit", "qdisc": "codel", "transport": "cubic", "jitter": 0.004, "progress": False}
    frames = [
        qdelay.compare(**options, seeds=seeds, duration=duration, warmup=warmup).frame()
        for seeds, duration, warmup in (
            ("1..3", "3s", "500ms"),
            (range(1, 4), 3, 0.5),
            ([1, 2, 3], timedelta(seconds=3), timedelta(milliseconds=500)),
        )
    ]
    assert frames[0].equals(frames[1]) and frames[0].equals(frames[2])
    scenario = qdelay.Scenario({"path": {"link": "10mbit"}, "flow": [{}], "run": {"warmup": "1s"}})
    ran = [scenario.run(seeds=seeds, duration=duration, progress=False) for seeds, duration in ((3, 4), ("3", "4s"), ([3], 4.0))]
    assert [one.axes["seed"] for one in ran] == [["3"]] * 3
    assert ran[0].frame().equals(ran[1].frame()) and ran[0].frame().equals(ran[2].frame())
    # Folders of traces for a comparison, a scenario and a run.
    (tmp_path / "own").write_text("".join(f"{ms}\n" for ms in range(2, 2000, 2)))
    of_scenario = qdelay.Scenario({"path": {"trace": "own"}, "flow": [{}], "run": {"duration": "4s", "warmup": "1s"}})
    one = of_scenario.run(traces=tmp_path, progress=False)
    other = qdelay.compare(trace="own", traces=[tmp_path], qdisc="taildrop", transport="cubic", duration=4, warmup=1, progress=False)
    assert one.frame()["throughput_mbps"][0] == other.frame()["throughput_mbps"][0] > 0
    with pytest.raises(qdelay.InputError, match=r"trace: 'own': no such file, .*; traces= and QDELAY_TRACES name folders"):
        qdelay.compare(trace="own", progress=False)
    with pytest.raises(qdelay.InputError, match=r"traces: 'nowhere': no such folder"):
        of_scenario.run(traces="nowhere")
    with pytest.raises(qdelay.InputError, match=r"expected trace=FILE .* or link=RATE"):
        qdelay.compare(progress=False)


def test_progress_is_told(two: qdelay.Scenario) -> None:
    told: list[tuple[int, int]] = []
    two.run(progress=lambda done, cases: told.append((done, cases)))
    assert told[-1] == (4, 4)
    with pytest.raises(RuntimeError, match="enough"):
        two.run(duration="1000s", progress=_enough)


def _enough(done: int, cases: int) -> None:
    raise RuntimeError("enough")


def test_threads_run_beside_each_other(two: qdelay.Scenario) -> None:
    import threading

    results: list[pl.DataFrame] = []
    threads = [threading.Thread(target=lambda: results.append(two.run(progress=False).frame())) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 3 and results[0].equals(results[1]) and results[1].equals(results[2])


def test_lists() -> None:
    listed = qdelay.components()
    assert {"qdisc", "transport", "pacer", "scheduler"} <= set(listed["kind"])
    with pytest.raises(qdelay.InputError, match="no such kind of component; expected one of .*qdisc"):
        qdelay.components("qdisk")
    assert "synth-lte-driving.down" in qdelay.traces()["name"].to_list()


def test_units_need_no_other_package() -> None:
    code = """
import sys
sys.modules["pyarrow"] = None
import qdelay
results = qdelay.compare(link="10mbit", qdisc="codel", transport="cubic", duration=2, warmup=1, progress=False)
print(results.units()["queue_delay_ms.p95"])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "Departure less arrival at the bottleneck" in told


def test_importing_loads_little() -> None:
    code = "import sys, qdelay; print(*[name for name in ('polars', 'matplotlib', 'numpy', 'qdelay._native') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == ""


def test_the_command(command: list[str], tmp_path: Path) -> None:
    own = [sys.executable, "-m", "qdelay"]
    assert run(own, "list", folder=tmp_path) == run(command, "list", folder=tmp_path)
    wrong = subprocess.run([*own, "compare", "--link", "10mbt"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and wrong.stderr.startswith("qdelay: --link: ")
    for clock in ("real", "lab"):
        words = ["run", "demo/first", "--clock", clock, "--out", str(tmp_path / "out")]
        ended = subprocess.run([*own, *words], capture_output=True, text=True, check=False)
        assert ended.returncode == 2 and "needs the command as a separate executable, which the Python package is not" in ended.stderr
    assert run(own, folder=tmp_path) == run(command, folder=tmp_path)


def test_ctrl_c_ends_the_command(tmp_path: Path) -> None:
    words = ["compare", "--link", "1gbit", "--qdisc", "codel", "--transport", "cubic", "--duration", "100000s"]
    with subprocess.Popen([sys.executable, "-m", "qdelay", *words], stderr=subprocess.PIPE, text=True) as process:
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "interrupted" in said


def test_a_file_s_name_is_as_it_was_given() -> None:
    """Options in messages of the command become keywords; the text after them does not change."""
    with pytest.raises(qdelay.InputError, match=r"uplink /no/such-dir/my-up-link\.csv: no such file") as raised:
        qdelay.compare(link="10mbit", uplink="/no/such-dir/my-up-link.csv", qdisc=["codel"], transport="cubic", duration="1s")
    assert "--" not in str(raised.value)
