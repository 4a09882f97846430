"""Compiled functions as queue disciplines."""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import qdelay
from qdelay import _components

numba = pytest.importorskip("numba")

PARAMETERS: dict[str, qdelay.Param[Any]] = {
    "target": qdelay.Param("20ms", "longest wait", min="1us", max="10s"),
    "keep": qdelay.Param(2, "the last packets are kept", unit="packets"),
}
STATE = qdelay.native_state(PARAMETERS, {"dropped": "i8"})


@pytest.fixture(scope="module")
def bound() -> Iterator[str]:
    """BoDe's law: packets that have waited longer than target are dropped, except for the last ones."""

    @numba.cfunc(qdelay.native_signature(STATE))  # type: ignore[untyped-decorator, unused-ignore]
    def dequeue(state: Any, call: Any) -> int:
        own, told = numba.carray(state, 1)[0], numba.carray(call, 1)[0]
        if told.now - told.arrival > own.target and told.packets > own.keep:
            own.dropped += 1
            return 1
        return 0

    yield qdelay.native("bound", PARAMETERS, dequeue=dequeue, state=STATE, about="a bound of the wait")
    _components.laws.pop("bound")


def rows(**options: Any) -> list[dict[str, Any]]:
    frame = qdelay.compare(link="10mbit", transport=["cubic", "bbr"], duration="10s", seeds="1..2", **options).frame()
    # Drops are counted under the law's own name.
    frame = frame.rename(lambda name: "drops_by_law" if name.startswith("drops_by_reason.") else name)
    keep = [name for name in frame.columns if frame[name].dtype.is_numeric() and not name.startswith("cost")]
    return frame.select(keep).to_dicts()


def test_it_decides_as_the_built_in_law(bound: str) -> None:
    assert rows(qdisc=f"{bound}:target=30ms", jobs=2) == rows(qdisc="bode:target=30ms")
    assert rows(qdisc=bound) != rows(qdisc="bode:target=30ms")


def test_it_is_inside_others_and_in_steps(bound: str) -> None:
    nested = f"priority:ef@taildrop+rest@[{bound}:target=5ms]"
    assert rows(qdisc=nested) == rows(qdisc="priority:ef@taildrop+rest@[bode:target=5ms]")
    gymnasium = pytest.importorskip("gymnasium")
    importlib.import_module("qdelay.env")
    env = gymnasium.make(
        "qdelay/Queue-v0", qdisc=bound, link="10mbit", transport="driven", duration="1s", actions={"control.window": ("2", "100")}
    )
    env.reset(seed=1)
    assert env.step(np.ones(1, np.float32))[2] is False


def test_parameters_are_checked(bound: str) -> None:
    with pytest.raises(qdelay.InputError, match="target=0s: out of range; expected 1us to 10s"):
        rows(qdisc=f"{bound}:target=0s")
    with pytest.raises(qdelay.InputError, match="has no key 'tarjet'.*did you mean 'target'"):
        rows(qdisc=f"{bound}:tarjet=1ms")


def test_functions_of_ctypes_and_addresses() -> None:
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
    passes = prototype(lambda state, call: 0)
    address = ctypes.cast(passes, ctypes.c_void_p).value
    for name, function in {"by_ctypes": passes, "by_address": address}.items():
        qdelay.native(name, admit=function)
        assert rows(qdisc=name, jobs=1) == rows(qdisc="taildrop")


def test_mistakes_are_told() -> None:
    with pytest.raises(qdelay.InputError, match="is no compiled function"):
        qdelay.native("plain", dequeue=lambda state, call: 0)
    with pytest.raises(qdelay.InputError, match="has neither admit nor dequeue"):
        qdelay.native("nothing")
    with pytest.raises(qdelay.InputError, match="expected lower-case letters"):
        qdelay.native("A law", admit=1)
    with pytest.raises(qdelay.InputError, match="'x' is declared with 5: out of range"):
        qdelay.native("wrong", {"x": qdelay.Param(5, "", max=4)}, admit=1)


def test_a_verdict_that_is_none() -> None:
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
    wrong = prototype(lambda state, call: 9)
    qdelay.native("nonsense", admit=wrong)
    with pytest.raises(qdelay.Error, match="nonsense: admit returned 9; expected QDELAY_PASS"):
        rows(qdisc="nonsense", jobs=1)
