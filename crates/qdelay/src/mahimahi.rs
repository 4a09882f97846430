//! `mm-link`, `mm-delay` and `mm-loss`: this program under the names of mahimahi's programs, with the same arguments.
//!
//! `make install` makes the names as symbolic links. They run `qdelay link`; the order of arguments is mahimahi's, uplink first.
//! Source: mahimahi, `src/frontend/linkshell.cc`, `delayshell.cc`, `lossshell.cc`, and the queues built there.
//!
//! Differences from the reference: an option behind the two traces ends where the command begins, also without `--`; meters
//! (windows with graphs) are not drawn; results and verdict are printed at the end.

mod help;

use crate::cli::{Cli, Command, Link};
use clap::Parser;
use qdelay_study::traces::loss::LinkLoss;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output::{self, eprintln_line};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Program of mahimahi.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// `mm-link`.
    Link,
    /// `mm-delay`.
    Delay,
    /// `mm-loss`.
    Loss,
}

/// Arguments for `qdelay link`.
#[derive(Debug)]
pub struct Translated {
    /// Options of `qdelay link`.
    pub options: Box<Link>,
    /// Log files of the downlink and the uplink.
    pub logs: [Option<PathBuf>; 2],
}

/// Largest packet limit of a queue, for mahimahi's queues without a limit.
const UNLIMITED: u64 = 10_000_000;

impl Name {
    /// Program that this process was started as, from the last part of the path.
    pub fn from_program(program: &OsStr) -> Option<Name> {
        match Path::new(program).file_name()?.to_str()? {
            "mm-link" => Some(Name::Link),
            "mm-delay" => Some(Name::Delay),
            "mm-loss" => Some(Name::Loss),
            _ => None,
        }
    }

    /// Translates the arguments after the program's name.
    ///
    /// # Errors
    /// One line about an argument that is missing, unknown or malformed.
    pub fn translate(self, arguments: &[OsString]) -> Result<Translated, Failure> {
        let mut words = Vec::new();
        let mut rest = arguments;
        loop {
            match rest.split_first() {
                Some((first, _)) if first == "--help" || first == "-h" => {
                    output::print(&self.help())?;
                    return Err(Failure::Status(0));
                }
                Some((first, more)) => match own_option(self, first, more.first())? {
                    0 => break,
                    taken => {
                        words.extend_from_slice(&rest[..taken]);
                        rest = &rest[taken..];
                    }
                },
                None => break,
            }
        }
        match self {
            Name::Link => link(rest, words),
            Name::Delay => delay(rest, words),
            Name::Loss => loss(rest, words),
        }
    }

    fn missing(self, what: &str) -> Failure {
        Failure::input(self.program(), format!("{what} is missing; expected {}", self.usage()))
    }
}

/// Number of words, of `first` and `second`, of an option of `qdelay link` that these programs take, too: 0 if it is none.
fn own_option(name: Name, first: &OsStr, second: Option<&OsString>) -> Result<usize, Failure> {
    let text = first.to_string_lossy();
    match (text.as_ref(), second) {
        ("--nat", _) => Ok(1),
        ("--serve", Some(_)) => Ok(2),
        ("--serve", None) => {
            Err(Failure::input(name.program(), "--serve: a value is missing; expected a shell line after it"))
        }
        (text, _) => Ok(usize::from(text.starts_with("--serve="))),
    }
}

/// `qdelay link` with these options and this command.
fn options(words: &[OsString], command: &[OsString]) -> Result<Box<Link>, Failure> {
    let start = ["qdelay", "link"].map(OsString::from);
    let separator = [OsString::from("--")];
    let all =
        start.iter().chain(words).chain(separator.iter().filter(|_| !command.is_empty())).chain(command);
    match Cli::try_parse_from(all) {
        Ok(Cli { command: Some(Command::Link(link)) }) => Ok(link),
        Ok(_) => Err(Failure::input("qdelay link", "another command was read; expected a link")),
        Err(error) => match crate::usage::report(&error) {
            Err(failure) => Err(failure),
            Ok(()) => Err(Failure::Status(0)),
        },
    }
}

