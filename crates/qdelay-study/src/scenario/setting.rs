//! The value of one key: read against its declaration, with the line it stands in.

use super::component;
use super::declare::{Form, Key, SEEDS_MAX};
use super::document::{Content, Node};
use super::fault::Fault;
use crate::links;
use crate::traces::Format;
use qdelay_core::component::{Arguments, Parameter, Unit, Value};
use qdelay_core::qdisc::AnyQdisc;
use qdelay_core::units::{parse_bytes, parse_rate};
use qdelay_core::{Rate, Span, dscp};
use qdelay_ran::slice::Share;
use qdelay_traffic::transport::TransportConfig;
use serde_json::json;

/// Longest name of a flow.
const NAME_MAX: usize = 64;
/// The largest packet that flows send (an IP packet in an Ethernet frame).
const MTU_BYTES: u64 = 1500;

/// A key's value.
#[derive(Clone, Debug)]
pub(crate) struct Setting {
    /// Where it stands; 0 for defaults and for what the command line overrides.
    pub line: u32,
    /// Whether the file has it.
    pub given: bool,
    /// As on the command line; empty where unset.
    pub text: String,
    /// What it means.
    pub meaning: Meaning,
}

/// What a value means.
#[derive(Clone, Debug)]
pub(crate) enum Meaning {
    /// Not given, and without a default.
    Unset,
    /// Of a unit.
    Value(Value),
    /// A discipline that can be built.
    Qdisc(Arguments),
    /// A transport.
    Transport(Box<TransportConfig>),
    /// A link; its text is checked, and built by whoever has the cache.
    Link,
    /// A name.
    Name,
    /// What the acknowledgements cross.
    Uplink(Uplink),
    /// A codepoint.
    Dscp(u8),
    /// Codepoints: bit n is codepoint n.
    Dscps(u64),
    /// Seeds, each once.
    Seeds(Vec<u64>),
    /// Width of the bins of the series; `None` for off.
    Series(Option<Span>),
    /// A channel, pacer, scheduler or kind of RLC, as it is declared.
    Component(Arguments),
    /// A discipline that can be built; `None` for none.
    OptionalQdisc(Option<Arguments>),
    /// Whether there is a link; its text is checked, and built by whoever has the cache.
    OptionalLink(bool),
    /// What a queue holds.
    Limit(Limit),
    /// A part of all resource blocks.
    Share(Share),
    /// A probability, 0 to 1.
    Percent(f64),
}

/// What a queue holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// So many packets.
    Packets(u64),
    /// So many bytes.
    Bytes(u64),
}

/// What kind of text an uplink is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Uplink {
    /// None: acknowledgements are not queued.
    None,
    /// A line of this rate.
    Rate(Rate),
    /// A link by its name.
    Link,
    /// The name of a trace.
    Trace,
}

impl Setting {
    /// A key's default.
    pub fn default_of(key: &Key) -> Setting {
        let unset = Setting { line: 0, given: false, text: String::new(), meaning: Meaning::Unset };
        if key.parameter.default.is_empty() {
            return unset;
        }
        let node = Node { line: 0, content: Content::Text(key.parameter.default.to_string()) };
        // A test reads every default.
        Setting::read(key, "", &node).map_or(unset, |setting| Setting { given: false, ..setting })
    }

