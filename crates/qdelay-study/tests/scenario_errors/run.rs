//! Errors of `[run]`.

pub const BAD: &[(&str, &str)] = &[
    // Keys of [run].
    (
        "{BASE}[run]\nduration = \"0s\"",
        "my.toml: line 7: run.duration: '0s': out of range; expected 1ms to 1440min",
    ),
    (
        "{BASE}[run]\nduration = 60",
        "my.toml: line 7: run.duration: found the integer 60; expected a duration with its unit in quotes, such as \"60ms\" or \"60s\"",
    ),
    (
        "{BASE}[run]\nduration = \"25h\"",
        "my.toml: line 7: run.duration: '25h': expected a number with a unit of ns, us, ms, s or min, such as 20ms",
    ),
    (
        "{BASE}[run]\nwarmup = \"60s\"",
        "my.toml: line 7: run.warmup: 60s is not shorter than the duration of 60s; expected a shorter warm-up",
    ),
    (
        "{BASE}[run]\nseeds = \"5..1\"",
        "my.toml: line 7: run.seeds: '5..1': 5..1 is empty; expected the smaller seed first",
    ),
    (
        "{BASE}[run]\nseeds = [1, 2, 1]",
        "my.toml: line 7: run.seeds: seed 1 is given twice; expected each once",
    ),
    (
        "{BASE}[run]\nseeds = [1, \"2\"]",
        "my.toml: line 7: run.seeds: found the string '2'; expected whole numbers, such as 1, [1, 2, 7] or \"1..5\"",
    ),
    (
        "{BASE}[run]\nseeds = []",
        "my.toml: line 7: run.seeds: found an empty array; expected whole numbers, such as 1, [1, 2, 7] or \"1..5\"",
    ),
    (
        "{BASE}[run]\nseeds = -1",
        "my.toml: line 7: run.seeds: '-1': expected whole numbers, such as 1, [1, 2, 7] or \"1..5\"",
    ),
    (
        "{BASE}[run]\nseeds = \"1..20000\"",
        "my.toml: line 7: run.seeds: '1..20000': out of range; expected at most 10000 seeds",
    ),
    ("{BASE}[run]\nprobe = 1", "my.toml: line 7: run.probe: found the integer 1; expected true or false"),
    ("{BASE}[run]\nprobe = \"yes\"", "my.toml: line 7: run.probe: 'yes': expected true or false"),
    (
        "{BASE}[run]\nseries = \"none\"",
        "my.toml: line 7: run.series: 'none': expected a number with a unit of ns, us, ms, s or min, such as 20ms, or off",
    ),
    (
        "{BASE}[run]\nseries = \"1ms\"\nduration = \"60min\"",
        "my.toml: line 7: run.series: '1ms': more than 1000000 bins; expected wider ones",
    ),
    (
        "{BASE}[run]\nseries = \"off\"\nconnections = true",
        "my.toml: line 8: run.connections: there are no series to add connections to; expected run.series too, such as series = \"20ms\"",
    ),
    (
        "{BASE}[run]\nseed = 1",
        "my.toml: line 7: run.seed: unknown key; expected one of duration, warmup, seeds, starts, min_packet_bytes, probe, series, connections, packets; did you mean 'seeds'?",
    ),
    (
        "{BASE}[run]\nmin_packet_bytes = 70000",
        "my.toml: line 7: run.min_packet_bytes: '70000': out of range; expected 0 to 65535b",
    ),
    (
        "{BASE}[run]\nduration = 1979-05-27",
        "my.toml: line 7: run.duration: found the date or time 1979-05-27; expected a duration in quotes, such as \"20ms\"",
    ),
];
