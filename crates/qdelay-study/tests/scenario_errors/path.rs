//! Errors of `[path]` and `[[path.hop]]`.

pub const BAD: &[(&str, &str)] = &[
    // Hops.
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"a\"\n[[flow]]",
        "my.toml: line 3: path.hop: neither a link nor a trace is given; expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nlink = \"5mbit\"\ntrace = \"synth-subway\"\n[[flow]]",
        "my.toml: line 5: path.hop.trace: both a link and a trace are given; expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nlink = \"5mbit\"\nrepeat = false\n[[flow]]",
        "my.toml: line 5: path.hop.repeat: a link is given; expected this key only with a trace",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"a\"\nlink = \"5mbit\"\n[[path.hop]]\nname = \"a\"\nlink = \"5mbit\"\n[[flow]]",
        "my.toml: line 7: path.hop.name: 'a' is given twice; expected each name once",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"delay\"\nlink = \"5mbit\"\n[[flow]]",
        "my.toml: line 4: path.hop.name: 'delay' is the name of a key; expected another name",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nlnk = \"5mbit\"\n[[flow]]",
        "my.toml: line 4: path.hop.lnk: unknown key; expected one of name, link, trace, trace_format, repeat, qdisc, limit, delay; did you mean 'link'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[path.hop]\nlink = \"5mbit\"\n[[flow]]",
        "my.toml: line 3: path.hop: header is missing; expected [[path.hop]] before its keys and tables",
    ),
    (
        "[path]\nlink = \"10mbit\"\nhop = []\n[[flow]]",
        "my.toml: line 3: path.hop: found an empty array; expected tables, each under [[path.hop]]",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nlink = \"5mbit\"\nqdisc = \"dsd:rate=1mbit:bound=40ms\"\nlimit = 3\n[[flow]]",
        "my.toml: line 5: path.hop.qdisc: 'dsd:rate=1mbit:bound=40ms': bound 40ms is longer than a full buffer lasts at 1mbit (36ms); expected less, or a larger limit",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[flow]]\n[matrix]\npath.hop.limit = [1, 2]",
        "my.toml: line 5: matrix.path.hop: there is no hop; expected a table [[path.hop]]",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"core\"\nlink = \"5mbit\"\n[[flow]]\n[matrix]\npath.hop.cor.limit = [1, 2]",
        "my.toml: line 8: matrix.path.hop.cor: neither a key nor the name of a hop; expected one of link, trace, trace_format, repeat, qdisc, limit, delay, core; did you mean 'core'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"core\"\nlink = \"5mbit\"\n[[flow]]\n[matrix]\npath.hop.name = [\"a\"]",
        "my.toml: line 8: matrix.path.hop.name: cannot be varied; expected one of link, trace, trace_format, repeat, qdisc, limit, delay",
    ),
    // Keys of [path].
    (
        "[path]\nlink = \"10mbit\"\nloss = \"150%\"\n[[flow]]",
        "my.toml: line 3: path.loss: '150%': probability=150%: out of range; expected 0% to 100%",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink_loss = \"gilbert-elliott:p=1%\"\n[[flow]]",
        "my.toml: line 3: path.uplink_loss: 'gilbert-elliott:p=1%': no r; expected a percentage such as r=1%",
    ),
    (
        "[path]\nlink = \"10mbit\"\nduplicate = 0.1\n[[flow]]",
        "my.toml: line 3: path.duplicate: found the float 0.1; expected a percentage in quotes, such as \"1%\", or a model of loss",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"none\"\nuplink_qdisc = \"codel\"\n[[flow]]",
        "my.toml: line 4: path.uplink_qdisc: there is no uplink; expected path.uplink too, such as uplink = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdics = \"pie\"\n[[flow]]",
        "my.toml: line 3: path.qdics: unknown key; expected one of link, trace, trace_format, repeat, qdisc, limit, rtt, jitter, loss, reorder, reorder_delay, duplicate, corrupt, uplink, uplink_limit, uplink_qdisc, uplink_loss, uplink_jitter, uplink_reorder, uplink_duplicate, uplink_corrupt, hop; did you mean 'qdisc'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc = \"bod\"\n[[flow]]",
        "my.toml: line 3: path.qdisc: 'bod': unknown qdisc 'bod'; known: {QDISCS}; did you mean 'bode'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc = \"bode:targt=5ms\"\n[[flow]]",
        "my.toml: line 3: path.qdisc: 'bode:targt=5ms': bode has no key 'targt'; known: target, min_keep, min_keep_bytes, limit, limit_bytes; did you mean 'target'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc = \"bode:target=5\"\n[[flow]]",
        "my.toml: line 3: path.qdisc: 'bode:target=5': target=5: expected a number with a unit of ns, us, ms, s or min, such as 20ms",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc = \"priority:ef@[bode\"\n[[flow]]",
        "my.toml: line 3: path.qdisc: 'priority:ef@[bode': '[' without its ']', before 'bode'",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc = 5\n[[flow]]",
        "my.toml: line 3: path.qdisc: found the integer 5; expected a qdisc, as a string such as \"taildrop\" or a table such as { taildrop = {} }",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc = { bode = {}, pie = {} }\n[[flow]]",
        "my.toml: line 3: path.qdisc: found a table of 2 keys; expected one, the name of a qdisc",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[path.qdisc]\nbodee = { }\n[[flow]]",
        "my.toml: line 4: path.qdisc: unknown qdisc 'bodee'; known: {QDISCS}; did you mean 'bode'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[path.qdisc.bode]\nlimit = 500\ntarget = 20\n[[flow]]",
        "my.toml: line 5: path.qdisc.bode.target: found the integer 20; expected a duration with its unit in quotes, such as \"20ms\" or \"20s\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[path.qdisc.bode]\ntarget = \"20ms\"\nlimt = 500\n[[flow]]",
        "my.toml: line 5: path.qdisc.bode.limt: unknown key; expected one of target, min_keep, min_keep_bytes, limit, limit_bytes; did you mean 'limit'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[path.qdisc.bode]\nlimit = 0\n[[flow]]",
        "my.toml: line 4: path.qdisc.bode.limit: '0': out of range; expected 1 to 10000000",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc.bode = 5\n[[flow]]",
        "my.toml: line 3: path.qdisc.bode: found the integer 5; expected a table of bode's parameters, such as {}",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdisc.priority.classes = \"ef@bode:target=5ms\"\n[[flow]]",
        "my.toml: line 3: path.qdisc.priority.classes: 'ef@bode:target=5ms': expected ':' only within square brackets, and those in pairs",
    ),
    (
        "[path]\nlink = \"10\"\n[[flow]]",
        "my.toml: line 2: path.link: '10': rate=10: expected a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit",
    ),
    (
        "[path]\nlink = \"wire\"\n[[flow]]",
        "my.toml: line 2: path.link: 'wire': unknown link 'wire'; known: rate, htb, line, steps, uplink, starlink, synth",
    ),
    (
        "[path]\nlink = { line = { rate = 10 } }\n[[flow]]",
        "my.toml: line 2: path.link.line.rate: found the integer 10; expected a rate with its unit in quotes, such as \"10mbit\"",
    ),
    (
        "[path]\nlink = { rate = { rate = \"1mbit\", model = \"line\", burst = 9 } }\n[[flow]]",
        "my.toml: line 2: path.link: 'rate:rate=1mbit:model=line:burst=9': a line has no burst; expected no burst, or model=htb",
    ),
    (
        "[path]\nlink = \"10mbit\"\ntrace = \"synth-subway\"\n[[flow]]",
        "my.toml: line 3: path.trace: both a link and a trace are given; expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nrtt = \"1ms\"\n[[flow]]",
        "my.toml: line 1: path: neither a link nor a trace is given; expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nrepeat = false\n[[flow]]",
        "my.toml: line 3: path.repeat: a link is given; expected this key only with a trace",
    ),
    (
        "[path]\nlink = \"10mbit\"\ntrace_format = \"mbps\"\n[[flow]]",
        "my.toml: line 3: path.trace_format: a link is given; expected this key only with a trace",
    ),
    (
        "[path]\ntrace = \"synth-subway\"\ntrace_format = \"wav\"\n[[flow]]",
        "my.toml: line 3: path.trace_format: 'wav': unknown format; expected mahimahi, mbps or csv:column=NAME; or an output of iperf3, irtt, \
         flent, wireshark, pensieve, puffer, alphartc",
    ),
    (
        "[path]\ntrace = \"no/such\"\n[[flow]]",
        "my.toml: line 2: path.trace: no trace 'no/such': it is not shipped, and there is no no/such; expected it in a folder given by --traces or QDELAY_TRACES, or a substitute under [fallback]",
    ),
    (
        "[path]\ntrace = \"\"\n[[flow]]",
        "my.toml: line 2: path.trace: found the string ''; expected the name of a trace in quotes, such as \"synth-lte-driving\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nrtt = 10\n[[flow]]",
        "my.toml: line 3: path.rtt: found the integer 10; expected a duration with its unit in quotes, such as \"10ms\" or \"10s\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nrtt = \"10\"\n[[flow]]",
        "my.toml: line 3: path.rtt: '10': expected a number with a unit of ns, us, ms, s or min, such as 20ms",
    ),
    (
        "[path]\nlink = \"10mbit\"\nrtt = \"2min\"\n[[flow]]",
        "my.toml: line 3: path.rtt: '2min': out of range; expected 1us to 60s",
    ),
    (
        "[path]\nlink = \"10mbit\"\nlimit = \"many\"\n[[flow]]",
        "my.toml: line 3: path.limit: 'many': expected a whole number of packets",
    ),
    (
        "[path]\nlink = \"10mbit\"\nlimit = 1.5\n[[flow]]",
        "my.toml: line 3: path.limit: found the float 1.5; expected a whole number of packets",
    ),
    (
        "[path]\nlink = \"10mbit\"\nlimit = -1\n[[flow]]",
        "my.toml: line 3: path.limit: '-1': expected a whole number of packets",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"-5\"\n[[flow]]",
        "my.toml: line 3: path.uplink: '-5': rate=-5: expected a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit; a file with a trace is given as ./-5",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"no/such\"\n[[flow]]",
        "my.toml: line 3: path.uplink: no trace 'no/such': it is not shipped, and there is no no/such; expected it in a folder given by --traces or QDELAY_TRACES, or a substitute under [fallback]; or a link in its place, such as the rate 10mbit or steps:0s@6mbit+10s@1mbit",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"3g\"\n[[flow]]",
        "my.toml: line 3: path.uplink: '3g': rate=3g: expected a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit; a file with a trace is given as ./3g",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"12.trace\"\n[[flow]]",
        "my.toml: line 3: path.uplink: no trace '12.trace': it is not shipped, and there is no 12.trace; expected it in a folder given by --traces or QDELAY_TRACES, or a substitute under [fallback]; or a link in its place, such as the rate 10mbit or steps:0s@6mbit+10s@1mbit",
    ),
    (
        "[path]\nlink = \"synth:subway:outage_min=5s:outage_max=1s\"\n[[flow]]",
        "my.toml: line 2: path.link: 'synth:subway:outage_min=5s:outage_max=1s': expected an outage_min of at most outage_max, found '5s and 1s'",
    ),
];
