"""Sweeps over the machines of a Ray cluster: a thin layer over the shards of `qdelay run --shard`."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qdelay import _native
from qdelay._components import named_in
from qdelay._laws import laws_in
from qdelay._errors import AuditError, Error, InputError
from qdelay._progress import Progress, shown
from qdelay._running import Seeds, Time, seeds_text, time_text

if TYPE_CHECKING:
    from qdelay._results import Run
    from qdelay._scenario import Scenario

SHARDS_PER_CPU = 4
"""Default number of shards per processor of the cluster: few enough for a small overhead, enough to even out long cases."""

LOCKED_S = 180.0
"""Time that a task waits for the lock of its shard, seconds: a network file system keeps a dead machine's lock for a while."""

_BUSY = "is being run by another process"
_LOOK_S = 1.0


def run_on_ray(
    scenario: str | PathLike[str] | Mapping[str, Any] | Scenario,
    folder: str | PathLike[str],
    *,
    shards: int | None = None,
    seeds: Seeds | None = None,
    duration: Time | None = None,
    starts: str | None = None,
    packets: bool = False,
    series: bool = False,
    connections: bool = False,
    report: bool = False,
    traces: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    retries: int = 3,
    cpus: int = 1,
    progress: Progress = True,
) -> Run:
    """Runs every case on the workers of Ray, into a folder with the files that `qdelay run --out` writes, byte for byte.

    scenario: as for `Scenario`; a file and its traces must be where all workers see them under the same path.
    folder: one that all workers see. Cases that it has are not run again.
    shards: tasks; by default four for each processor of the cluster, and at most one for each case.
    seeds, duration, starts, packets, series, connections: as for `Scenario.run`. report: write report.html too.
    retries: how often a shard is run again after its worker has died. It goes on where it was.
    cpus: processors, and cases at once, of a task.
    progress: whether to show it, or a function that is given how many cases are done, and how many there are.

    A Ray that is connected already is used, and stays; otherwise `ray.init()` connects to the cluster of RAY_ADDRESS, or starts one on this machine,
    until the run has ended. Workers need this package.

    Raises InputError, also for components of Python, which are in this process alone; AuditError; Error after the last retry.
    """
    from qdelay._results import Run
    from qdelay._scenario import Scenario

    folders = [traces] if isinstance(traces, (str, PathLike)) else list(traces)
    given = scenario if isinstance(scenario, Scenario) else Scenario(scenario, traces=folders)
    components = named_in(given.text)
    if components:
        message = f"{components[0].__name__} is a component of this process; expected components that are built in, or Scenario.run()"
        raise InputError("run_on_ray", None, "scenario", message)
    if laws := laws_in(given.text):
        message = f"{laws[0]} is a function of this process; expected components that are built in or in a shared object, or Scenario.run()"
        raise InputError("run_on_ray", None, "scenario", message)
    seeds, duration = seeds_text(seeds), time_text(duration, "duration")
    cases = len(given._read(seeds=seeds, duration=duration, starts=starts))
    if shards is not None and not 1 <= shards <= cases:
        raise InputError("shards", None, None, f"{shards}: expected 1 to {cases}, as many as there are cases")
    options = ["--out", os.path.abspath(fspath(folder)), "--yes", "--jobs", str(cpus)]
    for name, value in (("--seeds", seeds), ("--duration", duration), ("--starts", starts)):
        options += [name, value] if value is not None else []
    for name, wanted in (("--packets", packets), ("--series", series), ("--connections", connections)):
        options += [name] if wanted else []
    # Modules of an edited file are beside that file.
    beside = [os.path.dirname(given.name)] if given.name.endswith(".toml") else []
    for path in [*given.traces, *beside]:
        options += ["--traces", os.path.abspath(path)]
    options += ["--allow-native"] if given.allow_native else []
    what = _given(given)
    if given._study.files and what[1] is not None:
        message = f"{given._study.files[0]} is beside a file, and workers are given text here; expected the scenario as a file that is not edited"
        raise InputError("run_on_ray", None, "scenario", message)
    ray, is_ours = _connected()
    try:
        if shards is None:
            processors = int(ray.cluster_resources().get("CPU", 1))
            shards = max(1, min(cases, SHARDS_PER_CPU * processors // cpus))
        _run(ray, what, options, shards, retries, cpus, _Told(progress, Path(folder), cases))
    finally:
        if is_ours:
            ray.shutdown()
    # All cases exist now: this run writes the files about all of them.
    status, text = _command(what, [*options, *([] if report else ["--no-report"])])
    # Status 1 means a missed expectation, which the results show.
    if status not in (0, 1) or not (Path(folder) / "summary.json").is_file():
        raise _error(status, text)
    return Run(folder)


def _connected() -> tuple[Any, bool]:
    """Ray, and whether it was connected here."""
    try:
        import ray
    except ImportError:
        raise Error("run_on_ray needs Ray; expected the package 'ray' to be installed: pip install ray") from None
    if ray.is_initialized():
        return ray, False
    ray.init(include_dashboard=False, log_to_driver=False, logging_level=logging.WARNING)
    return ray, True


def _run(ray: Any, what: tuple[str, str | None], options: list[str], shards: int, retries: int, cpus: int, told: _Told) -> None:
    """Runs all shards; the first that fails ends the others."""
    task = ray.remote(num_cpus=cpus, max_retries=retries)(_shard)
    waiting = [task.remote(what, [*options, "--shard", f"{index}/{shards}"]) for index in range(1, shards + 1)]
    try:
        told.look()
        while waiting:
            ended, waiting = ray.wait(waiting, timeout=_LOOK_S)
            for result in ended:
                try:
                    status, text = ray.get(result)
                except ray.exceptions.RayError as error:
                    message = f"a shard has failed {retries + 1} times: {str(error).strip().splitlines()[0]}; what is done stays in the folder"
                    raise Error(message) from error
                if status != 0:
                    raise _error(status, text)
            told.look()
        told.end()
    except BaseException:
        for result in waiting:
            ray.cancel(result, force=True)
        raise


def _shard(what: tuple[str, str | None], options: list[str]) -> tuple[int, str]:
    """Task that runs a shard in a separate process, which ends with this worker. The return value needs no class of this package."""
    deadline = time.monotonic() + LOCKED_S
    while True:
        status, text = _command(what, options)
        if status == 0 or _BUSY not in text or time.monotonic() > deadline:
            return status, text
        time.sleep(_LOOK_S)


def _given(scenario: Scenario) -> tuple[str, str | None]:
    """Source for a worker: a file that it sees or the name of a shipped scenario, or a name and a text."""
    path = Path(scenario.name)
    try:
        if _native.read_scenario(scenario.name)[1] == scenario.text:
            return str(path.absolute()) if path.is_file() else scenario.name, None
    except InputError:
        pass
    return path.name.removesuffix(".toml"), scenario.text


def _command(what: tuple[str, str | None], options: list[str]) -> tuple[int, str]:
    """The exit status of `qdelay run`, and its errors."""
    name, text = what
    with tempfile.TemporaryDirectory(prefix="qdelay-shard-") as place:
        if text is not None:
            name = os.path.join(place, f"{name}.toml")
            Path(name).write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", "qdelay._shard", str(os.getpid()), "run", name, *options]
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stderr.strip()


def _error(status: int, text: str) -> Error:
    line = text.splitlines()[-1].removeprefix("qdelay: ") if text else f"qdelay run has ended with status {status}"
    if status == 2:
        place, _, message = line.partition(": ")
        return InputError(place, None, None, message) if message else InputError("", None, None, line)
    return AuditError(line) if status == 1 else Error(line)


class _Told:
    """Receivers of the number of finished cases."""

    def __init__(self, progress: Progress, folder: Path, cases: int) -> None:
        self.told, self.is_terminal = shown(progress)
        self.is_terminal = self.is_terminal and sys.stderr.isatty()
        self.folder, self.cases, self.next = folder / "cases", cases, 0.0

    def look(self) -> None:
        """Counts the finished cases once a second."""
        now = time.monotonic()
        if now < self.next or not (self.told or self.is_terminal):
            return
        self.next = now + _LOOK_S
        try:
            with os.scandir(self.folder) as entries:
                done = sum(not entry.name.startswith(".") for entry in entries)
        except FileNotFoundError:
            done = 0
        self._tell(done)

    def end(self) -> None:
        """Reports the end."""
        self._tell(self.cases)
        if self.is_terminal:
            sys.stderr.write("\r\x1b[2K")

    def _tell(self, done: int) -> None:
        if self.told:
            self.told(done, self.cases)
        if self.is_terminal:
            sys.stderr.write(f"\r\x1b[2K{done}/{self.cases} cases")
            sys.stderr.flush()

