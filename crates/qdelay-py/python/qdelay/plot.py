"""Figures: with matplotlib, from the data and in the colours of the command `qdelay plot`; and as the command draws them.

>>> axes = qdelay.plot.cdf(results, log=True)  # doctest: +SKIP

`cdf`, `plane`, `time`, `bars` and `box` draw into `ax`, or a figure of their own of the size of a paper's column, and return the axes.
With several seeds lines and bars are means, with 95% intervals. `data` returns what is drawn; `picture` the command's own figure, the
same bytes as its file.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qdelay import _native

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.axes import Axes

    from qdelay._results import Results

Kind = Literal["cdf", "plane", "time", "bars", "box"]
Select = Mapping[str, "str | Iterable[str]"]

MARKS = ("o", "s", "^", "D", "v", "_")
DASHES: tuple[Any, ...] = ("-", (0, (7, 4)), (0, (2, 3)), (0, (9, 3, 2, 3)), (0, (4, 2)), (0, (1, 2)))
COLUMN_IN = (3.5, 2.2)
"""Width and height of a figure for one column of two, inches."""
LEAST_MS = 0.01
"""Where packets without delay are on a logarithmic axis, ms."""
_COLOURED_FIRST = ("path.qdisc", "variant", "flow.transport")
_OF_DATA = {"runs", "percent", "delay_ms", "half_of_95_interval_ms", "time_s"}


def palette() -> list[str]:
    """The colours of the command's figures, which stay apart for the colour-blind."""
    return _native.palette()


def data(
    results: Results | Sequence[Results],
    kind: Kind,
    *,
    select: Select | None = None,
    measure: str | None = None,
    flows: Iterable[str] = (),
) -> pl.DataFrame:
    """The data of a figure, as `qdelay plot` writes them beside it: the labels of the axes, `runs`, and the points with half of their intervals.

    select: only these labels of an axis: {"path.qdisc": ["codel", "bode"]}.
    measure: a measure of docs/plot.md ("p95", "throughput"), or the path of a figure.
    flows: entries of [[flow]]; none: all flows together.

    Raises InputError for what is not there.
    """
    return _data(_drawn(results, kind, select, measure, flows)[1])


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
    flows: Iterable[str] = (),
    size: str = "3.5x2.2in",
    format: Literal["svg", "pdf", "pgf", "png"] = "svg",
    log: bool = False,
    title: str | None = None,
) -> Picture:
    """The figure as `qdelay plot` draws it, byte for byte; the keywords are its options (docs/plot.md)."""
    contents, _ = _drawn(results, kind, select, measure, flows, size=size, format=format, log=log, title=title)
    return Picture(contents, format)


def cdf(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str | None = None,
    flows: Iterable[str] = (),
    log: bool = False,
) -> Axes:
    """The share of the packets (%) over their delay (ms)."""
    frame = data(results, "cdf", select=select, measure=measure, flows=flows)
    ax = _axes(ax)
    # Packets without delay have no place on a logarithmic axis.
    least = LEAST_MS if log else 0.0
    for style, of_one in _entries(frame):
        x, y = of_one["delay_ms"].clip(least), of_one["percent"]
        ax.plot(x, y, label=style.label, color=style.colour, linestyle=style.dash, linewidth=1.2)
        if (half := _halves(of_one, "half_of_95_interval_ms")) is not None:
            ax.fill_betweenx(y, (x - half).clip(least), x + half, color=style.colour, alpha=0.2, linewidth=0)
    ax.set(xlabel="Delay (ms)", ylabel="Packets (%)", ylim=(0, 100))
    # As the command: to the 99.9th percentile of the slowest, logarithmic from the first of the fastest.
    ends = _at(frame, 99.9, "delay_ms") + _at(frame, 99.9, "half_of_95_interval_ms")
    begins = _at(frame, 1.0, "delay_ms")
    largest = max(ends.drop_nulls().to_list(), default=0.0)
    if log:
        smallest = max(min(begins.drop_nulls().to_list(), default=0.0), LEAST_MS)
        ax.set_xscale("log")
        ax.set_xlim(smallest, max(largest, smallest * 1.5) * 1.02)
    else:
        ax.set_xlim(0, largest * 1.02 if largest > 0 else 1.0)
    return _finished(ax)


