"""A folder of results is not continued with a changed component, and a component with unrepeatable figures is found."""

from __future__ import annotations

import ctypes
import importlib
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import qdelay
from qdelay import _components, _digests

EDITS = round(500 * float(os.environ.get("QDELAY_EFFORT") or 1))

FILES = {
    "edited_deep.py": """
FACTOR = {factor}

def deep(x):
    return x * FACTOR + {deep}
""",
    "edited_helpers.py": """
import enum
import math
from dataclasses import dataclass

import edited_deep

SCALE = {scale}
TABLE = {{"a": [1, {table}], "b": {{1, 2, {member}}}}}

class Mode(enum.Enum):
    SLOW = {mode}
    FAST = 100

@dataclass
class Gains:
    alpha: float = {field}
    beta: float = 2.0

class Filter:
    def __init__(self, weight):
        self.weight = weight
    def next(self, x):
        return x * self.weight + {method}

FILTER = Filter({constructor})

def scale(x, offset={default}, *, gain={keyword}):
    return math.{function}(abs(x)) * SCALE + edited_deep.deep(x) + offset * gain + TABLE["a"][1] + len(TABLE["b"] & {{ {member} }})

def chosen_7():
    return {dynamic}

def unused():
    return 1
""",
    "edited_base.py": """
import qdelay

class Grandparent(qdelay.Aqm):
    slack = {slack}
    def bound(self):
        return self.slack + {grandparent}

class Parent(Grandparent):
    def dequeue(self, wait, bytes):
        if bytes {operator} {parent} and wait > self.bound():
            return qdelay.{decision}
        return qdelay.PASS
""",
    "edited_own.py": """
import functools
import qdelay
import edited_helpers as helpers
from edited_base import Parent
from edited_helpers import FILTER, Gains, scale

LIMIT = {limit}
WORDS = ("codel", "{word}")

def made(k):
    def inner(x):
        return x + k
    return inner

def decorated(function):
    extra = {decorator}
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments) + extra
    return wrapper

@decorated
def plus(x):
    return x

class Edited(Parent):
    target = qdelay.Param("{param}ms", "longest wait")
    weights = [{attribute}, 2]
    law = staticmethod(made({closure}))
    fall = lambda self, x: x + {fall}

    def __init__(self):
        self.state = {initial}

    def admit(self, packets, size):
        from edited_helpers import Mode
        if size in (40, {body}):
            return None
        x = getattr(helpers, f"chosen_{{size % 1 + 7}}", lambda: 0)() + scale(packets) + FILTER.next(1) + Gains().alpha + plus(self.law(1)) + self.fall(0) + self.state
        if packets > LIMIT + self.weights[0] + helpers.Mode.SLOW.value + Mode.SLOW.value + 1e-9 * x + len(WORDS[1]):
            return qdelay.DROP
        return None
""",
}
# Values of each placeholder; the first one made the folder.
HOLES: dict[str, Callable[[random.Random], object] | list[object]] = {
    "operator": [">", ">=", "<", "!="],
    "decision": ["DROP", "MARK", "PASS"],
    "function": ["sqrt", "log1p", "exp"],
    "word": ["bode", "pie", "red"],
}
NUMBERS = (
    *("factor", "deep", "scale", "table", "member", "mode", "field", "method", "constructor", "default", "keyword", "slack"),
    *("grandparent", "parent", "limit", "decorator", "param", "attribute", "closure", "fall", "initial", "body", "dynamic"),
)
KINDS = [*HOLES, *NUMBERS]


def sources(edits: dict[str, object]) -> dict[str, str]:
    first = {**{name: words[0] for name, words in HOLES.items() if isinstance(words, list)}, **dict.fromkeys(NUMBERS, 7), **edits}
    return {name: text.format(**first) for name, text in FILES.items()}


