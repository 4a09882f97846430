"""User-defined components: they decide like the same built-in ones, and their errors are exceptions."""

from __future__ import annotations

import math
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import qdelay

FAST: dict[str, Any] = {"link": "10mbit", "duration": "4s", "warmup": "1s", "progress": False}
FIGURES = ["throughput_mbps", "queue_delay_ms.mean", "queue_delay_ms.p95", "queue_delay_ms.max", "drops"]


class Plain(qdelay.Aqm):
    """First in, first out, as taildrop."""

    def dequeue(self) -> None:
        return None


class Bound(qdelay.Aqm):
    """Drops packets that have waited too long, the simplest form of BoDe."""

    target = qdelay.Param("20ms", "longest wait", min="1us", max="10s")

    def dequeue(self, wait: float) -> qdelay.Decision:
        return qdelay.DROP if wait > self.target else qdelay.PASS


class PyCodel(qdelay.Aqm):
    """CoDel as in RFC 8289."""

    name = "py_codel"
    target = qdelay.Param("5ms", "acceptable standing delay", min="1us", max="1s")
    interval = qdelay.Param("100ms", "a round trip of the slowest flows", min="1ms", max="10s")

    def __init__(self) -> None:
        self.first_above = 0.0
        self.next_drop = 0.0
        self.count = self.last_count = 0
        self.dropping = False

    def dequeue(self, wait: float, now: float, bytes: int) -> qdelay.Decision:
        if wait < self.target or bytes <= 1500:
            self.first_above = 0.0
            late = False
        elif self.first_above == 0.0:
            self.first_above = now + self.interval
            late = False
        else:
            late = now >= self.first_above
        if self.dropping:
            if not late:
                self.dropping = False
            elif now >= self.next_drop:
                self.count += 1
                self.next_drop += self.interval / math.sqrt(self.count)
                return qdelay.DROP
        elif late:
            self.dropping = True
            since = self.count - self.last_count
            self.count = since if since > 1 and now - self.next_drop < 16 * self.interval else 1
            self.next_drop = now + self.interval / math.sqrt(self.count)
            self.last_count = self.count
            return qdelay.DROP
        return qdelay.PASS


def figures(results: qdelay.Results) -> list[tuple[Any, ...]]:
    return results.frame().select(FIGURES).rows()


def test_decides_as_the_built_in_one() -> None:
    own, built_in = figures(qdelay.compare(qdisc=[Plain, "taildrop"], transport="cubic", **FAST))
    assert own == built_in


def test_a_law_bounds_the_delay() -> None:
    frame = qdelay.compare(qdisc=["taildrop", Bound, "bound:target=5ms"], transport="cubic", **FAST).frame()
    largest = dict(zip(frame["path.qdisc"], frame["queue_delay_ms.max"]))
    assert largest["bound:target=5ms"] < largest["bound"] < largest["taildrop"]
    assert largest["bound"] <= 20 and largest["bound:target=5ms"] <= 5
    assert frame.filter(pl.col("path.qdisc") == "bound")["drops_by_reason.bound"][0] > 0


def test_codel_is_near_the_built_in_one() -> None:
    frame = qdelay.compare(qdisc=["codel", PyCodel], transport="cubic", **{**FAST, "duration": "20s"}).frame()
    built_in, own = frame["queue_delay_ms.p95"].to_list()
    assert own == pytest.approx(built_in, rel=0.25)


def test_every_case_has_an_instance_of_its_own() -> None:
    class Counts(qdelay.Aqm):
        seen: list[int] = []

        def __init__(self) -> None:
            self.count = 0

        def admit(self) -> None:
            self.count += 1
            if self.count == 1:
                Counts.seen.append(id(self))

    results = qdelay.compare(qdisc=Counts, transport=["cubic", "bbr"], seeds="1..3", **FAST)
    assert len(results) == 6
    assert len(Counts.seen) == 6
    # Figures of a seed do not depend on the other seeds.
    alone = qdelay.compare(qdisc=Counts, transport="bbr", seeds=[2], starts="random", **FAST)
    again = results.frame().filter(pl.col("flow.transport") == "bbr", pl.col("seed") == 2)
    assert again.select(FIGURES).rows() == figures(alone)


