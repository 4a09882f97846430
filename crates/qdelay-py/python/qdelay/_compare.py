"""Comparisons without a scenario file."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from typing import TYPE_CHECKING, Any

from qdelay import _native
from qdelay._components import _Component, declared, name_of
from qdelay._errors import InputError
from qdelay._renamed import refuses_old_names
from qdelay._progress import Progress, shown
from qdelay._running import (
    CALL_LIMIT_S,
    Seeds,
    Time,
    check_repeats,
    checked_jobs,
    followed,
    jobs_of,
    paths_of,
    processes,
    seeds_text,
    text_of,
    time_text,
)

if TYPE_CHECKING:
    from qdelay._results import Results

    Text = str | PathLike[str]
    Named = str | type[_Component]


@refuses_old_names
def compare(
    *,
    trace: Text | Iterable[Text] = (),
    link: str | Iterable[str] = (),
    qdisc: Named | Iterable[Named] | None = None,
    transport: Named | Iterable[Named] | None = None,
    seeds: Seeds | None = None,
    flows: int | None = None,
    duration: Time | None = None,
    warmup: Time | None = None,
    rtt: Time | None = None,
    jitter: Time | None = None,
    starts: str | None = None,
    uplink: Text | None = None,
    uplink_limit: int | None = None,
    limit: int | None = None,
    repeat: bool = True,
    probe: bool = False,
    min_packet_bytes: int | None = None,
    trace_format: str | None = None,
    traces: Text | Iterable[Text] = (),
    jobs: int | None = None,
    packets: bool = False,
    series: bool = False,
    connections: bool = False,
    progress: Progress = True,
    call_limit_s: float = CALL_LIMIT_S,
    unverified: bool = False,
) -> Results:
    """Crosses links, disciplines, transports and seeds, runs every case in memory, and returns the results, as `qdelay compare` has them.

    The keywords are the options of the command with its notation and defaults (`qdelay compare --help`; its --seed is seeds here):

    trace: traces of the bottleneck, files or names of shipped ones (`qdelay.traces()`); or
    link: bottlenecks without a trace, such as "10mbit:overhead=14".
    qdisc, transport: components as text ("bode:target=20ms"), as user-defined classes (`qdelay.Aqm`), or shared objects ("./my.so"), whose code
    runs with all rights of this program.
    seeds: "1..10", range(1, 11), [1, 2, 7], or a number for this one seed. Several make intervals.
    flows: of each case. duration, warmup, rtt, jitter: times, such as "60s" or "40ms", or numbers of seconds. rtt also over time:
    "steps:0s@20ms+5s@60ms", "trace:FILE".
    starts: "random", "fixed" or "auto": where each seed begins on the trace.
    uplink: the link of the acknowledgements, or "none". uplink_limit, limit: packets that the queues hold.
    repeat: a trace starts over at its end; False: it ends. probe: a small packet, 100 times a second. min_packet_bytes: smaller packets do not count.
    trace_format: such as "csv:column=downlink_mbps". traces: folders in which traces are looked for too.

    jobs: cases to run at once; by default one for each core, and one in all where a component is of Python. With several, components of
    Python run in processes of their own.
    packets: keep every packet: `Results.packets`. series: keep what is there over time, in bins of a 500th of the duration, rounded up to 10, 20, 50... ms: `plot.time`,
    `Results.series`. connections: keep with it the congestion window, round trip, pacing rate and more of each connection at the end of each bin:
    `plot.time(results, measure="cwnd")`.
    progress: whether to show it, or a function that is given how many cases are done, and how many there are.
    call_limit_s: how long a call of a component of Python may take, seconds on the clock; 0: any time.
    unverified: go on although a user-defined component gives other figures when a case is run again.

    Raises InputError (its `place` is the keyword), ComponentError, TimeLimitError, AuditError.
    """
    options: list[str] = []

    def give(option: str, value: Any) -> None:
        if value is not None:
            options.append(f"--{option}={value}")

    for name, items in {"trace": trace, "link": link}.items():
        for item in _several(items):
            give(name, text_of(item, name))
    for name, components in {"qdisc": qdisc, "transport": transport}.items():
        named = _several(components)
        if components is not None and not named:
            raise InputError(name, None, None, "nothing is in it; expected a component or several, or None for those of the command")
        for component in named:
            give(name, name_of(component))
    for folder in paths_of(traces):
        give("traces", folder)
    give("seed", seeds_text(seeds))
    times = {"duration": duration, "warmup": warmup, "rtt": rtt, "jitter": jitter}
    texts = {**{name: time_text(value, name) for name, value in times.items()}, "starts": starts, "trace-format": trace_format}
    numbers = {"flows": flows, "uplink-limit": uplink_limit, "limit": limit, "min-packet-bytes": min_packet_bytes}
    for option, value in {**texts, **numbers}.items():
        give(option, value)
    give("uplink", None if uplink is None else text_of(uplink, "uplink"))
    give("jobs", checked_jobs(jobs))
    options += [f"--{name}" for name, is_on in {"no-repeat": not repeat, "probe": probe}.items() if is_on]

    from qdelay._results import Results

    try:
        study = _native.Study.of_options(options, declared(), series=series, connections=connections)
    except InputError as error:
        if error.place in map(str, _several(trace)):
            message = f"'{error.place}': {error.message}; traces= and QDELAY_TRACES name folders of recorded ones"
            raise InputError("trace", error.line, error.key, message) from None
        raise
    text = " ".join(options)
    told, terminal = shown(progress)
    spec = ("options", options, series, connections)
    check_repeats(study, text, spec, call_limit_s, unverified)
    with followed(text), processes(study, text, spec, jobs, packets, call_limit_s) as elsewhere:
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
    return [given] if isinstance(given, (str, type, PathLike, _Component)) or not isinstance(given, Iterable) else list(given)
