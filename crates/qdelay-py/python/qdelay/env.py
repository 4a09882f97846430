"""A queue as an environment of gymnasium: an agent that sets parameters of a queue discipline, or a sender's window, while packets pass.

    import qdelay

    env = qdelay.QueueEnv(
        trace="synth-lte-driving",
        qdisc="bode",
        transport="cubic",
        actions={"qdisc.target": ("2ms", "200ms")},
        reward=lambda seen: seen.rate_mbps / seen.capacity_mbps - seen.queue_delay_ms / 100 if seen.capacity_mbps else 0.0,
    )
    observation, info = env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

Importing it needs the package `gymnasium` (`pip install qdelay[learn]`), and registers the environment as `qdelay/Queue-v0`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from qdelay import _native
from qdelay._components import declared
from qdelay._errors import InputError
from qdelay._running import Time, time_text

__all__ = ["Observation", "QueueEnv", "score"]

Array = NDArray[np.float32]


class Observation(NamedTuple):
    """Observations at the bottleneck in one step."""

    queue_delay_ms: float
    """Mean queueing delay of the packets that left; without departures, the waiting time of the first packet."""
    backlog_packets: int
    """Packets in the queue at the end of the step."""
    backlog_bytes: int
    """Bytes in the queue at the end of the step."""
    rate_mbps: float
    """Rate of departures from the link."""
    capacity_mbps: float
    """Capacity of the link. A real discipline does not know the capacity: by default only rewards use it."""
    drops: int
    """Packets dropped by the queue."""
    marks: int
    """Packets marked by the queue."""
    rtt_ms: float
    """Mean of the flows' smoothed round-trip times; 0 before the first sample."""
    over: bool
    """True at the end of the run."""


Reward = Callable[[Observation], SupportsFloat]

_SPACE = {name: index for index, name in enumerate(Observation._fields) if name != "over"}
_TIMES = ("duration", "warmup", "rtt", "jitter")
_SEEN = ("queue_delay_ms", "backlog_packets", "rate_mbps", "drops")


def score(seen: Observation) -> float:
    """Default reward: used share of the capacity, minus 0.1 for each 10 ms of delay."""
    used = min(seen.rate_mbps / seen.capacity_mbps, 1.0) if seen.capacity_mbps > 0 else 0.0
    return used - seen.queue_delay_ms / 100


