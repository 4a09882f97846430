"""Check before a study for components that draw random numbers outside the seed, or read a clock: a repeated case gives other figures."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from qdelay._components import _Component, named_in
from qdelay._digests import draws_of
from qdelay._errors import Error, InputError
from qdelay._laws import laws_in

if TYPE_CHECKING:
    from qdelay._native import Study

# Figures that a message names first.
_SHOWN = ("queue_delay_ms.mean", "throughput_mbps", "drops")


def check_repeats(study: Study, text: str, spec: tuple[Any, ...], limit_s: float, unverified: bool) -> dict[str, str]:
    """Runs a case twice in a process of its own, for each component whose code reaches a source of such numbers.

    Raises InputError where the figures differ; with `unverified` it is a warning, and the result has the sources by component.
    """
    found: dict[str, str] = {}
    components = named_in(text)
    all_: list[type[_Component] | str] = [*components, *laws_in(text)]
    for component in all_:
        draws = draws_of(component)
        if not draws:
            continue
        name = component if isinstance(component, str) else component.component_name()
        differing = _differing(study, components, laws_in(text), spec, limit_s, _case_of(study, name))
        if differing is None:
            continue
        message = (
            f"{name} gives other figures when the same case is run again ({differing}): it reaches {', '.join(draws)}; expected the "
            "arguments 'random', drawn from the seed, and 'now', the simulated time"
        )
        if not unverified:
            raise InputError(name, None, None, f"{message}, or unverified=True to run it all the same")
        warnings.warn(f"{message}: no figure of it can be had again", UserWarning, stacklevel=4)
        found[name] = ", ".join(draws)
    return found


def _case_of(study: Study, name: str) -> int:
    """The first case with the component."""
    axes, index = study.axes, 0
    for place, (_, labels) in enumerate(axes):
        for at, label in enumerate(labels):
            if name in label.replace(":", " ").replace("@", " ").replace("+", " ").replace("[", " ").replace("]", " ").split():
                return index + at * math.prod(len(inner) for _, inner in axes[place + 1 :])
    return index


def _differing(study: Study, components: list[Any], laws: list[str], spec: tuple[Any, ...], limit_s: float, index: int) -> str | None:
    """The first figure that differs, with both values."""
    from qdelay._pool import Pool

    try:
        pool = Pool(components, laws, spec, 1, limit_s, study)
    except InputError:
        # The function exists only in this process.
        return None
    try:
        first, second = (dict(_figures(json.loads(pool(index, None)))) for _ in range(2))
    except Error:
        # The run itself will report the error.
        return None
    finally:
        pool.close()
    if first == second:
        return None
    for path in [*_SHOWN, *sorted({*first, *second})]:
        if first.get(path) != second.get(path):
            return f"{path} {first.get(path)} and {second.get(path)}"
    return None


def _figures(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _figures(part, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _figures(part, f"{path}.{place}")
    else:
        yield path, value
