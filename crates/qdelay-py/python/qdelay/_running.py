"""Code shared by `compare` and `Scenario.run`."""

from __future__ import annotations

import atexit
import math
import numbers
import operator
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from qdelay import _native
from qdelay._components import laws, named_in
from qdelay._errors import InputError

if TYPE_CHECKING:
    from qdelay._native import Study

Seeds = str | int | Iterable[int]
"""Seeds: text such as "1..10", one number, or several."""
Time = str | float | timedelta
"""A time: text with a unit, such as "60s", or a number of seconds."""

LEFT_LIMIT_S = 10.0
"""Time that the end of the process waits for left-behind calls, seconds."""


def _end() -> None:
    """Waits for calls of components that did not return in time: Python cannot end under a thread that comes back to it."""
    until = time.monotonic() + LEFT_LIMIT_S
    while _native.left_behind():
        if time.monotonic() > until:
            print("qdelay: a call of a component has not returned; the process ends without it", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
        time.sleep(0.05)


atexit.register(_end)

CALL_LIMIT_S = 10.0
"""Time limit of a component's call, seconds of wall time."""


@contextmanager
def processes(
    study: Study, text: str, spec: tuple[Any, ...], jobs: int | None, keeps_packets: bool, limit_s: float
) -> Iterator[Callable[..., str] | None]:
    """Pool of other processes, needed with several jobs and a component of Python, of which a process runs one at a time; and with code of
    a shared object, whose crash would end this one. Packets in memory are kept here."""
    components = named_in(text)
    several = bool(components) and jobs is not None and jobs > 1 and len(study) > 1
    if keeps_packets or not (several or study.files):
        yield None
        return
    from qdelay._laws import laws_in
    from qdelay._pool import Pool

    size = jobs or (1 if components else os.cpu_count() or 1)
    pool = Pool(components, laws_in(text), spec, min(size, len(study)), limit_s, study)
    try:
        yield pool
    finally:
        pool.close()


# Part of a component in `study.json` which says that its cases cannot be repeated.
_AGAIN = "a case that is run again"


@contextmanager
def followed(text: str, differing: dict[str, str] | None = None) -> Iterator[dict[str, dict[str, str]]]:
    """Parts of all user-defined components named in the text, at the start of a run.

    `differing` are those whose cases give other figures when run again, as `check_repeats` has them: that is a part that cannot be compared.
    """
    if not (named_in(text) or laws):
        yield {}
        return
    from qdelay import _digests

    with _digests.followed(text) as parts:
        # Figures are left out, because they differ in each run and would prevent continuing the
        # folder.
        again = {name: {_AGAIN: f"unknown: it gives other figures, and reaches {why}"} for name, why in (differing or {}).items()}
        yield {**parts, **{name: {**parts.get(name, {}), **part} for name, part in again.items()}}


def check_repeats(study: Study, text: str, spec: tuple[Any, ...], limit_s: float, unverified: bool) -> dict[str, str]:
    """Refuses user-defined components whose figures change when a case is repeated; with `unverified` returns them, each with why."""
    if named_in(text) or laws:
        from qdelay import _repeat

        return _repeat.check_repeats(study, text, spec, limit_s, unverified)
    return {}


def warn_of_stand_ins(study: Study) -> None:
    """Warns about missing traces of a scenario and the shipped ones used instead."""
    for wanted, used in study.stand_ins():
        warnings.warn(
            f"{wanted} is not available; {used} is used instead: traces= names the folder of recorded traces", UserWarning, stacklevel=3
        )


def checked_jobs(jobs: int | None) -> int | None:
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise InputError("jobs", None, None, f"{jobs!r}: expected a whole number of at least 1, or None for one for each core")
    return jobs


def seeds_text(seeds: Any) -> str | None:
    """Seeds as the command writes them."""
    if seeds is None or isinstance(seeds, str):
        return seeds
    try:
        several = [seeds] if hasattr(seeds, "__index__") else list(seeds)
        if not several or any(isinstance(seed, bool) for seed in several):
            raise TypeError
        return ",".join(str(operator.index(seed)) for seed in several)
    except TypeError:
        expected = "a whole number for this one seed, several such as range(1, 11) or [1, 2, 7], or text such as '1..10'"
        raise InputError("seeds", None, None, f"{seeds!r}: expected {expected}") from None


def time_text(value: Any, keyword: str) -> str | None:
    """A time as the command writes it: text, or a number of seconds."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)):
        raise InputError(
            keyword,
            None,
            None,
            f"{value!r}: expected one time; several are an axis of a scenario: {keyword} = [...] in its file or text (docs/scenarios.md), or a call for each",
        )
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, numbers.Real) or not math.isfinite(seconds):
        raise InputError(keyword, None, None, f"{value!r}: expected text with a unit, such as '60s' or '40ms', or a number of seconds")
    return f"{float(seconds):.9f}".rstrip("0").rstrip(".") + "s"


def paths_of(given: str | PathLike[str] | Iterable[str | PathLike[str]]) -> list[str]:
    """Folders of traces: one, or a sequence."""
    folders = [fspath(path) for path in ([given] if isinstance(given, (str, PathLike)) else given)]
    for folder in folders:
        if not os.path.isdir(folder):
            raise InputError("traces", None, None, f"{folder!r}: no such folder; expected folders of recorded traces")
    return folders


def text_of(value: Any, keyword: str) -> str:
    """Text, or the name of a file."""
    if not isinstance(value, (str, PathLike)):
        raise InputError(keyword, None, None, f"{value!r}: expected text")
    return fspath(value)


def jobs_of(jobs: int | None, text: str) -> int | None:
    """Number of threads: one for components of Python, whose cases would only wait for each other."""
    return 1 if jobs is None and named_in(text) else jobs
