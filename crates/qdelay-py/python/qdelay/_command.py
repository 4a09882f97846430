"""The command `qdelay`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command with the arguments of the process, and returns its exit status."""
    from qdelay import _native

    if clock := _clock(sys.argv):
        message = f"--clock: '{clock}' starts this program again, and it is inside Python here; expected the command as a program (README.md)"
        print(f"qdelay: {message}", file=sys.stderr)
        return 2
    # Python's own handling would wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    return _native.command(["qdelay", *sys.argv[1:]])


def _clock(arguments: list[str]) -> str | None:
    """A clock whose flows or machines run the program itself."""
    for place, word in enumerate(arguments[: arguments.index("--")] if "--" in arguments else arguments):
        value = word.removeprefix("--clock=") if word.startswith("--clock=") else None
        if word == "--clock" and place + 1 < len(arguments):
            value = arguments[place + 1]
        if value in ("real", "lab"):
            return value
    return None


if __name__ == "__main__":
    sys.exit(main())
