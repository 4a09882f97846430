"""Queue disciplines whose decisions are compiled functions: of numba, cffi or ctypes, called without Python."""

from __future__ import annotations

import ctypes
import re
from _ctypes import CFuncPtr
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

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
"""Fields of `qdelay_call` in qdelay_component.h, the input of a law at each call, in the form of numpy's dtype. Times are in nanoseconds."""

# Compiled functions must live as long as they may be called.
_kept: list[object] = []


class Law(NamedTuple):
    """Arguments of `native`."""

    parameters: Mapping[str, Param[Any]]
    functions: dict[str, Any]
    state: Any
    random: bool
    about: str
    source: str
    classifies: str


# Laws by name.
_given: dict[str, Law] = {}


def native_state(parameters: Mapping[str, Param[Any]], fields: Mapping[str, str] | None = None) -> np.dtype[Any]:
    """Dtype of a law's state: the value of each parameter as a double (durations in nanoseconds, rates in bit/s), then `fields`, each
    with a type of numpy ("i8", "f8"), which are 0 at the start."""
    import numpy as np

    own = [(name, "f8") for name in parameters]
    return np.dtype([*own, *(fields or {}).items()], align=True)


def native_signature(state: np.dtype[Any], *, emptied: bool = False) -> Any:
    """Signature of a decision for `numba.cfunc`; with `emptied`, of the function of this name. The function receives the addresses of
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
    classifies: str = "",
) -> str:
    """Registers compiled functions as a queue discipline under a name. A later registration of the name replaces an earlier one.

    admit(state, call), dequeue(state, call): return 0 (the packet passes), 1 (it is dropped) or 2 (it is marked, or dropped if its sender does
    not know ECN). A function is one of `numba.cfunc`, of ctypes or cffi, or an address. See `native_signature`.
    emptied(state, now): the queue was found empty.
    parameters: what users set as `name:key=value`.
    state: `native_state` of the parameters and further fields; without it the values of the parameters alone.
    random: whether each call has 64 random bits.
    classifies: what the law tells packets apart by besides their size and ECN field, such as "flow"; empty for nothing.

    They are called without Python, on any number of threads. A function that is of another signature, that writes where it should not or that does not
    return within 10 s ends the process.

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
        classifies,
    )
    functions = {"admit": admit, "dequeue": dequeue, "emptied": emptied}
    _given[name] = Law(parameters, functions, state, random, about, source, classifies)
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
        # Only functions of ctypes can be cast.
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except ctypes.ArgumentError:
        pass
    # cffi shows the address of a function only in the text of the pointer, unless its ffi object is
    # at hand.
    if found := re.match(r"<cdata '[^']*\(\*\)[^']*' (?:calling )?.*?(0x[0-9a-f]+)>", repr(function)):
        return int(found[1], 16)
    raise InputError(
        name, None, key, f"{key}: {function!r} is no compiled function; expected one of numba.cfunc, ctypes or cffi, or an address"
    )


def laws_in(text: str) -> list[str]:
    """Names of the laws that occur in the text."""
    words = set(re.findall(r"[A-Za-z0-9_-]+", text))
    return [name for name in laws if name in words]


def sent(names: Iterable[str]) -> list[tuple[str, Law]]:
    """Description of these laws for another process (`taken`): functions of numba by their source, others by their file.

    Raises InputError for a function that is in this process alone.
    """
    return [(name, law._replace(functions={key: _sent(name, key, one) for key, one in law.functions.items()})) for name, law in _of(names)]


def taken(sent: Iterable[tuple[str, Law]]) -> None:
    """Registers the laws of another process here."""
    for name, law in sent:
        functions: dict[str, Any] = {key: _taken(one) for key, one in law.functions.items()}
        native(
            name,
            law.parameters,
            **functions,
            state=law.state,
            random=law.random,
            about=law.about,
            source=law.source,
            classifies=law.classifies,
        )


def given(name: str) -> Law:
    """Origin of a law."""
    return _given[name]


def _of(names: Iterable[str]) -> list[tuple[str, Law]]:
    return [(name, given(name)) for name in names]


class Code(NamedTuple):
    """Origin of a compiled function: `numba`, its Python function and its signature; or `file`, its path and the symbol."""

    how: str
    where: Any
    which: Any
    options: Any = None


def code_of(function: Any) -> Code | None:
    """Origin of a compiled function; None for other values, and for functions that only this process has."""
    if type(function).__module__.startswith("numba."):
        source = getattr(function, "py_func", None) or getattr(function, "__wrapped__", None)
        options = getattr(function, "targetoptions", None) or getattr(getattr(function, "_compiler", None), "targetoptions", None)
        return None if source is None else Code("numba", source, getattr(function, "_sig", None), options)
    is_address = isinstance(function, int) and not isinstance(function, bool)
    if not (is_address or isinstance(function, CFuncPtr) or type(function).__module__ == "_cffi_backend"):
        return None
    try:
        place = _place(address := _address("", "", function))
    except InputError:
        return None
    if place is None or not place.symbol or place.address != address:
        return None
    return Code("file", place.file.decode(), place.symbol.decode())


class _Place(ctypes.Structure):
    """File and symbol of an address: `Dl_info` of dladdr."""

    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p)]


def _place(address: int) -> _Place | None:
    place = _Place()
    find = ctypes.CDLL(None).dladdr
    find.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
    return place if find(address, ctypes.addressof(place)) and place.file else None


def _sent(name: str, key: str, function: Any) -> Code | None:
    if function is None:
        return None
    code = code_of(function)
    if code is None:
        raise InputError(
            name,
            None,
            key,
            f"{key}: {function!r} is in this process alone, and cases of several jobs run in others; expected a function of numba.cfunc or one "
            "that a shared object exports, or jobs=1",
        )
    return code


def _taken(sent: Code | None) -> object:
    if sent is None:
        return None
    if sent.how == "file":
        return getattr(ctypes.CDLL(sent.where), sent.which)
    import numba

    return numba.cfunc(sent.which)(sent.where)
