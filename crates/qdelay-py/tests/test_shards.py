"""Shards and their merge equal those of the command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import qdelay


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_shards_make_the_bytes_of_one_run(two: qdelay.Scenario, tmp_path: Path) -> None:
    parts = [tmp_path / f"part-{shard}" for shard in (1, 2, 3)]
    assert sum(two.run_shard(f"{shard}/3", parts[shard - 1], progress=False) for shard in (1, 2, 3)) == len(two)
    whole = two.run(tmp_path / "whole", progress=False)
    merged = qdelay.merge(parts, tmp_path / "merged")
    assert tree(tmp_path / "merged") == tree(tmp_path / "whole")
    assert merged.cases.collect().equals(whole.cases.collect())


def test_shards_of_one_folder(two: qdelay.Scenario, tmp_path: Path) -> None:
    class Mine(qdelay.Aqm):
        """Runs shards in separate Python processes."""

        def dequeue(self, wait: float) -> qdelay.Decision:
            return qdelay.DROP if wait > 0.05 else qdelay.PASS

    own = two.edited({"matrix.path.qdisc": ["codel", Mine]})
    for shard in (1, 2):
        own.run_shard(f"{shard}/2", tmp_path / "shared", jobs=2, progress=False)
    assert len(own.run(tmp_path / "shared", progress=False).frame()) == len(own)


def test_incomplete_merges_are_refused(two: qdelay.Scenario, tmp_path: Path) -> None:
    def refused(shard: str, message: str) -> None:
        with pytest.raises(qdelay.InputError, match=re.escape(message)):
            two.run_shard(shard, tmp_path / "out", progress=False)

    refused("5/4", "there is no shard 5 of 4; expected 1/4 to 4/4")
    refused("0/4", "there is no shard 0 of 4")
    refused("1/5", "1/5 of 4 cases leaves shards without a case; expected at most 4 shards")
    refused("three", "expected the number of the shard and of all shards, such as 3/8")
    one, other = tmp_path / "one", tmp_path / "other"
    two.run_shard("1/2", one, progress=False)
    with pytest.raises(qdelay.InputError, match="missing"):
        qdelay.merge([one], tmp_path / "merged")
    two.run_shard("2/2", other, duration="4s", progress=False)
    with pytest.raises(qdelay.InputError, match="duration"):
        qdelay.merge([one, other], tmp_path / "merged")
    with pytest.raises(qdelay.InputError, match="expected the folders of all shards"):
        qdelay.merge([], tmp_path / "merged")
    with pytest.raises(qdelay.InputError):
        qdelay.merge([tmp_path / "there-is-none"], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()
