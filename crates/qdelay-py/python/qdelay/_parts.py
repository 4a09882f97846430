"""The parts of a component: each class, function, module and value that its code reaches, with a digest of what runs."""

from __future__ import annotations

import builtins
import ctypes
import dis
import enum
import functools
import hashlib
import importlib
import os
import pathlib
import platform
import re
import sys
import types
from collections.abc import Iterable
from typing import Any

from qdelay._laws import Code, Law, code_of
from qdelay._origins import (
    DRAWS,
    PATH_READERS,
    READERS,
    UNKNOWN,
    imported,
    is_compiled,
    is_entity,
    is_made,
    main_of,
    name_of,
    outside_of,
    qualified,
    version_of,
)

_HIDDEN = {
    # Attributes that differ in each interpreter, or describe only the place of the source.
    "__dict__",
    "__weakref__",
    "__module__",
    "__qualname__",
    "__firstlineno__",
    "__static_attributes__",
    "__abstractmethods__",
    "_abc_impl",
    "__annotate__",
    "__annotate_func__",
    "__annotations_cache__",
}
# Functions that look up an attribute by a name computed at run time.
_BY_NAME = {"getattr", "vars", "__dict__", "attrgetter", "methodcaller", "getmembers"}
# Instructions that name a global or a built-in.
GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"}
_ATOMS = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))
_DESCRIPTORS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodWrapperType,
)


class Unknown(Exception):
    """A value without a digest."""


