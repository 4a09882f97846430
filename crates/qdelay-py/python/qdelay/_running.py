"""What `compare` and `Scenario.run` have in common."""

from __future__ import annotations

import atexit
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from qdelay import _native
from qdelay._components import named_in
from qdelay._errors import InputError

if TYPE_CHECKING:
    from qdelay._native import Study

LEFT_LIMIT_S = 10.0
"""How long the end of the process waits for calls that were left behind, seconds."""


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
"""How long a call of a component may take, seconds on the clock."""


@contextmanager
def processes(study: Study, text: str, spec: tuple[Any, ...], jobs: int | None, limit_s: float) -> Iterator[Callable[..., str] | None]:
    """What runs cases in other processes: with several jobs and a component of Python, of which a process runs one at a time."""
    components = named_in(text)
    if not components or jobs is None or jobs < 2 or len(study) < 2:
        yield None
        return
    from qdelay._pool import Pool

    pool = Pool(components, spec, min(jobs, len(study)), limit_s)
    try:
        yield pool
    finally:
        pool.close()


def warn_of_stand_ins(study: Study) -> None:
    """Says which traces of a scenario were not found, and which shipped ones were used."""
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
    if isinstance(seeds, int):
        raise InputError("seeds", None, None, f"{seeds}: expected '1..{seeds}' for seeds 1 to {seeds}, or [{seeds}] for this one")
    try:
        return ",".join(str(int(seed)) for seed in seeds)
    except (TypeError, ValueError):
        raise InputError("seeds", None, None, f"{seeds!r}: expected whole numbers, such as [1, 2, 7], range(1, 6) or '1..5'") from None


def jobs_of(jobs: int | None, text: str) -> int | None:
    """Threads: cases of components of Python take turns, so that more than one only makes them wait for each other."""
    return 1 if jobs is None and named_in(text) else jobs
