"""Results as data frames."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from qdelay import _native
from qdelay._errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Rows = Literal["cases", "groups", "flows", "intervals"]


def label_of(given: object) -> str:
    """Label of an axis: text, a number, or a user-defined component, which stands for its name."""
    from qdelay._components import _Component

    return given.component_name() if isinstance(given, type) and issubclass(given, _Component) else str(given)


def _several(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _wanted(figure: str | Iterable[str], flows: str | Iterable[str]) -> list[tuple[str, str, str | None]]:
    """Figures of each entry of [[flow]]: name of the figure, path in a case, and the entry."""
    entries: list[str | None] = [*_several(flows)] or [None]
    wanted = []
    for entry in entries:
        for name in _several(figure):
            path = _native.figure_path(name)
            wanted.append((name, path if entry is None else f"groups.{entry}.{path}", entry))
    if not wanted:
        raise InputError("figure", None, None, "no figure; expected one or several, such as 'queue_delay_ms.p95'")
    return wanted


class Results:
    """The results of a study. Columns have the names of docs/measures.md and docs/results.md, with units; `units()` explains them.

    An object with columns of Arrow: `polars.DataFrame(results)`, `pyarrow.table(results)` and so on take its cases.
    """

    def __init__(self, native: _native.Results) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The name of the study, or of the folder."""
        return self._native.name

    @property
    def axes(self) -> dict[str, list[str]]:
        """The axes with their labels, the seed last."""
        return dict(self._native.axes())

    @property
    def summary(self) -> dict[str, Any]:
        """Contents of summary.json: cases, expectations, intervals, differences (docs/results.md)."""
        loaded: dict[str, Any] = json.loads(self._native.json())
        return loaded

    def arrow(self, rows: Rows = "cases") -> _native.Table:
        """A table with `__arrow_c_stream__`, which is read without a copy: a row for each case, group, flow or interval."""
        if rows not in get_args(Rows):
            raise InputError("rows", None, None, f"{rows!r}: expected one of {', '.join(get_args(Rows))}")
        if rows == "intervals":
            self._check_seeds()
        return self._native.intervals() if rows == "intervals" else self._native.table(rows)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.arrow().__arrow_c_stream__(requested_schema)

    def frame(self, rows: Rows = "cases") -> pl.DataFrame:
        """A data frame of Polars."""
        import polars as pl

        return pl.DataFrame(self.arrow(rows))

    def pandas(self, rows: Rows = "cases") -> pd.DataFrame:
        """A data frame of pandas, which has to be installed, with PyArrow."""
        return self.frame(rows).to_pandas()

    @property
    def cases(self) -> pl.LazyFrame:
        """A row for each case: its id, its label on each axis (and as a number: path.rtt_ms), every figure."""
        return self.frame("cases").lazy()

    @property
    def groups(self) -> pl.LazyFrame:
        """A row for each entry of [[flow]] of each case."""
        return self.frame("groups").lazy()

    @property
    def flows(self) -> pl.LazyFrame:
        """A row for each flow of each case."""
        return self.frame("flows").lazy()

    @property
    def intervals(self) -> pl.DataFrame:
        """With several seeds: for each point of the other axes and each figure its mean and half of its 95% interval (Student's t).

        Raises InputError for results of one seed.
        """
        return self.frame("intervals")

    def interval(
        self, figure: str | Iterable[str], *, over: str | Iterable[str] = (), flows: str | Iterable[str] = (), unit: str | None = None
    ) -> pl.DataFrame:
        """Means of a figure over the seeds with half of their 95% intervals: a row for each point of the axes that have several.

        figure: the notation of all figures: a short name of docs/plot.md ("p95", "throughput"), or the path of a number in a case
        ("queue_delay_ms.p95", "groups.call.voice.mos"). Several have a column `figure`.
        over: axes to average over, such as "path.trace"; each label counts the same.
        unit: what the interval is over, which stands in the column `unit`. "seed": within each seed a figure is averaged over the labels, and the
        interval is for these labels. The name of the axis, "link" or "trace": at each label a figure is averaged over the seeds, and the
        interval is for what the labels were drawn from, at random. By default "link" over synthetic links that differ in their seed= alone,
        which are drawn, and else "seed": links and traces that were chosen are draws of nothing.
        flows: entries of [[flow]], whose figure is meant: `interval("voice.mos", flows="call")`. Several have a column `flows`.

        Raises InputError for results of one seed, and for what is not there.
        """
        import polars as pl

        averaged = _several(over)
        if not averaged:
            self._check_seeds()
        all_ = pl.DataFrame(self._native.intervals(averaged, unit))
        if not len(all_):
            self._check_seeds()
        known = set(all_["figure"])
        wanted = _wanted(figure, flows)
        for name, path, _ in wanted:
            self._check_figure("interval", name, path, known)
        return self._narrowed(all_, wanted, averaged)

    @property
    def differences(self) -> pl.DataFrame:
        """With several seeds: each point compared with the first of an axis, seed by seed, as the command has them: a row for each point and
        figure (throughput, and mean, p95 and p99 of the queue delay). The columns are those of `difference`.

        Raises InputError for results of one seed.
        """
        import polars as pl

        self._check_seeds()
        return pl.DataFrame(self._native.differences())

    def difference(
        self,
        figure: str | Iterable[str],
        *,
        baseline: str | type | None = None,
        axis: str | None = None,
        over: str | Iterable[str] = (),
        flows: str | Iterable[str] = (),
        unit: str | None = None,
    ) -> pl.DataFrame:
        """Each point compared with a baseline, seed by seed: both cases of a pair begin at the same places of their traces. Over links that
        were drawn it is link by link.

        figure, over, flows, unit: as for `interval`.
        baseline: the label that the others are compared with, such as "codel"; by default the first of the axis.
        axis: the axis that it is on; by default that of the label, or path.qdisc, or the first with several labels but path.trace and path.link.

        A row has the mean difference (the point less the baseline) with half of its 95% interval, p_value (Student's t, two-sided), and
        significant: whether it is at 5% by Holm's correction over all rows of the frame. `pairs`: how many different pairs of the `unit`.

        Raises InputError for results of one seed, and for what is not there.
        """
        import polars as pl

        averaged, wanted = _several(over), _wanted(figure, flows)
        if not averaged:
            self._check_seeds()
        label = None if baseline is None else label_of(baseline)
        all_ = pl.DataFrame(self._native.compared([path for _, path, _ in wanted], axis, label, averaged, unit))
        if not len(all_):
            self._check_seeds()
        found = set(all_["figure"]) if "figure" in all_.columns else set()
        for name, path, _ in wanted:
            if path not in found:
                self._check_figure("difference", name, path, set(pl.DataFrame(self._native.intervals(averaged, unit))["figure"]) - {path})
        return self._narrowed(all_, wanted, averaged)

    def _check_seeds(self) -> None:
        if len(self.axes.get("seed", [])) < 2:
            message = "results of one seed have no intervals; expected several, such as seeds='1..10' or seeds=range(1, 11)"
            raise InputError("intervals", None, "seed", message)

    def _check_figure(self, place: str, name: str, path: str, known: set[str]) -> None:
        if path in known:
            return
        ends = sorted((other for other in known if other.endswith(f".{name}")), key=lambda other: (other.count("."), other))
        near = ends or get_close_matches(path, sorted(known), 6) or sorted(known)
        more = f" and {len(near) - 12} more" if len(near) > 12 else ""
        raise InputError(place, None, name, f"'{path}': unknown figure; expected one of {', '.join(near[:12])}{more}")

    def _narrowed(self, all_: pl.DataFrame, wanted: list[tuple[str, str, str | None]], over: list[str]) -> pl.DataFrame:
        """Rows of these figures in order, without columns that are equal in all rows."""
        import polars as pl

        frames = []
        for name, path, flow in wanted:
            rows = all_.filter(pl.col("figure") == path).with_columns(pl.lit(name).alias("figure"))
            frames.append(rows.select(pl.lit(flow).cast(pl.String).alias("flows"), pl.all()))
        single = [axis for axis, labels in self.axes.items() if axis != "seed" and len(labels) == 1 and axis not in over]
        single += [] if len({flow for _, _, flow in wanted}) > 1 else ["flows"]
        single += [] if len({name for name, _, _ in wanted}) > 1 else ["figure"]
        return pl.concat(frames).drop(single)

    def units(self) -> dict[str, str]:
        """Description and unit of each column of the cases."""
        return dict(self.arrow().units())

    @property
    def packets(self) -> pl.LazyFrame:
        """A row for each packet, in the order in which they ended: of all cases, with the id and the labels of each.

        The columns are those of packets.parquet (docs/results.md). They are there after a run with `packets=True`.
        """
        return self._per_case(self._packets_of, "packets")

    def _packets_of(self, place: int, case: str) -> pl.LazyFrame | None:
        import polars as pl

        table = self._native.packets(place)
        return None if table is None else pl.DataFrame(table).lazy()

    def _per_case(self, of: Callable[[int, str], pl.LazyFrame | None], what: str) -> pl.LazyFrame:
        import polars as pl

        frames: list[pl.LazyFrame] = []
        for place, (case, labels) in enumerate(self._native.cases()):
            frame = of(place, case)
            if frame is None:
                raise InputError(self.name, None, what, f"there are no {what} of case {case}; expected a run with {what}=True")
            values = [pl.lit(case).alias("case"), *(pl.lit(label).alias(axis) for axis, label in labels.items())]
            frames.append(frame.with_columns(values))
        return pl.concat(frames)

    @property
    def series(self) -> pl.LazyFrame:
        """A row for each bin of time, of the bottleneck as a whole, of each group and of each connection: of all cases, with the id and the labels of each.

        The columns are those of series.parquet (docs/results.md). They are there after `compare(..., series=True)`, with `connections=True` those of
        connections too; of a scenario in memory without `run.series = "off"`; of a `Run` after a run with `series=True`.
        """
        return self._per_case(self._series_of, "series")

    def _series_of(self, place: int, case: str) -> pl.LazyFrame | None:
        import polars as pl

        table = self._native.series(place)
        return None if table is None else pl.DataFrame(table).lazy()

    def __len__(self) -> int:
        """Number of cases."""
        return len(self._native.cases())

    def __repr__(self) -> str:
        import polars as pl

        # Wide enough that a row fits one line of a terminal.
        with pl.Config(tbl_width_chars=160, tbl_rows=40, tbl_cols=20, fmt_str_lengths=60, tbl_hide_column_data_types=True):
            return f"<qdelay.{type(self).__name__} {self.name!r}: {len(self)} cases>\n{self._shown()}"

    def _repr_html_(self) -> str:
        return f"<p>{len(self)} cases</p>{self._shown()._repr_html_()}"

    def _shown(self) -> pl.DataFrame:
        """A few figures of every case, or with several seeds of every point."""
        import polars as pl

        few = ["throughput_mbps", "utilization", "queue_delay_ms.mean", "queue_delay_ms.p95", "queue_delay_ms.p99", "drops"]
        axes = [axis for axis, labels in self.axes.items() if axis != "seed" and len(labels) > 1]
        if len(self.axes.get("seed", [])) < 2:
            cases = self.frame()
            return cases.select([name for name in [*axes, *few] if name in cases.columns])
        shown = pl.col("mean").round(3).cast(pl.String) + pl.lit(" ± ") + pl.col("half_width").round(3).cast(pl.String)
        intervals = self.intervals.with_columns(shown.fill_null(pl.col("mean").round(3).cast(pl.String)).alias("value"))
        wide = intervals.filter(pl.col("figure").is_in(few)).pivot("figure", index=axes or ["seeds"], values="value", aggregate_function="first")
        return wide.select([name for name in [*axes, *few] if name in wide.columns])


class Run(Results):
    """The folder of a finished run, of `Scenario.run(out)` or of `qdelay run`. Packets and series are read where they are used.

    Raises InputError for a folder without results, or of a run that was not finished.
    """

    def __init__(self, folder: str | PathLike[str]) -> None:
        super().__init__(_native.Results.read(fspath(folder)))
        self.folder = Path(folder)

    def _packets_of(self, place: int, case: str) -> pl.LazyFrame | None:
        return self._scan(case, "packets.parquet")

    def _series_of(self, place: int, case: str) -> pl.LazyFrame | None:
        return self._scan(case, "series.parquet")

    def _scan(self, case: str, name: str) -> pl.LazyFrame | None:
        import polars as pl

        path = self.folder / "cases" / case / name
        return pl.scan_parquet(path) if path.is_file() else None