def test_random_numbers_are_of_the_seed() -> None:
    class Early(qdelay.Aqm):
        full = qdelay.Param(100, "packets at which every arrival is dropped", min=1, unit="packets")

        def admit(self, packets: int, random: float) -> qdelay.Decision:
            return qdelay.DROP if random * self.full < packets else qdelay.PASS

    runs = [qdelay.compare(qdisc=Early, transport="reno", seeds=[seed], starts="fixed", **FAST) for seed in (1, 1, 2)]
    first, again, other = map(figures, runs)
    assert first == again != other


def test_a_timer_is_called_at_its_times() -> None:
    class Ticks(qdelay.Aqm):
        times: list[float] = []

        def timer(self, now: float, packets: int) -> float | None:
            Ticks.times.append(now)
            return 0.5 if now < 2 else None

    qdelay.compare(qdisc=Ticks, transport="cubic", **FAST)
    assert Ticks.times == pytest.approx([0, 0.5, 1, 1.5, 2])


def test_marks_instead_of_drops() -> None:
    class Marks(qdelay.Aqm):
        def dequeue(self, wait: float) -> qdelay.Decision:
            return qdelay.MARK if wait > 0.02 else qdelay.PASS

    with_ecn = {"path": {"link": "10mbit", "qdisc": Marks}, "flow": [{"transport": "reno:ecn=on"}], "run": {"duration": "4s"}}
    frame = qdelay.Scenario(with_ecn).run(progress=False).frame()
    assert frame["marks"][0] > 0 and frame["drops"][0] == 0
    frame = qdelay.compare(qdisc=Marks, transport="reno", **FAST).frame()
    assert frame["marks"][0] == 0 and frame["drops"][0] > 0


def test_a_congestion_control() -> None:
    class Fixed(qdelay.CongestionControl):
        """Constant window."""

        segments = qdelay.Param(20, "the window", min=2, unit="segments")

        def ack(self) -> float:
            return self.segments

    qdelay.register(Fixed)
    frame = qdelay.compare(transport=["fixed:segments=10", "fixed:segments=20"], qdisc="taildrop", rtt="40ms", **FAST).frame()
    # A window each round trip, and no queue.
    small, large = frame["throughput_mbps"].to_list()
    assert small == pytest.approx(10 * 1500 * 8 / 0.0412 / 1e6, rel=0.05)
    assert large == pytest.approx(2 * small, rel=0.05)


def test_a_source() -> None:
    class Ticker(qdelay.Source):
        """A packet of 500 bytes each millisecond."""

        def next(self, now: float) -> tuple[float, int] | None:
            return (0.001, 500) if now < 3 else None

    frame = qdelay.compare(transport=Ticker, qdisc="taildrop", **{**FAST, "duration": "2s"}).frame()
    assert frame["throughput_mbps"][0] == pytest.approx(4.0, rel=0.01)


CELL = {
    "cell": {"scheduler": "round_robin", "ue": [{"name": "near", "channel": "mcs:20"}, {"name": "far", "channel": "mcs:20"}]},
    "flow": [{"transport": "cubic", "ue": "near"}, {"transport": "cubic", "ue": "far"}],
    "run": {"duration": "3s", "warmup": "1s"},
}


def test_a_scheduler() -> None:
    class First(qdelay.Scheduler):
        """Gives everything to the first UE."""

        def rank(self, ue: int) -> float:
            return -ue

    qdelay.register(First)
    cell = qdelay.Scenario(CELL).edited({"cell.scheduler": "first"})
    rates = cell.run(progress=False).frame("flows")["throughput_mbps"].to_list()
    assert rates[0] > 5 * rates[1]


