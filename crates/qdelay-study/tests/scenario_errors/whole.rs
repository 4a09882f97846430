//! Errors of a file as a whole, and of `[fallback]`.

pub const BAD: &[(&str, &str)] = &[
    // The whole.
    (
        "",
        "my.toml: no flow is given; expected at least one [[flow]], such as [[flow]] with transport = \"cubic\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\n",
        "my.toml: no flow is given; expected at least one [[flow]], such as [[flow]] with transport = \"cubic\"",
    ),
    (
        "[[flow]]\n",
        "my.toml: path: neither a link nor a trace is given; expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"5mbit\"\nqdisc = \"dsd:rate=10mbit\"\n[[flow]]\n",
        "my.toml: line 3: path.qdisc: dsd relies on a rate of 10mbit, but the link has 5mbit; expected at most the rate of the link, or no rate if that varies",
    ),
    (
        "[path]\ntrace = \"synth-lte-driving\"\nqdisc = \"fcfs_green:rate=1mbit\"\n[[flow]]\n",
        "my.toml: line 3: path.qdisc: fcfs_green relies on a rate of 1mbit, but the link's rate varies; expected at most the rate of the link, or no rate if that varies",
    ),
    (
        "[path]\nlink = \"uplink\"\nqdisc = \"dsd:rate=1mbit\"\n[[flow]]\n",
        "my.toml: line 3: path.qdisc: dsd relies on a rate of 1mbit, but the link's rate varies; expected at most the rate of the link, or no rate if that varies",
    ),
    ("a = 1\na = 2", "my.toml: line 2: not TOML: duplicate key"),
    ("[path\n", "my.toml: line 1: not TOML: unclosed table, expected `]`"),
    (
        "{BASE}bandwidth = 5",
        "my.toml: line 6: flow.bandwidth: unknown key; expected one of name, transport, count, direction, start, stop, start_spread, dscp, second_dscp, second_share, extra_rtt, access_rate, access_jitter, discard_delay, set_within, ue, qfi",
    ),
    (
        "tilte = \"a\"\n{BASE}",
        "my.toml: line 1: tilte: unknown key; expected one of title, about, path, cell, flow, run, matrix, fallback, expect, origin; did you mean 'title'?",
    ),
    (
        "[pth]\nlink = \"10mbit\"\n[[flow]]",
        "my.toml: line 1: pth: unknown key; expected one of title, about, path, cell, flow, run, matrix, fallback, expect, origin; did you mean 'path'?",
    ),
    (
        "title = 5\n[[flow]]",
        "my.toml: line 1: title: found the integer 5; expected one line of text in quotes",
    ),
    (
        "title = \"a\\nb\"\n[[flow]]",
        "my.toml: line 1: title: found the string 'a\\nb'; expected one line of text in quotes",
    ),
    ("path = 5", "my.toml: line 1: path: found the integer 5; expected a table, as in [path]"),
    ("flow = 5", "my.toml: line 1: flow: found the integer 5; expected tables, each under [[flow]]"),
    ("[flow]\nname = \"a\"", "my.toml: line 1: flow: found a table; expected tables, each under [[flow]]"),
    ("flow = [1]", "my.toml: line 1: flow: found the integer 1; expected tables, each under [[flow]]"),
    // [fallback].
    (
        "{BASE}[fallback]\n\"a/b\" = \"synth-subwya.down\"",
        "my.toml: line 7: fallback.'a/b': unknown shipped trace 'synth-subwya.down'; expected one of synth-lte-driving.down, synth-lte-driving.up, synth-lte-stationary.down, synth-subway.down; did you mean 'synth-subway.down'?",
    ),
    (
        "{BASE}[fallback]\n\"a/b\" = 5",
        "my.toml: line 7: fallback.'a/b': found the integer 5; expected the name of a shipped trace in quotes",
    ),
];