def loaded(folder: Path, texts: dict[str, str]) -> type[qdelay.Aqm]:
    """The class of these sources, as a new process would import it."""
    for name, text in texts.items():
        (folder / name).write_text(text)
        sys.modules.pop(name.removesuffix(".py"), None)
    importlib.invalidate_caches()
    component: type[qdelay.Aqm] = importlib.import_module("edited_own").Edited
    return component


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for modules, which are removed after the test."""
    modules = tmp_path / "modules"
    modules.mkdir()
    monkeypatch.syspath_prepend(str(modules))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield modules
    for name in FILES:
        sys.modules.pop(name.removesuffix(".py"), None)


def tiny(component: type[qdelay.Aqm] | str) -> qdelay.Scenario:
    return qdelay.Scenario(
        {"path": {"link": "1mbit", "qdisc": component}, "flow": [{"transport": "cubic"}], "run": {"duration": "200ms", "warmup": "0s"}},
        name="tiny",
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_changed_component_500_random_edits_are_refused(folder: Path, tmp_path: Path) -> None:
    """Body, default, helper module, closure, global, base class and more: each edit that the code can reach is refused, none is stale."""
    out = tmp_path / "out"
    tiny(loaded(folder, sources({}))).run(out, progress=False)
    before = tree(out)
    # The same sources, loaded again, continue the folder.
    tiny(loaded(folder, sources({}))).run(out, progress=False)
    draw = random.Random(1)
    for number in range(EDITS):
        edits: dict[str, object] = {}
        # Every kind of edit alone first, then some together.
        chosen = [KINDS[number]] if number < len(KINDS) else draw.sample(KINDS, draw.randint(1, 3))
        for kind in chosen:
            words = HOLES.get(kind)
            edits[kind] = draw.choice(words[1:]) if isinstance(words, list) else draw.choice([n for n in range(1, 1000) if n != 7])
        with pytest.raises(qdelay.InputError, match="holds results of 'edited' before '.*' was changed"):
            tiny(loaded(folder, sources(edits))).run(out, progress=False)
            pytest.fail(f"{edits} went on")
    assert tree(out) == before
    run = tiny(loaded(folder, sources({"limit": 1}))).run(out, fresh=True, progress=False)
    assert len(run.frame()) == 1 and tree(out) != before


def test_names_that_change_places_are_an_edit(folder: Path, tmp_path: Path) -> None:
    """Two functions of a module, both in use, are bound to each other's names."""
    own = """
import qdelay
import edited_helpers as helpers

class Edited(qdelay.Aqm):
    def admit(self, packets):
        return qdelay.DROP if helpers.low(packets) or helpers.high(packets) > 3 else None
"""
    text = "def low(x):\n    return x > 2\n\ndef high(x):\n    return x * 2\n"
    out = tmp_path / "out"
    tiny(loaded(folder, {"edited_helpers.py": text, "edited_own.py": own})).run(out, progress=False)
    tiny(loaded(folder, {"edited_helpers.py": text, "edited_own.py": own})).run(out, progress=False)
    with pytest.raises(qdelay.InputError, match="holds results of 'edited' before 'edited_helpers' was changed"):
        tiny(loaded(folder, {"edited_helpers.py": f"{text}\nlow, high = high, low\n", "edited_own.py": own})).run(out, progress=False)


def test_edits_without_effect_go_on(folder: Path, tmp_path: Path) -> None:
    """Comments, blank lines, other files and code that nothing reaches are no change; a docstring is one. Where code makes names as it
    runs, whole modules are reached."""
    out = tmp_path / "out"
    texts = sources({})
    texts["edited_own.py"] = texts["edited_own.py"].replace("getattr(helpers,", "max(helpers.SCALE,").replace(", lambda: 0)()", ", key=str)")
    texts["edited_own.py"] = texts["edited_own.py"].replace('f"chosen_{size % 1 + 7}"', "2")
    tiny(loaded(folder, texts)).run(out, progress=False)
    moved = {name: f"# A comment.\n\n\n{text}" for name, text in texts.items()}
    tiny(loaded(folder, moved)).run(out, progress=False)
    unused = {**texts, "edited_helpers.py": texts["edited_helpers.py"].replace("return 1\n", "return 2\n")}
    tiny(loaded(folder, unused)).run(out, progress=False)
    said = {**texts, "edited_own.py": texts["edited_own.py"].replace("class Edited(Parent):", 'class Edited(Parent):\n    """Said."""')}
    with pytest.raises(qdelay.InputError, match=r"before 'edited_own\.Edited' was changed"):
        tiny(loaded(folder, said)).run(out, progress=False)


