"""Merging of shard folders into one."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING

from qdelay import _native
from qdelay._components import declared

if TYPE_CHECKING:
    from qdelay._results import Run


def merge(
    folders: Iterable[str | PathLike[str]], out: str | PathLike[str], *, allow_native: bool = False, unverified: bool = False
) -> Run:
    """Merges folders of `Scenario.run_shard` or `qdelay run --shard` into a new one, with the bytes that one run of all cases would
    have left but for report.html, and returns its `Run`. User-defined components that the cases name must be registered.

    folders: those of all shards, in any order; or a single one that all shards have written into.
    out: the new folder.
    allow_native: whether their scenario may name shared objects, as for `Scenario`.
    unverified: whether parts of components that cannot be compared count as the same, as for `Scenario.run`.

    Raises InputError for folders of different studies, cases that are missing or not as they were written, and a folder that is there already.
    """
    from qdelay._results import Run

    _native.merge([fspath(folder) for folder in folders], fspath(out), declared(), allow_native, unverified)
    return Run(out)