def test_a_pacer() -> None:
    class Slow(qdelay.Pacer):
        """A packet each 10 ms."""

        def __init__(self) -> None:
            self.next = 0.0

        def eligible(self, now: float) -> bool | float:
            return True if now >= self.next else self.next - now

        def forwarded(self, now: float) -> None:
            self.next = now + 0.01

    qdelay.register(Slow)
    cell = qdelay.Scenario(CELL).edited({"cell.pacer": "slow"})
    rates = cell.run(progress=False).frame("flows")["throughput_mbps"].to_list()
    assert rates == pytest.approx([1.2, 1.2], rel=0.1)


class Raises(qdelay.Aqm):
    """Fails after a while."""

    def dequeue(self, now: float) -> None:
        if now > 1:
            raise ZeroDivisionError("of mine")


@pytest.mark.parametrize("jobs", [None, 2])
def test_an_exception_in_a_law_ends_the_case(jobs: int | None) -> None:
    with pytest.raises(qdelay.ComponentError, match=r"raises\.dequeue at 1\.\d+ s \(case .*ZeroDivisionError: of mine") as raised:
        qdelay.compare(qdisc=["codel", Raises], transport="cubic", jobs=jobs, **FAST)
    error = raised.value
    assert (error.component, error.method) == ("raises", "dequeue") and error.time_s > 1
    if jobs is None:
        assert isinstance(error.__cause__, ZeroDivisionError)
        names = []
        trace = error.__cause__.__traceback__
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert names[-1] == "dequeue"
    else:
        assert "of mine" in str(error.__cause__)


@pytest.mark.parametrize("answer", [True, 1, "no", 0.5, []])
def test_an_invalid_answer_ends_the_case(answer: object) -> None:
    class Odd(qdelay.Aqm):
        def dequeue(self) -> object:
            return answer

    with pytest.raises(qdelay.ComponentError, match=r"odd\.dequeue .* returned .*; expected qdelay.PASS, DROP or MARK"):
        qdelay.compare(qdisc=Odd, transport="cubic", **FAST)


class Endless(qdelay.Aqm):
    """Never returns, and catches every exception."""

    def dequeue(self, now: float) -> None:
        while now > 0.5:
            try:
                sum(range(1000))
            except Exception:
                pass


@pytest.mark.parametrize("jobs", [None, 2])
def test_a_law_that_never_returns(jobs: int | None) -> None:
    begin = time.monotonic()
    with pytest.raises(qdelay.TimeLimitError, match=r"has not returned in 0\.5 s.*call_limit_s") as raised:
        qdelay.compare(qdisc=["codel", Endless], transport="cubic", call_limit_s=0.5, jobs=jobs, **FAST)
    assert raised.value.limit_s == 0.5
    assert time.monotonic() - begin < 30
    # Process and interpreter continue.
    assert len(qdelay.compare(qdisc="codel", transport="cubic", **FAST)) == 1


