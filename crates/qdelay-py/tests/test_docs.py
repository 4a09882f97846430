"""The code of docs/python.md and the examples run unchanged, and the page has every public name."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path

import pytest
from conftest import REPOSITORY

import qdelay

GUIDE = REPOSITORY / "docs/python.md"
LEARNING = REPOSITORY / "docs/learning.md"
CONNECTIONS = REPOSITORY / "docs/connections.md"
EXAMPLES = sorted((REPOSITORY / "crates/qdelay-py/examples").glob("*.py"))


@pytest.mark.parametrize(("guide", "least"), [(GUIDE, 5), (LEARNING, 2), (CONNECTIONS, 2)], ids=["python", "learning", "connections"])
def test_the_guide_runs(guide: Path, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```$", guide.read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= least
    names: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        exec(compile(block, str(guide), "exec"), names)


def test_the_guide_names_everything() -> None:
    text = GUIDE.read_text()
    missing = [name for name in qdelay.__all__ if not re.search(rf"\b{name}\b", text)]
    assert not missing, f"docs/python.md does not say what {missing} are"
    for name in dir(qdelay.Results) + dir(qdelay.Run) + dir(qdelay.Scenario) + dir(qdelay.Link):
        assert name.startswith("_") or re.search(rf"\b{name}\b", text), f"docs/python.md does not say what {name} is"


def test_everything_is_described() -> None:
    for name in qdelay.__all__:
        value = getattr(qdelay, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name
            for below, member in vars(value).items() if inspect.isclass(value) else ():
                if not below.startswith("_") and callable(member):
                    assert member.__doc__, f"{name}.{below}"


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(example), run_name="__main__")
