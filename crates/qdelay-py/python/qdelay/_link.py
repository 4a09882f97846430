"""Links with real packets: `qdelay link` as a block of Python."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from io import BufferedRandom
from os import PathLike, fspath
from types import TracebackType
from typing import Any, Literal

from qdelay import _inside
from qdelay._errors import Error, InputError
from qdelay._link_control import Control
from qdelay._link_options import options_of, values_of

Direction = Literal["down", "up", "both"]
"""Direction of packets: towards the programs inside, from them, or both."""
Arguments = str | bytes | PathLike[str] | PathLike[bytes] | Sequence[str | bytes | PathLike[str] | PathLike[bytes]]
"""Program with arguments, as `subprocess` takes it."""

COMMAND = [sys.executable, "-m", "qdelay"]
"""The command, as a process of its own: it enters namespaces, and runs beside this program."""
START_S = 60.0
"""Time limit of the start, seconds."""
GRACE_S = 2.0
"""Time between SIGTERM and SIGKILL for programs that run inside at the end, seconds."""
# Nothing of the caller's environment and packages is loaded: programs inside start in some 20 ms.
_PROGRAM = [sys.executable, "-I", "-S", _inside.__file__]


class Link:
    """A link with real packets, and programs behind it, as `qdelay link` runs them.

    >>> with qdelay.Link(down="10mbit", delay="20ms", qdisc="codel") as link:  # doctest: +SKIP
    ...     link.run(["ping", "-c", "3", link.outside])

    The keywords are the options of the command (`qdelay link --help`, docs/link.md) with underscores, and with its notation and defaults: down,
    up, qdisc, delay, jitter, loss, down_loss... Numbers are bit/s, seconds, or shares from 0 to 1. Switches are True. Options that may be
    repeated take a list.

    within: a link around this one. Its programs are the outside of this link, and may be its servers, also without root.

    Programs in a `with` block run inside by `run` and `popen`; everything else runs outside. The end of the block ends the programs that are left
    inside, and the link. Works as root, and for users who may create user namespaces: their link has a private network on both sides.

    Raises TypeError for an unknown keyword; at the start InputError with the command's message.
    """

    def __init__(self, *, within: Link | None = None, **options: Any) -> None:
        self._arguments = options_of(options)
        if options.get("retries"):
            raise InputError("retries", None, None, "the programs of a block run once; expected none, and a loop around the block")
        self._within = within
        self._given = options
        self._was_started = False
        self._ended: str | None = "it has not been started"
        self._result: dict[str, Any] | None = None
        self._processes: list[subprocess.Popen[Any]] = []
        self._files: list[int] = []
        self._about: dict[str, Any] = {}
        self._messages: BufferedRandom | None = None
        self._last_messages = ""

    def __enter__(self) -> Link:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        try:
            self.close()
        except Error:
            # The exception of the block is what went wrong first.
            if error is None:
                raise

    def start(self) -> Link:
        """Starts the link, as `with` does. `close` ends it."""
        if self._was_started:
            raise Error("a link can be started once; expected another Link for another run")
        self._was_started = True
        self._folder = tempfile.mkdtemp(prefix="qdelay-link-")
        self._json = self._path_of("json")
        self._json_before = _stamp(self._json)
        self._control = Control(self._path_of("control"))
        self._messages = open(os.path.join(self._folder, "messages"), "w+b")
        self._holder, end = socket.socketpair()
        self._ended = None
        try:
            with end:
                self._process = self._start(end.fileno())
            self._await()
        except BaseException:
            self._abandon()
            raise
        return self

    def _path_of(self, option: str) -> str:
        given = self._given.get(option)
        return os.path.join(self._folder, option) if given is None else os.path.abspath(fspath(given))

    def _start(self, holder: int) -> subprocess.Popen[bytes]:
        own = {"json": self._json, "control": self._control.path}
        arguments = [*self._arguments, *(f"--{name}={path}" for name, path in own.items() if self._given.get(name) is None)]
        if self._given.get("quiet") is None:
            arguments.append("--quiet")
        command = [*COMMAND, "link", *arguments, "--", *_PROGRAM, "hold", str(holder)]
        starts = subprocess.Popen if self._within is None else self._within.popen
        # A session of its own: Ctrl-C in the terminal interrupts this program, which then ends the link. The live view needs the terminal.
        messages = None if self._given.get("live") else self._messages
        return starts(command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages, pass_fds=[holder], start_new_session=True)

    def _await(self) -> None:
        """Waits for the namespaces. The message is small enough to arrive as a whole."""
        limit = time.monotonic() + START_S
        self._holder.settimeout(0.05)
        while True:
            try:
                wanted = len(_inside.NAMESPACES) + 1
                message, self._files, _, _ = socket.recv_fds(self._holder, 65536, wanted, socket.MSG_CMSG_CLOEXEC)
                break
            except TimeoutError:
                if self._process.poll() is not None or time.monotonic() > limit:
                    message = b""
                    break
        if not message:
            if time.monotonic() > limit:
                raise Error(f"the link has not started in {START_S:g} s; expected a machine that starts a process sooner")
            status = self._process.wait()
            raise self._failure(status)
        self._about = json.loads(message)

    def _failure(self, status: int) -> Error:
        """The command's message as an exception."""
        message = self._message(status)
        if status != 2:
            return Error(message)
        option = re.match(r"--([a-z0-9-]+): (.*)", message, re.DOTALL)
        if option is None:
            return InputError("", None, None, message)
        return InputError(option[1].replace("-", "_"), None, None, option[2])

    def _message(self, status: int) -> str:
        lines = self.messages.splitlines()
        own = [line.removeprefix("qdelay: ") for line in lines if line.startswith("qdelay: ")]
        # With any other status there are notes only.
        if own and status in (1, 2):
            return own[-1]
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        return "\n".join([f"'qdelay link' ended with {how}", *lines])

    # Programs inside

    def popen(self, args: Arguments, **keywords: Any) -> subprocess.Popen[Any]:
        """Starts a program inside, and returns it: `subprocess.Popen` with its keywords. It is a child of this process."""
        self._check()
        read, write = os.pipe()
        try:
            try:
                program, arguments, own = self._entering(args, write, keywords)
                process = subprocess.Popen(arguments, **own)
            finally:
                os.close(write)
            process.args = args
            self._processes = [process for process in self._processes if process.poll() is None] + [process]
            # The pipe ends when the program has replaced the one that enters the link.
            with open(read, "rb", closefd=False) as pipe:
                failed = pipe.read()
        finally:
            os.close(read)
        if failed:
            process.communicate()
            self._check()
            what, number, text = json.loads(failed)
            if what:
                raise Error(f"{what}: {text}")
            raise OSError(number, text, program)
        return process

    def _entering(self, args: Arguments, error: int, keywords: Mapping[str, Any]) -> tuple[str, list[str | bytes], dict[str, Any]]:
        """The program, and arguments and keywords of the process that enters the link and becomes it."""
        own = dict(keywords)
        several = [args] if isinstance(args, (str, bytes, PathLike)) else list(args)
        executable = own.pop("executable", None)
        words = [fspath(word) for word in several]
        if own.pop("shell", False):
            words = [executable or "/bin/sh", "-c", *words]
            executable = None
        if not words:
            raise InputError("args", None, None, "no program; expected one, with its arguments")
        program = os.fsdecode(words[0] if executable is None else executable)
        request = {
            "namespaces": self._files[:-1],
            "root": self._files[-1],
            "error": error,
            "capabilities": self._about["capabilities"],
            "executable": program,
        }
        given = own.pop("env", None)
        own["env"] = {**(os.environ if given is None else given), **self._about["environment"]}
        own["pass_fds"] = [*own.get("pass_fds", ()), *self._files, error]
        return program, [*_PROGRAM, "enter", json.dumps(request), *words], own

    def run(
        self,
        args: Arguments,
        *,
        input: Any = None,
        capture_output: bool = False,
        timeout: float | None = None,
        check: bool = False,
        **keywords: Any,
    ) -> subprocess.CompletedProcess[Any]:
        """Runs a program inside, and waits for its end: `subprocess.run` with its keywords and exceptions."""
        if input is not None:
            keywords["stdin"] = subprocess.PIPE
        if capture_output:
            keywords["stdout"] = keywords["stderr"] = subprocess.PIPE
        with self.popen(args, **keywords) as process:
            try:
                output, errors = process.communicate(input, timeout)
            except BaseException:
                process.kill()
                raise
        ended = subprocess.CompletedProcess(args, process.returncode, output, errors)
        if check:
            ended.check_returncode()
        return ended

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of programs inside that the link sets (docs/link.md). `popen` adds them to `env`."""
        self._check()
        return dict(self._about["environment"])

    @property
    def outside(self) -> str:
        """Address of the outside for programs inside, through every link around them: this machine, or the private network of a user."""
        return self._variable("QDELAY_OUTSIDE")

    @property
    def nearest(self) -> str:
        """Address of this link's other end for programs inside: `outside`, or the inside of the link around this one."""
        return self._variable("QDELAY_NEAREST")

    @property
    def inside(self) -> str:
        """Address of the inside for programs outside."""
        return self._variable("QDELAY_INSIDE")

    def _variable(self, name: str) -> str:
        value = self.environment.get(name)
        if value is None:
            raise Error(f"the link has no {name}; expected a command of the version of this package")
        return value

    # Changes while the link runs

    def set(self, **values: Any) -> str:
        """Changes options while the link runs: down, up, delay, loss, down_loss... Returns the link's message. Raises InputError."""
        return str(self._ask({"command": "set", "values": values_of(values)})["message"])

    def cut(self, direction: Direction = "both") -> None:
        """Drops every packet of the direction, until `restore`."""
        self._ask({"command": "cut", "direction": direction})

    def pause(self, direction: Direction = "both") -> None:
        """Keeps the packets of the direction in the queue, until `restore`."""
        self._ask({"command": "pause", "direction": direction})

    def restore(self, direction: Direction = "both") -> None:
        """Ends `cut` and `pause` of the direction."""
        self._ask({"command": "restore", "direction": direction})

    def reset(self, port: int | None = None) -> int:
        """Resets TCP connections through the link, those with this port at either end or all, and returns how many."""
        return int(self._ask({"command": "reset", **({} if port is None else {"port": port})})["connections"])

    def status(self) -> dict[str, Any]:
        """Snapshot of the link (docs/live.md). Its interval begins at the last `status`, or at the start."""
        return self._ask({"command": "status"})

    @property
    def messages(self) -> str:
        """Messages of the command so far; with quiet=False its figures at the end."""
        if self._messages is None or self._messages.closed:
            return self._last_messages
        # The command writes to the same open file, and at its end.
        return os.pread(self._messages.fileno(), os.fstat(self._messages.fileno()).st_size, 0).decode(errors="replace")

    @property
    def control(self) -> str:
        """Path of the control socket, for `qdelay live`."""
        self._check()
        return self._control.path

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self._check()
        try:
            return self._control.ask(request)
        except OSError as error:
            # The connection ends a moment before the process does.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
            self._check()
            raise Error(f"the link does not answer: {error}") from error

    def _check(self) -> None:
        """Raises if the link does not run."""
        if self._ended is None and self._process.poll() is not None:
            self._ended = self._message(self._process.returncode)
        if self._ended is not None:
            raise Error(f"the link does not run: {self._ended}")

    # The end, and results

    def close(self) -> None:
        """Ends the programs that are left inside, and the link, and waits for both. Raises Error if the link failed."""
        if self._ended is not None and not self._files:
            return
        try:
            self._end_processes()
            # The command of the link ends, and the link with it: with status 0, where a stop by the control socket is one by a signal.
            with contextlib.suppress(OSError):
                self._holder.sendall(b".")
            status = self._process.wait()
            # A link that failed leaves the file of an earlier one.
            if _stamp(self._json) not in (None, self._json_before):
                with open(self._json, encoding="utf-8") as file:
                    self._result = json.load(file)
            self._last_messages = self.messages
            if self._given.get("quiet") is False:
                sys.stderr.write(self._last_messages)
            failure = None if status == 0 else self._failure(status)
            self._ended = "it has ended" if failure is None else str(failure)
        finally:
            self._abandon()
        if failure is not None:
            raise failure

    def _end_processes(self) -> None:
        running = [process for process in self._processes if process.poll() is None]
        for process in running:
            process.terminate()
        limit = time.monotonic() + GRACE_S
        for process in running:
            try:
                process.wait(max(0.0, limit - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _abandon(self) -> None:
        """Ends what is left of the link, and closes its files."""
        self._last_messages = self._last_messages or self.messages
        self._ended = self._ended or "it has ended"
        process: subprocess.Popen[bytes] | None = getattr(self, "_process", None)
        if process is not None and process.poll() is None:
            # The link forwards this to its command, and cleans up.
            process.terminate()
            try:
                process.wait(GRACE_S * 5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._holder.close()
        self._control.close()
        if self._messages is not None:
            self._messages.close()
        files, self._files = self._files, []
        for file in files:
            os.close(file)
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def result(self) -> dict[str, Any]:
        """Figures and verdict after the end, as the command's --json has them (docs/json.md)."""
        if self._result is None:
            raise Error("the link has no results; expected a link that has ended, after its block")
        return self._result

    @property
    def verdict(self) -> dict[str, Any]:
        """Verdict after the end, `result["audit"]`: `trustworthy`, `reasons`, `grade`..."""
        return dict(self.result["audit"])

    @property
    def changes(self) -> list[dict[str, Any]]:
        """Changes while the link ran, with their times in seconds since the start: those so far, or all after the end."""
        return list(self.result["changes"] if self._result is not None else self._ask({"command": "changes"})["changes"])


def _stamp(path: str) -> int | None:
    """Time of the last change of a file; None for a missing one."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None
