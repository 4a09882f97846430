"""Intervals and differences of any figure, also of means over an axis, compared with textbook formulas on the cases' frame."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import qdelay

SEEDS = 4
# Student's t, two-sided 95%, by degrees of freedom.
QUANTILE = {1: 12.706205, 2: 4.302653, 3: 3.182446}
LINKS = ["6mbit", "12mbit"]
QDISCS = ["taildrop", "codel", "bode"]


@pytest.fixture(scope="module")
def calls() -> qdelay.Results:
    """Three disciplines on two links, with a call and a download; seeds differ in jitter and starts."""
    scenario = qdelay.Scenario(
        {
            "path": {"rtt": "40ms", "jitter": "4ms", "limit": 300},
            "flow": [
                {"name": "voice", "transport": "voip"},
                {"name": "download", "transport": "cubic", "count": 2, "start_spread": "1s"},
            ],
            "run": {"duration": "6s", "warmup": "2s", "seeds": f"1..{SEEDS}"},
            "matrix": {"path.link": LINKS, "path.qdisc": QDISCS},
        },
        name="calls",
    )
    return scenario.run(progress=False)


def by_seed(results: qdelay.Results, column: str, qdisc: str, link: str | None = None) -> list[float]:
    """Figure of each seed; without a link, the mean over the links."""
    frame = results.frame().filter(pl.col("path.qdisc") == qdisc)
    seeds = sorted(frame["seed"].unique().to_list())
    found = []
    for seed in seeds:
        rows = frame.filter(pl.col("seed") == seed)
        rows = rows if link is None else rows.filter(pl.col("path.link") == link)
        found.append(statistics.fmean(rows[column].to_list()))
    return found


def half(values: list[float]) -> float:
    return QUANTILE[len(values) - 1] * statistics.stdev(values) / math.sqrt(len(values))


def test_intervals_of_means_over_an_axis(calls: qdelay.Results) -> None:
    for figure, flows, column in [
        ("p95", (), "queue_delay_ms.p95"),
        ("groups.voice.voice.mos", (), "groups.voice.voice.mos"),
        ("voice.mos", "voice", "groups.voice.voice.mos"),
    ]:
        frame = calls.interval(figure, over="path.link", flows=flows)
        assert frame.columns == ["path.qdisc", "mean", "half_width", "unit", "seeds", "distinct_runs"]
        assert set(frame["unit"]) == {"seed"}
        assert frame["path.qdisc"].to_list() == QDISCS
        for row in frame.rows(named=True):
            values = by_seed(calls, column, row["path.qdisc"])
            assert row["mean"] == pytest.approx(statistics.fmean(values), abs=2e-6)
            assert row["half_width"] == pytest.approx(half(values), rel=1e-5, abs=2e-6)
    single = calls.interval("p95")
    assert single.shape == (6, 7)
    for row in single.rows(named=True):
        values = by_seed(calls, "queue_delay_ms.p95", row["path.qdisc"], row["path.link"])
        assert row["mean"] == pytest.approx(statistics.fmean(values), abs=2e-6)


def test_several_figures_and_flows(calls: qdelay.Results) -> None:
    frame = calls.interval(["loss_ratio", "queue_delay_ms.mean"], flows=["voice", "download"], over=["path.link"])
    assert frame.columns[:3] == ["flows", "path.qdisc", "figure"]
    assert frame.height == 2 * 2 * 3
    voice = frame.filter(pl.col("flows") == "voice", pl.col("figure") == "loss_ratio", pl.col("path.qdisc") == "codel")
    assert voice["mean"][0] == pytest.approx(statistics.fmean(by_seed(calls, "groups.voice.loss_ratio", "codel")), abs=2e-6)
    everything = calls.interval("throughput", over=["path.link", "path.qdisc"])
    assert everything.shape == (1, 5)


def holm(p_values: list[float]) -> list[bool]:
    """The k-th smallest of n p-values is compared with 5% / (n - k + 1), until one is larger."""
    beyond = [False] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        if p_values[place] > 0.05 / (len(p_values) - rank):
            break
        beyond[place] = True
    return beyond


def p_value(t: float) -> float:
    """Two-sided, of three degrees of freedom: the closed form of Student's distribution."""
    x = t / math.sqrt(3)
    return 1 - 2 / math.pi * (x / (1 + x * x) + math.atan(x))


