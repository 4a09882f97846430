"""Figures: with matplotlib, from the data and in the colours of the command `qdelay plot`; and as the command draws them.

>>> axes = qdelay.plot.cdf(results, log=True)  # doctest: +SKIP

`cdf`, `plane`, `time`, `bars` and `box` draw into `ax`, or a figure of their own of the size of a paper's column, and return the axes.
`panels` draws any of them once for each label of an axis. With several seeds lines and bars are means, with 95% intervals. `data` returns
what is drawn; `picture` the command's own figure, the same bytes as its file.

Keywords of all of them:

select: only these labels of an axis: {"path.qdisc": ["codel", "bode"], "seed": 1}.
measure: a figure in the notation of `Results.interval` ("p95", "groups.call.voice.mos"); of cdf, box and time one of docs/plot.md.
flows: entries of [[flow]], side by side; none: all flows together.
over: axes to average over within each seed, such as "path.trace"; the intervals are those over the seeds.
log: a logarithmic axis for the measure.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from qdelay import _native
from qdelay._errors import InputError
from qdelay._looks import COLUMN_IN, Row, entries, finished, listed, marks_along, marks_upwards, new_axes, palette
from qdelay._results import label_of

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from qdelay._results import Results

__all__ = ["COLUMN_IN", "Kind", "Picture", "bars", "box", "cdf", "data", "palette", "panels", "picture", "plane", "time"]

Kind = Literal["cdf", "plane", "time", "bars", "box"]
Select = Mapping[str, object]
"""Labels by axis: one, or several."""
Names = str | Iterable[str]

LEAST_MS = 0.01
"""Position of packets without delay on a logarithmic axis, ms."""
def data(
    results: Results | Sequence[Results],
    kind: Kind,
    *,
    select: Select | None = None,
    measure: str | None = None,
    flows: Names = (),
    over: Names = (),
) -> pl.DataFrame:
    """The data of a figure, as `qdelay plot` writes them beside it: the labels of the axes, `runs`, and the points with half of their intervals.

    Raises InputError for what is not there.
    """
    import polars as pl

    _check_kind(kind)
    csv = _native.plot_data(_natives(results), kind, select=_selected(select), measure=measure, flows=_names(flows), over=_names(over))
    axes = csv.split("\n", 1)[0].split(",runs,", 1)[0].split(",") if ",runs," in csv else []
    return pl.read_csv(io.StringIO(csv), infer_schema_length=None, schema_overrides=dict.fromkeys(axes, pl.String))


class Picture:
    """A figure as the command draws it. Jupyter shows it."""

    def __init__(self, contents: bytes, format: str) -> None:
        self.contents, self.format = contents, format

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the file."""
        Path(path).write_bytes(self.contents)

    def _repr_svg_(self) -> str | None:
        return self.contents.decode() if self.format == "svg" else None

    def _repr_png_(self) -> bytes | None:
        return self.contents if self.format == "png" else None


def picture(
    results: Results | Sequence[Results],
    kind: Kind,
    *,
    select: Select | None = None,
    measure: str | None = None,
    flows: Names = (),
    over: Names = (),
    size: str = "3.5x2.2in",
    format: Literal["svg", "pdf", "pgf", "png"] = "svg",
    log: bool = False,
    title: str | None = None,
) -> Picture:
    """The figure as `qdelay plot` draws it, byte for byte; the keywords are its options (docs/plot.md)."""
    _check_kind(kind)
    contents = _native.plot_results(
        _natives(results),
        kind,
        select=_selected(select),
        measure=measure,
        flows=_names(flows),
        over=_names(over),
        size=size,
        format=format,
        log=log,
        title=title,
    )
    return Picture(contents, format)


def cdf(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str | None = None,
    flows: Names = (),
    over: Names = (),
    log: bool = False,
) -> Axes:
    """The share of the packets (%) over their delay (ms). `help(qdelay.plot)` describes the keywords."""
    frame = data(results, "cdf", select=select, measure=measure, flows=flows, over=over)
    ax = new_axes(ax)
    # A logarithmic axis has no 0, so packets without delay get a small positive value.
    least = LEAST_MS if log else 0.0
    drawn = list(entries(frame, results))
    styles = [style for style, _ in drawn]
    for number, (style, of_one) in enumerate(drawn):
        x, y = of_one["delay_ms"].clip(least), of_one["percent"]
        marks = style.marks(marks_upwards(number, len(drawn), y.to_list()))
        ax.plot(x, y, color=style.colour, linestyle=style.dash, linewidth=1.2, **marks)
        if (half := _halves(of_one, "half_of_95_interval_ms")) is not None:
            ax.fill_betweenx(y, (x - half).clip(least), x + half, color=style.colour, alpha=0.2, linewidth=0)
    ax.set(xlabel=_named("cdf", measure, flows), ylabel="Packets (%)", ylim=(0, 100))
    # Range as in the command: to the 99.9th percentile of the slowest, logarithmic from the first
    # of the fastest.
    ends = _at(frame, 99.9, "delay_ms") + _at(frame, 99.9, "half_of_95_interval_ms")
    begins = _at(frame, 1.0, "delay_ms")
    largest = max(ends.drop_nulls().to_list(), default=0.0)
    if log:
        smallest = max(min(begins.drop_nulls().to_list(), default=0.0), LEAST_MS)
        ax.set_xscale("log")
        ax.set_xlim(smallest, max(largest, smallest * 1.5) * 1.02)
    else:
        ax.set_xlim(0, largest * 1.02 if largest > 0 else 1.0)
    return finished(ax, styles, "dashed")