SCRIPT = """
import sys
import qdelay

LIMIT = {limit}
NAMES = {{"a", "b", "c", "d"}}

class Mine(qdelay.Aqm):
    def admit(self, packets, size):
        return qdelay.DROP if packets > LIMIT and "a" in NAMES and size not in {{40, 50}} else None

qdelay.Scenario(
    {{"path": {{"link": "1mbit", "qdisc": Mine}}, "flow": [{{"transport": "cubic"}}], "run": {{"duration": "200ms", "warmup": "0s"}}}}, name="tiny"
).run(sys.argv[1], progress=False)
"""


def test_changed_component_of_a_script(tmp_path: Path) -> None:
    """The same script continues in another process, and makes the same bytes in another folder; a changed one is refused."""
    script = tmp_path / "mine.py"

    def run(limit: int, out: str, seed: str) -> subprocess.CompletedProcess[str]:
        script.write_text(SCRIPT.format(limit=limit))
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run([sys.executable, str(script), str(tmp_path / out)], capture_output=True, text=True, check=False, env=environment)

    for out, seed in (("one", "1"), ("one", "2"), ("two", "3")):
        ended = run(5, out, seed)
        assert ended.returncode == 0, ended.stderr
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    ended = run(6, "one", "4")
    assert ended.returncode != 0 and "holds results of 'mine' before 'mine.LIMIT' was changed" in ended.stderr, ended.stderr


def test_changed_component_in_shards(two: qdelay.Scenario, tmp_path: Path) -> None:
    def own(limit: int) -> qdelay.Scenario:
        class Mine(qdelay.Aqm):
            def admit(self, packets: int) -> qdelay.Decision:
                return qdelay.DROP if packets > limit else qdelay.PASS

        return two.edited({"matrix.path.qdisc": ["codel", Mine]})

    own(5).run_shard("1/2", tmp_path / "one", progress=False)
    own(6).run_shard("2/2", tmp_path / "two", progress=False)
    with pytest.raises(qdelay.InputError, match="two: holds results of 'mine' with another '.*Mine.admit' than .*one"):
        qdelay.merge([tmp_path / "one", tmp_path / "two"], tmp_path / "merged")
    with pytest.raises(qdelay.InputError, match="holds results of 'mine' before '.*Mine.admit' was changed"):
        own(6).run_shard("2/2", tmp_path / "one", progress=False)
    own(5).run_shard("2/2", tmp_path / "other", progress=False)
    qdelay.merge([tmp_path / "one", tmp_path / "other"], tmp_path / "merged")
    assert own(5).run(tmp_path / "merged", progress=False).summary["scenario"] == "two"


def test_changes_by_the_run_itself_are_accepted(tmp_path: Path) -> None:
    """A class that logs into its own list: the same process continues the folder."""

    class Logs(qdelay.Aqm):
        seen: list[float] = []

        def admit(self, now: float) -> None:
            Logs.seen.append(now)

    for _ in range(2):
        tiny(Logs).run(tmp_path / "out", progress=False)
    assert Logs.seen
    Logs.seen.append(-1.0)
    with pytest.raises(qdelay.InputError, match="holds results of 'logs' before"):
        tiny(Logs).run(tmp_path / "out", progress=False)