class Parts:
    """Parts reached from a component."""

    def __init__(self) -> None:
        self._digests: dict[str, str] = {"python": platform.python_version()}
        self.draws: set[str] = set()
        self._keys: dict[int, str] = {}
        # Objects by key; holding them prevents reuse of their addresses.
        self._things: dict[str, Any] = {}
        self._queue: list[str] = []
        self._globals: dict[tuple[int, str], str] = {}
        self._modules: list[types.ModuleType] = []
        # Keys of the names used of each module.
        self._bound: dict[int, dict[str, str]] = {}
        self._names: set[str] = set()

    def modules(self) -> list[types.ModuleType]:
        """The user's modules that were reached, by themselves or by what is in them."""
        names = {str(getattr(thing, "__name__" if isinstance(thing, types.ModuleType) else "__module__", "")) for thing in self._things.values()}
        return [sys.modules[name] for name in sorted(names) if name in sys.modules and is_entity(sys.modules[name])]

    def told(self) -> dict[str, str]:
        return dict(sorted(self._digests.items()))

    def add_law(self, name: str, law: Law) -> None:
        """Adds a law: its declaration, and its functions as far as their code is known."""
        state = str(law.state.descr) if law.state is not None else ""
        self._add(f"{name} (declaration)", (dict(law.parameters), state, law.random, law.classifies))
        for key, function in law.functions.items():
            if function is None:
                continue
            if (code := code_of(function)) is None:
                self._digests[f"{name}.{key}"] = f"{UNKNOWN}it is in this process alone"
            else:
                self._add(f"{name}.{key}", code)

    def follow(self) -> None:
        """Follows names until nothing new is reached, because names used so far may be attributes of modules."""
        while True:
            while self._queue:
                key = self._queue.pop()
                self._digests[key] = self._digest(key, self._things[key])
            for module in list(self._modules):
                self._follow_module(module)
            if not self._queue:
                break
        for module in self._modules:
            bound = self._bound.get(id(module), {})
            self._digests[self.refer(module)] = hashlib.sha256(repr(sorted(bound.items())).encode("utf-8", "surrogatepass")).hexdigest()

    def _follow_module(self, module: types.ModuleType) -> None:
        """Values that a module binds to the names used by the code."""
        place, space = name_of(module), vars(module)
        # Names computed at run time may be any name of the module.
        is_any = bool(_BY_NAME & self._names)
        bound = self._bound.setdefault(id(module), {})
        for name in sorted(name for name in space if name in self._names or is_any and not name.startswith("__")):
            writer = Writer(self, place)
            try:
                bound[name] = self._binding(space, name, place)
                self.outside(space[name], self._names, writer)
            except Exception as error:
                writer.reads.add(f"an object that raises {type(error).__name__}")
            bound[name] = bound.get(name) or writer.hash.hexdigest()
            if writer.reads:
                self._digests[f"{place}.{name}"] = f"{UNKNOWN}it reads {', '.join(sorted(writer.reads))}"

    def refer(self, thing: Any) -> str:
        """The key of a class, function or module."""
        key = self._keys.get(id(thing))
        if key is None:
            key = self._add(qualified(thing), thing)
            self._keys[id(thing)] = key
            if isinstance(thing, types.ModuleType) and not is_compiled(thing):
                self._modules.append(thing)
        return key

    def _add(self, base: str, thing: Any) -> str:
        key, number = base, 1
        while key in self._things:
            number += 1
            key = f"{base} ({number})"
        self._things[key] = thing
        self._queue.append(key)
        return key

    def _digest(self, key: str, thing: Any) -> str:
        writer = Writer(self, key)
        try:
            if isinstance(thing, types.FunctionType):
                writer.function(thing)
            elif isinstance(thing, type):
                writer.of_class(thing)
            elif isinstance(thing, types.ModuleType):
                writer.module(thing)
            else:
                writer.value(thing)
        except Unknown as unknown:
            return f"{UNKNOWN}{unknown}"
        except Exception as error:
            # Reading an attribute of an object may run arbitrary code.
            return f"{UNKNOWN}it raises {type(error).__name__} when it is looked at"
        if writer.reads:
            return f"{UNKNOWN}it reads {', '.join(sorted(writer.reads))}"
        return writer.hash.hexdigest()

    def _binding(self, namespace: dict[str, Any], name: str, place: str) -> str:
        """Value of `name` in a module: the key of an entity, or of a part of its own."""
        value = namespace[name]
        if is_entity(value):
            return self.refer(value)
        if outside_of(value) is not None and not is_made(value):
            return ""
        key = self._globals.get((id(namespace), name))
        if key is None:
            key = self._add(f"{place}.{name}", value)
            self._globals[id(namespace), name] = key
        return key

    def names(self, function: types.FunctionType, code: types.CodeType, writer: Writer) -> None:
        """Every global named by the code, and the modules imported by the code."""
        used = set(code.co_names)
        self._names |= used
        space = function.__globals__
        module = str(space.get("__name__", ""))
        loaded = {one.argval for one in dis.get_instructions(code) if one.opname in GLOBALS}
        for name in sorted(loaded):
            if name in space:
                value = space[name]
                key = self._binding(space, name, main_of(module, space))
                writer.text(f"{name} is {key}")
            elif hasattr(builtins, name):
                value = getattr(builtins, name)
            else:
                continue
            self.outside(value, used, writer)
        for name in sorted(imported(code, space)):
            writer.text(f"imports {name}")
            try:
                found = importlib.import_module(name)
            except Exception as error:
                writer.text(f"{type(error).__name__}")
                continue
            if is_entity(found):
                self.refer(found)
            self.outside(found, used, writer)

    def outside(self, value: Any, names: Iterable[str], writer: Writer) -> None:
        """Notes the package of library code, and its use of data or random numbers outside the seed."""
        place = outside_of(value)
        if place is None:
            return
        module, name = place
        writer.text(f"{module}.{name}")
        self.package(module)
        names = {name} if name else set(names)
        if issubclass(value, pathlib.PurePath) if isinstance(value, type) else isinstance(value, pathlib.PurePath):
            writer.reads |= {f"files by {one}" for one in PATH_READERS & writer.attributes}
        if isinstance(value, type) and module == "datetime":
            names = names | writer.attributes
        for table, found in ((READERS, writer.reads), (DRAWS, self.draws)):
            known = table.get(module, set())
            hit = sorted(names & known) if "*" not in known else [name or "*"]
            for one in hit:
                shown = module if one == "*" else f"{module}.{one}"
                found.add(shown if found is writer.reads else f"{shown} in {writer.key}")

    def package(self, module: str) -> None:
        top = module.split(".", maxsplit=1)[0]
        if top in sys.stdlib_module_names or top in ("qdelay", "builtins", ""):
            return
        key = f"package {top}"
        if key not in self._digests:
            self._digests[key] = version_of(top)
            # Packages may draw random numbers where this search cannot see it.
            if top not in ("numpy", "numba", "llvmlite", "typing_extensions"):
                self.draws.add(f"the package {top}")


