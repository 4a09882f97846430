"""Lists of components, traces and scenarios by name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from qdelay import _native
from qdelay._components import declared
from qdelay._errors import InputError

if TYPE_CHECKING:
    import polars as pl


def components(kind: str | None = None) -> pl.DataFrame:
    """Every parameter of every component, including registered ones: kind, name, about, source, and for each parameter its key,
    unit, default, range and meaning. A component without parameters has one row. `kind`: "qdisc", "transport", "pacer", "scheduler"...
    """
    import polars as pl

    rows = []
    listed = json.loads(_native.components_json(declared()))["components"]
    kinds = sorted({component["kind"] for component in listed})
    if kind is not None and kind not in kinds:
        raise InputError("kind", None, None, f"{kind!r}: no such kind of component; expected one of {', '.join(kinds)}")
    for component in listed:
        if kind not in (None, component["kind"]):
            continue
        head = {"kind": component["kind"], "name": component["name"], "about": component["about"], "source": component["source"]}
        for parameter in component["parameters"] or [{}]:
            keys = ("unit", "default", "min", "max")
            own = {"key": parameter.get("name"), **{key: parameter.get(key) for key in keys}, "meaning": parameter.get("about")}
            rows.append({**head, **own})
    return pl.DataFrame(rows, infer_schema_length=None)


def traces() -> pl.DataFrame:
    """The shipped traces with their statistics: rates in Mbit/s, times in seconds (docs/traces.md)."""
    import polars as pl

    rows = json.loads(_native.traces_json())["traces"]
    flat = [
        {
            **{key: value for key, value in row.items() if not isinstance(value, dict)},
            **{f"{key}.{name}": number for key, of in row.items() if isinstance(of, dict) for name, number in of.items()},
        }
        for row in rows
    ]
    return pl.DataFrame(flat, infer_schema_length=None)


def scenarios() -> list[str]:
    """The names of the shipped scenarios, for `Scenario(name)`."""
    return _native.scenarios()
