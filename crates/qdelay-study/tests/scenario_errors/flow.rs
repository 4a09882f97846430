//! Errors of `[[flow]]`.

pub const BAD: &[(&str, &str)] = &[
    // Colours, jitter and late packets of flows.
    (
        "{BASE}second_share = \"20%\"",
        "my.toml: line 6: flow.second_share: the flow has no second codepoint; expected second_dscp too, such as second_dscp = \"be\"",
    ),
    (
        "{BASE}second_dscp = \"be\"\nsecond_share = 0.2",
        "my.toml: line 7: flow.second_share: found the float 0.2; expected percent in quotes, 0% to 100%, such as \"20%\"",
    ),
    (
        "{BASE}second_dscp = \"be\"\nsecond_share = \"101%\"",
        "my.toml: line 7: flow.second_share: '101%': expected percent in quotes, 0% to 100%, such as \"20%\"",
    ),
    (
        "{BASE}second_dscp = \"blue\"",
        "my.toml: line 6: flow.second_dscp: 'blue': unknown codepoint; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
    ),
    (
        "{BASE}access_jitter = \"1.6ms\"",
        "my.toml: line 6: flow.access_jitter: the flow has no access link; expected access_rate too, such as access_rate = \"10mbit\"",
    ),
    (
        "{BASE}discard_delay = \"0s\"",
        "my.toml: line 6: flow.discard_delay: '0s': out of range; expected 1us to 60s",
    ),
    (
        "[path]\nlink = \"10mbit\"\nuplink = \"none\"\n[[flow]]\ndirection = \"up\"",
        "my.toml: line 5: flow.direction: there is no uplink for the data of an upload; expected path.uplink too, such as uplink = \"10mbit\"",
    ),
    (
        "[cell]\n[[flow]]\ndirection = \"up\"",
        "my.toml: line 3: flow.direction: the cell has no uplink of its own for an upload; expected a table [cell.uplink] too, or down",
    ),
    ("{BASE}direction = \"left\"", "my.toml: line 6: flow.direction: 'left': expected one of down, up"),
    // Keys of [[flow]].
    (
        "{BASE}transprt = \"cubic\"",
        "my.toml: line 6: flow.transprt: unknown key; expected one of name, transport, count, direction, start, stop, start_spread, dscp, second_dscp, second_share, extra_rtt, access_rate, access_jitter, discard_delay, set_within, ue, qfi; did you mean 'transport'?",
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
        "my.toml: line 6: flow.transport: 'webrtc:min=3mbit': min is above max; expected at most max",
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
        "my.toml: line 6: flow.dscp: 'eff': unknown codepoint; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
    ),
    (
        "{BASE}dscp = 64",
        "my.toml: line 6: flow.dscp: '64': unknown codepoint; expected 0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"",
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
        "{BASE}start = \"59s\"\nstart_spread = \"2s\"",
        "my.toml: line 7: flow.start_spread: starts at up to 61s in a run of 60s; expected an earlier start",
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
    (
        "{BASE}access_rate = \"0\"",
        "my.toml: line 6: flow.access_rate: '0': out of range; expected at least 1bit",
    ),
];