def plane(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str = "p99",
    flows: Iterable[str] = (),
    log: bool = False,
) -> Axes:
    """Throughput (Mbit/s) over a measure of delay, a mark for each point."""
    frame = data(results, "plane", select=select, measure=measure, flows=flows)
    ax = _axes(ax)
    for style, of_one in _entries(frame):
        errors: dict[str, Any] = {
            "xerr": _halves(of_one, "half_of_95_interval"),
            "yerr": _halves(of_one, "half_of_95_interval_mbps"),
        }
        ax.errorbar(
            of_one[measure],
            of_one["throughput_mbps"],
            **errors,
            label=style.label,
            color=style.colour,
            marker=style.mark,
            markersize=5,
            linestyle="",
            elinewidth=0.8,
        )
    ax.set(xlabel=_named(measure), ylabel="Throughput (Mbit/s)")
    if log:
        ax.set_xscale("log")
    return _finished(ax)


def time(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str = "delay",
    flows: Iterable[str] = (),
    log: bool = False,
) -> Axes:
    """A measure over time (s): "delay" (mean, ms), "max" (ms), "throughput" (Mbit/s) or "backlog"."""
    frame = data(results, "time", select=select, measure=measure, flows=flows)
    ax = _axes(ax)
    for style, of_one in _entries(frame):
        x, y = of_one["time_s"], of_one[measure]
        ax.plot(x, y, label=style.label, color=style.colour, linestyle=style.dash, linewidth=1.0)
        if (half := _halves(of_one, "half_of_95_interval")) is not None:
            ax.fill_between(x, y - half, y + half, color=style.colour, alpha=0.2, linewidth=0)
    names = {"delay": "Mean queue delay (ms)", "max": "Largest queue delay (ms)", "throughput": "Throughput (Mbit/s)"}
    ax.set(xlabel="Time (s)", ylabel=names.get(measure, measure.capitalize()))
    if log:
        ax.set_yscale("log")
    return _finished(ax)


def bars(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str = "p99",
    flows: Iterable[str] = (),
    log: bool = False,
) -> Axes:
    """A measure as bars, with its interval."""
    frame = data(results, "bars", select=select, measure=measure, flows=flows)
    ax = _axes(ax)
    entries = list(_entries(frame))
    for place, (style, of_one) in enumerate(entries):
        ax.bar(
            place,
            of_one[measure][0],
            yerr=_halves(of_one, "half_of_95_interval"),
            color=style.colour,
            error_kw={"elinewidth": 0.8, "capsize": 2},
        )
    _named_below(ax, [style.label for style, _ in entries])
    ax.set(ylabel=_named(measure))
    if log:
        ax.set_yscale("log")
    return _finished(ax, has_key=False)


def box(
    results: Results | Sequence[Results],
    *,
    ax: Axes | None = None,
    select: Select | None = None,
    measure: str | None = None,
    flows: Iterable[str] = (),
    log: bool = False,
) -> Axes:
    """Delays (ms): a box between the quartiles, a line at the median, whiskers at the 5th and 95th percentile."""
    frame = data(results, "box", select=select, measure=measure, flows=flows)
    ax = _axes(ax)
    entries = list(_entries(frame))
    ends = {"whislo": "p5_ms", "q1": "p25_ms", "med": "p50_ms", "q3": "p75_ms", "whishi": "p95_ms"}
    boxes = [{name: of_one[column][0] for name, column in ends.items()} for _, of_one in entries]
    drawn = ax.bxp(boxes, positions=range(len(boxes)), showfliers=False, patch_artist=True, widths=0.6)
    for patch, (style, _) in zip(drawn["boxes"], entries):
        patch.set(facecolor=style.colour, alpha=0.5, edgecolor=style.colour)
    for line in drawn["medians"]:
        line.set(color="black")
    _named_below(ax, [style.label for style, _ in entries])
    ax.set(ylabel="Delay (ms)")
    if log:
        ax.set_yscale("log")
    return _finished(ax, has_key=False)


