//! Bad scenarios, and the one line that each gets.

use qdelay_core::Span;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;

/// A sound scenario of five lines, which most cases add to.
const BASE: &str = "[path]\nlink = \"10mbit\"\n\n[[flow]]\nname = \"file\"\n";

/// What is wrong, on one line. What parses is checked too.
fn error(text: &str) -> String {
    error_with(text, &Overrides::default())
}

fn error_with(text: &str, overrides: &Overrides) -> String {
    let study = Study::parse("my.toml", text, overrides);
    let error = study.and_then(|study| study.check(&Library::new())).expect_err(text);
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

const BAD: &[(&str, &str)] = &[
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
        "my.toml: path: no link and no trace is given; expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"5mbit\"\nqdisc = \"dsd:rate=10mbit\"\n[[flow]]\n",
        "my.toml: line 3: path.qdisc: dsd counts on 10mbit, and the link has 5mbit; expected the rate of the link, or none where it varies",
    ),
    (
        "[path]\ntrace = \"synth-lte-driving\"\nqdisc = \"fcfs_green:rate=1mbit\"\n[[flow]]\n",
        "my.toml: line 3: path.qdisc: fcfs_green counts on 1mbit, and the link's rate varies; expected the rate of the link, or none where it varies",
    ),
    (
        "[path]\nlink = \"uplink\"\nqdisc = \"dsd:rate=1mbit\"\n[[flow]]\n",
        "my.toml: line 3: path.qdisc: dsd counts on 1mbit, and the link's rate varies; expected the rate of the link, or none where it varies",
    ),
    ("a = 1\na = 2", "my.toml: line 2: not TOML: duplicate key"),
    ("[path\n", "my.toml: line 1: not TOML: unclosed table, expected `]`"),
    (
        "{BASE}bandwidth = 5",
        "my.toml: line 6: flow.bandwidth: unknown key; expected one of name, transport, count, direction, start, stop, spread, dscp, other_dscp, other_share, extra_rtt, access, access_jitter, discard_after, ue, qfi",
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
    // Hops.
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"a\"\n[[flow]]",
        "my.toml: line 3: path.hop: no link and no trace is given; expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nlink = \"5mbit\"\ntrace = \"synth-subway\"\n[[flow]]",
        "my.toml: line 5: path.hop.trace: a link and a trace are given; expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nlink = \"5mbit\"\nonce = true\n[[flow]]",
        "my.toml: line 5: path.hop.once: a link is given; expected this with a trace only",
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
        "my.toml: line 4: path.hop.lnk: unknown key; expected one of name, link, trace, trace_format, once, qdisc, limit, delay; did you mean 'link'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[path.hop]\nlink = \"5mbit\"\n[[flow]]",
        "my.toml: line 3: path.hop: stands without its own header; expected [[path.hop]] before what is below it",
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
        "my.toml: line 8: matrix.path.hop.cor: neither a key nor the name of a hop; expected one of link, trace, trace_format, once, qdisc, limit, delay, core; did you mean 'core'?",
    ),
    (
        "[path]\nlink = \"10mbit\"\n[[path.hop]]\nname = \"core\"\nlink = \"5mbit\"\n[[flow]]\n[matrix]\npath.hop.name = [\"a\"]",
        "my.toml: line 8: matrix.path.hop.name: cannot be varied; expected one of link, trace, trace_format, once, qdisc, limit, delay",
    ),
    // Colours, jitter and late packets of flows.
    (
        "{BASE}other_share = \"20%\"",
        "my.toml: line 6: flow.other_share: no packet has another codepoint; expected other_dscp too, such as other_dscp = \"be\"",
    ),
    (
        "{BASE}other_dscp = \"be\"\nother_share = 0.2",
        "my.toml: line 7: flow.other_share: found the float 0.2; expected percent in quotes, 0% to 100%, such as \"20%\"",
    ),
    (
        "{BASE}other_dscp = \"be\"\nother_share = \"101%\"",
        "my.toml: line 7: flow.other_share: '101%': expected percent in quotes, 0% to 100%, such as \"20%\"",
    ),
    (
        "{BASE}other_dscp = \"blue\"",
        "my.toml: line 6: flow.other_dscp: 'blue': no codepoint; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
    ),
    (
        "{BASE}access_jitter = \"1.6ms\"",
        "my.toml: line 6: flow.access_jitter: there is no access link that it could be behind; expected access too, such as access = \"10mbit\"",
    ),
    (
        "{BASE}discard_after = \"0s\"",
        "my.toml: line 6: flow.discard_after: '0s': out of range; expected 1us to 60s",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"none\"\n[[flow]]\ndirection = \"up\"",
        "my.toml: line 5: flow.direction: there is no uplink that its data could cross; expected path.uplink too, such as uplink = \"10mbit\"",
    ),
    (
        "[cell]\n[[flow]]\ndirection = \"up\"",
        "my.toml: line 3: flow.direction: an upload in a cell whose uplink is not its own; expected a table [cell.uplink] too, or down",
    ),
    // The uplink of a cell.
    (
        "[cell]\n[cell.uplink]\nsr_period = \"none\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.sr_period: without scheduling requests and configured grants nothing can be sent; expected a period, or configured_period too",
    ),
    (
        "[cell]\n[cell.uplink]\nconfigured_period = \"10ms\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.configured_period: how much is granted is missing; expected configured_bytes too, such as \"300b\"",
    ),
    (
        "[cell]\n[cell.uplink]\nconfigured_bytes = \"300b\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.configured_bytes: when it is granted is missing; expected configured_period too, such as \"20ms\"",
    ),
    (
        "[cell]\nunit = \"packets\"\n[cell.uplink]\n[[flow]]",
        "my.toml: line 3: cell.uplink: the cell counts packets; expected this with unit = \"bytes\" only",
    ),
    (
        "[cell]\n[cell.uplink]\nsr = \"5ms\"\n[[flow]]",
        "my.toml: line 3: cell.uplink.sr: unknown key; expected one of channel, scheduler, sr_period, sr_offset, sr_prohibit, sr_grant, grant_delay, configured_period, configured_bytes, periodic_bsr, retx_bsr, bler, harq_rtt, harq_retransmissions, air, rlc, pdcp, qdisc, limit; here it is called 'sr_period'",
    ),
    (
        "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\nuplink_qdisc = \"codel\"\n[[flow]]",
        "my.toml: line 4: cell.ue.bearer.uplink_qdisc: the cell has no uplink of its own; expected a table [cell.uplink] too",
    ),
    (
        "[cell]\n[[cell.ue]]\nuplink_channel = \"mcs:3\"\n[[flow]]",
        "my.toml: line 3: cell.ue.uplink_channel: the cell has no uplink of its own; expected a table [cell.uplink] too",
    ),
    (
        "[cell]\n[cell.uplink]\n[[cell.ue]]\n[[cell.ue.bearer]]\nuplink_bucket = \"20ms\"\n[[flow]]",
        "my.toml: line 5: cell.ue.bearer.uplink_bucket: there is no rate that could fill it; expected uplink_pbr too, such as \"100kbit\"",
    ),
    (
        "[cell]\n[cell.uplink]\n[path]\nuplink = \"10mbit\"\n[[flow]]",
        "my.toml: line 4: path.uplink: the cell has an uplink of its own; expected this without [cell.uplink] only",
    ),
    (
        "[cell]\n[[flow]]\n[matrix]\ncell.uplink.sr_period = [\"5ms\"]",
        "my.toml: line 4: matrix.cell.uplink: the cell has no uplink of its own; expected a table [cell.uplink]",
    ),
    ("{BASE}direction = \"left\"", "my.toml: line 6: flow.direction: 'left': expected one of down, up"),
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
        "my.toml: line 3: path.duplicate: found the float 0.1; expected percent in quotes, 0% to 100%, such as \"20%\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"none\"\nuplink_qdisc = \"codel\"\n[[flow]]",
        "my.toml: line 4: path.uplink_qdisc: there is no uplink; expected path.uplink too, such as uplink = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nqdics = \"pie\"\n[[flow]]",
        "my.toml: line 3: path.qdics: unknown key; expected one of link, trace, trace_format, once, qdisc, limit, rtt, jitter, loss, reorder, reorder_by, duplicate, uplink, uplink_limit, uplink_qdisc, uplink_loss, hop; did you mean 'qdisc'?",
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
        "my.toml: line 2: path.link: 'wire': unknown link 'wire'; known: rate, htb, line, steps, uplink, synth",
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
        "my.toml: line 3: path.trace: a link and a trace are given; expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nrtt = \"1ms\"\n[[flow]]",
        "my.toml: line 1: path: no link and no trace is given; expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
    ),
    (
        "[path]\nlink = \"10mbit\"\nonce = true\n[[flow]]",
        "my.toml: line 3: path.once: a link is given; expected this with a trace only",
    ),
    (
        "[path]\nlink = \"10mbit\"\ntrace_format = \"mbps\"\n[[flow]]",
        "my.toml: line 3: path.trace_format: a link is given; expected this with a trace only",
    ),
    (
        "[path]\ntrace = \"synth-subway\"\ntrace_format = \"wav\"\n[[flow]]",
        "my.toml: line 3: path.trace_format: 'wav': unknown format; expected mahimahi, mbps or csv:column=NAME",
    ),
    (
        "[path]\ntrace = \"no/such\"\n[[flow]]",
        "my.toml: line 2: path.trace: no trace 'no/such': it is not shipped, and there is no no/such; expected it in a folder given by --traces or QDELAY_TRACES, or a stand-in under [fallback]",
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
        "my.toml: line 3: path.uplink: no trace 'no/such': it is not shipped, and there is no no/such; expected it in a folder given by --traces or QDELAY_TRACES, or a stand-in under [fallback]; or a link in its place, such as the rate 10mbit or steps:0s@6mbit+10s@1mbit",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"3g\"\n[[flow]]",
        "my.toml: line 3: path.uplink: '3g': rate=3g: expected a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit; a file with a trace is given as ./3g",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"12.trace\"\n[[flow]]",
        "my.toml: line 3: path.uplink: no trace '12.trace': it is not shipped, and there is no 12.trace; expected it in a folder given by --traces or QDELAY_TRACES, or a stand-in under [fallback]; or a link in its place, such as the rate 10mbit or steps:0s@6mbit+10s@1mbit",
    ),
    (
        "[path]\nlink = \"synth:subway:outage_min=5s:outage_max=1s\"\n[[flow]]",
        "my.toml: line 2: path.link: 'synth:subway:outage_min=5s:outage_max=1s': expected outage_min to be at most outage_max, found '5s and 1s'",
    ),
    // Keys of [[flow]].
    (
        "{BASE}transprt = \"cubic\"",
        "my.toml: line 6: flow.transprt: unknown key; expected one of name, transport, count, direction, start, stop, spread, dscp, other_dscp, other_share, extra_rtt, access, access_jitter, discard_after, ue, qfi; did you mean 'transport'?",
    ),
    (
        "{BASE}transport = \"cubik\"",
        "my.toml: line 6: flow.transport: 'cubik': unknown transport 'cubik'; known: cubic, bbr, reno, vegas, westwood, c2tcp, copa, ledbat, vivace, verus, udp, voip, gaming, tfrc, audio, sprout, dash, web, webrtc, scream, frames; did you mean 'cubic'?",
    ),
    (
        "{BASE}transport = \"webrtc:fps=0\"",
        "my.toml: line 6: flow.transport: 'webrtc:fps=0': fps=0: out of range; expected 1 to 240",
    ),
    (
        "{BASE}transport = \"scream:playout=0\"",
        "my.toml: line 6: flow.transport: 'scream:playout=0': playout=0: out of range; expected 1ms to 10s",
    ),
    (
        "{BASE}transport = \"webrtc:min=3mbit\"",
        "my.toml: line 6: flow.transport: 'webrtc:min=3mbit': min is above max; expected at most that",
    ),
    (
        "{BASE}transport = \"udp:off=1s\"",
        "my.toml: line 6: flow.transport: 'udp:off=1s': off is given without on; expected both, or neither for a constant rate",
    ),
    ("{BASE}count = 0", "my.toml: line 6: flow.count: '0': out of range; expected 1 to 100000"),
    (
        "{BASE}count = 100000\n[[flow]]",
        "my.toml: line 7: flow: 100001 flows are too many; expected at most 100000 in all",
    ),
    (
        "{BASE}dscp = \"eff\"",
        "my.toml: line 6: flow.dscp: 'eff': no codepoint; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
    ),
    (
        "{BASE}dscp = 64",
        "my.toml: line 6: flow.dscp: '64': no codepoint; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
    ),
    (
        "{BASE}dscp = true",
        "my.toml: line 6: flow.dscp: found the boolean true; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
    ),
    (
        "{BASE}start = \"60s\"",
        "my.toml: line 6: flow.start: starts at up to 60s in a run of 60s; expected an earlier start",
    ),
    (
        "{BASE}start = \"59s\"\nspread = \"2s\"",
        "my.toml: line 7: flow.spread: starts at up to 61s in a run of 60s; expected an earlier start",
    ),
    (
        "{BASE}start = \"5s\"\nstop = \"5s\"",
        "my.toml: line 7: flow.stop: 5s is not later than the start at 5s; expected a later stop",
    ),
    (
        "{BASE}[[flow]]\nname = \"file\"",
        "my.toml: line 7: flow.name: 'file' is given twice; expected each name once",
    ),
    (
        "{BASE}[[flow]]\nname = \"start\"",
        "my.toml: line 7: flow.name: 'start' is the name of a key; expected another name",
    ),
    (
        "{BASE}[[flow]]\nname = \"a b\"",
        "my.toml: line 7: flow.name: found the string 'a b'; expected letters, digits, - and _, at most 64",
    ),
    (
        "{BASE}count = 2\n[[flow]]\nname = \"file-2\"",
        "my.toml: line 8: flow.name: 'file-2' is the name of one of the 2 flows of 'file' too; expected another name",
    ),
    ("{BASE}access = \"0\"", "my.toml: line 6: flow.access: '0': out of range; expected at least 1bit"),
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
        "my.toml: line 7: run.warmup: 60s is not shorter than the duration of 60s; expected time to measure",
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
        "my.toml: line 8: run.connections: there are no series that they could be added to; expected run.series too, such as series = \"20ms\"",
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
    // [matrix].
    (
        "{BASE}[matrix]\npath.qdics = [\"pie\"]",
        "my.toml: line 7: matrix.path.qdics: unknown key; expected one of link, trace, trace_format, once, qdisc, limit, rtt, jitter, loss, reorder, reorder_by, duplicate, uplink, uplink_limit, uplink_qdisc, uplink_loss; did you mean 'qdisc'?",
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
        "my.toml: line 7: matrix.run.seeds: seeds are an axis by themselves; expected them in [run]",
    ),
    (
        "{BASE}[matrix]\nflow.name = [\"a\"]",
        "my.toml: line 7: matrix.flow.name: cannot be varied; expected one of transport, count, direction, start, stop, spread, dscp, other_dscp, other_share, extra_rtt, access, access_jitter, discard_after, ue, qfi",
    ),
    (
        "{BASE}[matrix]\nflow.fil.start = [\"1s\"]",
        "my.toml: line 7: matrix.flow.fil: neither a key of a flow nor a flow's name; expected one of transport, count, direction, start, stop, spread, dscp, other_dscp, other_share, extra_rtt, access, access_jitter, discard_after, ue, qfi, file; did you mean 'file'?",
    ),
    (
        "{BASE}[matrix]\nflow.file.strt = [\"1s\"]",
        "my.toml: line 7: matrix.flow.file.strt: unknown key; expected one of transport, count, direction, start, stop, spread, dscp, other_dscp, other_share, extra_rtt, access, access_jitter, discard_after, ue, qfi; did you mean 'start'?",
    ),
    (
        "{BASE}[matrix]\nflow.file = [\"1s\"]",
        "my.toml: line 7: matrix.flow.file: found an array; expected a table of keys",
    ),
    (
        "{BASE}[matrix]\nrun.duration = [\"5s\", \"10s\"]\nrun.warmup = [\"1s\",\n\"6s\"]",
        "my.toml: line 9: run.warmup: 6s is not shorter than the duration of 5s; expected time to measure",
    ),
    (
        "{BASE}[matrix]\npath.trace = [\"synth-subway\"]",
        "my.toml: line 7: path.trace: a link and a trace are given; expected one of both, such as trace = \"synth-lte-driving\" or link = \"10mbit\"",
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
        "my.toml: line 8: matrix.variant.path.qdisk: unknown key; expected one of link, trace, trace_format, once, qdisc, limit, rtt, jitter, loss, reorder, reorder_by, duplicate, uplink, uplink_limit, uplink_qdisc, uplink_loss; did you mean 'qdisc'?",
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
    // [fallback].
    (
        "{BASE}[fallback]\n\"a/b\" = \"synth-subwya.down\"",
        "my.toml: line 7: fallback.'a/b': 'synth-subwya.down' is no shipped trace; expected one of synth-lte-driving.down, synth-lte-driving.up, synth-lte-stationary.down, synth-subway.down; did you mean 'synth-subway.down'?",
    ),
    (
        "{BASE}[fallback]\n\"a/b\" = 5",
        "my.toml: line 7: fallback.'a/b': found the integer 5; expected the name of a shipped trace in quotes",
    ),
    // [[expect]].
    (
        "{BASE}[[expect]]\nmeasure = \"jain\"\nlow = 1",
        "my.toml: line 6: expect.claim: is missing; expected what is claimed, in words",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nlow = 1",
        "my.toml: line 6: expect.measure: is missing; expected a figure such as \"queue_delay_ms.p99\"",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"",
        "my.toml: line 6: expect.low: neither low nor high is given; expected at least one",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jian\"\nlow = 1",
        "my.toml: line 8: expect.measure: 'jian': no measure 'jian'; expected one of {MEASURES}; did you mean 'jain'?",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"groups.vidoe.jitter_ms\"\nlow = 1",
        "my.toml: line 8: expect.measure: 'groups.vidoe.jitter_ms': no group 'vidoe'; expected one of file",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"queue_delay_ms\"\nlow = 1",
        "my.toml: line 8: expect.measure: 'queue_delay_ms': a distribution; expected one of its figures: queue_delay_ms.count, queue_delay_ms.mean, queue_delay_ms.p50, queue_delay_ms.p95, queue_delay_ms.p99, queue_delay_ms.p999, queue_delay_ms.max",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 2\nhigh = 1",
        "my.toml: line 9: expect.low: is above high; expected a range from low to high",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = \"much\"",
        "my.toml: line 9: expect.low: 'much': expected a number",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nover = \"average\"",
        "my.toml: line 10: expect.over: 'average': expected one of mean, geomean, median, min, max, sum, ci95_low, ci95_high",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nbest = \"max\"",
        "my.toml: line 10: expect.best: there is no versus; expected it with versus only",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nwhere = { \"path.rtt\" = \"1s\" }",
        "my.toml: line 10: expect.where.'path.rtt': no axis of the matrix; expected one of seed",
    ),
    (
        "{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nwhere.seed = 2",
        "my.toml: line 10: expect.where.'seed': no label '2'; expected one of 1",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\"pie\"]\n[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nwhere.path.qdisc = [\"pie\", \"pi\"]",
        "my.toml: line 12: expect.where.'path.qdisc': no label 'pi'; expected one of pie; did you mean 'pie'?",
    ),
    (
        "{BASE}[matrix]\npath.qdisc = [\"pie\", \"codel\"]\n[[expect]]\nclaim = \"c\"\nmeasure = \"jain\"\nlow = 1\nnormalise = { \"path.qdisc\" = [\"pie\", \"codel\"] }",
        "my.toml: line 12: expect.normalise.'path.qdisc': several labels; expected one",
    ),
    (
        "expect = 5\n{BASE}",
        "my.toml: line 1: expect: found the integer 5; expected tables, each under [[expect]]",
    ),
];

#[test]
fn each_bad_file_gets_its_line() {
    let names: Vec<&str> = qdelay_core::qdisc::COMPONENTS.iter().map(|component| component.name).collect();
    let qdiscs = names.join(", ");
    // Measures are the fields of result files, of which there will be more.
    let unknown = error(&format!("{BASE}[[expect]]\nclaim = \"c\"\nmeasure = \"-\"\nlow = 1"));
    let measures = unknown.rsplit("one of ").next().unwrap_or_default().to_string();
    assert!(measures.contains("queue_delay_ms, "));
    let mut wrong = Vec::new();
    for (text, wanted) in BAD {
        let text = text.replace("{BASE}", BASE);
        let wanted = wanted.replace("{QDISCS}", &qdiscs);
        let found = error(&text).replace(&measures, "{MEASURES}");
        if found != wanted {
            wrong.push(format!("{text}\n  found  {found}\n  wanted {wanted}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_the_command_line_says_is_checked() {
    let seeds = |seeds| Overrides { seeds: Some(seeds), duration: None, ..Overrides::default() };
    let duration =
        |seconds| Overrides { seeds: None, duration: Some(Span::from_secs(seconds)), ..Overrides::default() };
    let base = format!("{BASE}start = \"5s\"\n");
    let found = [
        error_with(&base, &seeds(vec![])),
        error_with(&base, &seeds(vec![1, 1])),
        error_with(&base, &duration(4)),
        error_with(&base, &duration(0)),
        error_with(&base, &duration(90_000)),
        error_with(&format!("{base}[matrix]\nrun.duration = [\"10s\"]"), &duration(20)),
    ];
    let wanted = [
        "my.toml: run.seeds: 0 seeds; expected 1 to 10000",
        "my.toml: run.seeds: seed 1 is given twice; expected each once",
        "my.toml: line 6: flow.start: starts at up to 5s in a run of 4s; expected an earlier start",
        "my.toml: run.duration: '0s': out of range; expected 1ms to 1440min",
        "my.toml: run.duration: '90000s': out of range; expected 1ms to 1440min",
        "my.toml: run.duration: the matrix varies it; expected no duration on the command line",
    ];
    assert_eq!(found, wanted);
}

/// What people write who know other programs: below `[path]` with a link, or instead of it.
#[test]
fn mistakes_of_newcomers() {
    let table = [
        ("[path]\nlink = 10mbit\n[[flow]]", "line 2: not TOML: string values must be quoted"),
        (
            "[path]\nlink = 10\n[[flow]]",
            "line 2: path.link: found the integer 10; expected a link in quotes: a rate with its unit, such as \"10mbit\"",
        ),
        (
            "[path]\nlink = \"10Mbps\"\n[[flow]]",
            "expected a number with a unit of bit, kbit, mbit or gbit (per second), such as 10mbit",
        ),
        (
            "[path]\nlink = \"10 mbit\"\n[[flow]]",
            "line 2: path.link: '10 mbit': a space in a rate; expected \"10mbit\"",
        ),
        (
            "[path]\nbandwidth = \"10mbit\"\n[[flow]]",
            "line 2: path.bandwidth: unknown key; {}; here it is called 'link'",
        ),
        ("{BASE}[path]\nrtt = 1", "line 6: not TOML: duplicate key"),
        ("[path]\nlink = \"10mbit\"\nrtt = 20\n[[flow]]", "such as \"20ms\" or \"20s\""),
        (
            "[path]\nlink = \"10mbit\"\nrtt = \"20 ms\"\n[[flow]]",
            "expected a number with a unit of ns, us, ms, s or min, such as 20ms",
        ),
        (
            "[path]\nlink = \"10mbit\"\nrtt = \"20msec\"\n[[flow]]",
            "expected a number with a unit of ns, us, ms, s or min, such as 20ms",
        ),
        (
            "[path]\nlink = \"10mbit\"\ndelay = \"20ms\"\n[[flow]]",
            "line 3: path.delay: unknown key; {}; here it is called 'rtt'",
        ),
        (
            "[path]\nlink = \"10mbit\"\naqm = \"codel\"\n[[flow]]",
            "line 3: path.aqm: unknown key; {}; here it is called 'qdisc'",
        ),
        (
            "[path]\nlink = \"10mbit\"\nbuffer = 100\n[[flow]]",
            "line 3: path.buffer: unknown key; {}; here it is called 'limit'",
        ),
        (
            "[path]\nlink = \"10mbit\"\nlimit = \"100kb\"\n[[flow]]",
            "line 3: path.limit: '100kb': expected a whole number of packets",
        ),
        (
            "[path]\nlink = \"10mbit\"\nqdisc = [\"codel\", \"pie\"]\n[[flow]]",
            "line 3: path.qdisc: found an array; expected one qdisc here, and several as an axis under [matrix]",
        ),
        ("[path]\nlink = \"10mbit\"\nqdisc = \"fq-codel\"\n[[flow]]", "did you mean 'fq_codel'?"),
        ("[path]\nlink = \"10mbit\"\nqdisc = \"CoDel\"\n[[flow]]", "did you mean 'codel'?"),
        (
            "[path]\nlink = \"10mbit\"\nqdisc = \"codel:target=5ms,interval=100ms\"\n[[flow]]",
            "parameters are separated by ':', not by ','",
        ),
        ("[path]\nlink = \"10mbit\"\nqdisc = \"codel:ecn=true\"\n[[flow]]", "ecn=true: expected on or off"),
        (
            "[path]\nlink = \"10mbit\"\n[flow]\ntransport = \"cubic\"",
            "line 3: flow: found a table; expected tables, each under [[flow]]",
        ),
        ("[path]\nlink = \"10mbit\"\n[[flows]]", "line 3: flows: unknown key; {}; did you mean 'flow'?"),
        ("{BASE}transport = \"CUBIC\"", "did you mean 'cubic'?"),
        ("{BASE}cc = \"bbr\"", "line 6: flow.cc: unknown key; {}; here it is called 'transport'"),
        (
            "{BASE}start = 5",
            "flow.start: found the integer 5; expected a duration with its unit in quotes, such as \"5ms\" or \"5s\"",
        ),
        (
            "{BASE}dscp = \"EF46\"",
            "flow.dscp: 'EF46': no codepoint; expected 0 to 63, or a name such as \"ef\"",
        ),
        ("{BASE}[run]\nduration = 60", "such as \"60ms\" or \"60s\""),
        ("{BASE}[run]\ntime = \"60s\"", "line 7: run.time: unknown key; {}; here it is called 'duration'"),
        ("{BASE}[run]\nseed = 1", "line 7: run.seed: unknown key; {}; did you mean 'seeds'?"),
        (
            "{BASE}[matrix]\npath.qdisc = \"codel\"",
            "matrix.path.qdisc: found the string 'codel'; expected an array of one or more values",
        ),
        (
            "{BASE}[[matrix]]\npath.qdisc = [\"codel\"]",
            "line 6: matrix: found an array; expected a table, as in [matrix]",
        ),
        (
            "{BASE}[matrix]\npath.aqm = [\"codel\"]",
            "line 7: matrix.path.aqm: unknown key; {}; here it is called 'qdisc'",
        ),
        (
            "[cell]\nbandwidth = 20\n[[flow]]",
            "expected one of 1.4mhz, 3mhz, 5mhz, 10mhz, 15mhz, 20mhz in quotes",
        ),
        ("[cell]\nscheduler = \"pf\"\n[[flow]]", "did you mean 'proportional_fair'?"),
        ("[cell]\nmcs = 10\n[[flow]]", "line 2: cell.mcs: unknown key; {}; here it is called 'channel'"),
    ];
    for (text, wanted) in table {
        let found = error(&text.replace("{BASE}", BASE));
        let mut parts = wanted.split("{}").map(|part| part.to_string());
        assert!(parts.all(|part| found.contains(&part)), "{text}\n  found  {found}\n  wanted {wanted}");
    }
}