def test_parts_that_cannot_be_compared(tmp_path: Path) -> None:
    """A component that reads a file: the folder is begun, and continued only on request."""
    limits = tmp_path / "limits.txt"
    limits.write_text("5")

    class Reads(qdelay.Aqm):
        def __init__(self) -> None:
            self.limit = int(open(limits).read())

        def admit(self, packets: int) -> qdelay.Decision:
            return qdelay.DROP if packets > self.limit else qdelay.PASS

    out = tmp_path / "out"
    tiny(Reads).run(out, progress=False)
    with pytest.raises(qdelay.InputError, match=r"'.*Reads.__init__' may have changed \(it reads io.open\); .*unverified=True"):
        tiny(Reads).run(out, progress=False)
    assert "not verified" not in (out / "summary.json").read_text()
    tiny(Reads).run(out, progress=False, unverified=True)
    (sentence,) = json.loads((out / "summary.json").read_text())["unverified"]
    assert re.fullmatch(r"The figures of 'reads' are not verified: '.*Reads.__init__' cannot be compared \(it reads io.open\)\.", sentence)


def test_changed_component_of_numba(tmp_path: Path) -> None:
    numba = pytest.importorskip("numba")

    def law(limit: int, fastmath: bool = False) -> str:
        state = qdelay.native_state({})
        inner = numba.njit(fastmath=fastmath)(lambda x: x + 0.0)

        def admit(state: Any, call: Any) -> int:
            told = numba.carray(call, 1)[0]
            return 1 if inner(told.packets) > limit else 0

        return qdelay.native("limited", admit=numba.cfunc(qdelay.native_signature(state))(admit), state=state)

    out = tmp_path / "out"
    tiny(law(5)).run(out, progress=False)
    tiny(law(5)).run(out, progress=False)
    for changed in ({"limit": 6}, {"limit": 5, "fastmath": True}):
        with pytest.raises(qdelay.InputError, match="holds results of 'limited' before"):
            tiny(law(**changed)).run(out, progress=False)  # type: ignore[arg-type]