def _at(frame: pl.DataFrame, percent: float, column: str) -> pl.Series:
    import polars as pl

    return frame.filter(pl.col("percent") == percent)[column].cast(pl.Float64).fill_null(0.0)


class _Style:
    def __init__(self, label: str, colour: str, mark: str, dash: Any) -> None:
        self.label, self.colour, self.mark, self.dash = label, colour, mark, dash


def _drawn(
    results: Results | Sequence[Results],
    kind: str,
    select: Select | None,
    measure: str | None,
    flows: Iterable[str],
    **options: Any,
) -> tuple[bytes, str]:
    several: list[Any] = [results] if hasattr(results, "_native") else list(results)
    chosen = [
        f"{axis}={labels if isinstance(labels, str) else ','.join(labels)}" for axis, labels in (select or {}).items()
    ]
    of = [flows] if isinstance(flows, str) else list(flows)
    return _native.plot_results([one._native for one in several], kind, select=chosen, measure=measure, flows=of, **options)


def _data(csv: str) -> pl.DataFrame:
    import polars as pl

    return pl.read_csv(io.StringIO(csv), infer_schema_length=None)


def _axis_names(frame: pl.DataFrame) -> list[str]:
    return frame.columns[: frame.columns.index("runs")]


def _entries(frame: pl.DataFrame) -> Iterable[tuple[_Style, pl.DataFrame]]:
    """The lines, marks, bars or boxes with their looks: colours and marks of one axis, dashes of all others together, as the command has them."""
    import polars as pl

    varied = [name for name in _axis_names(frame) if frame[name].n_unique() > 1]
    coloured = next((name for name in _COLOURED_FIRST if name in varied), varied[0] if varied else None)
    others = [name for name in varied if name != coloured]
    colours, marks = palette(), MARKS
    first: list[Any] = frame[coloured].unique(maintain_order=True).to_list() if coloured else []
    second: list[tuple[Any, ...]] = frame.select(others).unique(maintain_order=True).rows() if others else []
    for row in frame.select(varied).unique(maintain_order=True).rows() if varied else [()]:
        labels = dict(zip(varied, row))
        of_one = frame.filter([pl.col(name).eq_missing(pl.lit(label)) for name, label in labels.items()]) if labels else frame
        place = first.index(labels[coloured]) if coloured else 0
        other = second.index(tuple(labels[name] for name in others)) if others else place
        label = ", ".join(str(labels[name]) for name in varied)
        yield _Style(label, colours[place % len(colours)], marks[place % len(marks)], DASHES[other % len(DASHES)]), of_one


def _halves(frame: pl.DataFrame, column: str) -> pl.Series | None:
    half = frame[column]
    return None if half.null_count() == len(half) else half.fill_null(0.0)


def _named(measure: str) -> str:
    names = {"mean": "Mean", "p50": "Median", "p95": "95th percentile", "p99": "99th percentile", "p999": "99.9th percentile", "max": "Largest"}
    if measure in names:
        return f"{names[measure]} of the queue delay (ms)" if measure != "mean" else "Mean queue delay (ms)"
    return {"throughput": "Throughput (Mbit/s)", "utilization": "Utilization"}.get(measure, measure)


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=COLUMN_IN, layout="constrained")[1]


def _named_below(ax: Axes, labels: list[str]) -> None:
    turned = sum(map(len, labels)) > 30
    ax.set_xticks(range(len(labels)), labels, rotation=30 if turned else 0, ha="right" if turned else "center")


def _finished(ax: Axes, *, has_key: bool = True) -> Axes:
    ax.grid(alpha=0.3, linewidth=0.5)
    ax.set_axisbelow(True)
    for size, items in ((8, [ax.xaxis.label, ax.yaxis.label]), (7, [*ax.get_xticklabels(), *ax.get_yticklabels()])):
        for item in items:
            item.set_fontsize(size)
    if has_key and len(ax.get_legend_handles_labels()[1]) > 1:
        ax.legend(fontsize=7, frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0.2)
    return ax