def test_a_law_that_waits_outside_of_python() -> None:
    class Sleeps(qdelay.Aqm):
        def dequeue(self) -> None:
            time.sleep(20)

    begin = time.monotonic()
    with pytest.raises(qdelay.TimeLimitError):
        qdelay.compare(qdisc=Sleeps, transport="cubic", call_limit_s=0.2, **FAST)
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize(("seconds", "status"), [(6, 0), (60, 1)])
def test_the_process_ends_after_a_call_that_was_left_behind(seconds: int, status: int) -> None:
    code = f"""
import time, qdelay

class Sleeps(qdelay.Aqm):
    def dequeue(self):
        time.sleep({seconds})

try:
    qdelay.compare(link="10mbit", qdisc=Sleeps, transport="cubic", call_limit_s=0.2, progress=False)
except qdelay.TimeLimitError:
    print("limit")
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50)
    assert (ended.returncode, ended.stdout) == (status, "limit\n"), ended.stderr
    assert ("has not returned" in ended.stderr) == (status == 1)


def test_an_interrupt_ends_a_run() -> None:
    import _thread

    threading.Timer(1.0, _thread.interrupt_main).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        qdelay.compare(qdisc="codel", transport="cubic", link="100mbit", duration="100000s", progress=False)
    assert time.monotonic() - begin < 20


def test_processes_give_the_figures_of_one() -> None:
    kwargs: dict[str, Any] = {"qdisc": ["codel", PyCodel, Bound], "transport": "cubic", "seeds": "1..2", **FAST}
    assert qdelay.compare(jobs=2, **kwargs).frame().equals(qdelay.compare(**kwargs).frame())


def test_declarations_are_checked() -> None:
    with pytest.raises(qdelay.InputError, match="there already is a qdisc of this name"):
        qdelay.register(type("Codel", (qdelay.Aqm,), {"dequeue": lambda self: None}))
    with pytest.raises(qdelay.InputError, match="dequeue: unknown argument 'sojourn'; expected some of now, wait"):
        qdelay.register(type("A", (qdelay.Aqm,), {"dequeue": lambda self, sojourn: None}))
    with pytest.raises(qdelay.InputError, match="has no method; expected some of admit, dequeue, timer"):
        qdelay.register(type("B", (qdelay.Aqm,), {}))
    with pytest.raises(qdelay.InputError, match="its parameter 'limit' is there already"):
        qdelay.register(type("C", (qdelay.Aqm,), {"limit": qdelay.Param(5), "admit": lambda self: None}))
    with pytest.raises(qdelay.InputError, match="out of range; expected 1ms to 1s"):
        bounds = qdelay.Param("5s", min="1ms", max="1s")
        qdelay.register(type("D", (qdelay.Aqm,), {"target": bounds, "admit": lambda self: None}))
    with pytest.raises(qdelay.InputError, match="the default None has no type"):
        qdelay.register(type("E", (qdelay.Aqm,), {"x": qdelay.Param(None), "admit": lambda self: None}))  # type: ignore[call-overload]
    with pytest.raises(qdelay.InputError, match="is no component; expected a subclass"):
        qdelay.register(int)  # type: ignore[type-var]
    with pytest.raises(qdelay.InputError, match="'bound:target=20': target=20: .*such as 20ms") as raised:
        qdelay.register(Bound)
        qdelay.compare(qdisc="bound:target=20", **FAST)
    assert raised.value.place == "qdisc"


def test_parameters_that_contradict_each_other() -> None:
    class Two(qdelay.Aqm):
        low = qdelay.Param(2, unit="packets")
        high = qdelay.Param(4, unit="packets")

        def __init__(self) -> None:
            if self.low > self.high:
                raise ValueError(f"low {self.low} is above high {self.high}")

        def admit(self) -> None: ...

    qdelay.register(Two)
    assert len(qdelay.compare(qdisc="two:low=1", transport="cubic", **FAST)) == 1
    with pytest.raises(qdelay.InputError, match=r"'two:low=5': two: ValueError: low 5 is above high 4 \(line \d+ of .*test_components"):
        qdelay.compare(qdisc="two:low=5", transport="cubic", **FAST)


def test_values_of_parameters() -> None:
    class All(qdelay.Aqm):
        time = qdelay.Param("20ms")
        rate = qdelay.Param("10mbit")
        count = qdelay.Param(3, unit="packets")
        size = qdelay.Param(1500, unit="bytes")
        share = qdelay.Param(0.5)
        is_on = qdelay.Param(True)
        word = qdelay.Param("a", choices=["a", "b"])
        text = qdelay.Param("x", unit="text")
        seen: list[object] = []

        def __init__(self) -> None:
            All.seen = [self.time, self.rate, self.count, self.size, self.share, self.is_on, self.word, self.text]

        def admit(self) -> None: ...

    All()
    assert All.seen == [0.02, 1e7, 3, 1500, 0.5, True, "a", "x"]
    qdelay.register(All)
    text = "all:time=1ms:rate=1kbit:count=4:size=1b:share=.25:is_on=off:word=b:text=y"
    qdelay.compare(qdisc=text, transport="cubic", **FAST)
    assert All.seen == [0.001, 1e3, 4, 1, 0.25, False, "b", "y"]
    listed = qdelay.components("qdisc").filter(pl.col("name") == "all")
    assert listed["key"].to_list()[:3] == ["time", "rate", "count"]


def test_an_own_law_in_a_scenario_and_in_a_folder(tmp_path: Path) -> None:
    text = {"path": {"link": "10mbit"}, "flow": [{"transport": "cubic"}], "run": {"duration": "2s", "warmup": "0s"}}
    scenario = qdelay.Scenario({**text, "matrix": {"path.qdisc": ["codel", Bound, "bound:target=5ms"]}}, name="own")
    run = scenario.run(tmp_path / "own", progress=False)
    assert run.axes["path.qdisc"] == ["codel", "bound", "bound:target=5ms"]
    in_memory = scenario.run(progress=False)
    assert run.frame().equals(in_memory.frame())
    elsewhere = scenario.run(tmp_path / "elsewhere", jobs=2, progress=False)
    one, other = (sorted(path.rglob("*.json")) for path in (run.folder, elsewhere.folder))
    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in other]


@pytest.mark.parametrize(
    ("parameter", "message"),
    [
        (lambda: qdelay.Param(20, "wait", unit="ms"), r'expected Param\("20ms", ...\), without unit='),
        (lambda: qdelay.Param(10, "rate", unit="mbit"), r'expected Param\("10mbit", ...\)'),
        (lambda: qdelay.Param("20 ms", "wait"), r'the default \'20 ms\' has no type; expected a duration \("20ms"\)'),
        (lambda: qdelay.Param("20ms", "wait", min=1), "expected text with a unit as '20ms'"),  # type: ignore[call-overload]
        (lambda: qdelay.Param(5, "count", min="1"), "expected numbers as 5"),  # type: ignore[call-overload]
        (lambda: qdelay.Param(0.5, "share", unit="packets"), r"expected Param\(0.5, ...\) without it"),  # type: ignore[call-overload]
        (lambda: qdelay.Param(100, 50), r'expected Param\(100, "what it does", min=..., max=50\)'),  # type: ignore[call-overload]
        (lambda: qdelay.Param("a", "way", choices=["b"]), r"not among choices=\['b'\]"),
        (lambda: qdelay.Param(None), "the default None has no type"),  # type: ignore[call-overload]
    ],
)
def test_a_parameter_that_is_none(parameter: Any, message: str) -> None:
    own = type("Wrong", (qdelay.Aqm,), {"value": parameter(), "dequeue": lambda self: None})
    with pytest.raises(qdelay.InputError, match=message) as raised:
        qdelay.compare(qdisc=own, **FAST)
    assert raised.value.key == "value"


def test_whole_numbers_need_no_unit() -> None:
    class EveryHundredth(qdelay.Aqm):
        every = qdelay.Param(100)

        def __init__(self) -> None:
            self.count = 0

        def dequeue(self) -> qdelay.Decision:
            self.count += 1
            return qdelay.DROP if self.count % self.every == 0 else qdelay.PASS

    frame = qdelay.compare(qdisc=[EveryHundredth, "every_hundredth:every=10"], transport="cubic", **FAST).frame()
    assert frame["drops"][1] > frame["drops"][0] > 0


def test_methods_that_are_never_called() -> None:
    class Arrivals(qdelay.Aqm):
        def enqueue(self) -> None: ...

    class Acks(qdelay.CongestionControl):
        def on_ack(self) -> None: ...

    with pytest.raises(qdelay.InputError, match="arrivals: enqueue: is never called; expected 'admit', which is asked about each packet that arrives"):
        qdelay.compare(qdisc=Arrivals, **FAST)
    with pytest.raises(qdelay.InputError, match="on_ack: is never called; expected 'ack'"):
        qdelay.compare(qdisc="codel", transport=Acks, **FAST)
    with pytest.raises(qdelay.InputError, match="is an instance; expected the class, .* such as 'bound:key=value'"):
        qdelay.compare(qdisc=Bound(), **FAST)  # type: ignore[arg-type]
