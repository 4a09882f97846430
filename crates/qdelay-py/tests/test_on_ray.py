"""`run_on_ray`: the bytes of one run, also where a worker is killed. With QDELAY_REQUIRE=ray a machine without Ray fails."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import qdelay

if importlib.util.find_spec("ray") is None:
    if "ray" in os.environ.get("QDELAY_REQUIRE", "").split(","):
        raise RuntimeError("QDELAY_REQUIRE has ray: expected the package 'ray' to be installed")
    pytest.skip("there is no Ray", allow_module_level=True)

CASES = int(os.environ.get("QDELAY_RAY_CASES", "48"))
TABLES = {
    "path": {"link": "1mbit"},
    "flow": [{"transport": "cubic"}],
    "run": {"duration": "1s", "warmup": "0s", "seeds": f"1..{CASES // 8}"},
    "matrix": {"path.qdisc": ["taildrop", "codel", "pie", "bode"], "path.rtt": ["10ms", "40ms"]},
}


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    """Ray with two workers on this machine."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    yield ray
    ray.shutdown()


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.fixture
def sweep() -> qdelay.Scenario:
    return qdelay.Scenario(TABLES, name="sweep")


def test_the_bytes_of_one_run(ray: Any, sweep: qdelay.Scenario, tmp_path: Path) -> None:
    whole = sweep.run(tmp_path / "whole" / "out", progress=False)
    told: list[tuple[int, int]] = []
    begin = time.monotonic()
    run = qdelay.run_on_ray(sweep, tmp_path / "ray" / "out", shards=8, progress=lambda done, cases: told.append((done, cases)))
    print(f"{CASES} cases over 8 shards: {time.monotonic() - begin:.1f} s")
    assert tree(tmp_path / "ray" / "out") == tree(tmp_path / "whole" / "out")
    assert run.cases.collect().equals(whole.cases.collect())
    assert told[-1] == (CASES, CASES)


def test_a_killed_worker(ray: Any, sweep: qdelay.Scenario, tmp_path: Path) -> None:
    longer = sweep if CASES > 1000 else sweep.edited({"run.duration": "60s", "path.link": "10mbit"})
    longer.run(tmp_path / "whole" / "out", progress=False)
    folder = tmp_path / "ray" / "out"
    killed: list[int] = []

    def kill() -> None:
        """Kills a worker once some cases are done."""
        while not killed:
            if folder.joinpath("cases").is_dir() and len(os.listdir(folder / "cases")) >= 4:
                for worker in workers():
                    os.kill(worker, signal.SIGKILL)
                    killed.append(worker)
                    return
            time.sleep(0.005)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    qdelay.run_on_ray(longer, folder, shards=8, progress=False)
    assert killed, "a worker was killed while it ran a shard"
    assert tree(folder) == tree(tmp_path / "whole" / "out")


def workers() -> list[int]:
    """Workers that run a shard for this process: the parents of the `_shard` processes."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"qdelay._shard" in words and b"--shard" in words:
                worker = int(words[words.index(b"qdelay._shard") + 1])
                if b"ray::" in Path(f"/proc/{worker}/cmdline").read_bytes():
                    found.append(worker)
        except (OSError, ValueError):
            continue
    return found


def test_unsupported_runs_are_refused(ray: Any, sweep: qdelay.Scenario, tmp_path: Path) -> None:
    with pytest.raises(qdelay.InputError, match="expected 1 to"):
        qdelay.run_on_ray(sweep, tmp_path / "out", shards=CASES + 1)
    sweep.run(tmp_path / "taken", progress=False)
    with pytest.raises(qdelay.InputError, match="holds results with duration = that of the scenario, but this run has 2s"):
        qdelay.run_on_ray(sweep, tmp_path / "taken", shards=2, duration="2s", progress=False)

    class Mine(qdelay.Aqm):
        def dequeue(self, wait: float) -> qdelay.Decision:
            return qdelay.PASS

    with pytest.raises(qdelay.InputError, match="a component of this process"):
        qdelay.run_on_ray({**TABLES, "matrix": {"path.qdisc": [Mine]}}, tmp_path / "mine")
