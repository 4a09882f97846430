"""A user-defined AQM beside CoDel and BoDe on a cellular trace, ten seeds, with intervals and a figure: `python own_aqm.py`."""

import matplotlib.pyplot as plt

import qdelay


class Gentle(qdelay.Aqm):
    """Drops with a probability that grows with the wait above a target."""

    target = qdelay.Param("10ms", "wait below which nothing is dropped", min="1ms", max="1s")
    full = qdelay.Param("100ms", "wait above which everything is dropped", min="2ms", max="10s")

    def __init__(self) -> None:
        if self.target >= self.full:
            raise ValueError("target is not below full")

    def dequeue(self, wait: float, random: float) -> qdelay.Decision:
        share = (wait - self.target) / (self.full - self.target)
        return qdelay.MARK if random < share**2 and share > 0 else qdelay.PASS


def main() -> None:
    """Runs the comparison, prints intervals and saves the figure."""
    results = qdelay.compare(
        trace="synth-lte-driving.down", qdisc=["codel", "bode", Gentle], transport="cubic", seeds="1..10", duration="20s"
    )
    print(results)
    print(results.interval("queue_delay_ms.p95"))
    figure, ax = plt.subplots(figsize=qdelay.plot.COLUMN_IN, layout="constrained")
    qdelay.plot.cdf(results, ax=ax, log=True)
    figure.savefig("own-aqm.pdf")


if __name__ == "__main__":
    main()
