"""Code shared by the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import qdelay

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.fixture
def command() -> list[str]:
    """The command: the program that QDELAY_COMMAND names, or that of the package."""
    given = os.environ.get("QDELAY_COMMAND")
    return [given] if given else [sys.executable, "-m", "qdelay"]


def run(command: list[str], *arguments: str, folder: Path) -> str:
    """Runs the command, which must succeed, and returns what it prints."""
    ended = subprocess.run([*command, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Removes the components of a test after it."""
    from qdelay import _components

    before, laws = dict(_components._registered), dict(_components.laws)
    yield
    _components._registered.clear()
    _components._registered.update(before)
    _components.laws.clear()
    _components.laws.update(laws)


TWO = {
    "path": {"link": "10mbit", "rtt": "40ms"},
    "flow": [{"transport": "cubic"}],
    "run": {"duration": "3s", "warmup": "1s", "seeds": [1, 2], "series": "100ms"},
    "matrix": {"path.qdisc": ["codel", "bode"]},
}


@pytest.fixture
def two() -> qdelay.Scenario:
    """Two disciplines, two seeds."""
    return qdelay.Scenario(TWO, name="two")
