"""Scenarios from a file, from a shipped one, or from a dict."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, overload

from qdelay import _native
from qdelay._components import _Component, declared, name_of
from qdelay._errors import InputError
from qdelay._progress import Progress, shown
from qdelay._running import (
    CALL_LIMIT_S,
    Seeds,
    Time,
    check_repeats,
    checked_jobs,
    followed,
    jobs_of,
    paths_of,
    processes,
    seeds_text,
    time_text,
    warn_of_stand_ins,
)

if TYPE_CHECKING:
    from qdelay._results import Results, Run

Folders = str | PathLike[str] | Iterable[str | PathLike[str]]
"""Folders: one, or a sequence."""


class Scenario:
    """A scenario, as `qdelay run` takes it: the tables path, flow, run, matrix, cell and expect of docs/scenarios.md.

    source: a file, the name of a shipped scenario (`qdelay.scenarios()`), an archive of `qdelay.pack`, or a dict of the tables, in which user-defined classes may stand for
    their names.
    name: the name in results and errors; by default that of the file, or "scenario".
    traces: folders in which traces are looked for too.
    allow_native: whether it may name shared objects, such as "./my.so" beside the file, or have components of Python in an archive: their code runs
    with all rights of this program.

    Raises InputError with the line and the key.
    """

    def __init__(
        self,
        source: str | PathLike[str] | Mapping[str, Any],
        *,
        name: str | None = None,
        traces: Folders = (),
        allow_native: bool = False,
    ) -> None:
        self.allow_native = allow_native
        self._archive: _native.Archive | None = None
        if isinstance(source, Mapping):
            self.name = name or "scenario"
            if isinstance(source.get("flow"), Mapping):
                raise InputError(self.name, None, "flow", "flow: is one dict; expected a list of them, [{...}], one for each entry")
            self.text = _toml(source)
        else:
            self._archive = _opened(source, allow_native)
            found, self.text = _native.read_scenario(fspath(self._archive.scenario if self._archive else source))
            self.name = name or found
        self.traces = paths_of(traces)
        self._study = self._read()

    def _read(self, **overrides: Any) -> _native.Study:
        return _native.Study.of_scenario(self.name, self.text, declared(), traces=self.traces, allow_native=self.allow_native, **overrides)

    @property
    def title(self) -> str:
        """Description in one line."""
        return self._study.title

    @property
    def axes(self) -> dict[str, list[str]]:
        """Axes with their labels, the seed last."""
        return dict(self._study.axes)

    def __len__(self) -> int:
        """Number of cases."""
        return len(self._study)

    def __repr__(self) -> str:
        return f"<qdelay.Scenario {self.name!r}: {len(self)} cases>"

    def tables(self) -> dict[str, Any]:
        """Tables of the file as a new dict, including the notes on the command line in a results folder's copy."""
        tables = _loads(self.text)
        origin = tables.pop("origin", {})
        for key in ("seeds", "duration", "starts"):
            if key in origin:
                tables.setdefault("run", {})[key] = origin[key]
        return tables

    def edited(self, changes: Mapping[str, Any], *, name: str | None = None) -> Scenario:
        """Another scenario with these keys changed: {"path.rtt": "80ms", "matrix": {...}, "flow.0.transport": "bbr", "run.warmup": None}.

        A number is a place in a list, or the name of an entry of [[flow]], "flow.call.transport"; None takes the key away. In the list of an axis, {"matrix.path.qdisc": ["codel", "BoDe 20 ms"]}, labels that
        the scenario has given stand for their points.
        """
        tables = self.tables()
        for path, value in changes.items():
            _set(tables, path, _labelled(tables, path, value))
        try:
            return Scenario(tables, name=name or self.name, traces=self.traces, allow_native=self.allow_native)
        except InputError as error:
            if "expect" in changes or not re.match(r"(line \d+: )?expect\b", error.message):
                raise
            message = f"{error.message}; an expectation is of what was changed: 'expect': None takes all of them away"
            raise InputError(error.place, error.line, error.key, message) from None

    def check(self) -> None:
        """Checks every case without running any: traces are found and read, components are built."""
        self._study.check()
        warn_of_stand_ins(self._study)

    @overload
    def run(
        self,
        out: None = None,
        *,
        jobs: int | None = None,
        seeds: Seeds | None = None,
        duration: Time | None = None,
        starts: str | None = None,
        traces: Folders = (),
        packets: bool = False,
        connections: bool = False,
        progress: Progress = True,
        call_limit_s: float = CALL_LIMIT_S,
        unverified: bool = False,
    ) -> Results: ...
    @overload
    def run(
        self,
        out: str | PathLike[str],
        *,
        jobs: int | None = None,
        seeds: Seeds | None = None,
        duration: Time | None = None,
        starts: str | None = None,
        traces: Folders = (),
        packets: bool = False,
        series: bool = False,
        connections: bool = False,
        fresh: bool = False,
        progress: Progress = True,
        call_limit_s: float = CALL_LIMIT_S,
        unverified: bool = False,
    ) -> Run: ...
    def run(
        self,
        out: str | PathLike[str] | None = None,
        *,
        jobs: int | None = None,
        seeds: Seeds | None = None,
        duration: Time | None = None,
        starts: str | None = None,
        traces: Folders = (),
        packets: bool = False,
        series: bool = False,
        connections: bool = False,
        fresh: bool = False,
        progress: Progress = True,
        call_limit_s: float = CALL_LIMIT_S,
        unverified: bool = False,
    ) -> Results | Run:
        """Runs every case, into a folder or in memory.

        out: the folder, with the files that `qdelay run --out` writes, byte for byte; cases that it has are not run again. None: in memory.
        jobs: cases to run at once; by default one for each core, and one in all where a component is of Python. With several, components of
        Python run in processes of their own.
        seeds, duration, starts: in place of those of the scenario: "1..10", range(1, 11), [1, 2, 7] or a number for this one seed; "60s" or
        a number of seconds; "random".
        traces: folders in which traces are looked for, beside those of the scenario.
        packets: a record of every packet. series: a file of what is there over time, for each case.
        connections: keep the congestion window, round trip, pacing rate and more of each connection over time, as `run.connections = true` does.
        fresh: delete what the folder has first.
        progress: whether to show it, or a function that is given how many cases are done, and how many there are.
        call_limit_s: how long a call of a component of Python may take, seconds on the clock; 0: any time.
        unverified: go on although a user-defined component gives other figures when a case is run again, or has a part, such as a file that
        it reads, of which nobody knows whether it is as it was when the folder was begun.

        A folder is not continued with a class, a function or a value that has changed since: `fresh=True`, or another folder.

        Raises InputError, ComponentError, TimeLimitError, AuditError.
        """
        from qdelay._results import Results, Run

        overrides = _overrides(seeds, duration, starts, connections)
        folders = [*self.traces, *paths_of(traces)]
        study = _native.Study.of_scenario(
            self.name, self.text, declared(), traces=folders, allow_native=self.allow_native, **overrides
        )
        told, terminal = shown(progress)
        spec = ("scenario", self.name, self.text, folders, self.allow_native, overrides)
        is_kept = out is None and packets
        differing = check_repeats(study, self.text, spec, call_limit_s, unverified)
        with (
            followed(self.text, differing) as components,
            processes(study, self.text, spec, checked_jobs(jobs), is_kept, call_limit_s) as elsewhere,
        ):
            if out is None:
                results = Results(
                    study.in_memory(
                        jobs=jobs_of(jobs, self.text),
                        packets=packets,
                        progress=told,
                        terminal=terminal,
                        limit_s=call_limit_s,
                        elsewhere=elsewhere,
                    )
                )
                warn_of_stand_ins(study)
                return results
            study.run_into(
                os.fspath(out),
                components=components,
                unverified=unverified,
                jobs=jobs_of(jobs, self.text),
                fresh=fresh,
                packets=packets,
                series=series,
                progress=told,
                terminal=terminal,
                limit_s=call_limit_s,
                elsewhere=elsewhere,
            )
        warn_of_stand_ins(study)
        if self._archive is not None:
            from qdelay._pack import check_same

            check_same(self._archive, out)
        return Run(out)

    def run_shard(
        self,
        shard: str,
        out: str | PathLike[str],
        *,
        jobs: int | None = None,
        seeds: Seeds | None = None,
        duration: Time | None = None,
        starts: str | None = None,
        packets: bool = False,
        series: bool = False,
        connections: bool = False,
        progress: Progress = True,
        call_limit_s: float = CALL_LIMIT_S,
        unverified: bool = False,
    ) -> int:
        """Runs the cases of one shard, "3/8", into a folder, and returns their number; `qdelay.merge` merges the folders of all shards.

        The other arguments are those of `run`, and the same for all shards.
        """
        overrides = _overrides(seeds, duration, starts, connections)
        study = self._read(**overrides)
        told, terminal = shown(progress)
        spec = ("scenario", self.name, self.text, self.traces, self.allow_native, overrides)
        differing = check_repeats(study, self.text, spec, call_limit_s, unverified)
        with (
            followed(self.text, differing) as components,
            processes(study, self.text, spec, checked_jobs(jobs), False, call_limit_s) as elsewhere,
        ):
            cases = study.run_into(
                os.fspath(out),
                components=components,
                unverified=unverified,
                shard=shard,
                jobs=jobs_of(jobs, self.text),
                packets=packets,
                series=series,
                progress=told,
                terminal=terminal,
                limit_s=call_limit_s,
                elsewhere=elsewhere,
            )
        warn_of_stand_ins(study)
        return cases


