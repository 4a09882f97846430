"""Queue disciplines whose decisions are compiled functions: of numba, cffi or ctypes, called without Python."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qdelay import _native
from qdelay._components import Param, laws
from qdelay._errors import InputError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["CALL", "native", "native_signature", "native_state"]

CALL = [
    ("now", "u8"),
    ("arrival", "u8"),
    ("packets", "u8"),
    ("bytes", "u8"),
    ("limit", "u8"),
    ("random", "u8"),
    ("size", "u4"),
    ("flow", "u4"),
    ("traffic_class", "u2"),
    ("dscp", "u1"),
    ("ecn", "u1"),
    ("reserved", "u4"),
]
"""What a law is told at each call, field by field, as numpy's dtype takes it: `qdelay_call` of qdelay_component.h. Times are in nanoseconds."""

# What is compiled must live as long as it may be called.
_kept: list[object] = []


def native_state(parameters: Mapping[str, Param[Any]], fields: Mapping[str, str] | None = None) -> np.dtype[Any]:
    """The dtype of a law's state: the value of each parameter as a double (durations in nanoseconds, rates in bit/s), then `fields`, each
    with a type of numpy ("i8", "f8"), which are 0 at the start."""
    import numpy as np

    own = [(name, "f8") for name in parameters]
    return np.dtype([*own, *(fields or {}).items()], align=True)


def native_signature(state: np.dtype[Any], *, emptied: bool = False) -> Any:
    """The signature of a decision for `numba.cfunc`; with `emptied` that of the function of this name. The function is given the addresses of
    the state and of the call: `numba.carray(state, 1)[0]` is a record with the fields of `state`, and `numba.carray(call, 1)[0]` one with
    those of `CALL`."""
    import numba
    import numpy as np

    pointer_to: Any = numba.types.CPointer
    pointer = pointer_to(numba.from_dtype(state))
    if emptied:
        return numba.types.void(pointer, numba.types.uint64)
    return numba.types.uint32(pointer, pointer_to(numba.from_dtype(np.dtype(CALL))))


def native(
    name: str,
    parameters: Mapping[str, Param[Any]] | None = None,
    *,
    admit: object = None,
    dequeue: object = None,
    emptied: object = None,
    state: np.dtype[Any] | None = None,
    random: bool = False,
    about: str = "",
    source: str = "",
) -> str:
    """Makes compiled functions a queue discipline, known by its name wherever one is given. A second one of its name takes its place.

    admit(state, call), dequeue(state, call): return 0 (the packet passes), 1 (it is dropped) or 2 (it is marked, or dropped if its sender does
    not know ECN). A function is one of `numba.cfunc`, of ctypes or cffi, or an address. See `native_signature`.
    emptied(state, now): the queue was found empty.
    parameters: what users set as `name:key=value`.
    state: `native_state` of the parameters and further fields; without it the values of the parameters alone.
    random: whether each call has 64 random bits.

    They are called without Python, on any number of threads. A function that is of another signature, or that writes where it should not, may end
    the process.

    Returns the name. Raises InputError for what is no function, or a declaration that is not sound.
    """
    parameters = parameters or {}
    state = native_state(parameters) if state is None else state
    addresses = (0, _address(name, "admit", admit), _address(name, "dequeue", dequeue), _address(name, "emptied", emptied))
    declared = _native.declare_law(
        name,
        about or name,
        source,
        [parameter._declared(key) for key, parameter in parameters.items()],
        addresses,
        max(state.itemsize, 8 * len(parameters)),
        random,
    )
    _kept.extend([admit, dequeue, emptied])
    laws[name] = declared
    return name


def _address(name: str, key: str, function: Any) -> int:
    if function is None:
        return 0
    if isinstance(function, int) and not isinstance(function, bool) and function > 0:
        return function
    address = getattr(function, "address", None)
    if isinstance(address, int):
        return address
    try:
        # A function of ctypes; others cannot be cast.
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except ctypes.ArgumentError:
        pass
    # What cffi prints of a pointer to a function is the only public place of its address without its ffi.
    if found := re.match(r"<cdata '[^']*\(\*\)[^']*' (?:calling )?.*?(0x[0-9a-f]+)>", repr(function)):
        return int(found[1], 16)
    raise InputError(
        name, None, key, f"{key}: {function!r} is no compiled function; expected one of numba.cfunc, ctypes or cffi, or an address"
    )
