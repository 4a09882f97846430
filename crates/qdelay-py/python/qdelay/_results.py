"""Results as data frames."""

from __future__ import annotations

import json
from collections.abc import Callable
from difflib import get_close_matches
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from qdelay import _native
from qdelay._errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Rows = Literal["cases", "groups", "flows", "intervals"]


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
        """What summary.json has: cases, expectations, intervals, differences (docs/results.md)."""
        loaded: dict[str, Any] = json.loads(self._native.json())
        return loaded

    def arrow(self, rows: Rows = "cases") -> _native.Table:
        """A table with `__arrow_c_stream__`, which is read without a copy: a row for each case, group, flow or interval."""
        if rows == "intervals" and len(self.axes.get("seed", [])) < 2:
            raise InputError("intervals", None, "seed", "results of one seed have no intervals; expected several, such as '1..10'")
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

    def interval(self, figure: str) -> pl.DataFrame:
        """The intervals of one figure, such as "queue_delay_ms.p95": a row for each point of the axes that have several."""
        import polars as pl

        all_ = self.intervals
        known = sorted(all_["figure"].unique().to_list())
        if figure not in known:
            near = sorted((name for name in known if name.endswith(f".{figure}")), key=lambda name: name.count(".")) or get_close_matches(figure, known, 6) or known
            raise InputError("interval", None, figure, f"'{figure}': unknown figure; expected one of {', '.join(near[:12])}")
        single = [axis for axis, labels in self.axes.items() if axis != "seed" and len(labels) == 1]
        return all_.filter(pl.col("figure") == figure).drop("figure", *single)

    @property
    def differences(self) -> pl.DataFrame:
        """With several seeds: each point compared with the first of an axis, seed by seed."""
        import polars as pl

        rows = []
        for difference in json.loads(self._native.differences()):
            row = {**difference.pop("labels", {}), **difference}
            rows.append({key: json.dumps(value) if isinstance(value, (dict, list)) else value for key, value in row.items()})
        return pl.DataFrame(rows, infer_schema_length=None)

    def units(self) -> dict[str, str]:
        """What each column of the cases is, with its unit."""
        import pyarrow as pa

        schema = pa.table(self.arrow()).schema
        return {field.name: (field.metadata or {}).get(b"about", b"").decode() for field in schema}

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

    def __len__(self) -> int:
        """How many cases."""
        return len(self._native.cases())

    def __repr__(self) -> str:
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

    @property
    def series(self) -> pl.LazyFrame:
        """A row for each bin of time and group of each case, after a run with `series=True` (docs/results.md)."""
        return self._per_case(lambda _, case: self._scan(case, "series.parquet"), "series")

    def _scan(self, case: str, name: str) -> pl.LazyFrame | None:
        import polars as pl

        path = self.folder / "cases" / case / name
        return pl.scan_parquet(path) if path.is_file() else None
