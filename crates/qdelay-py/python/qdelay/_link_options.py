"""Keywords of `Link` as options of `qdelay link`: names, and numbers with the units of this package."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from os import PathLike, fspath
from typing import Any

from qdelay import _native
from qdelay._errors import InputError
from qdelay._running import time_text

RATES = ("LINK", "burst|RATE")
TIMES = ("TIME", "JITTER", "GRADE|TIME")
"""Names of values in the command's help whose numbers are rates in bit/s and times in seconds."""


def options_of(keywords: Mapping[str, Any]) -> list[str]:
    """The command's options. Raises TypeError for an unknown keyword, as a function with these keywords would."""
    known = {name.replace("-", "_"): (name, value, repeats) for name, value, repeats in _native.link_options()}
    options = []
    for keyword, given in keywords.items():
        if keyword not in known:
            near = get_close_matches(keyword, known, 1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"Link() got an unexpected keyword argument '{keyword}'; expected an option of 'qdelay link --help' with underscores{hint}")
        if given is None:
            continue
        name, value, repeats = known[keyword]
        if value is None:
            if not isinstance(given, bool):
                raise InputError(keyword, None, None, f"{given!r}: expected True or False")
            options += [f"--{name}"] * given
        else:
            several = given if repeats and isinstance(given, Iterable) and not isinstance(given, (str, PathLike)) else [given]
            options += [f"--{name}={_text(keyword, one, value)}" for one in several]
    return options


def values_of(keywords: Mapping[str, Any]) -> dict[str, str]:
    """Values of the control socket's `set`, which knows their names."""
    kinds = {name: value for name, value, _ in _native.link_options()}
    named = {keyword.replace("_", "-"): (keyword, given) for keyword, given in keywords.items()}
    return {name: _text(keyword, given, kinds.get(name) or "") for name, (keyword, given) in named.items()}


def _text(keyword: str, given: Any, value: str) -> str:
    if isinstance(given, (str, PathLike)):
        return fspath(given)
    if value in TIMES and not isinstance(given, bool) and isinstance(given, (numbers.Real, timedelta)):
        return time_text(given, keyword) or ""
    if isinstance(given, bool) or not isinstance(given, numbers.Real) or not math.isfinite(given):
        raise InputError(keyword, None, None, f"{given!r}: expected text, as the command takes it, or a number")
    number = f"{float(given):.9f}".rstrip("0").rstrip(".")
    return f"{number}bit" if value in RATES else number