    /// Reads `node` as a value of `key`, which errors call `path`.
    ///
    /// # Errors
    /// Of another type, not of the unit or form, or out of range.
    pub fn read(key: &Key, path: &str, node: &Node) -> Result<Setting, Fault> {
        let (text, meaning) = match key.form {
            Form::Plain => {
                let (text, value) = plain(&key.parameter, path, node)?;
                (text, Meaning::Value(value))
            }
            Form::Qdisc => {
                let arguments = component::read(&Form::Qdisc, path, node)?;
                AnyQdisc::build(&arguments).map_err(|error| Fault::new(node.line, path, error))?;
                (arguments.typed().to_string(), Meaning::Qdisc(arguments))
            }
            Form::Transport => {
                let arguments = component::read(&Form::Transport, path, node)?;
                let config =
                    TransportConfig::build(&arguments).map_err(|error| Fault::new(node.line, path, error))?;
                (arguments.typed().to_string(), Meaning::Transport(Box::new(config)))
            }
            Form::Link => (component::read_link(path, node)?, Meaning::Link),
            Form::Uplink => uplink(path, node)?,
            Form::Trace => (
                named(path, node, "the name of a trace in quotes, such as \"synth-lte-driving\"")?,
                Meaning::Name,
            ),
            Form::TraceFormat => {
                let text = named(path, node, &format!("{} in quotes", qdelay_trace::format::usages()))?;
                Format::parse(Some(&text)).map_err(|error| Fault::new(node.line, path, error.message))?;
                (text, Meaning::Name)
            }
            Form::Dscp => codepoint(path, node)?,
            Form::Dscps => codepoints(path, node)?,
            Form::Seeds => {
                let seeds = seeds(path, node)?;
                (String::new(), Meaning::Seeds(seeds))
            }
            Form::Series => series(&key.parameter, path, node)?,
            Form::Name => (flow_name(path, node)?, Meaning::Name),
            Form::Channel | Form::Pacer | Form::Scheduler | Form::Rlc => {
                let arguments = component::read(&key.form, path, node)?;
                crate::radio::check(key.form, &arguments)
                    .map_err(|error| Fault::new(node.line, path, error))?;
                (arguments.typed().to_string(), Meaning::Component(arguments))
            }
            Form::OptionalQdisc if node.text() == Some("none") => {
                ("none".to_string(), Meaning::OptionalQdisc(None))
            }
            Form::OptionalQdisc => {
                let arguments = component::read(&key.form, path, node)?;
                AnyQdisc::build(&arguments).map_err(|error| Fault::new(node.line, path, error))?;
                (arguments.typed().to_string(), Meaning::OptionalQdisc(Some(arguments)))
            }
            Form::OptionalLink if node.text() == Some("none") => {
                ("none".to_string(), Meaning::OptionalLink(false))
            }
            Form::OptionalLink => (component::read_link(path, node)?, Meaning::OptionalLink(true)),
            Form::Limit => limit(path, node)?,
            Form::Partition if node.text() == Some("none") => ("none".to_string(), Meaning::Name),
            Form::Partition => {
                let arguments = component::read(&key.form, path, node)?;
                (arguments.typed().to_string(), Meaning::Component(arguments))
            }
            Form::Share => share(path, node)?,
            Form::Percent => percent(path, node)?,
        };
        Ok(Setting { line: node.line, given: true, text, meaning })
    }

    /// As it stands in files of results: numbers and switches as such, all else as text, null where unset.
    pub fn json(&self) -> serde_json::Value {
        match &self.meaning {
            Meaning::Unset => serde_json::Value::Null,
            Meaning::Value(Value::Whole(n)) => json!(n),
            Meaning::Value(Value::Number(n)) => json!(n),
            Meaning::Value(Value::Switch(on)) => json!(on),
            Meaning::Limit(Limit::Packets(n)) => json!(n),
            _ => json!(self.text),
        }
    }
    /// Whether it has a value.
    pub fn is_set(&self) -> bool {
        !matches!(self.meaning, Meaning::Unset)
    }
    /// The duration that it is; `None` where unset.
    pub fn span(&self) -> Option<Span> {
        if let Meaning::Value(Value::Span(span)) = self.meaning { Some(span) } else { None }
    }
    /// The count or bytes that it is; 0 where unset.
    pub fn whole(&self) -> u64 {
        if let Meaning::Value(Value::Whole(n)) = self.meaning { n } else { 0 }
    }
    /// The codepoints that it has, bit n for codepoint n; `None` where unset.
    pub fn dscps(&self) -> Option<u64> {
        match self.meaning {
            Meaning::Dscps(all) => Some(all),
            Meaning::Dscp(number) => Some(1 << number),
            _ => None,
        }
    }
    /// The number that it is; 0 where unset.
    pub fn number(&self) -> f64 {
        if let Meaning::Value(Value::Number(n)) = self.meaning { n } else { 0.0 }
    }
    /// The share that it is; `None` where unset.
    pub fn share(&self) -> Option<Share> {
        if let Meaning::Share(share) = self.meaning { Some(share) } else { None }
    }
    /// The probability that it is; 0 where unset.
    pub fn probability(&self) -> f64 {
        if let Meaning::Percent(probability) = self.meaning { probability } else { 0.0 }
    }
    /// The codepoint that it is; `None` where unset.
    pub fn dscp(&self) -> Option<u8> {
        if let Meaning::Dscp(number) = self.meaning { Some(number) } else { None }
    }
    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        matches!(self.meaning, Meaning::Value(Value::Switch(true)))
    }
    /// The rate that it is; `None` where unset or without bound.
    pub fn rate(&self) -> Option<Rate> {
        match self.meaning {
            Meaning::Value(Value::Rate(rate)) if rate != Rate::INFINITE => Some(rate),
            _ => None,
        }
    }
}

