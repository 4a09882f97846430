"""A congestion control, a source of datagrams and a MAC scheduler, all user-defined: `python own_control.py`."""

from __future__ import annotations

import qdelay


@qdelay.register
class ShortQueue(qdelay.CongestionControl):
    """Keeps a few segments in the queue, which it estimates from the round trip time."""

    source = "after Brakmo and Peterson, IEEE JSAC 13(8), 1995"
    segments = qdelay.Param(3, "segments in the queue", min=1, unit="segments")

    def ack(self, cwnd: float, acked: int, srtt: float | None, min_rtt: float | None, ssthresh: int) -> float:
        if srtt is None or min_rtt is None:
            return cwnd + acked
        queued = cwnd * (1 - min_rtt / srtt)
        if queued > self.segments:
            return cwnd - acked / cwnd
        return cwnd + (acked if cwnd < ssthresh else acked / cwnd)


@qdelay.register
class Camera(qdelay.Source):
    """Video of 30 frames a second, each a burst of packets."""

    rate = qdelay.Param("4mbit", "mean rate of IP packets", min="100kbit", max="1gbit")

    def __init__(self) -> None:
        self.left = 0

    def next(self, random: float) -> tuple[float, int]:
        if self.left > 0:
            self.left -= 1
            return 0.0, 1200
        self.left = round(self.rate / 30 / 8 / 1200 * (0.8 + 0.4 * random)) - 1
        return 1 / 30, 1200


@qdelay.register
class LeastServed(qdelay.Scheduler):
    """Resource blocks to the UE that has received the fewest bytes."""

    def start(self, ues: int) -> None:
        self.bytes = [0] * ues

    def rank(self, ue: int) -> float:
        return -self.bytes[ue]

    def carried(self, ue: int, bytes: int) -> None:
        self.bytes[ue] += bytes


def main() -> None:
    """Runs all three."""
    print(qdelay.compare(link="10mbit", qdisc="taildrop", transport=["cubic", ShortQueue, "camera:rate=8mbit"], duration="20s"))
    cell = qdelay.Scenario(
        {
            "cell": {
                "scheduler": LeastServed,
                "ue": [{"name": "near", "channel": "mcs:25"}, {"name": "far", "channel": "mcs:8"}],
            },
            "flow": [{"transport": "cubic", "ue": "near"}, {"transport": "cubic", "ue": "far"}],
            "run": {"duration": "10s"},
        }
    )
    print(cell.run().frame("flows").select("name", "throughput_mbps"))


if __name__ == "__main__":
    main()
