"""What a law in Python costs beside the same one built in: CPU seconds of whole runs in pairs, the median. `python benches/law.py`."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import qdelay

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from test_components import Bound, Plain, PyCodel

PAIRS = 9
SIMULATED_S = 60


def cpu_s(qdisc: str | type[qdelay.Aqm]) -> float:
    """Of one flow of Cubic over 100 Mbit/s: 500,000 departures."""
    begin = time.process_time()
    qdelay.compare(link="100mbit", qdisc=qdisc, transport="cubic", rtt="40ms", duration=f"{SIMULATED_S}s", progress=False)
    return time.process_time() - begin


def main() -> None:
    """Prints a line for each pair."""
    for own, built_in in ((PyCodel, "codel"), (Bound, "bode"), (Plain, "taildrop")):
        pairs = [(cpu_s(own), cpu_s(built_in)) for _ in range(PAIRS)]
        ratio = statistics.median(one / other for one, other in pairs)
        seconds = statistics.median(other for _, other in pairs)
        print(f"{own.__name__} beside {built_in}: {ratio:.2f} times {seconds:.3f} CPU-s, {(ratio - 1) * seconds / 500_000 * 1e9:.0f} ns for a decision")


if __name__ == "__main__":
    main()
