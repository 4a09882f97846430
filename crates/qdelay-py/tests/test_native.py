"""Shared objects, in C behind qdelay_component.h, and compiled functions in separate processes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import REPOSITORY

import qdelay

if shutil.which("cc") is None:
    pytest.skip("there is no C compiler", allow_module_level=True)

CELL = {
    "cell": {"pdcp": "standard", "rlc_qdisc": "taildrop", "ue": [{}]},
    "flow": [{"transport": "cubic"}],
    "run": {"duration": "3s", "warmup": "1s"},
}


def compiled(source: Path, folder: Path) -> str:
    """The shared object of a source."""
    made = folder / f"{source.stem}.so"
    include = REPOSITORY / "crates/qdelay-native/include"
    subprocess.run(["cc", "-O2", "-fPIC", "-shared", f"-I{include}", "-o", str(made), str(source), "-lm"], check=True)
    return str(made)


def example(name: str, folder: Path) -> str:
    return compiled(REPOSITORY / f"examples/own-c/{name}.c", folder)


def law(name: str, folder: Path, body: str, fields: str = "") -> str:
    """A law whose `dequeue` has this body."""
    source = folder / f"{name}.c"
    source.write_text(
        f"""#include "qdelay_component.h"
        static uint32_t dequeue(void *state, const qdelay_call *call) {{ (void)state; (void)call; {body} }}
        static const qdelay_component description = {{ .abi = QDELAY_ABI, .size = sizeof description, .kind = QDELAY_AQM, .name = "{name}",
            .meaning = "a law", .dequeue = dequeue, {fields} }};
        QDELAY_EXPORT const qdelay_component *qdelay_component_v1(void) {{ return &description; }}
        """
    )
    return compiled(source, folder)


def figures(results: qdelay.Results, axis: str, label: str) -> list[dict[str, Any]]:
    """The figures of the cases with this label."""
    frame = results.frame()
    keep = [name for name in frame.columns if frame[name].dtype.is_numeric() and not name.startswith("cost") and name != "case"]
    return frame.filter(frame[axis] == label).select(keep).to_dicts()


@pytest.mark.parametrize("packets", [False, True])
def test_a_discipline_and_a_control_decide_as_those_built_in(tmp_path: Path, packets: bool) -> None:
    """Runs in separate processes, and in this one where packets are kept."""
    codel, reno = example("codel", tmp_path), example("reno", tmp_path)
    results = qdelay.compare(
        link="10mbit", qdisc=[codel, "codel"], transport=[reno, "reno"], duration="10s", seeds="1..2", packets=packets, progress=False
    )
    assert len(results.frame()) == 8
    assert figures(results, "path.qdisc", codel) == figures(results, "path.qdisc", "codel")
    transport = next(name for name in results.frame().columns if name.endswith("transport"))
    assert figures(results, transport, reno) == figures(results, transport, "reno")


def test_a_scenario_names_code_only_if_it_is_allowed(tmp_path: Path) -> None:
    example("codel", tmp_path)
    tables = {
        "path": {"link": "10mbit"},
        "flow": [{"transport": "cubic"}],
        "run": {"duration": "3s", "warmup": "1s"},
    }
    file = tmp_path / "own.toml"
    matrix = '[matrix]\n"path.qdisc" = ["./codel.so:target=20ms", "codel:target=20ms"]\n'
    file.write_text(qdelay.Scenario(tables).text + matrix)
    with pytest.raises(qdelay.InputError, match="all rights of this program.*allow_native=True") as told:
        qdelay.Scenario(file)
    assert told.value.key == "matrix.path.qdisc"
    scenario = qdelay.Scenario(file, allow_native=True)
    results = scenario.run(progress=False)
    assert figures(results, "path.qdisc", "./codel.so:target=20ms") == figures(results, "path.qdisc", "codel:target=20ms")
    run = scenario.edited({"run.seeds": [1, 2]}).run(tmp_path / "out", progress=False)
    assert len(run.frame()) == 4


def refused(path: str, message: str) -> None:
    with pytest.raises(qdelay.InputError, match=message):
        qdelay.compare(link="10mbit", qdisc=path, duration="3s", warmup="1s", progress=False)


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    passes = "return 0;"
    good = Path(law("good", tmp_path, passes))
    other = tmp_path / "other.so"
    other.write_bytes(good.read_bytes()[:18] + (183 if good.read_bytes()[18] != 183 else 62).to_bytes(2, "little") + good.read_bytes()[20:])
    refused(str(other), "is for (aarch64|x86_64) .*expected it compiled for")
    refused(law("later", tmp_path, passes, ".abi = 7"), "is made for version 7 of the interface, and this program has version 1")
    half = tmp_path / "half.so"
    half.write_bytes(good.read_bytes()[: len(good.read_bytes()) // 2])
    refused(str(half), "ends too early")
    refused(str(tmp_path / "none.so"), "cannot be read: No such file")
    text = tmp_path / "text.so"
    text.write_text("no code")
    refused(str(text), "is not a shared object")
    reno = example("reno", tmp_path)
    refused(reno, "is a congestion control; expected a queue discipline")
    with pytest.raises(qdelay.InputError, match="is a queue discipline; expected a congestion control"):
        qdelay.compare(link="10mbit", transport=str(good), duration="3s", warmup="1s", progress=False)


def test_a_crash_is_an_exception(tmp_path: Path) -> None:
    crash = law("crash", tmp_path, "if (call->now > 2000000000) { *(volatile int *)8 = 1; } return 0;")
    with pytest.raises(qdelay.Error, match=r"case .*: the process that ran it has ended by SIGSEGV: a fault of .*crash\.so"):
        qdelay.compare(link="10mbit", qdisc=["codel", crash], transport="cubic", duration="3s", warmup="1s", progress=False)
    assert len(qdelay.compare(link="10mbit", qdisc="codel", transport="cubic", duration="3s", warmup="1s", progress=False).frame()) == 1


def test_a_call_that_does_not_return_is_an_exception(tmp_path: Path) -> None:
    """Takes ten seconds, the time limit of a call."""
    stuck = law("stuck", tmp_path, "volatile int more = call->now > 2000000000; while (more) {} return 0;")
    with pytest.raises(qdelay.TimeLimitError, match=r"stuck\.so has not returned for 10 s") as told:
        qdelay.compare(link="10mbit", qdisc=stuck, transport="cubic", duration="3s", warmup="1s", progress=False)
    assert told.value.limit_s == 10


class Passes(qdelay.Aqm):
    """Drops nothing."""

    def dequeue(self, wait: float) -> qdelay.Decision:
        return qdelay.PASS


def beside(name: str, jobs: int) -> list[dict[str, Any]]:
    """The figures of a law beside a class of Python, whose cases run in several processes with several jobs."""
    results = qdelay.compare(
        link="10mbit", qdisc=[name, Passes], transport="cubic", duration="3s", warmup="1s", seeds="1..2", jobs=jobs, progress=False
    )
    return figures(results, "path.qdisc", name)


def test_laws_go_with_the_cases(tmp_path: Path) -> None:
    source = tmp_path / "plain.c"
    source.write_text("unsigned every(void *state, const void *call) { (void)state; return ((const unsigned long *)call)[0] % 100 == 0; }")
    function = ctypes.CDLL(compiled(source, tmp_path)).every
    qdelay.native("every", dequeue=function)
    assert beside("every", 2) == beside("every", 1)
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
    qdelay.native("local", dequeue=prototype(lambda state, call: 0))
    with pytest.raises(qdelay.InputError, match="is in this process alone, and cases of several jobs run in others.*or jobs=1"):
        beside("local", 2)
    assert beside("local", 1)


def test_laws_of_numba_go_with_the_cases() -> None:
    numba = pytest.importorskip("numba")
    parameters = {"target": qdelay.Param("20ms", "longest wait")}
    state = qdelay.native_state(parameters, {"dropped": "i8"})

    @numba.cfunc(qdelay.native_signature(state))  # type: ignore[untyped-decorator, unused-ignore]
    def dequeue(state: Any, call: Any) -> int:
        own, told = numba.carray(state, 1)[0], numba.carray(call, 1)[0]
        return 1 if told.now - told.arrival > own.target and told.packets > 2 else 0

    qdelay.native("waits", parameters, dequeue=dequeue, state=state)
    assert beside("waits:target=15ms", 2) == beside("waits:target=15ms", 1)


class ByFlow(qdelay.Aqm):
    """Reads the number of the flow."""

    def admit(self, flow: int) -> qdelay.Decision:
        return qdelay.DROP if flow > 1000 else qdelay.PASS


def test_laws_that_distinguish_packets_are_refused_behind_pdcp(tmp_path: Path) -> None:
    """A class is refused by the arguments that it names, a law by its declaration."""

    def behind(queue: str | type[qdelay.Aqm], allow_native: bool = False) -> None:
        cell = {**CELL["cell"], "rlc_qdisc": queue}  # type: ignore[dict-item]
        qdelay.Scenario({**CELL, "cell": cell}, allow_native=allow_native).check()

    behind(Passes)
    with pytest.raises(qdelay.InputError, match="the discipline classifies packets by flow, but packets behind PDCP are ciphered"):
        behind(ByFlow)
    apart = law("apart", tmp_path, "return 0;", '.classifies = "codepoint"')
    with pytest.raises(qdelay.InputError, match="the discipline classifies packets by codepoint"):
        behind(apart, allow_native=True)
    behind(law("whole", tmp_path, "return 0;"), allow_native=True)
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
    qdelay.native("by_law", admit=prototype(lambda state, call: 0), classifies="flow")
    with pytest.raises(qdelay.InputError, match="the discipline classifies packets by flow"):
        behind("by_law")
