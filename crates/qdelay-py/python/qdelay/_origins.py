"""Origin of the code of components: the user's own, the standard library or an installed package; and library code that reads data outside the
digest, or draws random numbers outside the seed."""

from __future__ import annotations

import dis
import functools
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import pathlib
import site
import sys
import sysconfig
import types
from collections.abc import Mapping
from typing import Any

UNKNOWN = "unknown: "
"""Prefix of the digest of a part that cannot be compared; the reason follows."""

# Functions that read data outside the digest: by module and name; "*" for any name of the module.
READERS: dict[str, set[str]] = {
    "builtins": {"open", "eval", "exec", "globals", "input", "__import__"},
    "glob": {"*"},
    "http.client": {"*"},
    "importlib": {"import_module", "reload"},
    "io": {"open", "open_code", "FileIO"},
    "mmap": {"*"},
    "numpy": {"load", "loadtxt", "genfromtxt", "fromfile", "memmap"},
    "os": {"_Environ", "environ", "getenv", "open", "popen", "system", "listdir", "scandir", "read", "getcwd"},
    "requests": {"*"},
    "shelve": {"*"},
    "socket": {"*"},
    "sqlite3": {"*"},
    "subprocess": {"*"},
    "sys": {"argv", "modules", "stdin"},
    "urllib.request": {"*"},
}
PATH_READERS = {"read_text", "read_bytes", "open", "iterdir", "glob"}
# Random numbers outside the seed, and clocks.
DRAWS: dict[str, set[str]] = {
    "_random": {"*"},
    "builtins": {"hash", "id"},
    "datetime": {"now", "utcnow", "today"},
    "numpy": {"random"},
    "numpy.random": {"*"},
    "os": {"urandom", "getrandom", "times", "getpid"},
    "random": {"*"},
    "secrets": {"*"},
    "time": {
        *("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "process_time", "process_time_ns"),
        *("thread_time", "thread_time_ns", "localtime", "gmtime", "ctime", "clock_gettime", "clock_gettime_ns"),
    },
    "timeit": {"*"},
    "uuid": {"*"},
}


@functools.cache
def _folders() -> tuple[str, ...]:
    """Folders of the standard library and of installed packages."""
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    paths |= {site.getusersitepackages()} if hasattr(site, "getusersitepackages") else set()
    return tuple(os.path.realpath(path) + os.sep for path in paths if path)


@functools.cache
def _is_installed(path: str) -> bool:
    """True for a file of the standard library or of an installed package."""
    if path.startswith("<frozen"):
        return True
    if path.startswith("<"):
        return False
    whole = os.path.realpath(path)
    return whole.startswith(_folders()) or bool({"site-packages", "dist-packages"} & set(whole.split(os.sep)))


# Installed packages with components, whose code is followed like the user's: it may be edited where it is.
_followed: set[str] = set()


def follow_package(module: str) -> None:
    """Treats the package of this module as the user's from now on."""
    top = module.split(".", maxsplit=1)[0]
    if top not in sys.stdlib_module_names and top != "qdelay":
        _followed.add(top)


def _is_own(name: str) -> bool:
    """True for a module of the user."""
    if name in ("__main__", "__mp_main__") or name.split(".", maxsplit=1)[0] in _followed:
        return True
    if name.split(".", maxsplit=1)[0] == "qdelay":
        return False
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is not None:
        return not _is_installed(str(file))
    return name.split(".", maxsplit=1)[0] not in sys.stdlib_module_names


def is_entity(value: Any) -> bool:
    """True for a class, function or module of the user, which is a separate part."""
    if isinstance(value, types.ModuleType):
        return _is_own(value.__name__)
    if isinstance(value, types.FunctionType):
        name = str(value.__globals__.get("__name__", ""))
        is_elsewhere = _is_installed(value.__code__.co_filename) and name.split(".", maxsplit=1)[0] not in _followed
        return not is_elsewhere and _is_own(name)
    return isinstance(value, type) and type(value).__module__ != "types" and _is_own(value.__module__)


def outside_of(value: Any) -> tuple[str, str] | None:
    """The module and the name of a class, function or module that is not the user's; the name of a module is empty. None for other values."""
    if isinstance(value, types.ModuleType):
        return None if _is_own(value.__name__) else (value.__name__, "")
    if isinstance(value, types.FunctionType):
        return None if is_entity(value) else (str(value.__globals__.get("__name__", "")), value.__qualname__)
    if isinstance(value, type):
        return None if is_entity(value) or isinstance(value, types.GenericAlias) else (value.__module__, value.__qualname__)
    if isinstance(value, types.BuiltinFunctionType) and (value.__self__ is None or isinstance(value.__self__, types.ModuleType)):
        module = str(value.__module__ or getattr(value.__self__, "__name__", ""))
        return None if _is_own(module) else ({"_io": "io", "posix": "os", "_thread": "threading"}.get(module, module), value.__name__)
    own = getattr(value, "__self__", None)
    if isinstance(value, types.BuiltinMethodType) or isinstance(value, types.MethodType):
        # `random.random` is a method of an instance that the module has.
        place = type(own).__module__
        if place in ("random", "numpy.random.mtrand"):
            return {"numpy.random.mtrand": "numpy.random"}.get(place, place), value.__name__
    return None


def is_made(value: Any) -> bool:
    """True for a library function made at run time, such as the wrapper of a decorator, which may hold a user's object."""
    if not isinstance(value, types.FunctionType) or not (value.__closure__ or value.__dict__ or value.__defaults__):
        return False
    found: Any = sys.modules.get(str(value.__globals__.get("__name__", "")))
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not value


def is_compiled(module: types.ModuleType) -> bool:
    return str(getattr(module, "__file__", None) or "").endswith(tuple(importlib.machinery.EXTENSION_SUFFIXES))


def main_of(module: str, space: Mapping[str, Any]) -> str:
    """Name of a module; for a script, the name of its file."""
    file = space.get("__file__")
    return pathlib.Path(str(file)).stem if module == "__main__" and file else module


def name_of(module: types.ModuleType) -> str:
    return main_of(module.__name__, vars(module))


def qualified(thing: Any) -> str:
    if isinstance(thing, types.ModuleType):
        return name_of(thing)
    module = sys.modules.get(str(thing.__module__))
    return f"{name_of(module) if module else thing.__module__}.{thing.__qualname__}"


def imported(code: types.CodeType, space: Mapping[str, Any]) -> set[str]:
    """The modules that code imports when it runs."""
    found, constants = set(), []
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_CONST", "LOAD_SMALL_INT"):
            constants.append(instruction.argval)
        if instruction.opname == "IMPORT_NAME":
            level = constants[-2] if len(constants) > 1 and isinstance(constants[-2], int) else 0
            try:
                name = importlib.util.resolve_name("." * level + instruction.argval, space.get("__package__") or "")
            except ImportError:
                continue
            found.add(name)
            # `from package import module`.
            for part in constants[-1] or () if constants else ():
                if importlib.util.find_spec(f"{name}.{part}") is not None if _is_package(name) else False:
                    found.add(f"{name}.{part}")
    return found


def _is_package(name: str) -> bool:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None and spec.submodule_search_locations is not None


@functools.cache
def version_of(package: str) -> str:
    """The version of an installed package, by the name that it is imported by."""
    for name in (package, *importlib.metadata.packages_distributions().get(package, ())):
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    version = getattr(sys.modules.get(package), "__version__", None)
    return str(version) if version is not None else f"{UNKNOWN}it has no version"
