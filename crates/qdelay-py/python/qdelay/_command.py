"""The command `qdelay`."""

from __future__ import annotations

import os
import signal
import sys


def main() -> int:
    """Runs the command with the arguments of the process, and returns its exit status."""
    from qdelay import _native

    # Python's own signal handling would wait for the command to end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.stdout.flush()
    sys.stderr.flush()
    if sys.argv[1:2] == ["run"] and any(_has_components(word) for word in sys.argv[2:]):
        from qdelay._pack import run_command

        return run_command(sys.argv[2:])
    return _native.command(["qdelay", *sys.argv[1:]])


def _has_components(word: str) -> bool:
    """True for an archive with components of Python."""
    from qdelay import _native

    archive = _native.Archive.open(word) if os.path.isfile(word) else None
    return archive is not None and bool(archive.components)


if __name__ == "__main__":
    sys.exit(main())
