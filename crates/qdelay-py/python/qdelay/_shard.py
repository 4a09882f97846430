"""`python -m qdelay._shard PARENT ARGUMENTS`: the command, which ends when the process that started it ends in any way."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> int:
    """Runs the command with the arguments after the number of the parent's process."""
    parent = int(sys.argv.pop(1))
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent ended before it could be watched.
        return 1
    from qdelay._command import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
