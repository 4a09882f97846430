"""User-defined components: a class for each kind, with parameters that are declared, listed and checked like built-in ones.

A component has a name (its class's in lower case, or `name`), one sentence about it (the first line of its docstring), parameters (`Param`), and
methods. A method is given what its arguments name, as plain numbers: `def dequeue(self, wait, now)` is called with the packet's waiting
time and the time, both in seconds. What each method may name stands with its class. Every case has instances of its own.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar, overload

from qdelay import _native
from qdelay._errors import InputError

if TYPE_CHECKING:
    from typing_extensions import Self

Decision = Literal["pass", "drop", "mark"]

PASS: Decision = "pass"
"""The packet passes; None means the same."""
DROP: Decision = "drop"
"""The packet is dropped; at a departure the next one is dequeued."""
MARK: Decision = "mark"
"""The packet is marked "congestion experienced" and passes, or is dropped if its sender does not support ECN."""

_V = TypeVar("_V")
_DURATION = re.compile(r"^[0-9.]+(ns|us|ms|s|min)$")
_RATE = re.compile(r"^[0-9.]+(bit|kbit|mbit|gbit)$")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}
_BITS = {"bit": 1.0, "kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


class Param(Generic[_V]):
    """A parameter of a component: `target = qdelay.Param("20ms", "longest wait", min="1us", max="10s")`.

    Users write it as `name:target=5ms`. An instance has its value: seconds of a duration ("20ms"), bit/s of a rate ("10mbit"), whole
    numbers, numbers, switches (True, False), a word of `choices`, or text (`unit="text"`).

    default: the value if the user gives none.
    about: its effect, in one sentence.
    min, max: the accepted range, in the same notation; None for no limit.
    unit: what a whole number counts ("packets"), or "bytes", or "text".
    choices: the accepted words.
    source: where the default is from: a section of a paper or an RFC.
    """

    @overload
    def __init__(self: Param[bool], default: bool, about: str = "", *, source: str = "") -> None: ...
    @overload
    def __init__(
        self: Param[int],
        default: int,
        about: str = "",
        *,
        min: int | None = None,
        max: int | None = None,
        unit: str = "",
        source: str = "",
    ) -> None: ...
    @overload
    def __init__(
        self: Param[float],
        default: float,
        about: str = "",
        *,
        min: float | None = None,
        max: float | None = None,
        source: str = "",
    ) -> None: ...
    @overload
    def __init__(self: Param[str], default: str, about: str = "", *, choices: Sequence[str], source: str = "") -> None: ...
    @overload
    def __init__(self: Param[str], default: str, about: str = "", *, unit: Literal["text"], source: str = "") -> None: ...
    @overload
    def __init__(
        self: Param[float],
        default: str,
        about: str = "",
        *,
        min: str | None = None,
        max: str | None = None,
        source: str = "",
    ) -> None: ...
    def __init__(
        self,
        default: Any,
        about: str = "",
        *,
        min: Any = None,
        max: Any = None,
        unit: str = "",
        choices: Sequence[str] = (),
        source: str = "",
    ) -> None:
        self.default, self.about, self.min, self.max = default, about, min, max
        self.unit, self.choices, self.source = unit, tuple(choices), source

    @overload
    def __get__(self, instance: None, owner: type) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type) -> _V: ...
    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else _value(self.default)

    def _declared(self, name: str) -> tuple[str, str, list[str], str, str, str, str, str]:
        words: list[str] = []
        if wrong := self._wrong():
            raise InputError(name, None, name, f"{name}: {wrong}")
        if self.choices:
            unit, words = "choice", list(self.choices)
        elif isinstance(self.default, bool):
            unit = "switch"
        elif isinstance(self.default, int):
            unit, words = ("bytes", []) if self.unit == "bytes" else ("count", [self.unit])
        elif isinstance(self.default, float):
            unit = "number"
        elif isinstance(self.default, str) and self.unit == "text":
            unit = "text"
        elif isinstance(self.default, str) and _DURATION.match(self.default):
            unit = "duration"
        elif isinstance(self.default, str) and _RATE.match(self.default):
            unit = "rate"
        else:
            raise InputError(
                name,
                None,
                name,
                f"{name}: the default {self.default!r} has no type; expected a duration (\"20ms\"), a rate (\"10mbit\"), a number, a switch, "
                'choices=, or unit="text"',
            )
        default, least, largest = _text(self.default), _text(self.min), _text(self.max)
        return name, unit, words, default, least, largest, self.about, self.source


    def _wrong(self) -> str | None:
        """Argument that contradicts the type of the default, and the expected one."""
        given, unit = self.default, self.unit
        if not isinstance(self.about, str):
            return f"what it does is a sentence, and a range has names; expected Param({given!r}, \"what it does\", min=..., max={self.about!r})"
        is_number = isinstance(given, (int, float)) and not isinstance(given, bool)
        if is_number and unit in (*_SECONDS, *_BITS):
            return f"a duration or a rate is text with its unit; expected Param(\"{given}{unit}\", ...), without unit="
        if unit and not isinstance(given, int) and not (isinstance(given, str) and unit == "text"):
            return f"unit={unit!r} is for whole numbers, or \"text\" for text; expected Param({given!r}, ...) without it"
        limits = [limit for limit in (self.min, self.max) if limit is not None]
        if is_number and any(isinstance(limit, str) for limit in limits):
            return f"min and max are of the default's type; expected numbers as {given!r}, or a default with a unit as {limits[0]!r}"
        if isinstance(given, str) and any(not isinstance(limit, str) for limit in limits):
            return f"min and max are in the default's notation; expected text with a unit as {given!r}, such as min=\"1ms\""
        if self.choices and given not in self.choices:
            return f"the default {given!r} is not among choices={list(self.choices)!r}; expected one of them"
        return None


def _value(default: Any) -> Any:
    if isinstance(default, str):
        for pattern, factors in ((_DURATION, _SECONDS), (_RATE, _BITS)):
            if found := pattern.match(default):
                return float(default[: found.start(1)]) * factors[found[1]]
    return default


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


class _Component:
    """Base class of all components. `name` is the name that users write; `source` the paper, RFC or program that it implements."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    _role: ClassVar[str] = ""
    _kind: ClassVar[str] = ""
    _methods: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def _of(cls, parameters: Mapping[str, object]) -> Self:
        """Makes an instance with these values, as the simulator does; `__init__` can read them."""
        instance = cls.__new__(cls)
        # Parameters of TCP are left out, because the class has not declared them.
        own = {name: value for name, value in parameters.items() if isinstance(getattr(cls, name, None), Param)}
        vars(instance).update(own)
        instance.__init__()  # type: ignore[misc]
        return instance

    @classmethod
    def component_name(cls) -> str:
        """The name that users write: `name`, or that of the class: `EveryHundredth` is every_hundredth."""
        return vars(cls).get("name") or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


