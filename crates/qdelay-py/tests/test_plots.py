"""Figures: the data of the command, small multiples, means over axes, limits and labels."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import run

import qdelay


@pytest.fixture(autouse=True)
def _figures() -> Iterator[None]:
    """Closes the figures of a test after it."""
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def several() -> qdelay.Results:
    """Three disciplines on two links and two round trips, with two seeds."""
    scenario = qdelay.Scenario(
        {
            "path": {"limit": 200, "jitter": "4ms"},
            "flow": [{"name": "call", "transport": "voip"}, {"name": "download", "transport": "cubic"}],
            "run": {"duration": "4s", "warmup": "1s", "seeds": [1, 2], "series": "200ms"},
            "matrix": {"path.link": ["5mbit", "20mbit"], "path.rtt": ["20ms", "60ms"], "path.qdisc": ["taildrop", "codel", "bode"]},
        },
        name="several",
    )
    return scenario.run(progress=False)


def heights(ax: Any) -> list[float]:
    return [bar.get_height() for bar in ax.patches]


def key(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_means_over_an_axis_are_drawn(several: qdelay.Results) -> None:
    over = ["path.link", "path.rtt"]
    frame = qdelay.plot.data(several, "bars", measure="p95", over=over)
    interval = several.interval("p95", over=over)
    assert frame.columns == ["path.qdisc", "runs", "p95", "half_of_95_interval"]
    for row, told in zip(frame.rows(named=True), interval.rows(named=True), strict=True):
        assert row["path.qdisc"] == told["path.qdisc"]
        assert row["p95"] == pytest.approx(told["mean"], abs=2e-6)
        assert row["half_of_95_interval"] == pytest.approx(told["half_width"], rel=1e-5)
    ax = qdelay.plot.bars(several, measure="p95", over=over)
    assert heights(ax) == pytest.approx(interval["mean"].to_list(), abs=2e-6)
    for kind in ("cdf", "plane", "time", "box"):
        assert qdelay.plot.data(several, kind, over=over)["path.qdisc"].n_unique() == 3
        getattr(qdelay.plot, kind)(several, over=over)
    # The distribution is the mean delay at each percentage.
    cdf = qdelay.plot.data(several, "cdf", over="path.link", select={"path.rtt": "20ms", "path.qdisc": "codel", "seed": 1})
    whole = qdelay.plot.data(several, "cdf", select={"path.rtt": "20ms", "path.qdisc": "codel", "seed": 1})
    both = whole.filter(pl.col("percent") == 50.0)["delay_ms"].to_list()
    assert cdf.filter(pl.col("percent") == 50.0)["delay_ms"][0] == pytest.approx(statistics.fmean(both), abs=2e-6)


def test_the_command_averages_too(several: qdelay.Results, command: list[str], tmp_path: Path) -> None:
    import json

    scenario = qdelay.Scenario("demo/calls").edited({"matrix.path.trace": ["synth-lte-driving", "synth-subway"], "run.duration": "8s", "expect": None})
    ran = scenario.run(tmp_path / "calls", seeds=range(1, 3), progress=False)
    told = run(command, "plot", "calls", "--figure", "bars", "--measure", "groups.voice.voice.mos", "--over", "path.trace", folder=tmp_path)
    assert "means of up to 2 seeds" in told
    ours = qdelay.plot.picture(ran, "bars", measure="voice.mos", flows="voice", over="path.trace")
    theirs = qdelay.plot.picture(ran, "bars", measure="groups.voice.voice.mos", over="path.trace")
    assert theirs.contents == (tmp_path / "calls" / "bars.svg").read_bytes() != ours.contents
    assert json.loads((tmp_path / "calls" / "summary.json").read_text())["axes"][0]["name"] == "path.trace"


def test_bars_are_in_groups(several: qdelay.Results) -> None:
    ax = qdelay.plot.bars(several, measure="p95")
    assert len(ax.patches) == 12
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["5mbit, 20ms", "5mbit, 60ms", "20mbit, 20ms", "20mbit, 60ms"]
    assert key(ax) == ["taildrop", "codel", "bode"]
    # A label keeps its colour under any selection.
    few = qdelay.plot.bars(several, measure="p95", select={"path.qdisc": ["codel", "bode"]})
    colours = [patch.get_edgecolor() for patch in ax.patches]
    assert [patch.get_edgecolor() for patch in few.patches][:2] == colours[1:3]
    # The key of lines: the labels of the colours, then those of the other axes.
    assert key(qdelay.plot.cdf(several, select={"path.rtt": "20ms"})) == ["taildrop", "codel", "bode", "5mbit", "20mbit"]


@pytest.mark.parametrize("kind", ["cdf", "plane", "time", "bars", "box"])
def test_small_multiples(several: qdelay.Results, kind: Any, tmp_path: Path) -> None:
    drawn = qdelay.plot.panels(several, kind, by="path.link", select={"path.rtt": ["20ms"]})
    assert [ax.get_title() for ax in drawn] == ["5mbit", "20mbit"]
    assert drawn[0].get_ylim() == drawn[1].get_ylim() and drawn[0].get_xlim() == drawn[1].get_xlim()
    figure: Any = drawn[0].figure
    keys = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    assert keys == ([] if kind in ("bars", "box") else ["taildrop", "codel", "bode"])
    figure.savefig(tmp_path / "panels.png")
    one = qdelay.plot.panels(several, kind, by="path.link", select={"path.link": "20mbit", "path.rtt": "60ms"})
    assert [ax.get_title() for ax in one] == ["20mbit"]


def test_more_than_can_be_told_apart() -> None:
    targets = [f"codel:target={target}ms" for target in range(5, 54)]
    options: dict[str, Any] = {"link": "10mbit", "duration": 1, "warmup": 0.5, "progress": False}
    results = qdelay.compare(qdisc=targets, transport="cubic", **options)
    both = qdelay.compare(qdisc=targets[:25], transport=["cubic", "bbr"], **options)
    with pytest.raises(qdelay.InputError, match=r"select=.*over='flow.transport'\), or qdelay\.plot\.panels\(..., by='flow.transport'\)"):
        qdelay.plot.plane(both)
    assert len(qdelay.plot.panels(both, "plane", by="flow.transport")) == 2
    # The data have no limit.
    assert qdelay.plot.data(results, "plane").height == 49
    for kind in ("plane", "bars", "cdf", "box"):
        with pytest.raises(qdelay.InputError, match=r"49 lines, .* at most 48: select={'path.qdisc': \[...\]}$"):
            getattr(qdelay.plot, kind)(results)
    assert len(qdelay.plot.bars(results, select={"path.qdisc": targets[:48]}).patches) == 48
    with pytest.raises(qdelay.InputError, match="select fewer labels, or average over an axis"):
        qdelay.plot.picture(results, "cdf")


def test_files_are_shown_without_their_folders(tmp_path: Path) -> None:
    for name in ("bus.down", "metro.down"):
        (tmp_path / name).write_text("".join(f"{ms}\n" for ms in range(2, 2000, 2)))
    traces = [tmp_path / "bus.down", tmp_path / "metro.down"]
    results = qdelay.compare(trace=traces, qdisc="codel", transport="cubic", duration=4, warmup=1, progress=False)
    assert results.axes["path.trace"] == [str(trace) for trace in traces]
    assert key(qdelay.plot.cdf(results)) == ["bus.down", "metro.down"]
    assert qdelay.plot.data(results, "bars")["path.trace"].to_list() == results.axes["path.trace"]
    assert [ax.get_title() for ax in qdelay.plot.panels(results, "cdf", by="path.trace")] == ["bus.down", "metro.down"]
    assert b"bus.down" in qdelay.plot.picture(results, "cdf").contents and str(tmp_path).encode() not in qdelay.plot.picture(results, "cdf").contents


def test_series_of_a_comparison() -> None:
    options: dict[str, Any] = {"link": "10mbit", "qdisc": ["codel", "bode"], "transport": "cubic", "duration": 3, "warmup": 1, "progress": False}
    with pytest.raises(qdelay.InputError, match="these cases have no series; .* series=True"):
        qdelay.plot.time(qdelay.compare(**options))
    results = qdelay.compare(**options, series=True)
    assert len(qdelay.plot.time(results).lines) == 2
    assert results.frame().equals(qdelay.compare(**options).frame())
    # Lines differ without colours too: by their marks, at different positions.
    first, second = qdelay.plot.time(results).lines
    assert first.get_marker() != second.get_marker() and first.get_markevery() != second.get_markevery()
    ax: Any = qdelay.plot.cdf(results)
    first, second = ax.lines
    assert first.get_marker() != second.get_marker() and first.get_linestyle() != second.get_linestyle()
    assert [line.get_marker() for line in ax.get_legend().get_lines()] == [first.get_marker(), second.get_marker()]
    series = results.series.collect()
    whole = series.filter(pl.col("group") == "", pl.col("path.qdisc") == "codel")
    drawn = qdelay.plot.data(results, "time", select={"path.qdisc": "codel"}, measure="throughput")
    assert whole["throughput_mbps"].to_list() == drawn["throughput"].to_list() and "cwnd_bytes" not in series.columns
    with pytest.raises(qdelay.InputError, match="there are no series of case .*expected a run with series=True"):
        qdelay.compare(**options).series  # noqa: B018


def test_windows_of_connections(tmp_path: Path) -> None:
    options: dict[str, Any] = {"link": "10mbit", "qdisc": "codel", "transport": ["cubic", "bbr"], "duration": 3, "progress": False}
    results = qdelay.compare(**options, connections=True)
    assert len(qdelay.plot.time(results, measure="cwnd").lines) == 2
    assert results.frame().equals(qdelay.compare(**options).frame())
    series = results.series.filter(pl.col("flow").is_not_null()).collect()
    assert series.schema["cwnd_bytes"] == pl.Int64 and series.schema["srtt_ms"] == pl.Float64
    cubic = series.filter(pl.col("flow.transport") == "cubic")
    drawn = qdelay.plot.data(results, "time", measure="cwnd", select={"flow.transport": "cubic"})
    assert cubic["cwnd_bytes"].drop_nulls().to_list() == [round(kilobytes * 1000) for kilobytes in drawn["cwnd"]]
    # Values are states at the end of a bin.
    there = cubic.drop_nulls("cwnd_bytes")["start_s"]
    assert drawn["time_s"][0] == pytest.approx(there[0] + there[1] - there[0])
    assert cubic["pacing_mbps"].null_count() == len(cubic) and cubic["in_flight_bytes"].max() > 0  # type: ignore[operator]
    with pytest.raises(qdelay.InputError, match="no connections over time; .* connections=True"):
        qdelay.plot.time(qdelay.compare(**options, series=True), measure="cwnd")

    class Steady(qdelay.CongestionControl):
        """A window of twenty segments."""

        def ack(self) -> float:
            return 20

    # A class has the figures of the built-in control.
    scenario = qdelay.Scenario({"flow": [{"name": "mine", "transport": Steady, "count": 2}], "path": {"link": "10mbit"}, "run": {"duration": "3s"}}, name="steady")
    memory = scenario.run(connections=True, progress=False)
    folder = scenario.run(tmp_path / "steady", connections=True, series=True, progress=False)
    windows = memory.series.filter(pl.col("flow") == "mine-2").collect()["cwnd_bytes"].drop_nulls()
    assert windows[5:].unique().to_list() == [20 * 1448]
    assert folder.series.collect().equals(memory.series.collect())



@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: qdelay.plot.bars(r, measure="mos"), "paths groups.call.voice.mos"),
        (lambda r: qdelay.plot.bars(r, measure="delay"), " more"),
        (lambda r: qdelay.plot.data(r, "pie"), "kind: 'pie': expected one of cdf, plane, time, bars, box"),  # type: ignore[arg-type]
        (lambda r: qdelay.plot.panels(r, "cdf", by="trace"), "by: 'trace': no such axis; expected one of path.link, path.rtt, path.qdisc"),
        (lambda r: qdelay.plot.panels(r, "cdf", by="path.link", select={"path.link": "1mbit"}), "no label '1mbit' on path.link"),
        (lambda r: qdelay.plot.cdf(r, over="link"), "over: no axis 'link'; expected one of path.link"),
        (lambda r: qdelay.plot.cdf(r, over="seed"), "over: means are over the seeds anyway"),
        (lambda r: qdelay.plot.cdf(r, select={"path.link": "1mbit"}), "no label '1mbit' on it; expected one of 5mbit, 20mbit"),
    ],
)
def test_unknown_figures_are_refused(several: qdelay.Results, call: Any, message: str) -> None:
    with pytest.raises(qdelay.InputError) as raised:
        call(several)
    assert message in str(raised.value) and len(str(raised.value)) < 1000


def test_names_of_axes(several: qdelay.Results) -> None:
    titles = {"p95": "Queue delay, 95th percentile (ms)", "groups.call.voice.mos": "Call, voice, MOS"}
    for measure, title in titles.items():
        ax = qdelay.plot.bars(several, measure=measure, over=["path.link", "path.rtt"])
        assert ax.get_ylabel().replace("\n", " ") == title
    ax = qdelay.plot.bars(several, measure="voice.mos", flows="call")
    assert ax.get_ylabel() == "call: Voice, MOS"
    assert math.isfinite(heights(ax)[0])