@pytest.mark.parametrize("over", [(), "path.link"])
def test_differences_with_a_baseline_of_choice(calls: qdelay.Results, over: Any) -> None:
    frame = calls.difference(["voice.mos", "loss_ratio"], flows="voice", baseline="codel", over=over)
    assert set(frame["baseline"]) == {"codel"} and set(frame["path.qdisc"]) == {"taildrop", "bode"}
    assert frame.height == 2 * 2 * (1 if over else 2)
    expected = []
    for row in frame.rows(named=True):
        column, link = f"groups.voice.{row['figure']}", row.get("path.link")
        own, theirs = (by_seed(calls, column, qdisc, link) for qdisc in (row["path.qdisc"], "codel"))
        pairs = [one - other for one, other in zip(own, theirs)]
        assert row["pairs"] == SEEDS
        assert row["mean"] == pytest.approx(statistics.fmean(pairs), abs=2e-6)
        assert row["half_width"] == pytest.approx(half(pairs), rel=1e-4, abs=2e-6)
        expected.append(p_value(abs(statistics.fmean(pairs)) / (statistics.stdev(pairs) / math.sqrt(SEEDS))))
        assert row["p_value"] == pytest.approx(expected[-1], abs=2e-5)
    assert frame["significant"].to_list() == holm(expected)
    assert any(holm(expected))


def test_differences_of_the_command(calls: qdelay.Results) -> None:
    frame = calls.differences
    assert frame.columns == [
        "path.link",
        "path.qdisc",
        "baseline",
        "figure",
        "mean",
        "half_width",
        "p_value",
        "significant",
        "unit",
        "pairs",
    ]
    assert frame.height == 2 * 2 * 4
    told = calls.summary["differences"][0]
    first = frame.filter(*(pl.col(axis) == label for axis, label in told["labels"].items()))
    for row in first.rows(named=True):
        assert {key: row[key] for key in ("mean", "half_width", "p_value", "significant")} == told["measures"][row["figure"]]
    own = calls.difference(sorted(told["measures"]))
    assert own.sort("path.link", "path.qdisc", "figure").equals(frame.sort("path.link", "path.qdisc", "figure").select(own.columns))
    # The axis of the label.
    links = calls.difference("throughput", baseline="6mbit")
    assert set(links["path.link"]) == {"12mbit"} and links["significant"].all()
    assert calls.difference("throughput", axis="path.link").equals(links)


@pytest.fixture(scope="module")
def drawn() -> qdelay.Results:
    """Two disciplines on three links that differ in their seeds alone."""
    links = [f"synth:lte-driving:seed={seed}" for seed in (1, 2, 3)]
    return qdelay.compare(
        link=links, qdisc=["codel", "bode"], transport="cubic", seeds="1..2", duration="6s", warmup="1s", progress=False
    )


def test_links_that_were_drawn_are_the_unit_of_intervals(drawn: qdelay.Results) -> None:
    """Three links are a fixed set, not a sample: the pairs are the links, each with the mean over its seeds."""
    by_link = {}
    for link in drawn.axes["path.link"]:
        one, other = (statistics.fmean(by_seed(drawn, "queue_delay_ms.mean", qdisc, link)) for qdisc in ("bode", "codel"))
        by_link[link] = one - other
    frame = drawn.difference("mean", baseline="codel", over="path.link")
    row = frame.row(0, named=True)
    assert (frame.height, row["unit"], row["pairs"]) == (1, "link", 3)
    assert row["mean"] == pytest.approx(statistics.fmean(by_link.values()), abs=2e-6)
    assert row["half_width"] == pytest.approx(half(list(by_link.values())), rel=1e-5, abs=2e-6)
    assert drawn.difference("mean", baseline="codel", over="path.link", unit="link").equals(frame)
    # On request the seeds are the unit, for these three links.
    seeds = drawn.difference("mean", baseline="codel", over="path.link", unit="seed").row(0, named=True)
    assert (seeds["unit"], seeds["pairs"]) == ("seed", 2) and seeds["mean"] == pytest.approx(row["mean"], abs=2e-6)
    means = drawn.interval("mean", over="path.link")
    assert set(means["unit"]) == {"link"} and set(means["distinct_runs"]) == {6}
    # A figure uses the same intervals.
    drawn_bars = qdelay.plot.data(drawn, "bars", measure="mean", over="path.link")
    assert drawn_bars["half_of_95_interval"].to_list() == pytest.approx(means["half_width"].to_list(), abs=2e-6)
    # Without averaging each link has its own rows, over its seeds.
    assert set(drawn.difference("mean", baseline="codel")["unit"]) == {"seed"}
    with pytest.raises(qdelay.InputError, match="unit: 'trace': expected seed or link"):
        drawn.interval("mean", over="path.link", unit="trace")
    with pytest.raises(qdelay.InputError, match="unit: 'link': expected seed, or an axis that over= names"):
        drawn.interval("mean", unit="link")


