"""Keywords with a new name. The old name is refused, and the error names the new one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from qdelay import _native
from qdelay._errors import InputError

P = ParamSpec("P")
R = TypeVar("R")


def refuses_old_names(function: Callable[P, R]) -> Callable[P, R]:
    """`function`, which raises InputError for the old name of one of its keywords."""
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> Any:
        for old in keywords.keys() - known:
            message = _native.renamed(old, known)
            if message is not None:
                raise InputError(old, None, None, message)
        return function(*args, **keywords)

    return checked