class Aqm(_Component):
    """Queue discipline over a single first-in first-out queue: decides which arriving and leaving packets are dropped or marked.

    admit(self, ...): a packet has arrived and there is room for it; `packets` and `bytes` are in the queue before it. Without this method
    every packet is admitted.
    dequeue(self, ...): the packet at the head shall leave; `packets` and `bytes` are in the queue behind it. Without it every packet leaves.
    Both return PASS (or None), DROP or MARK.
    timer(self, ...): called at the beginning, and again after the seconds that it returns; None: never again.

    Arguments: `now` time, s; `wait` of the packet in this queue, s (dequeue); `size` IP bytes; `flow` number; `dscp`; `ecn` whether it may
    be marked; `packets`, `bytes` the backlog; `random` a number from 0 to 1, drawn from the stream of the queue (not of timer).

    Its `limit` (packets, 1000) is declared already, and applies before `admit` is asked. Drops and marks are counted under its name.
    """

    _role = "aqm"
    _kind = "qdisc"
    _methods = ("admit", "dequeue", "timer")


class CongestionControl(_Component):
    """Congestion control of TCP: decides the window; loss detection, recovery, timers and acknowledgements are those of the simulator's TCP.

    ack(self, ...): an acknowledgement has come, outside of recovery. Returns the window in segments, which may have a fraction; None: no change.
    loss(self, ...): recovery begins. Returns the slow start threshold to fall to, segments; without this method half of the window.
    pacing(self, ...): after each `ack`. Returns the rate to pace at, bit/s; None: the pacing of the profile.

    Arguments: `now`, s; `cwnd`, `ssthresh`, segments; `acked`, `lost`, segments, by this acknowledgement; `in_flight`, segments; `rtt` of this
    acknowledgement, `srtt`, `min_rtt`, s, or None where not known; `rate` at which segments are delivered, bit/s, or None; `segment`, bytes
    of data; `limited`: whether the window, and not the application, limits what is sent.
    """

    _role = "control"
    _kind = "transport"
    _methods = ("ack", "loss", "pacing")


class Source(_Component):
    """A source of datagrams.

    next(self, ...): returns the seconds from the datagram before (or from the start) to the next one, and its IP bytes (28 to 65535); None: no
    more.

    Arguments: `now`: the time of the datagram before since the flow began, s; `random`: a number from 0 to 1 of the flow's stream.
    """

    _role = "source"
    _kind = "transport"
    _methods = ("next",)


class Pacer(_Component):
    """Pacer: decides when a packet may pass to the buffer of a radio bearer.

    eligible(self, ...): whether the packet at the head, of `size` bytes, may go. Returns True (at once), the seconds to wait, or None (until a
    signal has come). It may be asked any number of times for one packet.
    forwarded(self, ...): a packet of `size` bytes has gone.
    served(self, ...): a TTI has served the bearer: `capacity` it could have sent, `sent` it did, `bytes` and `packets` are left in the buffer.
    dequeued(self, ...), remaining(self, ...), opportunity(self, ...), refused(self): the other signals of a path: `bytes` have left, `bytes`
    are left, the link could send `capacity` bytes, the node below takes no more.

    Arguments: `now`, s, of all; the others as named, in bytes and packets.
    """

    _role = "pacer"
    _kind = "pacer"
    _methods = ("eligible", "forwarded", "served", "dequeued", "remaining", "opportunity", "refused")


