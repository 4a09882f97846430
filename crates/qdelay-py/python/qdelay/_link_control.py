"""Requests to the control socket of a link (docs/live.md)."""

from __future__ import annotations

import json
import socket
import threading
import time
from typing import Any

from qdelay._errors import Error, InputError

IDLE_S = 240.0
"""Age of an idle connection that is opened again, seconds: the link closes it after 300."""
ANSWER_S = 15.0
"""Time limit of an answer, seconds, as that of `qdelay live`."""


class Control:
    """Connection to the control socket at `path`; several threads may use it at once."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        self._used = 0.0

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a request and returns the answer. Raises InputError with the link's message, or OSError if the link does not answer."""
        with self._lock:
            try:
                answer = self._exchange(json.dumps(request).encode() + b"\n")
            except BaseException:
                # The next answer on this connection would be that to this request.
                self._close()
                raise
        if "error" in answer:
            raise InputError("", None, None, str(answer["error"]))
        return answer

    def _exchange(self, line: bytes) -> dict[str, Any]:
        if time.monotonic() - self._used > IDLE_S:
            self._close()
        if self._connection is None:
            self._connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._connection.settimeout(ANSWER_S)
            self._connection.connect(self.path)
        self._connection.sendall(line)
        received = bytearray()
        while not received.endswith(b"\n"):
            part = self._connection.recv(65536)
            if not part:
                raise ConnectionResetError("the control socket was closed without an answer")
            received += part
        self._used = time.monotonic()
        answer = json.loads(received)
        if not isinstance(answer, dict):
            raise Error(f"unexpected answer of the control socket: {answer!r}")
        return answer

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Closes the connection."""
        with self._lock:
            self._close()