@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_changed_component_of_a_shared_object(tmp_path: Path) -> None:
    def law(number: int) -> str:
        source = tmp_path / f"law{number}.c"
        source.write_text(f"unsigned every(void *state, const void *call) {{ (void)state; return ((const unsigned long *)call)[0] % {number} == 0; }}")
        made = tmp_path / f"law{number}.so"
        subprocess.run(["cc", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
        return qdelay.native("every", dequeue=ctypes.CDLL(str(made)).every)

    out = tmp_path / "out"
    tiny(law(100)).run(out, progress=False)
    tiny(law(100)).run(out, progress=False)
    with pytest.raises(qdelay.InputError, match="holds results of 'every' before 'every.dequeue' was changed"):
        tiny(law(50)).run(out, progress=False)
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint32, ctypes.c_void_p, ctypes.c_void_p)
    qdelay.native("local", dequeue=prototype(lambda state, call: 0))
    tiny("local").run(tmp_path / "local", progress=False)
    with pytest.raises(qdelay.InputError, match=r"'local.dequeue' may have changed \(it is in this process alone\)"):
        tiny("local").run(tmp_path / "local", progress=False)


def test_changed_component_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed package edited in place, or installed again with the same version."""
    site = tmp_path / "site-packages"
    (site / "edited_laws").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def law(limit: int) -> type[qdelay.Aqm]:
        (site / "edited_laws" / "__init__.py").write_text("from edited_laws.law import Installed\n__version__ = '1.0'\n")
        (site / "edited_laws" / "law.py").write_text(
            f"import qdelay\n\ndef limit():\n    return {limit}\n\nclass Installed(qdelay.Aqm):\n    def admit(self, packets):\n"
            "        return qdelay.DROP if packets > limit() else None\n"
        )
        for name in ("edited_laws", "edited_laws.law"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        component: type[qdelay.Aqm] = importlib.import_module("edited_laws").Installed
        return component

    tiny(law(5)).run(tmp_path / "out", progress=False)
    tiny(law(5)).run(tmp_path / "out", progress=False)
    with pytest.raises(qdelay.InputError, match=r"holds results of 'installed' before 'edited_laws\.law\.limit' was changed"):
        tiny(law(6)).run(tmp_path / "out", progress=False)


def test_packages_and_python_are_parts() -> None:
    numpy = pytest.importorskip("numpy")
    weights = numpy.arange(3)

    class Weighs(qdelay.Aqm):
        def admit(self, packets: int) -> qdelay.Decision:
            return qdelay.DROP if packets > numpy.max(weights) * math.pi else qdelay.PASS

    parts = _digests.parts_of(qdelay.register(Weighs))
    assert parts["package numpy"] == numpy.__version__ and parts["python"] == sys.version.split()[0]
    before = dict(parts)
    weights[0] = 9
    changed = [part for part, digest in _digests.parts_of(Weighs).items() if digest != before[part]]
    assert len(changed) == 1 and changed[0].endswith("Weighs.admit")


class Draws(qdelay.Aqm):
    """Draws from Python's own generator."""

    def admit(self, packets: int) -> qdelay.Decision:
        return qdelay.DROP if packets > 2 and random.random() < 0.3 else qdelay.PASS


class Clock(qdelay.Aqm):
    """Reads a clock."""

    def admit(self, packets: int) -> qdelay.Decision:
        return qdelay.DROP if packets > 2 and time.perf_counter_ns() % 3 == 0 else qdelay.PASS


class Steady(qdelay.Aqm):
    """Draws from a generator with a seed of its own, for each instance."""

    def __init__(self) -> None:
        self.draw = random.Random(3)

    def admit(self, packets: int) -> qdelay.Decision:
        return qdelay.DROP if packets > 2 and self.draw.random() < 0.3 else qdelay.PASS


class Jumps(qdelay.Aqm):
    """Draws from numpy's generator of the whole process."""

    def admit(self, packets: int) -> qdelay.Decision:
        import numpy

        return qdelay.DROP if packets > 2 and numpy.random.random() < 0.3 else qdelay.PASS


@pytest.mark.parametrize(("component", "source"), [(Draws, "random"), (Clock, "time.perf_counter_ns"), (Jumps, "numpy.random")])
def test_random_and_clocks_are_named(component: type[qdelay.Aqm], source: str, tmp_path: Path) -> None:
    kwargs: dict[str, Any] = {"link": "2mbit", "transport": "cubic", "duration": "3s", "warmup": "0s", "progress": False}
    name = component.component_name()
    message = rf"{name} gives other figures when the same case is run again .*: it reaches {source} in .*{component.__name__}\.admit"
    with pytest.raises(qdelay.InputError, match=message) as raised:
        qdelay.compare(qdisc=["codel", component], **kwargs)
    assert raised.value.place == name
    longer = tiny(component).edited({"run.duration": "3s"})
    with pytest.raises(qdelay.InputError, match=message):
        longer.run(tmp_path / "out", progress=False)
    assert not (tmp_path / "out").exists()
    with pytest.warns(UserWarning, match="no figure of it can be had again"):
        assert len(qdelay.compare(qdisc=component, unverified=True, **kwargs)) == 1
    with pytest.warns(UserWarning, match="no figure of it can be had again"):
        longer.run(tmp_path / "out", progress=False, unverified=True)
    (sentence,) = json.loads((tmp_path / "out" / "summary.json").read_text())["unverified"]
    assert f"'{name}' are not verified: 'a case that is run again' cannot be compared" in sentence and source in sentence


def test_a_generator_with_a_seed_of_its_own_is_accepted() -> None:
    results = [qdelay.compare(link="2mbit", qdisc=Steady, transport="cubic", duration="3s", warmup="0s", progress=False) for _ in range(2)]
    assert results[0].frame()["drops"].to_list() == results[1].frame()["drops"].to_list() != [0]


def test_components_that_draw_nothing_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [_digests.draws_of(component) for component in (qdelay.register(Steady), qdelay.register(Draws))] != [[], []]
    from qdelay import _pool

    monkeypatch.setattr(_pool, "Pool", None)

    class Plain(qdelay.Aqm):
        def dequeue(self, wait: float) -> qdelay.Decision:
            return qdelay.DROP if math.sqrt(wait) > 0.2 else qdelay.PASS

    assert len(qdelay.compare(link="2mbit", qdisc=Plain, transport="cubic", duration="1s", warmup="0s", progress=False)) == 1
    assert "plain" in {name for _, name in _components._registered}