class Scheduler(_Component):
    """A MAC scheduler: in each TTI the UE with the highest rank is given as many resource block groups as its data needs, then the next one.

    rank(self, ...): the rank of the UE `ue` (a number from 0), which has `bytes` to receive; the whole carrier would carry `rate_bytes` for it.
    begin(self, ...): the TTI number `tti` begins. TTIs without data are left out.
    carried(self, ...): `bytes` were sent to the UE `ue`.
    start(self, ...): the cell begins, with `ues` UEs.

    Arguments: also `tti` (number), and `now`, s (begin).
    """

    _role = "scheduler"
    _kind = "scheduler"
    _methods = ("rank", "begin", "carried", "start")


_ARRIVALS = ("admit", "which is asked about each packet that arrives")
_DEPARTURES = ("dequeue", "which is asked about each packet that is to leave")
_ACKS = ("ack", "which is called for each acknowledgement, and returns the window")
_LOSSES = ("loss", "which is called when recovery begins, and returns the slow start threshold")
# Methods of other frameworks' components, and the methods that were probably meant.
_MEANT: dict[str, dict[str, tuple[str, str]]] = {
    "aqm": {
        **dict.fromkeys(("enqueue", "on_enqueue", "on_arrival", "arrive"), _ARRIVALS),
        **dict.fromkeys(("on_dequeue", "on_departure"), _DEPARTURES),
    },
    "control": {**dict.fromkeys(("on_ack", "cong_avoid", "cong_control"), _ACKS), **dict.fromkeys(("on_loss", "ssthresh"), _LOSSES)},
}

_C = TypeVar("_C", bound=type[_Component])
# Laws of compiled functions, by name (`_laws.py`).
laws: dict[str, _native.Component] = {}
# Registered classes, by kind and name.
_registered: dict[tuple[str, str], tuple[type[_Component], _native.Component]] = {}


def register(component: _C) -> _C:
    """Registers a component under its name, for scenarios and all arguments; a later registration replaces an earlier one. Also a decorator.

    To name the class itself in `compare(qdisc=[...])` registers it too.

    Raises InputError for a name that is taken, a parameter that is not sound, or a method with an argument that there is not.
    """
    if not (isinstance(component, type) and issubclass(component, _Component) and component._role):
        if isinstance(component, _Component):
            name = component.component_name()
            meant = f"is an instance; expected the class, of which every case makes its own, or text with parameters such as '{name}:key=value'"
        else:
            meant = "is no component; expected a subclass of qdelay.Aqm, CongestionControl, Source, Pacer or Scheduler"
        raise InputError("register", None, None, f"{component!r} {meant}")
    name = component.component_name()
    key = (component._kind, name)
    if key in _registered and _registered[key][0] is component:
        return component
    parameters = {
        name: value for base in reversed(component.__mro__) for name, value in vars(base).items() if isinstance(value, Param)
    }
    methods = [(method, _arguments(component, method)) for method in component._methods if hasattr(component, method)]
    for other, (known, what) in _MEANT.get(component._role, {}).items():
        if hasattr(component, other) and not hasattr(component, known):
            raise InputError(name, None, other, f"{other}: is never called; expected '{known}', {what}")
    if not methods:
        raise InputError(name, None, None, f"has no method; expected some of {', '.join(component._methods)}")
    about = (inspect.getdoc(component) or name).splitlines()[0].rstrip(".") if component.__doc__ else name
    declared = _native.declare(
        component,
        component._role,
        name,
        about,
        component.source,
        [parameter._declared(name) for name, parameter in parameters.items()],
        methods,
    )
    _registered[key] = (component, declared)
    return component


def _arguments(component: type[_Component], method: str) -> list[str]:
    names = []
    function = inspect.getattr_static(component, method)
    first = 0 if isinstance(function, staticmethod) else 1
    for parameter in list(inspect.signature(getattr(component, method)).parameters.values())[first if not isinstance(function, classmethod) else 0 :]:
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise InputError(
                component.component_name(), None, method, f"{method}: the argument '{parameter}' has no name of its own; expected plain arguments"
            )
        # Arguments with a default belong to the class itself.
        if parameter.default is parameter.empty:
            names.append(parameter.name)
    return names


def declared() -> list[_native.Component]:
    """All registered components."""
    return [*(declared for _, declared in _registered.values()), *laws.values()]


def named_in(text: str) -> list[type[_Component]]:
    """Registered components whose names occur in the text."""
    words = set(re.findall(r"[A-Za-z0-9_-]+", text))
    return [component for (_, name), (component, _) in _registered.items() if name in words]


def name_of(item: str | type[_Component]) -> str:
    """Text that names a component; a class is registered."""
    return item if isinstance(item, str) else register(item).component_name()