def plane(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str = "p99",
    flows: Names = (),
    over: Names = (),
    log: bool = False,
) -> Axes:
    """Throughput (Mbit/s) over a measure of delay, a mark for each point. `help(qdelay.plot)` describes the keywords."""
    frame = data(results, "plane", select=select, measure=measure, flows=flows, over=over)
    ax = new_axes(ax)
    styles = []
    for style, of_one in entries(frame, results):
        styles.append(style)
        errors: dict[str, Any] = {
            "xerr": _halves(of_one, "half_of_95_interval"),
            "yerr": _halves(of_one, "half_of_95_interval_mbps"),
        }
        ax.errorbar(
            of_one[measure],
            of_one["throughput_mbps"],
            **errors,
            color=style.colour,
            marker=style.mark,
            markerfacecolor=style.inside,
            markersize=5,
            linestyle="",
            elinewidth=0.8,
        )
    ax.set(xlabel=_named("plane", measure, flows), ylabel="Throughput (Mbit/s)")
    if log:
        ax.set_xscale("log")
    return finished(ax, styles)


def time(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str = "delay",
    flows: Names = (),
    over: Names = (),
    log: bool = False,
) -> Axes:
    """A measure over time (s): "delay" (mean, ms), "max" (ms), "throughput" (Mbit/s), "backlog" and others of docs/plot.md; of each connection "cwnd" (kB),
    "ssthresh" (kB), "in_flight" (kB), "srtt" (ms), "rtt" (ms), "pacing" (Mbit/s), "delivery" (Mbit/s) and "retransmits" (docs/connections.md).

    The results have to have it: `compare(..., series=True)`, or a scenario without `run.series = "off"`; what connections have is there after
    `compare(..., connections=True)` or with `run.connections = true`. `help(qdelay.plot)` describes the keywords.
    """
    frame = data(results, "time", select=select, measure=measure, flows=flows, over=over)
    ax = new_axes(ax)
    drawn = list(entries(frame, results))
    styles = [style for style, _ in drawn]
    for number, (style, of_one) in enumerate(drawn):
        x, y = of_one["time_s"], of_one[measure]
        # Dashes are hard to see on lines that jump: marks distinguish the colours, and dashes the
        # second axis.
        marks = style.marks(marks_along(number, len(drawn), len(x)))
        ax.plot(x, y, color=style.colour, linestyle=style.dash if style.second else "-", linewidth=1.0, **marks)
        if (half := _halves(of_one, "half_of_95_interval")) is not None:
            ax.fill_between(x, y - half, y + half, color=style.colour, alpha=0.2, linewidth=0)
    ax.set(xlabel="Time (s)", ylabel=_named("time", measure, flows))
    if log:
        ax.set_yscale("log")
    else:
        ax.set_ylim(bottom=0)
    return finished(ax, styles, "solid")


def bars(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str = "p99",
    flows: Names = (),
    over: Names = (),
    log: bool = False,
) -> Axes:
    """A measure as bars, with its interval: in groups by all axes but that of the colours. `help(qdelay.plot)` describes the keywords."""
    frame = data(results, "bars", select=select, measure=measure, flows=flows, over=over)
    row = Row(list(entries(frame, results)))
    ax = new_axes(ax, row.width_in())
    for (style, of_one), place in zip(row.entries, row.places):
        ax.bar(
            place,
            of_one[measure][0],
            row.width * 0.92,
            yerr=_halves(of_one, "half_of_95_interval"),
            linewidth=0.8,
            error_kw={"elinewidth": 0.8, "capsize": 2},
            **style.area(),
        )
    row.name(ax)
    ax.set(ylabel=_named("bars", measure, flows))
    if log:
        ax.set_yscale("log")
    return finished(ax)