/// `node` as text of `parameter`'s unit, and its value.
///
/// # Errors
/// Of another type, or refused by [`Parameter::read`].
pub(crate) fn plain(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Value), Fault> {
    let text = scalar(parameter.unit, node).ok_or_else(|| wrong_type(path, node, &wanted(parameter.unit)))?;
    let value = parameter.read(&text).map_err(|message| {
        let message =
            if parameter.unit == Unit::Switch { "expected true or false".to_string() } else { message };
        Fault::new(node.line, path, format!("'{text}': {message}"))
    })?;
    Ok((text, value))
}

/// `node` written as the command line would; `None` where its type is of no use for `unit`.
fn scalar(unit: Unit, node: &Node) -> Option<String> {
    match (unit, &node.content) {
        (_, Content::Text(text)) => Some(text.clone()),
        (Unit::Count(_) | Unit::Number | Unit::Bytes, Content::Whole(text)) => Some(text.clone()),
        // Zero needs no unit.
        (Unit::Span | Unit::Rate, Content::Whole(text)) if text == "0" => Some(text.clone()),
        (Unit::Number, Content::Float(text)) => Some(text.clone()),
        (Unit::Switch, Content::Switch(on)) => Some(if *on { "on" } else { "off" }.to_string()),
        _ => None,
    }
}

fn wanted(unit: Unit) -> String {
    match unit {
        Unit::Span => "a duration in quotes, such as \"20ms\"".to_string(),
        Unit::Rate => "a rate in quotes, such as \"10mbit\"".to_string(),
        Unit::Bytes => "a size, such as 1500 or \"1500b\"".to_string(),
        Unit::Count(what) => format!("a whole number of {what}"),
        Unit::Number => "a number".to_string(),
        Unit::Switch => "true or false".to_string(),
        Unit::Choice(words) => format!("one of {} in quotes", words.join(", ")),
        Unit::Text => "a string in quotes".to_string(),
    }
}

/// `node` is of a type that nothing can be made of here.
pub(crate) fn wrong_type(path: &str, node: &Node, expected: &str) -> Fault {
    Fault::new(node.line, path, format!("found {}; expected {expected}", node.describe()))
}

fn named(path: &str, node: &Node, expected: &str) -> Result<String, Fault> {
    match node.text() {
        Some(text) if !text.is_empty() && !text.chars().any(char::is_control) => Ok(text.to_string()),
        _ => Err(wrong_type(path, node, expected)),
    }
}

fn flow_name(path: &str, node: &Node) -> Result<String, Fault> {
    const EXPECTED: &str = "letters, digits, - and _, at most 64";
    let name = named(path, node, EXPECTED)?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.len() > NAME_MAX || !name.chars().all(allowed) {
        return Err(wrong_type(path, node, EXPECTED));
    }
    Ok(name)
}

fn codepoint(path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    const EXPECTED: &str = "0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"";
    let text = match &node.content {
        Content::Text(text) | Content::Whole(text) => text.clone(),
        _ => return Err(wrong_type(path, node, EXPECTED)),
    };
    match dscp::parse(&text) {
        Some(number) => Ok((text, Meaning::Dscp(number))),
        None => Err(Fault::new(node.line, path, format!("'{text}': no codepoint; expected {EXPECTED}"))),
    }
}

/// One, or a list of them.
fn codepoints(path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    let Content::List(list) = &node.content else {
        let (text, meaning) = codepoint(path, node)?;
        return Ok((text, Meaning::Dscps(mask(&meaning))));
    };
    if list.is_empty() {
        return Err(wrong_type(path, node, "a codepoint, or a list of them, such as [\"ef\", 5]"));
    }
    let (mut texts, mut all) = (Vec::new(), 0);
    for item in list {
        let (text, meaning) = codepoint(path, item)?;
        let mask = mask(&meaning);
        if all & mask != 0 {
            let message = format!("'{text}' is given twice; expected each codepoint once");
            return Err(Fault::new(item.line, path, message));
        }
        all |= mask;
        texts.push(text);
    }
    Ok((texts.join(","), Meaning::Dscps(all)))
}

