"""The command `qdelay`."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Runs the command with the arguments of the process, and returns its exit status."""
    from qdelay import _native

    # Python's own handling would wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    return _native.command(["qdelay", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
