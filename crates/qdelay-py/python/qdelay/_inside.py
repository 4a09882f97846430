"""Program for processes in the network of a link, run by its path with nothing but the standard library.

`hold FD` is the command of `qdelay link`: it sends the files of its namespaces over the socket FD, and ends with that socket. `enter REQUEST
PROGRAM ...` moves itself into these namespaces and becomes PROGRAM, which so is a child of the process that asked for it.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from typing import Any

NAMESPACES = ("user", "mnt", "net")
"""Namespaces that a link may create, in the order in which they are entered: the first gives the right to enter the others."""
VARIABLES = ("QDELAY_", "MAHIMAHI_BASE")
"""Beginnings of the names of a link's environment variables."""


def hold(descriptor: int) -> None:
    """Sends the namespaces of this process, and waits for the end of the link."""
    with socket.socket(fileno=descriptor) as link:
        environment = {name: value for name, value in os.environ.items() if name.startswith(VARIABLES)}
        files = [os.open(f"/proc/self/ns/{kind}", os.O_RDONLY) for kind in NAMESPACES]
        files.append(os.open("/proc/self/root", os.O_RDONLY | os.O_DIRECTORY))
        about = {"environment": environment, "capabilities": _ambient()}
        socket.send_fds(link, [json.dumps(about).encode()], files)
        for file in files:
            os.close(file)
        link.recv(1)


def enter(request: dict[str, Any], arguments: list[str]) -> None:
    """Enters the namespaces and executes the program. An error goes to the pipe of the request, which a success closes."""
    for file in (*request["namespaces"], request["root"], request["error"]):
        os.set_inheritable(file, False)
    what = ""
    try:
        # The interpreter may have added variables to its own copy.
        environment = _initial_environment()
        folder = os.getcwd()
        what = "cannot enter the network of the link"
        _enter_all(request["namespaces"], request["root"], request["capabilities"])
        what = f"{folder}: the working directory is missing behind the link"
        os.chdir(folder)
        # The interpreter ignores these, and ignored signals stay ignored.
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        what = ""
        os.execvpe(request["executable"], arguments, environment)
    except OSError as error:
        os.write(request["error"], json.dumps([what, error.errno, os.strerror(error.errno or 0)]).encode())
        os._exit(127)


def _enter_all(namespaces: list[int], root: int, capabilities: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    entered = set()
    for kind, file in zip(NAMESPACES, namespaces, strict=True):
        # Entering the own user namespace is an error.
        if not os.path.samestat(os.stat(f"/proc/self/ns/{kind}"), os.fstat(file)):
            _checked(libc.setns(file, 0))
            entered.add(kind)
    if "mnt" in entered:
        # The root of the namespace, which may be above the root of this process.
        os.fchdir(root)
        os.chroot(".")
    if "user" in entered and capabilities:
        _keep(libc, capabilities)


def _keep(libc: ctypes.CDLL, capabilities: int) -> None:
    """Keeps these capabilities of the user namespace over `exec`, as the link's command has them: for ping, and links within links."""
    version_3, set_ambient, raise_one = 0x20080522, 47, 2
    header = (ctypes.c_uint32 * 2)(version_3, 0)
    # Effective, permitted and inheritable, the lower 32 bits of each and then the upper.
    sets = (ctypes.c_uint32 * 6)()
    _checked(libc.capget(header, sets))
    sets[2] |= capabilities & 0xFFFF_FFFF
    sets[5] |= capabilities >> 32
    _checked(libc.capset(header, sets))
    for number in range(64):
        if capabilities >> number & 1:
            _checked(libc.prctl(set_ambient, raise_one, number, 0, 0))


def _checked(status: int) -> None:
    if status != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _initial_environment() -> dict[bytes, bytes]:
    with open("/proc/self/environ", "rb") as file:
        entries = [entry.partition(b"=") for entry in file.read().split(b"\0")]
    return {name: value for name, equals, value in entries if equals}


def _ambient() -> int:
    with open("/proc/self/status") as file:
        return next((int(line.split()[1], 16) for line in file if line.startswith("CapAmb:")), 0)


if __name__ == "__main__":
    if sys.argv[1] == "hold":
        hold(int(sys.argv[2]))
    else:
        enter(json.loads(sys.argv[2]), sys.argv[3:])
