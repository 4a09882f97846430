"""Cost of a law in Python, in C and by numba, compared with the built-in one: CPU seconds of whole runs in pairs, the median. Then steps of an
environment. `python benches/law.py`."""

from __future__ import annotations

import importlib
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import qdelay
from qdelay import _native
from qdelay._components import declared, name_of

REPOSITORY = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(REPOSITORY / "crates/qdelay-py/tests"))

from test_components import Bound, Plain, PyCodel

PAIRS = 9
SIMULATED_S = 60
STEPS = 100_000
"""Number of steps of 10 ms."""


def cpu_s(qdisc: str | type[qdelay.Aqm]) -> float:
    """CPU seconds of one flow of Cubic over 100 Mbit/s: 500,000 departures. Runs in this process, also for a shared object."""
    options = [f"--qdisc={name_of(qdisc)}", "--link=100mbit", "--transport=cubic", "--rtt=40ms", f"--duration={SIMULATED_S}s"]
    study = _native.Study.of_options(options, declared())
    begin = time.process_time()
    study.in_memory(jobs=1)
    return time.process_time() - begin


def codel_in_c(folder: str) -> str:
    """Compiles the example."""
    made = f"{folder}/codel.so"
    include, source = REPOSITORY / "crates/qdelay-native/include", REPOSITORY / "examples/own-c/codel.c"
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", f"-I{include}", "-o", made, str(source), "-lm"], check=True)
    return made


def bound_by_numba() -> str:
    """BoDe's law, as in docs/learning.md."""
    numba: Any = importlib.import_module("numba")
    parameters = {"target": qdelay.Param("20ms", "longest wait")}
    state = qdelay.native_state(parameters, {"dropped": "i8"})

    @numba.cfunc(qdelay.native_signature(state))  # type: ignore[untyped-decorator]
    def dequeue(state: Any, call: Any) -> int:
        own, told = numba.carray(state, 1)[0], numba.carray(call, 1)[0]
        return 1 if told.now - told.arrival > own.target and told.packets > 2 else 0

    return qdelay.native("numba_bound", parameters, dequeue=dequeue, state=state)


def steps_per_cpu_s() -> float:
    """Raw steps of 10 ms of an environment: 12 Mbit/s, one flow of Cubic, 40 ms, nothing changed."""
    options = ["--link=12mbit", "--qdisc=bode", "--transport=cubic", "--rtt=40ms", f"--duration={STEPS // 100}s"]
    stepper = _native.Stepper(options, declared(), "10ms", [])
    stepper.reset(0, 1)
    begin = time.process_time()
    for _ in range(STEPS - 1):
        stepper.step()
    return (STEPS - 1) / (time.process_time() - begin)


def main() -> None:
    """Prints a line for each pair, and one for the environment."""
    with tempfile.TemporaryDirectory() as folder:
        laws = ((PyCodel, "codel"), (Bound, "bode"), (Plain, "taildrop"), (codel_in_c(folder), "codel"), (bound_by_numba(), "bode"))
        for own, built_in in laws:
            pairs = [(cpu_s(own), cpu_s(built_in)) for _ in range(PAIRS)]
            ratios = sorted(one / other for one, other in pairs)
            seconds = statistics.median(other for _, other in pairs)
            name = Path(own).name if isinstance(own, str) else own.__name__
            ratio = statistics.median(ratios)
            print(
                f"{name} beside {built_in}: {ratio:.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f}) {seconds:.3f} CPU-s, "
                f"{(ratio - 1) * seconds / 500_000 * 1e9:.0f} ns for a decision"
            )
    steps = sorted(steps_per_cpu_s() for _ in range(PAIRS))
    print(f"environment: {statistics.median(steps):.0f} steps in a CPU-second ({steps[0]:.0f} to {steps[-1]:.0f})")


if __name__ == "__main__":
    main()