def box(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str | None = None,
    flows: Names = (),
    over: Names = (),
    log: bool = False,
) -> Axes:
    """Delays (ms): a box between the quartiles, a line at the median, whiskers at the 5th and 95th percentile. `help(qdelay.plot)` describes the keywords."""
    frame = data(results, "box", select=select, measure=measure, flows=flows, over=over)
    row = Row(list(entries(frame, results)))
    ax = new_axes(ax, row.width_in())
    ends = {"whislo": "p5_ms", "q1": "p25_ms", "med": "p50_ms", "q3": "p75_ms", "whishi": "p95_ms"}
    boxes = [{name: of_one[column][0] for name, column in ends.items()} for _, of_one in row.entries]
    drawn = ax.bxp(boxes, positions=row.places, showfliers=False, patch_artist=True, widths=row.width * 0.8, manage_ticks=False)
    for patch, (style, _) in zip(drawn["boxes"], row.entries):
        patch.set(**style.area())
    for line in drawn["medians"]:
        line.set(color="black")
    row.name(ax)
    ax.set(ylabel=_named("box", measure, flows))
    if log:
        ax.set_yscale("log")
    return finished(ax)


def panels(
    results: Results,
    kind: Kind,
    *,
    by: str,
    columns: int = 3,
    size: tuple[float, float] = (2.3, 1.9),
    select: Select | None = None,
    **options: Any,
) -> list[Axes]:
    """Small multiples: the figure once for each label of the axis `by`, with the same scales and one key; returns the axes.

    columns: panels side by side. size: width and height of each, inches. Other keywords are those of the figure.
    """
    import matplotlib.pyplot as plt

    _check_kind(kind)
    labels = results.axes.get(by)
    if by == "seed" or labels is None:
        known = ", ".join(axis for axis in results.axes if axis != "seed")
        raise InputError("by", None, by, f"'{by}': no such axis; expected one of {known}")
    of_panels = dict(select or {})
    wanted = _labels(of_panels.pop(by)) if by in of_panels else labels
    if missing := [label for label in wanted if label not in labels]:
        raise InputError("select", None, by, f"no label '{missing[0]}' on {by}; expected one of {', '.join(labels)}")
    across = max(1, min(columns, len(wanted)))
    down = -(-len(wanted) // across)
    figure, grid = plt.subplots(down, across, figsize=(size[0] * across, size[1] * down + 0.3), squeeze=False, layout="constrained")
    drawn: list[Axes] = []
    keys: dict[str, Any] = {}
    shown = dict(zip(labels, _native.shown_labels(labels)))
    for ax, label in zip(grid.flat, wanted):
        globals()[kind](results, ax=ax, select={**of_panels, by: label}, **options)
        ax.set_title(shown[label], fontsize=8)
        if legend := ax.get_legend():
            keys.update(zip((text.get_text() for text in legend.get_texts()), legend.legend_handles))
            legend.remove()
        drawn.append(ax)
    for ax in grid.flat[len(wanted) :]:
        ax.set_axis_off()
    _same_scales(drawn, has_places=kind in ("bars", "box"))
    for place, ax in enumerate(drawn):
        if place % across:
            ax.set_ylabel("")
            ax.tick_params(labelleft=False)
        if place + across < len(drawn):
            ax.set_xlabel("")
            ax.tick_params(labelbottom=False)
    if keys:
        figure.legend(list(keys.values()), list(keys), fontsize=7, frameon=False, loc="outside upper center", ncols=4)
    return drawn


def _same_scales(drawn: list[Axes], *, has_places: bool) -> None:
    ways = [("get_ylim", "set_ylim")] if has_places else [("get_ylim", "set_ylim"), ("get_xlim", "set_xlim")]
    for get, set_ in ways:
        ends = [getattr(ax, get)() for ax in drawn]
        for ax in drawn:
            getattr(ax, set_)(min(low for low, _ in ends), max(high for _, high in ends))


def _at(frame: pl.DataFrame, percent: float, column: str) -> pl.Series:
    import polars as pl

    return frame.filter(pl.col("percent") == percent)[column].cast(pl.Float64).fill_null(0.0)


def _check_kind(kind: str) -> None:
    if kind not in get_args(Kind):
        raise InputError("kind", None, None, f"{kind!r}: expected one of {', '.join(get_args(Kind))}")


def _natives(results: Results | Sequence[Results]) -> list[_native.Results]:
    return [one._native for one in listed(results)]


def _named(kind: Kind, measure: str | None, flows: Names = ()) -> str:
    """Axis label of a measure, in lines."""
    several = _names(flows)
    title = _native.plot_title(kind, measure or "queue")
    return textwrap.fill(f"{several[0]}: {title}" if len(several) == 1 else title, 34)


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _labels(given: object) -> list[str]:
    several = isinstance(given, Iterable) and not isinstance(given, (str, type))
    return [label_of(label) for label in given] if several and isinstance(given, Iterable) else [label_of(given)]


def _selected(select: Select | None) -> list[str]:
    # Labels are separate arguments, because a label may contain a comma.
    return [f"{axis}={label}" for axis, labels in (select or {}).items() for label in _labels(labels)]


def _halves(frame: pl.DataFrame, column: str) -> pl.Series | None:
    half = frame[column]
    return None if half.null_count() == len(half) else half.fill_null(0.0)