fn mask(meaning: &Meaning) -> u64 {
    // A codepoint has six bits.
    if let Meaning::Dscp(number) = meaning { 1 << number } else { 0 }
}

fn series(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    const EXPECTED: &str = "a duration in quotes, such as \"100ms\", or \"off\"";
    let text = named(path, node, EXPECTED)?;
    if text == "off" {
        return Ok((text, Meaning::Series(None)));
    }
    let width = Parameter { unit: Unit::Span, min: "1ms", max: "1440min", ..*parameter };
    match width.read(&text) {
        Ok(Value::Span(span)) => Ok((text, Meaning::Series(Some(span)))),
        Ok(_) => Err(wrong_type(path, node, EXPECTED)),
        Err(message) => Err(Fault::new(node.line, path, format!("'{text}': {message}, or off"))),
    }
}

/// A plain number is of packets; bytes have their unit.
fn limit(path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    const EXPECTED: &str = "a number of packets, such as 30, or bytes with their unit, such as \"64kb\"";
    const PACKETS_MAX: u64 = 10_000_000;
    let text = match &node.content {
        Content::Text(text) | Content::Whole(text) => text.clone(),
        _ => return Err(wrong_type(path, node, EXPECTED)),
    };
    let fail = |message: String| Fault::new(node.line, path, format!("'{text}': {message}"));
    if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
        return match text.parse::<u64>() {
            Ok(packets) if (1..=PACKETS_MAX).contains(&packets) => {
                Ok((text, Meaning::Limit(Limit::Packets(packets))))
            }
            _ => Err(fail(format!("out of range; expected 1 to {PACKETS_MAX} packets"))),
        };
    }
    match parse_bytes(&text) {
        Ok(bytes) if bytes >= MTU_BYTES => Ok((text, Meaning::Limit(Limit::Bytes(bytes)))),
        Ok(_) => Err(fail(format!("not a packet fits; expected at least {MTU_BYTES} bytes"))),
        Err(_) => Err(fail(format!("expected {EXPECTED}"))),
    }
}

/// A probability in percent.
fn percent(path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    const EXPECTED: &str = "percent in quotes, 0% to 100%, such as \"20%\"";
    let text = named(path, node, EXPECTED)?;
    let is_number = |number: &&str| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number = text.strip_suffix('%').filter(is_number).and_then(|number| number.parse::<f64>().ok());
    match number {
        Some(percent) if percent <= 100.0 => Ok((text, Meaning::Percent(percent / 100.0))),
        _ => Err(Fault::new(node.line, path, format!("'{text}': expected {EXPECTED}"))),
    }
}

