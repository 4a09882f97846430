"""Archives of the inputs of a results folder, with user-defined components, which run again to the same bytes."""

from __future__ import annotations

import inspect
import json
import pickle
import platform
import sys
import types
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from qdelay import _digests, _native
from qdelay._components import declared, named_in, register
from qdelay._errors import Error, InputError
from qdelay._laws import code_of, given, laws_in, sent, taken
from qdelay._origins import is_compiled, name_of, version_of
from qdelay._running import paths_of

_FILE = "components.pickle"


def pack(
    folder: str | PathLike[str],
    out: str | PathLike[str],
    *,
    traces: str | PathLike[str] | Iterable[str | PathLike[str]] = (),
    allow_native: bool = False,
) -> list[str]:
    """Packs the inputs of a results folder into one file, as `qdelay pack` does, and returns the names of the packed files: scenario with its
    seeds, traces that are not shipped, shared objects, versions, digests of the results, and user-defined components by value, with their
    sources to read. `Scenario(out, allow_native=True).run(...)` or `python -m qdelay run OUT --allow-native` runs it to the same bytes, with
    the same versions of Python and of the packages.

    folder: of a run that has ended. User-defined components that it names must be registered, as they were then.
    traces: folders in which recorded traces are looked for.
    allow_native: whether the scenario may name shared objects, as for `Scenario`.

    Raises InputError for what cannot be packed: a component that has changed since, that is in compiled code or reads a file, a trace that is
    not there, results of another clock.
    """
    place = fspath(folder)
    try:
        recorded = json.loads((Path(folder) / "study.json").read_text(encoding="utf-8")).get("components", {})
    except (OSError, ValueError):
        # The engine reports the error.
        recorded = {}
    extra = _components(place, recorded) if recorded else {}
    return _native.pack(place, fspath(out), declared(), paths_of(traces), allow_native, extra)


def _components(place: str, recorded: Mapping[str, Mapping[str, str]]) -> dict[str, bytes]:
    """The files of these components."""
    text = " ".join(recorded)
    now = _digests.components_in(text)
    for name, parts in recorded.items():
        if name not in now:
            raise InputError(place, None, None, f"holds results of '{name}', which is not registered; expected qdelay.register of its class before")
        for part in sorted({*parts, *now[name]}):
            if parts.get(part) != now[name].get(part):
                raise InputError(place, None, None, f"holds results of '{name}' before '{part}' was changed; expected it as it was")
    _refuse_compiled(place, text)
    modules = _modules(text)
    with _by_value(modules):
        import cloudpickle

        payload = {"python": platform.python_version(), "components": named_in(text), "laws": sent(laws_in(text))}
        try:
            pickled = cloudpickle.dumps(payload)
        except Exception as error:
            raise InputError(place, None, None, f"{text} cannot be packed: {error}; expected components that can be pickled") from error
    return {_FILE: pickled, **_sources(modules)}


def _refuse_compiled(place: str, text: str) -> None:
    for name in laws_in(text):
        for key, function in given(name).functions.items():
            code = None if function is None else code_of(function)
            if code is not None and code.how == "file":
                message = f"'{name}.{key}' is in {code.where}, compiled code of this machine; expected a function of numba, or a shared object that the scenario names"
                raise InputError(place, None, None, message)
    for module in _modules(text):
        if is_compiled(module):
            message = f"'{module.__name__}' is compiled code of this machine; expected components whose modules are of Python"
            raise InputError(place, None, None, message)


def _modules(text: str) -> list[types.ModuleType]:
    """Modules of the user that components reach."""
    return _digests.modules_of([*named_in(text), *laws_in(text)])


@contextmanager
def _by_value(modules: Iterable[types.ModuleType]) -> Iterator[None]:
    """Context in which these modules are pickled by value instead of by name."""
    import cloudpickle

    known = cloudpickle.list_registry_pickle_by_value()
    mine = [module for module in modules if module.__name__ != "__main__" and module.__name__ not in known]
    for module in mine:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in mine:
            cloudpickle.unregister_pickle_by_value(module)


def _sources(modules: Iterable[types.ModuleType]) -> dict[str, bytes]:
    """The texts of modules, for people to read."""
    found = {}
    for module in modules:
        try:
            found[f"sources/{name_of(module).replace('.', '/')}.py"] = inspect.getsource(module).encode()
        except (OSError, TypeError):
            # Classes of a notebook exist only in the pickle.
            continue
    return found


def opened(path: str | PathLike[str], allow_native: bool) -> _native.Archive | None:
    """The archive at `path`, with its components registered; None where it is no archive."""
    archive = _native.Archive.open(fspath(path))
    file = None if archive is None else Path(archive.scenario).with_name(_FILE)
    if archive is None or file is None or not file.exists():
        return archive
    place = fspath(path)
    if not allow_native:
        message = (
            f"has components of Python ({', '.join(archive.components)}), whose code would run with all rights of this program; expected "
            "allow_native=True (--allow-native) if you trust this file"
        )
        raise InputError(place, None, None, message)
    _check_versions(place, archive.components)
    payload: dict[str, Any] = pickle.loads(file.read_bytes())
    for component in payload["components"]:
        register(component)
    taken(payload["laws"])
    _digests.assume(archive.components)
    return archive


def _check_versions(place: str, components: Mapping[str, Mapping[str, str]]) -> None:
    """Refuses other versions, which would run other code."""
    for parts in components.values():
        for part, version in parts.items():
            here = platform.python_version() if part == "python" else version_of(part.removeprefix("package ")) if part.startswith("package ") else version
            if here != version:
                raise InputError(place, None, None, f"was made with {part} {version}, and here is {here}; expected the same version")


def check_same(archive: _native.Archive, out: str | PathLike[str]) -> None:
    """Raises Error if the results in a folder differ from the packed ones."""
    differing = archive.differing(fspath(out))
    if differing:
        raise Error(f"{len(differing)} files of the results differ from the packed ones: {', '.join(differing[:4])}")


def run_command(arguments: list[str]) -> int:
    """`qdelay run` of an archive with components of Python, with these arguments; the exit status."""
    import argparse

    from qdelay._scenario import Scenario

    parser = argparse.ArgumentParser(prog="qdelay run", description="Run an archive of qdelay.pack with components of Python.")
    parser.add_argument("scenario", help="the archive")
    parser.add_argument("--out", help="folder of the results")
    parser.add_argument("--jobs", type=int, help="cases to run at once")
    parser.add_argument("--allow-native", action="store_true", help="run the code of the archive, with all rights of this program")
    given = parser.parse_args(arguments)
    try:
        scenario = Scenario(given.scenario, allow_native=given.allow_native)
        out = given.out or str(Path("qdelay-results") / scenario._study.name)
        run = scenario.run(out, jobs=given.jobs)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(run)
    print(f"\nresults: {out}, equal to the packed ones byte for byte")
    return 0
