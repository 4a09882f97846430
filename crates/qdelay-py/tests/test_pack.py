"""Repeated results: from the scenario of their folder, and from an archive with user-defined components."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import qdelay


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


HELPERS = "import math\nSCALE = 3\n\ndef bound(x):\n    return math.sqrt(x) * SCALE\n"
OWN = """
import sys
import qdelay
import pack_helpers as helpers
from pack_helpers import bound

LIMIT = 5

class Base(qdelay.Aqm):
    slack = 2

class Mine(Base):
    target = qdelay.Param("20ms", "longest wait")

    def admit(self, packets):
        return qdelay.DROP if packets > LIMIT + self.slack + bound(4) + helpers.SCALE else None

    def dequeue(self, wait):
        return qdelay.DROP if wait > self.target else None

scenario = qdelay.Scenario(
    {
        "path": {"link": "1mbit"},
        "flow": [{"transport": "cubic"}],
        "run": {"duration": "2s", "warmup": "0s"},
        "matrix": {"path.qdisc": ["codel", Mine, "mine:target=5ms"]},
    },
    name="own",
)
scenario.run(sys.argv[1], seeds="1..2", progress=False)
print(qdelay.pack(sys.argv[1], sys.argv[2]))
"""


def run(folder: Path, *arguments: str, status: int = 0) -> str:
    """Python with these arguments, in a folder."""
    environment = {**os.environ, "PYTHONHASHSEED": "random"}
    ended = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == status, ended.stderr
    return ended.stdout + ended.stderr


def test_pack_of_a_script_runs_again_to_the_same_bytes(tmp_path: Path) -> None:
    """A class of a script with its module of helpers, run by one command in a place without either."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    (here / "pack_helpers.py").write_text(HELPERS)
    (here / "own.py").write_text(OWN)
    told = run(here, "own.py", "one", "one.tar")
    assert "components.pickle" in told and "sources/own.py" in told and "sources/pack_helpers.py" in told
    (here / "one.tar").rename(elsewhere / "moved.tar")
    refused = run(elsewhere, "-m", "qdelay", "run", "moved.tar", "--out", "two", status=2)
    assert "has components of Python (mine), whose code would run with all rights" in refused and not (elsewhere / "two").exists()
    told = run(elsewhere, "-m", "qdelay", "run", "moved.tar", "--out", "two", "--allow-native")
    assert "equal to the packed ones byte for byte" in told
    assert tree(here / "one") == tree(elsewhere / "two")
    # Several processes at once get equal results.
    run(elsewhere, "-m", "qdelay", "run", "moved.tar", "--out", "three", "--allow-native", "--jobs", "2")
    assert tree(here / "one") == tree(elsewhere / "three")
    again = 'import qdelay; qdelay.Scenario("moved.tar", allow_native=True).run("four", progress=False); qdelay.pack("four", "again.tar")'
    run(elsewhere, "-c", again)
    assert tree(here / "one") == tree(elsewhere / "four")


def test_pack_refuses_what_was_changed_or_cannot_be_packed(two: qdelay.Scenario, tmp_path: Path) -> None:
    def own(limit: int) -> type[qdelay.Aqm]:
        class Mine(qdelay.Aqm):
            def admit(self, packets: int) -> qdelay.Decision:
                return qdelay.DROP if packets > limit else qdelay.PASS

        return Mine

    out = tmp_path / "out"
    two.edited({"matrix.path.qdisc": ["codel", own(5)]}).run(out, progress=False)
    qdelay.register(own(6))
    with pytest.raises(qdelay.InputError, match="holds results of 'mine' before '.*Mine.admit' was changed"):
        qdelay.pack(out, tmp_path / "a.tar")

    class Reads(qdelay.Aqm):
        def __init__(self) -> None:
            self.text = open(__file__).read()

        def admit(self) -> None: ...

    reads = tmp_path / "reads"
    two.edited({"matrix.path.qdisc": ["codel", Reads]}).run(reads, progress=False)
    with pytest.raises(qdelay.InputError, match="'.*Reads.__init__' may have changed .*expected components whose code and values are all known"):
        qdelay.pack(reads, tmp_path / "a.tar")
    with pytest.raises(qdelay.InputError, match="does not exist"):
        qdelay.pack(tmp_path / "none", tmp_path / "a.tar")
    assert not (tmp_path / "a.tar").exists()


def test_pack_without_components_is_that_of_the_command(two: qdelay.Scenario, tmp_path: Path, command: list[str]) -> None:
    two.run(tmp_path / "one", progress=False)
    assert qdelay.pack(tmp_path / "one", tmp_path / "one.tar") == ["results.sha256", "scenario.toml", "study.json"]
    subprocess.run([*command, "run", "one.tar", "--out", "two", "--no-report"], cwd=tmp_path, check=True, capture_output=True)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert qdelay.Scenario(tmp_path / "one.tar").run(tmp_path / "three", progress=False).summary["scenario"] == "two"
    assert tree(tmp_path / "one") == tree(tmp_path / "three")


def test_scenario_of_a_folder_gives_its_bytes(two: qdelay.Scenario, tmp_path: Path) -> None:
    class Mine(qdelay.Aqm):
        def dequeue(self, wait: float) -> qdelay.Decision:
            return qdelay.DROP if wait > 0.05 else qdelay.PASS

    own = two.edited({"matrix.path.qdisc": ["codel", Mine]})
    own.run(tmp_path / "one", seeds="1..3", duration="2s", packets=True, progress=False)
    again = qdelay.Scenario(tmp_path / "one" / "scenario.toml")
    assert again.axes["seed"] == ["1", "2", "3"]
    again.run(tmp_path / "two", progress=False)
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    shorter = again.edited({"run.duration": "1500ms"}).run(progress=False)
    assert len(shorter) == 6


def test_missing_component_of_a_folder_is_named(two: qdelay.Scenario, tmp_path: Path) -> None:
    class Mine(qdelay.Aqm):
        def admit(self) -> None: ...

    two.edited({"matrix.path.qdisc": ["codel", Mine]}).run(tmp_path / "one", progress=False)
    code = 'import qdelay; qdelay.Scenario("one/scenario.toml")'
    told = run(tmp_path, "-c", code, status=1)
    assert "'mine' is a Python component (test_pack.test_missing_component_of_a_folder_is_named.<locals>.Mine) that is not registered" in told
    told = run(tmp_path, "-m", "qdelay", "run", "one/scenario.toml", status=2)
    assert "is a Python component" in told and "qdelay.register" in told