class Writer:
    """Writes one part into a digest."""

    def __init__(self, parts: Parts, key: str) -> None:
        self.parts, self.key = parts, key
        self.hash = hashlib.sha256()
        self.reads: set[str] = set()
        self.attributes: set[str] = set()
        self._seen: dict[int, int] = {}
        # The list keeps objects alive while their addresses identify them.
        self._kept: list[Any] = []

    def text(self, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        self.hash.update(b"%d:" % len(data) + data)

    def function(self, function: types.FunctionType) -> None:
        self.text("function")
        self.code(function.__code__, function)
        self.held(function)

    def held(self, function: types.FunctionType) -> None:
        """Values that a function holds besides its code."""
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            self.text(name)
            try:
                self.value(cell.cell_contents)
            except ValueError:
                self.text("empty")
        if function.__dict__:
            self.value(function.__dict__)

    def code(self, code: types.CodeType, function: types.FunctionType) -> None:
        """Bytecode without lines and names of files."""
        self.text("code")
        self.hash.update(hashlib.sha256(code.co_code).digest())
        self.hash.update(hashlib.sha256(getattr(code, "co_exceptiontable", b"")).digest())
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        self.text(repr((counts, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)))
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self.code(constant, function)
            else:
                self.value(constant)
        self.attributes |= {
            instruction.argval for instruction in dis.get_instructions(code) if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD")
        }
        if "__subclasses__" in code.co_names:
            self.reads.add("which subclasses there are")
        self.parts.names(function, code, self)

    def of_class(self, cls: type) -> None:
        self.text("class")
        for base in cls.__bases__:
            self.value(base)
        self.value(type(cls))
        self._of_module(cls)
        for name, value in sorted(vars(cls).items()):
            if name not in _HIDDEN:
                self.text(name)
                self.value(value)

    def module(self, module: types.ModuleType) -> None:
        self.text("module")
        if is_compiled(module):
            self.file(str(module.__file__))

    def _of_module(self, value: Any) -> None:
        """Bytes of a compiled module of the user."""
        module = sys.modules.get(str(getattr(value, "__module__", "")))
        if module is not None and is_compiled(module) and is_entity(module):
            self.text(self.parts.refer(module))

    def file(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self.hash.update(hashlib.sha256(file.read()).digest())
        except OSError as error:
            raise Unknown(f"{os.path.basename(path)} cannot be read: {error.strerror}") from None

    def value(self, value: Any) -> None:
        kind = type(value)
        if kind in _ATOMS:
            # The text of a number is exact.
            self.text(f"{kind.__name__} {value.hex() if kind is float else repr(value)}")
            return
        if is_entity(value):
            self.text(f"{kind.__name__} {self.parts.refer(value)}")
            return
        if id(value) in self._seen:
            self.text(f"again {self._seen[id(value)]}")
            return
        self._seen[id(value)] = len(self._seen)
        self._kept.append(value)
        if outside_of(value) is not None:
            self.parts.outside(value, self.attributes, self)
            if is_made(value):
                self.held(value)
            return
        self.text(f"{kind.__module__}.{kind.__qualname__}")
        self._contents(value, kind)

    def _contents(self, value: Any, kind: type) -> None:
        if kind in (tuple, list):
            self.each(value)
        elif kind is dict:
            self.each(part for item in value.items() for part in item)
        elif kind in (set, frozenset):
            self._unordered(value)
        elif kind in (bytearray, memoryview):
            self.hash.update(hashlib.sha256(bytes(value)).digest())
        elif isinstance(value, enum.Enum):
            self.each((value.name, value.value))
            self.value(kind)
        elif isinstance(value, re.Pattern):
            self.each((value.pattern, value.flags))
        elif isinstance(value, (staticmethod, classmethod)):
            self.value(value.__func__)
        elif isinstance(value, property):
            self.each((value.fget, value.fset, value.fdel))
        elif isinstance(value, functools.cached_property):
            self.value(value.func)
        elif isinstance(value, types.MethodType):
            self.each((value.__func__, value.__self__))
        elif isinstance(value, types.BuiltinMethodType):
            self.text(value.__name__)
            self._of_module(value)
            if value.__self__ is not None and not isinstance(value.__self__, types.ModuleType):
                self.value(value.__self__)
        elif isinstance(value, _DESCRIPTORS):
            self.text(value.__name__)
        elif isinstance(value, types.CodeType):
            raise Unknown("it holds code without its function")
        elif isinstance(value, types.MappingProxyType):
            self.value(dict(value))
        elif isinstance(value, (types.GenericAlias, types.UnionType)) or kind.__module__ in ("typing", "typing_extensions"):
            self.text(repr(value))
        else:
            self._object(value, kind)

    def each(self, values: Iterable[Any]) -> None:
        count = 0
        for value in values:
            self.value(value)
            count += 1
        self.text(f"end {count}")

    def _unordered(self, values: Iterable[Any]) -> None:
        """A set, whose order differs between processes."""
        digests = []
        for value in values:
            writer = Writer(self.parts, self.key)
            writer.value(value)
            self.reads |= writer.reads
            digests.append(writer.hash.hexdigest())
        self.text(repr(sorted(digests)))

    def _object(self, value: Any, kind: type) -> None:
        """An instance: of a user's class by its attributes, of any other class by its pickle; compiled functions by their code."""
        compiled = value if isinstance(value, Code) else code_of(value)
        if compiled is not None:
            self._compiled(compiled)
            return
        if isinstance(value, ctypes.CDLL):
            self.text(os.path.basename(str(value._name)))
            if os.path.isfile(str(value._name)):
                self.file(str(value._name))
            return
        if kind.__module__.split(".", maxsplit=1)[0] == "numpy" and hasattr(value, "dtype") and hasattr(value, "tobytes"):
            self.parts.package("numpy")
            self.text(f"{value.dtype.descr if value.dtype.names else value.dtype} {value.shape}")
            self.each(value.ravel().tolist()) if value.dtype.hasobject else self.hash.update(hashlib.sha256(value.tobytes()).digest())
            return
        self.value(kind)
        if is_entity(kind):
            self._state(value)
            return
        self.parts.outside(kind, self.attributes, self)
        if kind.__module__ == "functools" and hasattr(value, "__wrapped__"):
            self.value(value.__wrapped__)
            return
        try:
            reduced = value.__reduce_ex__(4)
        except Exception:
            raise Unknown(f"it holds an object of {kind.__module__}.{kind.__qualname__}, which cannot be compared") from None
        if isinstance(reduced, str):
            self.text(reduced)
            return
        function, arguments, state, items, pairs = (*reduced[:5], None, None, None)[:5]
        self.each((function, arguments, state))
        self.each(items or ())
        self.each(part for pair in pairs or () for part in pair)

    def _compiled(self, code: Code) -> None:
        self.text(f"{code.how} {code.which}")
        if code.how == "numba":
            self.parts.package("numba")
            self.each((code.where, code.options))
        else:
            self.file(code.where)

    def _state(self, value: Any) -> None:
        self.value(getattr(value, "__dict__", None))
        for cls in type(value).__mro__:
            slots = vars(cls).get("__slots__", ())
            for name in [slots] if isinstance(slots, str) else slots:
                if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                    self.text(name)
                    self.value(getattr(value, name))
        if isinstance(value, (int, float, str)):
            self.text(repr(float(value)) if isinstance(value, float) else str.__str__(value) if isinstance(value, str) else repr(int(value)))
        elif isinstance(value, bytes):
            self.value(bytes(value))
        if isinstance(value, dict):
            self.each(part for item in dict.items(value) for part in item)
        elif isinstance(value, (list, tuple)):
            self.each(iter(value))
        elif isinstance(value, (set, frozenset)):
            self._unordered(value)
