"""Process that runs cases for `_pool`, one at a time."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from typing import Any

from qdelay import _native
from qdelay._components import declared, register
from qdelay._errors import Error
from qdelay._laws import taken
from qdelay._pool import receive, receive_bytes, send


def main() -> None:
    """Runs until its input ends. What components print goes to standard error: standard output has the answers."""
    # An interrupt goes to the parent process, which ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = sys.stdin.buffer
    sys.path[:] = receive(requests)
    study, limit_s = _study(receive_bytes(requests))
    while True:
        try:
            index, packets = receive(requests)
        except EOFError:
            return
        try:
            answer: tuple[str, Any, str] = ("done", study.run_case(index, packets, limit_s=limit_s), "")
        except Exception as error:
            is_known = isinstance(error, Error)
            answer = ("failed", error if is_known else f"{type(error).__name__}: {error}", traceback.format_exc())
        send(answers, answer)


def _study(header: bytes) -> tuple[_native.Study, float]:
    components, laws, spec, limit_s = pickle.loads(header)
    for component in components:
        register(component)
    taken(laws)
    if spec[0] == "options":
        return _native.Study.of_options(spec[1], declared(), series=spec[2], connections=spec[3]), limit_s
    _, name, text, traces, allow_native, overrides = spec
    study = _native.Study.of_scenario(name, text, declared(), traces=traces, allow_native=allow_native, **overrides)
    return study, limit_s