/// Command without the `--` that may precede it.
fn without_separator(command: &[OsString]) -> &[OsString] {
    match command.split_first() {
        Some((first, rest)) if first == "--" => rest,
        _ => command,
    }
}

fn delay(arguments: &[OsString], mut words: Vec<OsString>) -> Result<Translated, Failure> {
    let (first, command) = arguments.split_first().ok_or_else(|| Name::Delay.missing("the delay"))?;
    let text = first.to_string_lossy();
    let delay = match text.parse::<u32>() {
        Ok(millis) => format!("{millis}ms"),
        Err(_) if Path::new(first).is_file() => format!("trace:{text}"),
        Err(_) => {
            let message = format!(
                "'{text}': expected whole milliseconds, such as 20, or a file with a delay in ms for each 10 ms"
            );
            return Err(Failure::input("mm-delay", message));
        }
    };
    words.extend(["--delay".into(), delay.into()]);
    Ok(Translated { options: options(&words, without_separator(command))?, logs: [None, None] })
}

fn loss(arguments: &[OsString], mut words: Vec<OsString>) -> Result<Translated, Failure> {
    let [direction, rate, command @ ..] = arguments else {
        return Err(Name::Loss.missing("the direction or the rate"));
    };
    let text = rate.to_string_lossy();
    LinkLoss::parse(&text).map_err(|error| {
        let message = match text.parse::<f64>() {
            Ok(_) => format!("'{text}': expected a rate from 0 to 1, such as 0.01"),
            Err(_) => format!("'{text}': {error}"),
        };
        Failure::input("mm-loss", message)
    })?;
    let option = match direction.to_str() {
        Some("downlink") => "--down-loss",
        Some("uplink") => "--up-loss",
        _ => {
            let text = direction.to_string_lossy();
            return Err(Failure::input("mm-loss", format!("'{text}': expected uplink or downlink")));
        }
    };
    words.extend([option.into(), rate.clone()]);
    Ok(Translated { options: options(&words, without_separator(command))?, logs: [None, None] })
}

/// Values in the order down, up, like all other lists of two directions.
const DIRECTIONS: [&str; 2] = ["downlink", "uplink"];

