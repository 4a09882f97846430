"""Delays and losses over time in scenarios of Python: a constant one is the plain value, and files are found in folders of traces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import qdelay


def figures(path: dict[str, Any], folder: Path) -> list[tuple[Any, ...]]:
    """The figures of each case of a scenario with these keys of `path`."""
    tables = {
        "path": {"link": "10mbit", "qdisc": "codel", **path},
        "flow": [{"transport": "cubic"}, {"transport": "udp:1mbit"}],
        "run": {"duration": "3s", "warmup": "0s", "seeds": [1, 2]},
    }
    ran = qdelay.Scenario(tables, name="moving", traces=folder).run(progress=False)
    return [
        (case["queue_delay_ms"], case["groups"]["flow-1"], case["groups"]["flow-2"]) for case in ran.summary["cases"]
    ]


def test_a_constant_over_time_is_the_plain_value(tmp_path: Path) -> None:
    (tmp_path / "delay.txt").write_text("40\n" * 500)
    (tmp_path / "loss.txt").write_text("0 2\n1.5 2\n3 2\n")
    plain = figures({"rtt": "40ms", "loss": "2%"}, tmp_path)
    for rtt, loss in [
        ("steps:0s@40ms+1s@40ms:repeat=2s", "steps:0s@2%"),
        ("trace:delay.txt", "trace:loss.txt"),
        ("trace:delay.txt:every=1s", {"steps": {"profile": "0s@2%+1s@2%", "repeat": "2s"}}),
    ]:
        assert figures({"rtt": rtt, "loss": loss}, tmp_path) == plain


def test_steps_change_the_figures(tmp_path: Path) -> None:
    def sent_and_lost(loss: str) -> tuple[int, int]:
        of_datagrams = figures({"rtt": "40ms", "loss": loss}, tmp_path)[0][2]
        return of_datagrams["packets_sent"], of_datagrams["packets_lost"]

    sent, lost = sent_and_lost("steps:0s@0%+1s@100%+2s@0%")
    assert 0.28 < lost / sent < 0.38
    assert sent_and_lost("steps:0s@0%+1s@0%")[1] < lost / 10


def test_mistakes_name_their_key(tmp_path: Path) -> None:
    for path, expected in [
        ({"loss": "steps:0s@120%"}, "path.loss: .*at most 100%"),
        ({"loss": "trace:none.txt"}, "path.loss: no trace 'none.txt'"),
        ({"rtt": "trace:none.txt"}, "path.rtt: no trace 'none.txt'"),
    ]:
        with pytest.raises(qdelay.InputError, match=expected):
            figures(path, tmp_path)
