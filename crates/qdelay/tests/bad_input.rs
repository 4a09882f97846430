//! Wrong input of any kind: status 2 and one line with the place and the expected input.

use crate::common::{file, folder, refused, run};

fn refused_trace(name: &str, parts: &[&str]) {
    let parts = [&[name], parts].concat();
    refused(&["compare", "--trace", name, "--duration", "1s"], &parts);
    refused(&["trace", "info", name], &parts);
    refused(&["trace", "convert", name, "-", "--to", "mbps"], &parts);
}

#[test]
fn traces() {
    let folder = folder("bad-traces");
    let bad = |name: &str, content: &[u8], parts: &[&str]| {
        refused_trace(&file(&folder, name, content), parts);
    };
    bad("empty", b"", &["empty: line 1: the trace is empty; expected"]);
    bad("binary", b"\x7fELF\x02\x01\x01\0\0\xff\n1\n", &["line 1: expected a whole number of milliseconds"]);
    bad("long", &[b'7'; 100_000], &["line 1: the line is longer than 64 bytes; expected"]);
    bad("zeros", &[0; 300_000], &["line 1: the line is longer than 64 bytes; expected"]);
    bad("decreasing", b"1\n5\n4\n", &["line 3: time 4 is before 5", "expected times in order"]);
    bad("negative", b"1\n-2\n", &["line 2: expected a whole number", "found '-2'"]);
    bad("negative-first", b"-2\n1\n", &["line 1: expected a whole number", "found '-2'"]);
    bad("ends-at-0", b"0\n0\n", &["line 2: the trace ends at time 0; expected"]);
    bad("blank", b"1\n\n2\n", &["line 2: blank line; expected"]);
    bad("blank-first", b"\n2\n", &["line 1: blank line; expected"]);
    bad("fraction", b"1\n2.5\n", &["line 2: expected a whole number", "found '2.5'"]);
    bad("huge", b"1\n99999999999\n", &["line 2: '99999999999' is too large; expected at most"]);
    bad("mbps-decreasing", b"0 5\n2 5\n1 5\n", &["line 3: time 1 is before 2"]);
    bad("mbps-negative", b"0 5\n1 -5\n", &["line 2: expected a rate in Mbit/s", "found '-5'"]);
    bad("mbps-words", b"0 5\none two\n", &["line 2: expected a number of seconds"]);
    bad("mbps-single", b"0 5\n", &["line 1: ", "expected a second sample"]);
    bad("table", b"time,rate\n0,5\n", &["line 1: looks like the header of a table", "csv:column=NAME"]);
}

#[test]
fn folders_and_missing_files_are_refused() {
    let folder = folder("bad-files");
    let folder_name = folder.to_str().unwrap();
    refused_trace(folder_name, &["is a folder; expected a file with a trace"]);
    refused_trace(
        folder.join("missing").to_str().unwrap(),
        &["no such file", "expected a file or one of synth-lte-driving"],
    );
    refused_trace(
        &format!("{}/below", file(&folder, "plain", "1\n")),
        &["cannot be read", "expected a file that can be read"],
    );
    refused(&["compare", "--trace", ""], &["'': no such file"]);
    // A name may contain any character; the message stays one line.
    refused(&["compare", "--trace", "a\nb"], &["a\\nb: no such file"]);
}

#[cfg(unix)]
#[test]
fn unreadable_files_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder("bad-permissions");
    let name = file(&folder, "locked", "1\n2\n");
    std::fs::set_permissions(&name, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root can read the file nevertheless.
    if std::fs::read(&name).is_err() {
        refused_trace(&name, &["cannot be read", "expected a file that can be read"]);
    }
}

