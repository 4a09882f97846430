"""Stands in for `qdelay link` where a test is about the requests that `qdelay.Link` makes: same options, control socket and JSON, no network.

The command runs in the same network, with the addresses of the loopback interface.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

requests: list[dict[str, Any]] = []


def answer(request: dict[str, Any]) -> dict[str, Any]:
    requests.append(request)
    done = {"ok": True, "message": "done", "time_s": 1.5}
    match request["command"]:
        case "status":
            return {"schema_version": 1, "time_s": 1.5}
        case "set" if "speed" in request["values"]:
            return {"error": "speed: unknown; expected one of down, up"}
        case "set" | "cut" | "pause" | "restore":
            return done
        case "reset":
            return {**done, "connections": 2}
        case "changes":
            return {"changes": changes()}
        case other:
            return {"error": f"{other}: unknown; expected a request"}


def changes() -> list[dict[str, Any]]:
    return [{"time_s": 1.5, "what": request["command"]} for request in requests if request["command"] not in ("status", "changes")]


def serve(path: str) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()
        threading.Thread(target=connections, args=[server.dup()], daemon=True).start()


def connections(server: socket.socket) -> None:
    while True:
        connection, _ = server.accept()
        with connection, connection.makefile("rwb") as lines:
            for line in lines:
                lines.write(json.dumps(answer(json.loads(line))).encode() + b"\n")
                lines.flush()


def main() -> int:
    assert sys.argv[1] == "link", sys.argv
    end = sys.argv.index("--")
    given, command = sys.argv[2:end], sys.argv[end + 1 :]
    options = dict(option.removeprefix("--").partition("=")[::2] for option in given)
    if options.get("down") == "3mbt":
        print("qdelay: a note", "qdelay: --down: '3mbt': expected a rate", sep="\n", file=sys.stderr)
        return 2
    serve(options["control"])
    signal.signal(signal.SIGUSR1, fail)
    addresses = {"QDELAY_OUTSIDE": "127.0.0.1", "QDELAY_NEAREST": "127.0.0.2", "QDELAY_INSIDE": "127.0.0.3"}
    environment = {**os.environ, **addresses, "QDELAY_LINK": "down fake"}
    status = subprocess.run(command, env=environment, pass_fds=[int(command[-1])], check=False).returncode
    with open(options["json"], "w", encoding="utf-8") as file:
        json.dump({"given": given, "requests": requests, "changes": changes(), "audit": {"trustworthy": True}}, file)
    return status


def fail(*_: object) -> None:
    """A failure of the link while its command runs."""
    print("qdelay: the link failed: no memory", file=sys.stderr, flush=True)
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
