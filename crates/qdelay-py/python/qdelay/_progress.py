"""Progress of a run: a line in a terminal, and in Jupyter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Progress = bool | Callable[[int, int], object]


def shown(progress: Progress) -> tuple[Callable[[int, int], object] | None, bool]:
    """Receiver of the progress, and whether a line is shown in a terminal."""
    if callable(progress):
        return progress, False
    if not progress:
        return None, False
    if "ipykernel" in sys.modules:
        return _in_jupyter(), False
    return None, True


def _in_jupyter() -> Callable[[int, int], object] | None:
    try:
        from IPython.display import ProgressBar
    except ImportError:
        return None
    make: Any = ProgressBar
    bar: Any = None

    def told(done: int, cases: int) -> None:
        nonlocal bar
        if cases <= 1:
            return
        if bar is None:
            bar = make(cases)
            bar.display()
        bar.progress = done

    return told