class QueueEnv(gymnasium.Env[Array, Array]):
    """One bottleneck and its flows. An episode is one run of the simulator, on one of the traces or links.

    Each of `actions` is a parameter that changes, with its least and largest value: `qdisc.NAME` for a parameter of the discipline, which
    must be one that takes new parameters without losing its state (bode, codel, pie, taildrop); `control.window` (segments) and
    `control.rate` (of pacing) for flows with transport="driven". An action is an array of numbers from 0 to 1: 0 is the smallest value, 1
    the largest, and between them values are spaced by equal factors where the least is above 0, else by equal differences (`value` says
    which value that is).

    `seen` are the fields of `Observation` that the agent is shown. `reward` gets all of them after each step.

    All else is as for `qdelay.compare`: `rtt="40ms"`, `rtt=0.04`, `flows=2`, `limit=500`... An episode is truncated when its `duration` is over; it is
    never terminated. With the same seed and the same actions it is the same. `reset` draws trace, discipline and transport among those given,
    and the seed of the run (its place on the trace, its random draws); `options={"case": 3}` chooses the former.
    """

    metadata: dict[str, Any] = {"render_modes": []}

    def __init__(
        self,
        *,
        actions: Mapping[str, tuple[object, object]],
        reward: Reward | None = None,
        seen: str | Sequence[str] = _SEEN,
        step: Time = "10ms",
        link: str | Iterable[str] = (),
        trace: str | Iterable[str] = (),
        qdisc: str | Iterable[str] = "bode",
        transport: str | Iterable[str] = "cubic",
        duration: Time = "20s",
        starts: str = "random",
        render_mode: None = None,
        **options: object,
    ) -> None:
        seen = (seen,) if isinstance(seen, str) else seen
        unknown = [name for name in seen if name not in _SPACE]
        if unknown or not seen:
            named = f"'{unknown[0]}'" if unknown else "nothing"
            raise InputError("seen", None, None, f"{named} is given; expected names of {', '.join(_SPACE)}")
        self.render_mode = render_mode
        self._arguments = {
            "actions": dict(actions), "reward": reward, "seen": tuple(seen), "step": step, "link": _list(link), "trace": _list(trace),
            "qdisc": _list(qdisc), "transport": _list(transport), "duration": duration, "starts": starts, **options,
        }  # fmt: skip
        words = []
        axes = {"link": link, "trace": trace, "qdisc": qdisc, "transport": transport}
        for name, given in axes.items():
            words += [f"--{name}={item}" for item in _list(given)]
        given = {"duration": duration, "starts": starts, "warmup": "0s", **options}
        for name, value in given.items():
            value = time_text(value, name) if name in _TIMES else value
            option = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif value is not False:
                words.append(f"{option}={value}")
        bounds = [(name, str(low), str(high)) for name, (low, high) in actions.items()]
        self._stepper = _native.Stepper(words, declared(), time_text(step, "step") or "10ms", bounds)
        self._reward: Reward = score if reward is None else reward
        places: list[Any] = [_SPACE[name] for name in seen]
        # With one place, itemgetter returns a number instead of a tuple, so a single field is a slice.
        self._pick: Any = itemgetter(*places) if len(places) > 1 else itemgetter(slice(places[0], places[0] + 1))
        self.actions = tuple(actions)
        self.observation_space = Box(0.0, float(np.finfo(np.float32).max), (len(seen),), np.float32)
        self.action_space = Box(0.0, 1.0, (len(self.actions),), np.float32)

    def __len__(self) -> int:
        """Number of cases: traces or links, disciplines and transports, crossed."""
        return len(self._stepper)

    def value(self, name: str, share: float) -> float:
        """Value of the action `name` for a `share` of 0 to 1: seconds, bit/s, bytes or a number."""
        return self._stepper.value(self.actions.index(name), share)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Array, dict[str, Any]]:
        """Begins an episode, and returns the observation at its start; `info` has the case, the seed of its run and all fields."""
        super().reset(seed=seed)
        case = int(self.np_random.integers(len(self._stepper)))
        run_seed = int(self.np_random.integers(2**32))
        case = int((options or {}).get("case", case))
        seen = Observation._make(self._stepper.reset(case, run_seed))
        return self._shown(seen), {"case": case, "seed": run_seed, "all": seen}

    def step(self, action: Array | Sequence[float] | float) -> tuple[Array, SupportsFloat, bool, bool, dict[str, Any]]:
        """Sets the parameters, advances by a step, and returns observation, reward, False, end of the episode, and all fields."""
        # Actions may also be a list, or a number for one action.
        shares = action.tolist() if isinstance(action, np.ndarray) and action.ndim else np.asarray(action, float).ravel().tolist()
        seen = Observation._make(self._stepper.step(*shares))
        return self._shown(seen), float(self._reward(seen)), False, seen.over, {"all": seen}

    def figures(self) -> dict[str, float]:
        """Runs to the end of the episode without further actions, and returns figures of all of it."""
        return self._stepper.finish()

    def _shown(self, seen: Observation) -> Array:
        return np.array(self._pick(seen), np.float32)

    def __reduce__(self) -> tuple[Callable[..., QueueEnv], tuple[dict[str, Any]]]:
        # A copy starts a new episode: the episode in progress stays here.
        return _again, (self._arguments,)


def _again(arguments: dict[str, Any]) -> QueueEnv:
    return QueueEnv(**arguments)


def _list(given: str | Iterable[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


gymnasium.register("qdelay/Queue-v0", entry_point="qdelay.env:QueueEnv")