fn link(arguments: &[OsString], mut words: Vec<OsString>) -> Result<Translated, Failure> {
    let mut traces: Vec<OsString> = Vec::new();
    let mut logs = [None, None];
    let mut queues = ["infinite".to_string(), "infinite".to_string()];
    let mut limits = [String::new(), String::new()];
    let mut once = false;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let text = argument.to_string_lossy();
        if !text.starts_with('-') {
            if traces.len() == 2 {
                break;
            }
            traces.push(argument.clone());
            at += 1;
            continue;
        }
        let taken = own_option(Name::Link, argument, arguments.get(at + 1))?;
        if taken > 0 {
            words.extend_from_slice(&arguments[at..at + taken]);
            at += taken;
            continue;
        }
        at += 1;
        if text == "--" {
            // The remaining words are missing traces, and the command.
            while let Some(trace) = arguments.get(at).filter(|_| traces.len() < 2) {
                traces.push(trace.clone());
                at += 1;
            }
            break;
        }
        let (name, attached) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (text.as_ref(), None),
        };
        let name = match name {
            "-u" => "--uplink-log",
            "-d" => "--downlink-log",
            name => name,
        };
        if name == "--once" {
            once = true;
            continue;
        }
        if ["uplink", "downlink", "uplink-delay", "downlink-delay", "all"]
            .iter()
            .any(|of| name == format!("--meter-{of}"))
        {
            eprintln_line(&format!(
                "mm-link: {name}: meters are not drawn; 'qdelay link --live' shows rates and delays"
            ));
            continue;
        }
        let kinds = ["-log", "-queue", "-queue-args"];
        let of = (0..2).flat_map(|direction| kinds.map(|kind| (direction, kind)));
        let Some((direction, kind)) =
            of.into_iter().find(|(of, kind)| name == format!("--{}{kind}", DIRECTIONS[*of]))
        else {
            return Err(Failure::input(
                "mm-link",
                format!(
                    "{name}: unknown; expected --once, --nat, --serve=CMD, --help, or --uplink or --downlink followed by -log=FILE, -queue=NAME or \
                     -queue-args=ARGS (a command with options of its own stands behind --)"
                ),
            ));
        };
        let value = match attached {
            Some(value) => value.to_string(),
            None => {
                let value = arguments.get(at).ok_or_else(|| {
                    Failure::input("mm-link", format!("{name}: a value is missing; expected one after it"))
                })?;
                at += 1;
                value.to_string_lossy().into_owned()
            }
        };
        match kind {
            "-log" => logs[direction] = Some(PathBuf::from(value)),
            "-queue" => queues[direction] = value,
            _ => limits[direction] = value,
        }
    }
    let [up, down] = traces.as_slice() else {
        return Err(Name::Link.missing(if traces.is_empty() {
            "the trace of the uplink"
        } else {
            "the trace of the downlink"
        }));
    };
    words.extend(["--up".into(), file(up), "--down".into(), file(down)]);
    for (direction, option) in ["--qdisc", "--up-qdisc"].into_iter().enumerate() {
        let place = format!("--{}-queue", DIRECTIONS[direction]);
        words.extend([option.into(), queue(&place, &queues[direction], &limits[direction])?.into()]);
    }
    if once {
        words.push("--no-repeat".into());
    }
    let command = without_separator(&arguments[at..]);
    Ok(Translated { options: options(&words, command)?, logs })
}

/// Existing file of that name, even if the name reads like a link: `12mbit`.
fn file(trace: &OsStr) -> OsString {
    let path = Path::new(trace);
    match path.is_relative() && path.is_file() {
        true => Path::new(".").join(path).into(),
        false => trace.to_os_string(),
    }
}