#[test]
fn a_comma_between_parameters() {
    let link = |arguments: &[&str], parts: &[&str]| {
        refused(&[&["compare", "--link", "10mbit", "--duration", "1s"], arguments].concat(), parts);
    };
    let meant =
        "unknown qdisc 'limit=100'; parameters are separated by ':', expected bode:target=50ms:limit=100\n";
    link(&["--qdisc", "bode:target=50ms,limit=100"], &["--qdisc: ", meant]);
    link(&["--qdisc", "pie,bode:target=50ms,limit=100,codel"], &[meant]);
    link(
        &["--qdisc", "codel,target=10ms,interval=50ms:limit=7"],
        &["codel:target=10ms:interval=50ms:limit=7\n"],
    );
    link(&["--transport", "cubic,iw=4"], &["unknown transport 'iw=4'; ", ", expected cubic:iw=4\n"]);
    // Without a component before it there is nothing to add it to.
    link(&["--qdisc", "limit=100"], &["unknown qdisc 'limit=100'"]);
    let hint = "parameters are separated by ':', not by ','";
    refused(&["compare", "--link", "10mbit,overhead=14"], &["--link: ", hint]);
    let text = "path.link = \"5mbit\"\npath.qdisc = \"bode:target=50ms,limit=100\"\n[[flow]]\n";
    refused(&["run", &file(&folder("bad-comma"), "a.toml", text)], &["a.toml", hint]);
}

#[test]
fn options_of_compare() {
    let refused = |arguments: &[&str], parts: &[&str]| {
        refused(&[&["compare"], arguments].concat(), parts);
    };
    refused(&[], &["--trace: ", "expected --trace FILE", "or --link RATE"]);
    refused(
        &["--trace", "synth-subway", "--link", "10mbit"],
        &["--link: both a trace and a link are given; expected"],
    );
    let with_link =
        |arguments: &[&str], parts: &[&str]| refused(&[&["--link", "10mbit"], arguments].concat(), parts);
    with_link(&["--duration", "0s"], &["--duration: '0s': ", "expected a duration above 0"]);
    with_link(&["--duration", "0"], &["--duration: '0': ", "expected a duration above 0"]);
    with_link(&["--duration", "60"], &["--duration: '60': expected a number with a unit"]);
    with_link(&["--duration", "-5s"], &["--duration: '-5s': expected a number with a unit"]);
    with_link(&["--duration"], &["--duration: a value is missing; expected"]);
    with_link(&["--warmup", "60s"], &["--warmup: 60s is not shorter than the duration of 60s; expected"]);
    with_link(&["--duration", "5s", "--warmup", "6s"], &["--warmup: 6s", "expected"]);
    with_link(&["--flows", "0"], &["--flows: '0': out of range; expected 1 to"]);
    with_link(&["--flows", "two"], &["--flows: 'two': expected a whole number of flows"]);
    with_link(&["--rtt", "10"], &["--rtt: '10': expected a number with a unit", "such as 20ms"]);
    with_link(&["--rtt", "0"], &["--rtt: '0': out of range; expected 1us to 60s"]);
    with_link(&["--seed", "x"], &["--seed: 'x': expected whole numbers"]);
    with_link(&["--seed", "5..1"], &["--seed: '5..1': ", "expected the smaller seed first"]);
    with_link(&["--seed", "1,1"], &["--seed: '1' is given twice; expected each once"]);
    with_link(&["--uplink", "48"], &["--uplink: '48': ", "expected a number with a unit"]);
    with_link(&["--uplink", "0"], &["--uplink: '0': ", "out of range; expected"]);
    with_link(&["--limit", "0"], &["--limit: '0': out of range; expected 1 to 10000000 packets"]);
    with_link(&["--uplink-limit", "-1"], &["--uplink-limit: '-1': expected a whole number of packets"]);
    with_link(&["--jobs", "0"], &["--jobs: '0': out of range; expected"]);
    with_link(
        &["--min-packet-bytes", "1mbit"],
        &["--min-packet-bytes: '1mbit': expected a number with a unit of b"],
    );
    with_link(&["--once"], &["--once: was renamed; expected --no-repeat"]);
    with_link(&["--no-repeat"], &["--no-repeat: ", "expected it with --trace"]);
    with_link(&["--trace-format", "mbps"], &["--trace-format: ", "expected it with --trace"]);
    with_link(&["--colour"], &["--colour: unknown", "'qdelay compare --help'"]);
    with_link(&["--qdisk", "pie"], &["--qdisk: unknown; expected", "did you mean '--qdisc'?"]);
    with_link(&["extra"], &["extra: unknown; expected"]);
    with_link(&["--rtt", "5ms", "--rtt", "6ms"], &["--rtt: given twice; expected once"]);
}

