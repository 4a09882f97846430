"""Memory of ten million packets: the process before and after a run that keeps them, and after they are a frame. `python benches/packets.py`."""

from __future__ import annotations

import polars as pl

import qdelay


def resident_mb() -> float:
    """Memory of this process."""
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * 4096 / 1e6


def main() -> None:
    """Prints a line for each step."""
    print(f"at the beginning: {resident_mb():.0f} MB")
    results = qdelay.compare(link="1gbit", qdisc="taildrop", transport="cubic", duration="80s", packets=True, progress=False)
    print(f"after the run: {resident_mb():.0f} MB")
    packets = results.packets
    print(f"as a frame: {resident_mb():.0f} MB")
    rows = packets.select(pl.len()).collect().item()
    print(f"{rows} packets counted: {resident_mb():.0f} MB")


if __name__ == "__main__":
    main()