/// Translates a queue of mahimahi with its arguments (`packets=100, bytes=150000`) into a queue discipline. Times are whole milliseconds.
fn queue(place: &str, name: &str, arguments: &str) -> Result<String, Failure> {
    let (ours, times): (&str, &[(&str, &str)]) = match name {
        "infinite" => return Ok(format!("taildrop:limit={UNLIMITED}")),
        "droptail" => ("taildrop", &[]),
        "drophead" => ("headdrop", &[]),
        "codel" => ("codel:variant=mahimahi", &[("target", "target"), ("interval", "interval")]),
        "pie" => ("pie:variant=mahimahi", &[("qdelay_ref", "target"), ("max_burst", "max_burst")]),
        _ => {
            let message =
                format!("'{name}' is not known; expected infinite, droptail, drophead, codel or pie");
            return Err(Failure::input(place, message));
        }
    };
    let place = format!("{place}-args");
    let (mut packets, mut bytes, mut more) = (None, None, String::new());
    for item in arguments.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        let wrong = |expected: &str| Failure::input(&place, format!("'{item}': expected {expected}"));
        let (key, value) = item.split_once('=').ok_or_else(|| wrong("NAME=NUMBER"))?;
        let number: u64 = value.trim().parse().map_err(|_| wrong("NAME=NUMBER with a whole number"))?;
        match (key.trim(), times.iter().find(|(theirs, _)| *theirs == key.trim())) {
            ("packets", _) => packets = Some(number),
            ("bytes", _) => bytes = Some(number),
            (_, Some((_, ours))) => more += &format!(":{ours}={number}ms"),
            _ => {
                let known = ["packets", "bytes"].into_iter().chain(times.iter().map(|(theirs, _)| *theirs));
                return Err(wrong(&format!("one of {} for {name}", known.collect::<Vec<_>>().join(", "))));
            }
        }
    }
    let limit = match (packets, bytes) {
        (None, None) => {
            let message = format!("{name} has no limit; expected packets=N or bytes=N");
            return Err(Failure::input(place, message));
        }
        (Some(packets), None) => format!(":limit={packets}"),
        (packets, Some(bytes)) => format!(":limit={}:limit_bytes={bytes}b", packets.unwrap_or(UNLIMITED)),
    };
    Ok(format!("{ours}{more}{limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(name: Name, words: &str) -> Translated {
        let words: Vec<OsString> = words.split('|').map(OsString::from).collect();
        name.translate(&words).unwrap_or_else(|failure| panic!("{words:?}: {failure:?}"))
    }

    fn refused(name: Name, words: &str, part: &str) {
        let words: Vec<OsString> =
            words.split('|').filter(|word| !word.is_empty()).map(OsString::from).collect();
        match name.translate(&words).map(|_| ()) {
            Err(Failure::Input { place, message }) => {
                let line = format!("{place}: {message}");
                assert!(line.contains(part) && line.lines().count() == 1, "{words:?}: {line}");
            }
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn programs_by_their_names() {
        for (program, name) in [
            ("mm-link", Some(Name::Link)),
            ("/usr/bin/mm-delay", Some(Name::Delay)),
            ("./mm-loss", Some(Name::Loss)),
            ("qdelay", None),
            ("mm-link/qdelay", None),
            ("", None),
        ] {
            assert_eq!(Name::from_program(OsStr::new(program)), name, "{program}");
        }
    }

    /// Losses down and up.
    fn losses(translated: &Translated) -> [Option<&str>; 2] {
        let path = &translated.options.path;
        [path.down_loss.as_deref(), path.up_loss.as_deref()]
    }

    #[test]
    fn the_uplink_comes_first() {
        let Translated { options, logs } = translated(Name::Link, "a.up|b.down");
        assert_eq!(
            (options.path.up.as_deref(), options.path.down.as_deref()),
            (Some("a.up"), Some("b.down"))
        );
        assert_eq!(
            (options.path.qdisc.as_deref(), options.path.up_qdisc.as_deref()),
            (Some("taildrop:limit=10000000"), Some("taildrop:limit=10000000"))
        );
        assert!(
            !options.path.no_repeat
                && options.command.is_empty()
                && logs == [None, None]
                && (&options.path.down_loss, &options.path.up_loss) == (&None, &None)
        );
    }

    #[test]
    fn options_around_the_traces() {
        let words = "--uplink-log=u.log|a|-d|d.log|b|--once|--uplink-queue=droptail|--uplink-queue-args=packets=100|\
                     --downlink-queue|pie|--downlink-queue-args=packets=50, qdelay_ref=20, max_burst=75|--|iperf3|--once";
        let Translated { options, logs, .. } = translated(Name::Link, words);
        assert_eq!(logs, [Some("d.log".into()), Some("u.log".into())]);
        assert_eq!(options.path.up_qdisc.as_deref(), Some("taildrop:limit=100"));
        assert_eq!(
            options.path.qdisc.as_deref(),
            Some("pie:variant=mahimahi:target=20ms:max_burst=75ms:limit=50")
        );
        assert!(options.path.no_repeat);
        assert_eq!(options.command, ["iperf3", "--once"]);
    }

    #[test]
    fn options_of_ours() {
        for (name, words) in [
            (Name::Link, "--serve|iperf3 -s|a|b|--nat|--|sh"),
            (Name::Link, "--nat|a|b|--serve=iperf3 -s|sh"),
            (Name::Delay, "--nat|--serve=iperf3 -s|20|sh"),
            (Name::Loss, "--serve|iperf3 -s|--nat|uplink|0.1|sh"),
        ] {
            let Translated { options, .. } = translated(name, words);
            assert!(options.nat && options.serve.as_deref() == Some("iperf3 -s"), "{words}");
            assert_eq!(options.command, ["sh"], "{words}");
        }
        // Behind the arguments the command's own options begin.
        assert_eq!(translated(Name::Delay, "20|sh|--nat").options.command, ["sh", "--nat"]);
        refused(Name::Delay, "--serve", "--serve: a value is missing");
        for name in [Name::Link, Name::Delay, Name::Loss] {
            assert!(matches!(name.translate(&["--help".into()]), Err(Failure::Status(0))));
            assert!(name.help().lines().all(|line| line.len() <= 100) && name.help().contains(name.usage()));
        }
    }

    #[test]
    fn a_command_begins_behind_the_traces() {
        assert_eq!(
            translated(Name::Link, "a|b|sh|-c|true|--once").options.command,
            ["sh", "-c", "true", "--once"]
        );
        assert_eq!(translated(Name::Link, "--|a|b|sh").options.command, ["sh"]);
    }

    #[test]
    fn queues() {
        for (name, arguments, expected) in [
            ("drophead", "bytes=3000", "headdrop:limit=10000000:limit_bytes=3000b"),
            ("droptail", "packets=10,bytes=3000", "taildrop:limit=10:limit_bytes=3000b"),
            (
                "codel",
                "packets=7, target=50, interval=500",
                "codel:variant=mahimahi:target=50ms:interval=500ms:limit=7",
            ),
        ] {
            let ours =
                queue("--uplink-queue", name, arguments).unwrap_or_else(|failure| panic!("{failure:?}"));
            assert_eq!(ours, expected);
            assert!(qdelay_core::qdisc::AnyQdisc::parse(&ours).is_ok(), "{ours}");
        }
    }

    #[test]
    fn delays_and_losses() {
        let Translated { options, .. } = translated(Name::Delay, "20|ping|-c1");
        assert_eq!((options.path.delay.as_deref().unwrap_or_default(), options.command.len()), ("20ms", 2));
        assert_eq!(losses(&translated(Name::Loss, "uplink|0.25")), [None, Some("0.25")]);
        assert_eq!(losses(&translated(Name::Loss, "downlink|0.5|--|true")), [Some("0.5"), None]);
        let steps = "steps:0s@0%+14.9s@30%:repeat=15s";
        assert_eq!(losses(&translated(Name::Loss, &format!("uplink|{steps}|true"))), [None, Some(steps)]);
    }

    #[test]
    fn refusals_are_one_line() {
        refused(Name::Link, "", "the trace of the uplink is missing; expected mm-link UPLINK DOWNLINK");
        refused(Name::Link, "a", "the trace of the downlink is missing");
        refused(Name::Link, "a|b|--cbr|true", "--cbr: unknown; expected --once");
        refused(Name::Link, "a|b|--uplink-log", "--uplink-log: a value is missing");
        refused(
            Name::Link,
            "a|b|--uplink-queue=red",
            "--uplink-queue: 'red' is not known; expected infinite",
        );
        refused(Name::Link, "a|b|--downlink-queue=droptail", "--downlink-queue-args: droptail has no limit");
        refused(
            Name::Link,
            "a|b|--downlink-queue=droptail|--downlink-queue-args=packets",
            "expected NAME=NUMBER",
        );
        refused(
            Name::Link,
            "a|b|--downlink-queue=droptail|--downlink-queue-args=target=5",
            "expected one of packets, bytes for droptail",
        );
        refused(Name::Delay, "", "the delay is missing; expected mm-delay");
        refused(Name::Delay, "20ms", "'20ms': expected whole milliseconds");
        refused(Name::Loss, "uplink", "is missing; expected mm-loss");
        refused(Name::Loss, "up|0.1", "'up': expected uplink or downlink");
        refused(Name::Loss, "uplink|steps:0s@2", "in step '0s@2'");
        refused(Name::Loss, "uplink|often", "unknown loss 'often'");
        refused(Name::Loss, "uplink|1.5", "'1.5': expected a rate from 0 to 1");
    }
}