#[test]
fn components() {
    let refused = |option: &str, text: &str, parts: &[&str]| {
        let link: &[&str] = if option == "--link" { &[] } else { &["--link", "10mbit"] };
        let place = format!("{option}: ");
        let parts = [&[place.as_str()], parts].concat();
        refused(&[&["compare"], link, &[option, text]].concat(), &parts);
    };
    refused("--qdisc", "blue", &["unknown qdisc 'blue'; known: taildrop, headdrop, codel, pie, bode"]);
    refused(
        "--qdisc",
        "taildrop,codell",
        &["unknown qdisc 'codell'; known: taildrop, ", "; did you mean 'codel'?"],
    );
    refused(
        "--qdisc",
        "pie,bode:tarjet=20ms",
        &["'bode:tarjet=20ms': bode has no key 'tarjet'; known: target", "; did you mean 'target'?"],
    );
    refused("--qdisc", "bode:target=20", &["target=20: expected a number with a unit"]);
    refused("--qdisc", "bode:target=0", &["target=0: out of range; expected 1us to 100s"]);
    refused("--qdisc", "bode:target", &["'target' is not of the form key=value"]);
    refused("--qdisc", "taildrop:limit=0", &["limit=0: out of range; expected 1 to 10000000"]);
    refused("--qdisc", "pie,,bode", &["'pie,,bode': a name is missing; expected"]);
    refused("--qdisc", "", &["a name is missing; expected"]);
    refused("--qdisc", "red:min=20", &["'red:min=20': min 20 is not below max 15"]);
    refused("--qdisc", "pie,priority:rest@[bode", &["'pie,priority:rest@[bode': '[' without its ']'"]);
    refused(
        "--qdisc",
        "priority:rest@[bode:target=5]",
        &["class 'rest': 'bode:target=5': target=5: expected a"],
    );
    refused(
        "--qdisc",
        "priority:ef@bode",
        &["'priority:ef@bode': no class has the remaining codepoints; expected"],
    );
    refused("--qdisc", "pie,pie", &["'pie' is given twice; expected each once"]);
    refused(
        "--transport",
        "hybla",
        &[
            "unknown transport 'hybla'; known: cubic, bbr, reno, vegas, westwood, c2tcp, copa, ledbat, vivace, verus, udp",
        ],
    );
    refused("--transport", "cubic:iw=0", &["iw=0: out of range; expected 1 to 1000"]);
    refused("--transport", "udp:off=1s", &["off is given without on; expected both"]);
    refused("--link", "10", &["'10': rate=10: expected a number with a unit"]);
    refused("--link", "0", &["out of range; expected at least 1bit"]);
    refused("--link", "wire:10mbit", &["unknown link 'wire'; known: rate, htb"]);
    refused("--link", "12.trace", &["unknown link '12.trace'", "expected a trace as --trace"]);
    refused("--link", "steps:6mbit", &["'6mbit' is not a step; expected a time and a rate"]);
    refused("--link", "synth:tube", &["preset=tube: expected one of lte-driving"]);
    refused("--link", "synth:subway:duration=1", &["duration=1: expected a number with a unit"]);
}

