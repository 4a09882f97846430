"""Queue disciplines side by side on a cellular link, with user-defined components, as data frames.

>>> import qdelay
>>> results = qdelay.compare(link="10mbit", qdisc=["codel", "bode"], seeds="1..5")  # doctest: +SKIP

`compare` and `Scenario` run the simulator and return `Results`; `Run` reads the folder of an earlier run. `Aqm`, `CongestionControl`, `Source`,
`Pacer` and `Scheduler` are base classes for user-defined components; `native` takes compiled functions. `QueueEnv` is an environment of gymnasium.
`plot` draws. `Link` runs programs behind a link with real packets. Times are in seconds, rates in bit/s, sizes in bytes,
but where a name ends in another unit (`queue_delay_ms`, `throughput_mbps`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qdelay import plot
    from qdelay._compare import compare
    from qdelay._components import (
        DROP,
        MARK,
        PASS,
        Aqm,
        CongestionControl,
        Decision,
        Pacer,
        Param,
        Scheduler,
        Source,
        register,
    )
    from qdelay._laws import CALL, native, native_signature, native_state
    from qdelay._errors import AuditError, ComponentError, Error, InputError, TimeLimitError
    from qdelay._link import Link
    from qdelay._list import components, scenarios, traces
    from qdelay._merge import merge
    from qdelay._pack import pack
    from qdelay._results import Results, Run
    from qdelay._scenario import Scenario
    from qdelay.env import QueueEnv
    from qdelay.on_ray import run_on_ray

# Module of each name: a module is loaded when one of its names is used, so that `import qdelay` is
# quick.
_PLACES = {
    "Aqm": "_components",
    "AuditError": "_errors",
    "CALL": "_laws",
    "ComponentError": "_errors",
    "CongestionControl": "_components",
    "DROP": "_components",
    "Decision": "_components",
    "Error": "_errors",
    "InputError": "_errors",
    "MARK": "_components",
    "PASS": "_components",
    "Pacer": "_components",
    "Link": "_link",
    "Param": "_components",
    "QueueEnv": "env",
    "Results": "_results",
    "Run": "_results",
    "Scenario": "_scenario",
    "Scheduler": "_components",
    "Source": "_components",
    "TimeLimitError": "_errors",
    "compare": "_compare",
    "components": "_list",
    "merge": "_merge",
    "native": "_laws",
    "native_signature": "_laws",
    "native_state": "_laws",
    "pack": "_pack",
    "plot": "",
    "register": "_components",
    "run_on_ray": "on_ray",
    "scenarios": "_list",
    "traces": "_list",
}

__all__ = [
    "CALL",
    "DROP",
    "MARK",
    "PASS",
    "Aqm",
    "AuditError",
    "ComponentError",
    "CongestionControl",
    "Decision",
    "Error",
    "InputError",
    "Link",
    "Pacer",
    "Param",
    "QueueEnv",
    "Results",
    "Run",
    "Scenario",
    "Scheduler",
    "Source",
    "TimeLimitError",
    "compare",
    "components",
    "merge",
    "native",
    "native_signature",
    "native_state",
    "pack",
    "plot",
    "register",
    "run_on_ray",
    "scenarios",
    "traces",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("qdelay._native").__version__
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'qdelay' has no attribute {name!r}")
    module = importlib.import_module(f"qdelay.{place or name}")
    value = getattr(module, name) if place else module
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_PLACES, "__version__"})