def test_links_of_one_seed_have_intervals(drawn: qdelay.Results) -> None:
    links = drawn.axes["path.link"]
    one = qdelay.compare(link=links, qdisc=["codel", "bode"], transport="cubic", seeds=1, duration="6s", warmup="1s", progress=False)
    row = one.difference("mean", baseline="codel", over="path.link").row(0, named=True)
    assert (row["unit"], row["pairs"]) == ("link", 3) and row["half_width"] > 0
    with pytest.raises(qdelay.InputError, match="results of one seed have no intervals"):
        one.difference("mean", baseline="codel")
    with pytest.raises(qdelay.InputError, match="results of one seed have no intervals"):
        one.interval("mean", over="path.link", unit="seed")


def test_a_probability_is_not_written_as_zero() -> None:
    """Probabilities below a millionth keep three digits, in files and frames."""
    results = qdelay.compare(
        link="10mbit", qdisc=["taildrop", "bode"], transport="cubic", seeds="1..8", jitter="2ms", duration="5s", warmup="1s", progress=False
    )
    values = results.difference("p95")["p_value"].to_list()
    assert 0 < values[0] < 1e-6 and float(f"{values[0]:.2e}") == values[0]


def test_a_class_is_a_baseline() -> None:
    class Never(qdelay.Aqm):
        def dequeue(self) -> None:
            return None

    results = qdelay.compare(
        link="10mbit", qdisc=["codel", Never], transport="cubic", seeds=range(1, 4), jitter=0.005, duration=4, warmup=1.0, progress=False
    )
    frame = results.difference("p95", baseline=Never)
    assert frame["path.qdisc"].to_list() == ["codel"] and frame["mean"][0] < 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda r: r.interval("mos"), "'mos': unknown figure; expected one of groups.voice.voice.mos"),
        (lambda r: r.interval("voice.moss", flows="voice"), "'groups.voice.voice.moss': unknown figure; expected one of groups.voice.voice.mos"),
        (lambda r: r.interval("voice.mos", flows="video"), "'groups.video.voice.mos': unknown figure; expected one of groups.voice.voice.mos"),
        (lambda r: r.interval("p95", over="trace"), "over: 'trace': no such axis; expected one of path.link, path.qdisc"),
        (lambda r: r.interval("p95", over="seed"), "over: 'seed': means are over the seeds anyway"),
        (lambda r: r.interval([]), "figure: no figure; expected one or several"),
        (lambda r: r.difference("p95", baseline="pie"), "baseline: 'pie': no label of an axis; expected one of 6mbit, 12mbit, taildrop"),
        (lambda r: r.difference("p95", baseline="pie", axis="path.qdisc"), "baseline: 'pie': no label of path.qdisc; expected one of taildrop"),
        (lambda r: r.difference("p95", axis="seed"), "axis: 'seed': no axis to compare along; expected one of path.link, path.qdisc"),
        (lambda r: r.difference("p95", over="path.qdisc", axis="path.qdisc"), "axis: 'path.qdisc': no axis to compare along"),
        (lambda r: r.difference("delay"), "difference: 'delay': unknown figure"),
        (lambda r: r.frame("case"), "rows: 'case': expected one of cases, groups, flows, intervals"),
    ],
)
def test_unknown_figures_and_axes_are_refused(calls: qdelay.Results, call: Any, message: str) -> None:
    with pytest.raises(qdelay.InputError) as raised:
        call(calls)
    assert message in str(raised.value)


def test_one_seed_has_neither() -> None:
    one = qdelay.compare(link="10mbit", qdisc=["codel", "bode"], transport="cubic", seeds=7, duration=2, warmup="500ms", progress=False)
    assert one.axes["seed"] == ["7"]
    calls: list[Callable[[], pl.DataFrame]] = [
        lambda: one.interval("p95"),
        lambda: one.difference("p95"),
        lambda: one.differences,
        lambda: one.intervals,
    ]
    for call in calls:
        with pytest.raises(qdelay.InputError, match=r"expected several, such as seeds='1\.\.10'"):
            call()