def _opened(source: str | PathLike[str], allow_native: bool) -> _native.Archive | None:
    """Archive, if the source is one."""
    if not os.path.isfile(source):
        return None
    archive = _native.Archive.open(source)
    if archive is None:
        return None
    from qdelay._pack import opened

    return opened(source, allow_native)


def _overrides(seeds: Seeds | None, duration: Time | None, starts: str | None, connections: bool) -> dict[str, Any]:
    """Values that replace those of the scenario in a run."""
    return {"seeds": seeds_text(seeds), "duration": time_text(duration, "duration"), "starts": starts, "connections": connections}


def _loads(text: str) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    loaded: dict[str, Any] = tomllib.loads(text)
    return loaded


def _toml(tables: Mapping[str, Any]) -> str:
    import tomli_w

    try:
        return tomli_w.dumps({str(key): _plain(value, str(key)) for key, value in tables.items()})
    except TypeError as error:
        raise InputError("scenario", None, None, f"{error}; expected text, numbers, switches, lists and dicts") from None


def _plain(value: Any, path: str) -> Any:
    if isinstance(value, type) and issubclass(value, _Component):
        return name_of(value)
    if isinstance(value, PathLike):
        return fspath(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{path}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return [_plain(item, path) for item in value]
    if isinstance(value, range):
        return list(value)
    if value is None or not isinstance(value, (str, bool, int, float)):
        raise InputError("scenario", None, path, f"{path}: {value!r}; expected text, a number, a switch, a list or a dict")
    return value


def _labelled(tables: dict[str, Any], path: str, value: Any) -> Any:
    """Points of an axis; points of the scenario may be given by their labels."""
    if not path.startswith("matrix.") or isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return value
    axis = path.removeprefix("matrix.")
    matrix = tables.get("matrix", {})
    points: Any = matrix.get(axis)
    if points is None:
        points = matrix
        for part in axis.split("."):
            points = points.get(part, {}) if isinstance(points, dict) else {}
    by_label = {point["label"]: point for point in points if isinstance(point, dict) and "label" in point} if isinstance(points, list) else {}
    return [by_label.get(item, item) if isinstance(item, str) else item for item in value]


def _set(tables: dict[str, Any], path: str, value: Any) -> None:
    *parents, last = path.split(".")
    # An axis of [matrix] has dots in its name, which in TOML may be tables too.
    if parents[:1] == ["matrix"] and len(parents) > 1 and parents[1] not in tables.get("matrix", {}):
        parents, last = ["matrix"], path.split(".", 1)[1]
    place: Any = tables
    for part in parents:
        place = _below(place, part, path)
    key: Any = _entry(place, last, path) if isinstance(place, list) else last
    if value is None:
        if isinstance(place, dict):
            place.pop(key, None)
        else:
            del place[key]
    else:
        place[key] = copy.deepcopy(value) if isinstance(value, (dict, list)) else value


def _below(place: Any, part: str, path: str) -> Any:
    if isinstance(place, list):
        return place[_entry(place, part, path)]
    if not isinstance(place, dict):
        raise InputError("edited", None, path, f"{path}: '{part}' is below a value; expected the path of a key")
    return place.setdefault(part, {})


def _entry(place: list[Any], part: str, path: str) -> int:
    """The place in a list of a number, or of the entry of this name."""
    names = [entry.get("name") if isinstance(entry, dict) else None for entry in place]
    if part in names:
        return names.index(part)
    if part.isdigit() and int(part) < len(place):
        return int(part)
    known = "".join(f" or '{name}'" for name in names if name)
    raise InputError("edited", None, path, f"{path}: there is no entry '{part}'; expected a number below {len(place)}{known}")
