"""Digests of components: a folder of results is not continued with a class or a compiled function that has changed.

A component has parts: each class, function, global and value that its code reaches, and the versions of Python and of the packages that it
uses. The digest is of what runs, not of a file: of bytecode and values as they are in this process. A comment changes nothing; a
docstring does. Modules outside of the standard library and of site-packages are followed as far as names of them are used.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from qdelay._components import _Component, laws, named_in
from qdelay._laws import given, laws_in
from qdelay._origins import follow_package
from qdelay._parts import Parts


def parts_of(component: type[_Component] | str) -> dict[str, str]:
    """The parts of a registered class, or of the law of this name, each with its SHA-256, its version, or `UNKNOWN` and why."""
    return _read(component).told()


def draws_of(component: type[_Component] | str) -> list[str]:
    """Places where its code uses random numbers outside the seed, or a clock: "random.random in own.Bound.dequeue"."""
    return sorted(_read(component).draws)


def components_in(text: str) -> dict[str, dict[str, str]]:
    """Parts of all user-defined components named in the text, by component name."""
    found = _components_in(text)
    for name, parts in found.items():
        for part, digest in parts.items():
            after, first = _changed_by_runs.get((name, part), ("", ""))
            if after == digest:
                parts[part] = first
    return found


def _components_in(text: str) -> dict[str, dict[str, str]]:
    named = [(component.component_name(), component) for component in named_in(text)]
    all_: list[tuple[str, type[_Component] | str]] = [*named, *((name, name) for name in laws_in(text))]
    found = {}
    for name, component in all_:
        packed, parts = _packed.get(name, (None, {}))
        found[name] = dict(parts) if packed is _made(component) else parts_of(component)
    return found


# Components from archives by name, with the parts that they were packed with: unpickled code has
# other places.
_packed: dict[str, tuple[object, Mapping[str, str]]] = {}


def assume(components: Mapping[str, Mapping[str, str]]) -> None:
    """Sets the parts of the registered components of these names, until they are replaced."""
    for name, parts in components.items():
        all_: list[type[_Component] | str] = [*named_in(name), *laws_in(name)]
        for component in all_:
            _packed[name] = (_made(component), parts)


def _made(component: type[_Component] | str) -> object:
    """Object that a new registration of the same name replaces."""
    return laws[component] if isinstance(component, str) else component


def modules_of(components: Iterable[type[_Component] | str]) -> list[types.ModuleType]:
    """Modules of the user that components reach."""
    found = {id(module): module for component in components for module in _read(component).modules()}
    return sorted(found.values(), key=lambda module: module.__name__)


# Parts that a run itself has changed, such as a log list of the class: by component and part, the
# digest after the run and the one
# that the run began with.
_changed_by_runs: dict[tuple[str, str], tuple[str, str]] = {}


@contextmanager
def followed(text: str) -> Iterator[dict[str, dict[str, str]]]:
    """Parts of all user-defined components named in the text. Changes made by a run inside do not count as another version."""
    begun = components_in(text)
    try:
        yield begun
    finally:
        for name, parts in _components_in(text).items():
            for part, digest in parts.items():
                first = begun.get(name, {}).get(part)
                if first is not None and first != digest:
                    _changed_by_runs[name, part] = (digest, first)


def _read(component: type[_Component] | str) -> Parts:
    parts = Parts()
    if isinstance(component, str):
        parts.add_law(component, given(component))
    else:
        follow_package(component.__module__)
        parts.refer(component)
    parts.follow()
    return parts
