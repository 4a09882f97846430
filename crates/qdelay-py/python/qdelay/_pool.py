"""Cases in other processes. Each process receives the components and the study once, and then one case at a time."""

from __future__ import annotations

import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from os import PathLike, fspath
from typing import IO, TYPE_CHECKING, Any

from qdelay._errors import ComponentError, Elsewhere, Error, TimeLimitError
from qdelay._laws import sent

if TYPE_CHECKING:
    from qdelay import _native


STUCK = 2
"""Exit status of a process that ends because a call of a shared object does not return (`watch.rs`)."""
STUCK_S = 10.0
"""Time limit of such a call, seconds."""


class Pool:
    """Function that runs the case of an index and returns its figures as JSON; several threads may call it at once."""

    def __init__(
        self, components: Sequence[type], laws: Sequence[str], spec: tuple[Any, ...], size: int, limit_s: float, study: _native.Study
    ) -> None:
        import cloudpickle

        self._header = cloudpickle.dumps((list(components), sent(laws), spec, limit_s))
        self._study = study
        self._idle: queue.LifoQueue[subprocess.Popen[bytes] | None] = queue.LifoQueue()
        for _ in range(size):
            self._idle.put(None)
        self._all: list[subprocess.Popen[bytes]] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def __call__(self, index: int, packets: str | PathLike[str] | None) -> str:
        process = self._idle.get()
        try:
            if process is None:
                process = self._start()
            send(process.stdin, (index, None if packets is None else fspath(packets)))
            answer = receive(process.stdout)
        except (OSError, EOFError) as error:
            ended, process = process, None
            raise self._ended(index, ended) from error
        finally:
            self._idle.put(process)
        kind, value, traceback = answer
        if kind == "done":
            return str(value)
        if not isinstance(value, BaseException):
            value = Error(value)
        if isinstance(value, ComponentError):
            value.__cause__ = Elsewhere(traceback)
        raise value

    def _ended(self, index: int, process: subprocess.Popen[bytes] | None) -> Error:
        """Reason for a missing answer."""
        if self._is_closed or process is None:
            return Error("a process that runs cases has ended on request")
        status = process.wait()
        case = ",".join(label for _, label in self._study.labels(index))
        objects = ", ".join(self._study.files)
        files = objects or "a component"
        if status == STUCK:
            return TimeLimitError(case, STUCK_S, files)
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        expected = "code that keeps to qdelay_component.h" if objects else "a class whose methods return or raise, and end no process"
        return Error(f"case {case}: the process that ran it has ended {how}: a fault of {files}; expected {expected}")

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "from qdelay._worker import main; main()"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with self._lock:
            self._all.append(process)
        send(process.stdin, sys.path)
        send_bytes(process.stdin, self._header)
        return process

    def stop(self) -> None:
        """Ends the running cases."""
        self._is_closed = True
        with self._lock:
            for process in self._all:
                process.kill()

    def close(self) -> None:
        """Ends all processes, and waits for their end."""
        self.stop()
        for process in self._all:
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except OSError:
                        pass


def send(pipe: IO[bytes] | None, value: object) -> None:
    send_bytes(pipe, pickle.dumps(value))


def send_bytes(pipe: IO[bytes] | None, data: bytes) -> None:
    assert pipe is not None
    pipe.write(struct.pack("<Q", len(data)) + data)
    pipe.flush()


def receive(pipe: IO[bytes] | None) -> Any:
    return pickle.loads(receive_bytes(pipe))


def receive_bytes(pipe: IO[bytes] | None) -> bytes:
    assert pipe is not None
    head = pipe.read(8)
    if len(head) < 8:
        raise EOFError
    (length,) = struct.unpack("<Q", head)
    data = pipe.read(length)
    if len(data) < length:
        raise EOFError
    return data
