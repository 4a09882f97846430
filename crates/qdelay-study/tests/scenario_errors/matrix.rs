//! Errors of `[matrix]`.

pub const BAD: &[(&str, &str)] = &[
    // [matrix].
    (
        "{BASE}[matrix]\npath.qdics = [\"pie\"]",
        "my.toml: line 7: matrix.path.qdics: unknown key; expected one of link, trace, trace_format, repeat, qdisc, limit, rtt, jitter, loss, reorder, reorder_delay, duplicate, corrupt, uplink, uplink_limit, uplink_qdisc, uplink_loss, uplink_jitter, uplink_reorder, uplink_duplicate, uplink_corrupt; did you mean 'qdisc'?",
    ),
    (
        "{BASE}[matrix]\nqdisc = [\"pie\"]",
        "my.toml: line 7: matrix.qdisc: unknown key; expected one of path, flow, run, variant",
    ),
    (
        "{BASE}[matrix]\npath = 5",
        "my.toml: line 7: matrix.path: found the integer 5; expected a table of keys",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = \"pie\"",
        "my.toml: line 7: matrix.path.qdisc: found the string 'pie'; expected an array of one or more values",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = []",
        "my.toml: line 7: matrix.path.qdisc: found an empty array; expected an array of one or more values",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\n  \"pie\",\n  \"codl\",\n]",
        "my.toml: line 9: matrix.path.qdisc: 'codl': unknown qdisc 'codl'; known: {QDISCS}; did you mean 'codel'?",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\n  \"pie\",\n  \"pie\",\n]",
        "my.toml: line 9: matrix.path.qdisc: 'pie' is given twice; expected each value once",
    ),
    (
        "{BASE}[matrix]\npath.rtt = [\"1s\", \"1000ms\"]",
        "my.toml: line 7: matrix.path.rtt: '1000ms' is given twice; expected each value once",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\"pie\", { label = \"pie\", value = \"codel\" }]",
        "my.toml: line 7: matrix.path.qdisc: label 'pie' is given twice; expected each once",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [{ label = \"a\" }]",
        "my.toml: line 7: matrix.path.qdisc: a label without a value; expected { label = \"...\", value = ... }",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [{ label = \"a\", valu = \"pie\" }]",
        "my.toml: line 7: matrix.path.qdisc.valu: unknown key; expected one of label, value; did you mean 'value'?",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [{ label = \"\", value = \"pie\" }]",
        "my.toml: line 7: matrix.path.qdisc.label: found the string ''; expected one line of text in quotes, at most 200 bytes",
    ),
    (
        "{BASE}[matrix]\nrun.seeds = [1, 2]",
        "my.toml: line 7: matrix.run.seeds: seeds are always an axis; expected them in [run]",
    ),
    (
        "{BASE}[matrix]\nflow.name = [\"a\"]",
        "my.toml: line 7: matrix.flow.name: cannot be varied; expected one of transport, count, direction, start, stop, start_spread, dscp, second_dscp, second_share, extra_rtt, access_rate, access_jitter, discard_delay, set_within, ue, qfi",
    ),
    (
        "{BASE}[matrix]\nflow.fil.start = [\"1s\"]",
        "my.toml: line 7: matrix.flow.fil: neither a key nor the name of a flow; expected one of transport, count, direction, start, stop, start_spread, dscp, second_dscp, second_share, extra_rtt, access_rate, access_jitter, discard_delay, set_within, ue, qfi, file; did you mean 'file'?",
    ),
    (
        "{BASE}[matrix]\nflow.file.strt = [\"1s\"]",
        "my.toml: line 7: matrix.flow.file.strt: unknown key; expected one of transport, count, direction, start, stop, start_spread, dscp, second_dscp, second_share, extra_rtt, access_rate, access_jitter, discard_delay, set_within, ue, qfi; did you mean 'start'?",
    ),
    (
        "{BASE}[matrix]\nflow.file = [\"1s\"]",
        "my.toml: line 7: matrix.flow.file: found an array; expected a table of keys",
    ),
    (
        "{BASE}[matrix]\nrun.duration = [\"5s\", \"10s\"]\nrun.warmup = [\"1s\",\n\"6s\"]",
        "my.toml: line 9: run.warmup: 6s is not shorter than the duration of 5s; expected a shorter warm-up",
    ),
    (
        "{BASE}[matrix]\npath.trace = [\"synth-subway\"]",
        "my.toml: line 7: path.trace: both a link and a trace are given; expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "{BASE}[[matrix.variant]]\npath.qdisc = \"pie\"",
        "my.toml: line 6: matrix.variant: no label; expected one, such as label = \"two queues\"",
    ),
    (
        "{BASE}[[matrix.variant]]\nlabel = \"a\"\n[[matrix.variant]]\nlabel = \"a\"",
        "my.toml: line 9: matrix.variant: label 'a' is given twice; expected each once",
    ),
    (
        "{BASE}[[matrix.variant]]\nlabel = \"a\"\npath.qdisk = \"pie\"",
        "my.toml: line 8: matrix.variant.path.qdisk: unknown key; expected one of link, trace, trace_format, repeat, qdisc, limit, rtt, jitter, loss, reorder, reorder_delay, duplicate, corrupt, uplink, uplink_limit, uplink_qdisc, uplink_loss, uplink_jitter, uplink_reorder, uplink_duplicate, uplink_corrupt; did you mean 'qdisc'?",
    ),
    (
        "{BASE}[[matrix.variant]]\nlabel = \"a\"\npath.qdisc = [\"pie\"]",
        "my.toml: line 8: matrix.variant.path.qdisc: found an array; expected one qdisc here, and several as an axis under [matrix]",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\"pie\"]\n[[matrix.variant]]\nlabel = \"a\"\npath.qdisc = \"codel\"",
        "my.toml: line 8: matrix.variant: sets a key that path.qdisc sets too; expected each key in one axis",
    ),
    (
        "{BASE}[matrix]\nvariant = 5",
        "my.toml: line 7: matrix.variant: found the integer 5; expected tables, each under [[matrix.variant]]",
    ),
    (
        "{BASE}[matrix]\n\"flow.fil.start\" = [\"1s\"]",
        "my.toml: line 7: matrix.flow.fil.start: neither a key nor the name of a flow; expected one of transport, count, direction, start, stop, start_spread, dscp, second_dscp, second_share, extra_rtt, access_rate, access_jitter, discard_delay, set_within, ue, qfi, file; did you mean 'file'?",
    ),
    (
        "[cell]\n[[cell.ue]]\n[[flow]]\n[matrix]\n\"cell.ue.car.count\" = [2]",
        "my.toml: line 5: matrix.cell.ue.car.count: neither a key nor the name of a UE; expected one of count, channel, report_delay, report_period, olla, drx, handover, handover_channel, scells, slice, uplink_channel, ue-1",
    ),
];