/// Percent, to four decimals.
fn share(path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    const EXPECTED: &str = "percent in quotes, above 0% and up to 100%, such as \"25%\"";
    let text = named(path, node, EXPECTED)?;
    let number = text
        .strip_suffix('%')
        .filter(|number| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'));
    let percent = number.and_then(|number| number.parse::<f64>().ok()).unwrap_or(0.0);
    match Share::from_millionths((percent * 10_000.0).round() as u32) {
        Ok(share) => Ok((text, Meaning::Share(share))),
        Err(_) => Err(Fault::new(node.line, path, format!("'{text}': expected {EXPECTED}"))),
    }
}

/// As the command does: `none`, a plain rate as a line, a link by its name, or else a trace.
fn uplink(path: &str, node: &Node) -> Result<(String, Meaning), Fault> {
    let Some(text) = node.text() else {
        return Ok((component::read_link(path, node)?, Meaning::Uplink(Uplink::Link)));
    };
    let kind = match parse_rate(text) {
        _ if text == "none" => Uplink::None,
        Ok(rate) if rate > Rate::ZERO => Uplink::Rate(rate),
        _ if links::is_link(text) => {
            component::read_link(path, node)
                .map_err(|fault| Fault { message: links::or_file(text, &fault.message), ..fault })?;
            Uplink::Link
        }
        _ => {
            named(path, node, "a rate, a link, the name of a trace, or none")?;
            Uplink::Trace
        }
    };
    Ok((text.to_string(), Meaning::Uplink(kind)))
}

fn seeds(path: &str, node: &Node) -> Result<Vec<u64>, Fault> {
    const EXPECTED: &str = "whole numbers, such as 1, [1, 2, 7] or \"1..5\"";
    let fail = |message: String| Fault::new(node.line, path, message);
    let number = |text: &str| text.parse::<u64>().map_err(|_| fail(format!("'{text}': expected {EXPECTED}")));
    let seeds = match &node.content {
        Content::Text(text) => parse_seeds(text).map_err(|message| fail(format!("'{text}': {message}")))?,
        Content::Whole(text) => vec![number(text)?],
        Content::List(list) if !list.is_empty() => {
            let item = |item: &Node| match &item.content {
                Content::Whole(text) => number(text),
                _ => Err(wrong_type(path, item, EXPECTED)),
            };
            list.iter().map(item).collect::<Result<Vec<u64>, Fault>>()?
        }
        _ => return Err(wrong_type(path, node, EXPECTED)),
    };
    check_seeds(&seeds).map_err(fail)?;
    Ok(seeds)
}

/// Seeds as they are typed: `1`, `1,7`, `1..5` (both ends included), or any of them separated by commas.
///
/// # Errors
/// Anything else, or more than [`SEEDS_MAX`].
pub fn parse_seeds(text: &str) -> Result<Vec<u64>, String> {
    const EXPECTED: &str = "expected whole numbers, such as 1, 1,2,7 or 1..5";
    let number = |text: &str| text.trim().parse::<u64>().map_err(|_| EXPECTED.to_string());
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = match part.split_once("..") {
            Some((first, last)) => (number(first)?, number(last.strip_prefix('=').unwrap_or(last))?),
            None => (number(part)?, number(part)?),
        };
        if last < first {
            return Err(format!("{part} is empty; expected the smaller seed first"));
        }
        if last - first >= SEEDS_MAX || all.len() as u64 + (last - first) >= SEEDS_MAX {
            return Err(format!("out of range; expected at most {SEEDS_MAX} seeds"));
        }
        all.extend(first..=last);
    }
    Ok(all)
}

/// Whether there are seeds, not too many, each once.
///
/// # Errors
/// What is wrong, and what was expected.
pub(crate) fn check_seeds(seeds: &[u64]) -> Result<(), String> {
    if seeds.is_empty() || seeds.len() as u64 > SEEDS_MAX {
        return Err(format!("{} seeds; expected 1 to {SEEDS_MAX}", seeds.len()));
    }
    let mut sorted = seeds.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("seed {} is given twice; expected each once", pair[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::declare::{BEARER, CELL, FLOW, HOP, PATH, QOS_FLOW, RUN, SLICE, UE};

    #[test]
    fn every_default_is_read() {
        for key in
            [PATH, HOP, CELL, SLICE, UE, BEARER, QOS_FLOW, FLOW, RUN].iter().flat_map(|table| table.keys)
        {
            let setting = Setting::default_of(key);
            assert_eq!(setting.is_set(), !key.parameter.default.is_empty(), "{}", key.parameter.name);
        }
    }

    #[test]
    fn probabilities_are_percent() {
        let read = |text: &str| {
            let node = Node { line: 7, content: Content::Text(text.to_string()) };
            percent("flow.other_share", &node).map(|(_, meaning)| match meaning {
                Meaning::Percent(probability) => probability,
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(
            (read("20%"), read("0%"), read("100%"), read("0.5%")),
            (Ok(0.2), Ok(0.0), Ok(1.0), Ok(0.005))
        );
        for bad in ["20", "%", "100.1%", "-1%", "1e1%", "nan%", "inf%", "1 %", "", "1.2.3%"] {
            assert!(read(bad).unwrap_err().message.contains("0% to 100%"), "{bad}");
        }
    }

    #[test]
    fn seeds_as_people_write_them() {
        assert_eq!(parse_seeds("7"), Ok(vec![7]));
        assert_eq!(parse_seeds("1..3, 9"), Ok(vec![1, 2, 3, 9]));
        assert_eq!(parse_seeds("1..=2"), Ok(vec![1, 2]));
        for bad in ["", "a", "-1", "3..1", "1..", "1,,2", "0..18446744073709551615", "1..9999,10000..10001"] {
            assert!(parse_seeds(bad).is_err(), "{bad}");
        }
        assert!(
            check_seeds(&[]).is_err() && check_seeds(&[1, 2, 1]).is_err() && check_seeds(&[2, 1]).is_ok()
        );
    }
}