#[test]
fn other_commands() {
    refused(&["compere"], &["compere: unknown command; expected", "; did you mean 'compare'?"]);
    refused(&["list", "boed"], &["; did you mean 'bode'?"]);
    refused(&["link", "--up-qdisc", "codle", "--", "true"], &["--up-qdisc: ", "; did you mean 'codel'?"]);
    refused(&["--colour"], &["--colour: unknown; expected"]);
    refused(
        &["list", "blue"],
        &[
            "'blue': unknown; expected qdisc, pacer, transport, adaptation, link, delay, loss, jitter, format, channel, scheduler, partition, rlc, pdcp, f1, air, preset, or one of taildrop",
        ],
    );
    refused(&["trace"], &["trace: a command is missing; expected"]);
    refused(&["trace", "info"], &["trace info: <FILE>... is missing; expected"]);
    refused(&["trace", "convert", "a", "b"], &["trace convert: --to <FORMAT> is missing; expected"]);
    refused(
        &["trace", "convert", "a", "b", "--to", "wav"],
        &["--to: 'wav' is not known; expected one of mahimahi, mbps"],
    );
    refused(
        &["trace", "info", "synth-subway", "--trace-format", "wav"],
        &["--trace-format: 'wav': unknown format; expected"],
    );
    refused(
        &["trace", "info", "synth-subway", "--trace-format", "csv"],
        &["no column; expected csv:column=NAME"],
    );
    refused(&["trace", "synth", "--preset", "tube"], &["--preset: 'tube': expected one of lte-driving"]);
    refused(&["trace", "synth", "--duration", "5"], &["--duration: '5': expected a number with a unit"]);
    refused(&["trace", "synth", "--duration", "0"], &["--duration: '0': out of range; expected 1ms to"]);
    refused(&["trace", "synth", "--seed", "-1"], &["--seed: '-1': expected a whole number"]);
    refused(&["trace", "synth", "speed=5"], &["trace synth: synth has no key 'speed'; known: "]);
    refused(&["trace", "synth", "fast"], &["'fast': unexpected; expected parameters as KEY=VALUE"]);
    refused(&["trace", "synth", "rate=5"], &["rate=5: expected a number with a unit"]);
}

#[test]
fn a_trace_beyond_the_limit_is_refused_by_name() {
    // More opportunities than the limit within a second would take 200 MB of file; a table's limit is nearer.
    let folder = folder("bad-limits");
    let header: String = (0..10_001).map(|column| format!("c{column},")).collect();
    let name = file(&folder, "wide.csv", header + "\n");
    let output = run(&["trace", "info", &name, "--trace-format", "csv:column=x"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("more than 10000 columns, which is the limit"));
}

/// Messages repeat the input, but neither a whole megabyte nor control characters.
#[test]
fn echoed_input_is_bounded() {
    let long = "x".repeat(100_000);
    let colours = format!("\u{1b}]0;title\u{7}\u{9b}31m{long}");
    for value in [&long, &colours] {
        for arguments in [
            &["compare", "--qdisc", value][..],
            &["compare", "--trace", value],
            &["compare", "--duration", value],
            &["run", value],
            &["report", value],
            &["reproduce", value],
            &["trace", "info", value],
            &[value],
            &["gateway", value],
        ] {
            let output = run(arguments);
            let line = String::from_utf8(output.stderr).unwrap();
            let command = arguments[0].get(..9).unwrap_or(arguments[0]);
            assert_eq!(output.status.code(), Some(2), "{command}");
            assert!(line.len() < 10_000 && line.contains(" characters ...]"), "{command}: {}", line.len());
            assert!(line.lines().count() == 1 && !line.trim_end().contains(char::is_control), "{command}");
        }
    }
}

/// Help and versions are output too, so a closed pipe ends them.
#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["run", "--help"],
        &["compare", "-h"],
        &[],
        &["list"],
        &["run", "demo/first", "--print"],
        &["trace", "info", "synth-lte-driving"],
        &["trace", "convert", "synth-lte-driving", "-", "--to", "mbps"],
        &["compare", "--link", "10mbit", "--duration", "1s", "--json"],
    ] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = crate::common::command(arguments).stdout(full).output().unwrap();
        let line = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2), "{arguments:?}: {:?}", output.status);
        assert!(line.contains("standard output: ") && line.contains("; expected"), "{arguments:?}: {line}");
    }
}
