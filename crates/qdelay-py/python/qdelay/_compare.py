"""Comparisons without a scenario file."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from qdelay import _native
from qdelay._components import declared, name_of
from qdelay._progress import Progress, shown
from qdelay._running import CALL_LIMIT_S, checked_jobs, jobs_of, processes, seeds_text

if TYPE_CHECKING:
    from qdelay._components import _Component
    from qdelay._results import Results

    Text = str | PathLike[str]
    Named = str | type[_Component]


def compare(
    *,
    trace: Text | Iterable[Text] = (),
    link: str | Iterable[str] = (),
    qdisc: Named | Iterable[Named] | None = None,
    transport: Named | Iterable[Named] | None = None,
    seed: str | Iterable[int] | None = None,
    flows: int | None = None,
    duration: str | None = None,
    warmup: str | None = None,
    rtt: str | None = None,
    jitter: str | None = None,
    starts: str | None = None,
    uplink: Text | None = None,
    uplink_limit: int | None = None,
    limit: int | None = None,
    once: bool = False,
    probe: bool = False,
    min_packet_bytes: int | None = None,
    trace_format: str | None = None,
    jobs: int | None = None,
    packets: bool = False,
    progress: Progress = True,
    call_limit_s: float = CALL_LIMIT_S,
) -> Results:
    """Crosses links, disciplines, transports and seeds, runs every case in memory, and returns the results, as `qdelay compare` has them.

    The keywords are the options of the command with its notation and defaults (`qdelay compare --help`):

    trace: traces of the bottleneck, files or names of shipped ones (`qdelay.traces()`); or
    link: bottlenecks without a trace, such as "10mbit:overhead=14".
    qdisc, transport: components as text ("bode:target=20ms") or as classes of one's own (`qdelay.Aqm`).
    seed: "1..10", or numbers. Several make intervals.
    flows: of each case. duration, warmup, rtt, jitter: times, such as "60s".
    starts: "random", "fixed" or "auto": where each seed begins on the trace.
    uplink: the link of the acknowledgements, or "none". uplink_limit, limit: packets that the queues hold.
    once: a trace ends instead of starting over. probe: a small packet, 100 times a second. min_packet_bytes: smaller packets do not count.
    trace_format: such as "csv:column=downlink_mbps".

    jobs: cases to run at once; by default one for each core, and one in all where a component is of Python. With several, components of
    Python run in processes of their own.
    packets: keep every packet: `Results.packets`.
    progress: whether to show it, or a function that is given how many cases are done, and how many there are.
    call_limit_s: how long a call of a component of Python may take, seconds on the clock; 0: any time.

    Raises InputError (its `place` is the keyword), ComponentError, TimeLimitError, AuditError.
    """
    options: list[str] = []

    def give(option: str, value: Any) -> None:
        if value is not None:
            options.append(f"--{option}={value}")

    for item in _several(trace):
        give("trace", fspath(item))
    for item in _several(link):
        give("link", item)
    for item in _several(qdisc):
        give("qdisc", name_of(item))
    for item in _several(transport):
        give("transport", name_of(item))
    give("seed", seeds_text(seed))
    texts = {"duration": duration, "warmup": warmup, "rtt": rtt, "jitter": jitter, "starts": starts, "trace-format": trace_format}
    numbers = {"flows": flows, "uplink-limit": uplink_limit, "limit": limit, "min-packet-bytes": min_packet_bytes}
    for option, value in {**texts, **numbers}.items():
        give(option, value)
    give("uplink", None if uplink is None else fspath(uplink))
    give("jobs", checked_jobs(jobs))
    options += [f"--{name}" for name, is_on in {"once": once, "probe": probe}.items() if is_on]

    from qdelay._results import Results

    study = _native.Study.of_options(options, declared())
    text = " ".join(options)
    told, terminal = shown(progress)
    with processes(study, text, ("options", options), None if packets else jobs, call_limit_s) as elsewhere:
        results = study.in_memory(
            jobs=jobs_of(jobs, text),
            packets=packets,
            progress=told,
            terminal=terminal,
            limit_s=call_limit_s,
            elsewhere=elsewhere,
        )
    return Results(results)


def _several(given: Any) -> list[Any]:
    if given is None:
        return []
    return [given] if isinstance(given, (str, type, PathLike)) else list(given)
