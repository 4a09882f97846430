//! Types of the values of a scenario's keys, and how they are written.

use super::component;
use crate::{links, radio};
use qdelay_config::value::{line_of_text, span_schema, wrong_type};
use qdelay_config::{Accept, Content, Fault, Key, Node, words};
use qdelay_core::component::{Arguments, Component, ComponentError, Parameter, Unit, Value};
use qdelay_core::pacer::{self, AnyPacer, PacerSetting};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::units::{parse_bytes, parse_percent, parse_rate};
use qdelay_core::{Rate, Span, dscp};
use qdelay_path::{F1_COMPONENTS, F1Spec, LOSSES, LossModel, is_percentage};
use qdelay_ran::cell::{DrxSetting, HandoverSetting, MOVES, PARTITIONS, SLEEPS};
use qdelay_ran::radio::{ADAPTATIONS, DECODINGS, DUPLEXES, OllaSetting};
use qdelay_ran::{mac, pdcp, rlc, slice};
use qdelay_traffic::transport::{self, TransportConfig};
use serde_json::{Value as Json, json};

/// Longest name of a flow.
const NAME_MAX: usize = 64;
/// The largest packet that flows send (an IP packet in an Ethernet frame).
const MTU_BYTES: u64 = 1500;
/// Most seeds of a study.
pub const SEEDS_MAX: u64 = 10_000;

/// The kinds of component that keys choose from: name in the schema, and registry.
pub(super) type ComponentKind = (&'static str, fn() -> Vec<&'static Component>);

/// Declares a type for each kind of component: for people, in the schema, its registry, and what is made of the arguments.
macro_rules! components {
    ($($(#[$doc:meta])* $name:ident($made:ty) = $described:literal, $kind:literal, $registry:expr, $make:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Debug)]
            pub struct $name(pub(crate) $made);

            impl Accept for $name {
                fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
                    let make: fn(Arguments) -> Result<$made, String> = $make;
                    let arguments = component::read(&Self::components(), path, node)?;
                    let text = arguments.typed().to_string();
                    let made = make(arguments).map_err(|error| Fault::new(node.line, path, error))?;
                    Ok((text, $name(made)))
                }
                fn components() -> Vec<&'static Component> {
                    let registry: fn() -> Vec<&'static Component> = $registry;
                    registry()
                }
                fn describe(_: &Parameter) -> String {
                    $described.to_string()
                }
                fn schema(_: &Parameter) -> Json {
                    json!({ "$ref": concat!("#/$defs/", $kind) })
                }
            }
        )*

        /// All kinds, links and models of loss included.
        pub(super) static KINDS: &[ComponentKind] = &[$(($kind, $registry),)* ("link", links::components), ("loss", || LOSSES.to_vec())];
    };
}

components! {
    /// A queue discipline that can be built.
    Qdisc(Arguments) = "qdisc", "qdisc", || qdisc::COMPONENTS.to_vec(), |arguments| {
        AnyQdisc::build(&arguments).map_err(|error| error.to_string())?;
        Ok(arguments)
    };
    /// The transport of a flow.
    Transport(Box<TransportConfig>) = "transport", "transport", || transport::COMPONENTS.to_vec(), |arguments| {
        TransportConfig::build(&arguments).map(Box::new).map_err(|error| error.to_string())
    };
    /// A radio channel.
    Channel(Arguments) = "channel", "channel", radio::channels, Ok;
    /// A pacer that can be built.
    Pacer(Arguments) = "pacer", "pacer", || pacer::COMPONENTS.to_vec(), |arguments| {
        // In the cell that accepts most: that of the scenario is known when its cell is built, and checks again.
        let (tti, peak_bytes) = (Span::from_nanos(1), Some(u64::MAX));
        let setting = PacerSetting { tti, peak_bytes, mtu_bytes: MTU_BYTES, ..PacerSetting::default() };
        AnyPacer::build(&arguments, &setting).map_err(|error| error.to_string())?;
        Ok(arguments)
    };
    /// A MAC scheduler.
    Scheduler(mac::Scheduler) = "scheduler", "scheduler", || mac::COMPONENTS.to_vec(), |arguments| {
        mac::Scheduler::build(&arguments).map_err(|error| error.to_string())
    };
    /// A partition of a cell.
    Partition(Arguments) = "partition", "partition", || PARTITIONS.to_vec(), Ok;
    /// A kind of radio link control.
    Rlc(Arguments) = "kind of RLC", "rlc", || rlc::COMPONENTS.to_vec(), Ok;
    /// What decides the loss of a transport block.
    Decoding(qdelay_ran::radio::Decoding) = "decoding", "decoding", || DECODINGS.to_vec(), |arguments| {
        qdelay_ran::radio::Decoding::build(&arguments).map_err(|error| error.to_string())
    };
    /// An adaptation of the reported channel.
    Olla(OllaSetting) = "link adaptation", "olla", || ADAPTATIONS.to_vec(), |arguments| Ok(OllaSetting::build(&arguments));
    /// Time division duplex.
    Tdd(qdelay_ran::radio::Tdd) = "time division duplex", "tdd", || DUPLEXES.to_vec(), |arguments| {
        qdelay_ran::radio::Tdd::build(&arguments).map_err(|message| format!("'{}': {message}", arguments.typed()))
    };
    /// When a UE changes its cell.
    Handover(HandoverSetting) = "handover", "handover", || MOVES.to_vec(), |arguments| {
        HandoverSetting::build(&arguments).map_err(|message| format!("'{}': {message}", arguments.typed()))
    };
    /// Discontinuous reception.
    Drx(DrxSetting) = "discontinuous reception", "drx", || SLEEPS.to_vec(), |arguments| {
        DrxSetting::build(&arguments).map_err(|message| format!("'{}': {message}", arguments.typed()))
    };
    /// What is between the two units of a base station.
    F1(F1Spec) = "kind of F1", "f1", || F1_COMPONENTS.to_vec(), |arguments| Ok(F1Spec::build(&arguments));
    /// A kind of packet data convergence protocol.
    Pdcp(Arguments) = "kind of PDCP", "pdcp", || pdcp::COMPONENTS.to_vec(), Ok;
}

words! {
    /// Which tables and slots a cell has.
    pub enum Technology {
        /// LTE.
        Lte = "lte",
        /// NR.
        Nr = "nr",
    }
}
words! {
    /// Bandwidths of LTE carriers.
    pub enum Bandwidth {
        /// 6 resource blocks.
        Mhz1_4 = "1.4mhz",
        /// 15 resource blocks.
        Mhz3 = "3mhz",
        /// 25 resource blocks.
        Mhz5 = "5mhz",
        /// 50 resource blocks.
        Mhz10 = "10mhz",
        /// 75 resource blocks.
        Mhz15 = "15mhz",
        /// 100 resource blocks.
        Mhz20 = "20mhz",
    }
}
words! {
    /// The modulations of NR.
    pub enum McsTable {
        /// Up to 64QAM.
        Qam64 = "qam64",
        /// Up to 256QAM.
        Qam256 = "qam256",
    }
}
words! {
    /// The unit in which a cell counts.
    pub enum QuantityUnit {
        /// Bytes.
        Bytes = "bytes",
        /// Whole packets.
        Packets = "packets",
    }
}
words! {
    /// Where runs begin on their traces, and when their flows start.
    pub enum Starts {
        /// As [`Starts::Random`] with several seeds, otherwise as [`Starts::Fixed`].
        Auto = "auto",
        /// At random places and times, drawn from the seed.
        Random = "random",
        /// At the beginning, and when the scenario says.
        Fixed = "fixed",
    }
}
impl Starts {
    /// Whether each of so many seeds begins at places and times of its own.
    pub fn are_random(self, seeds: usize) -> bool {
        match self {
            Starts::Auto => seeds > 1,
            Starts::Random => true,
            Starts::Fixed => false,
        }
    }
}

words! {
    /// How the bearers of a UE share its resource blocks.
    pub enum Sharing {
        /// In the order of their priority.
        Priority = "priority",
        /// In equal parts.
        Equal = "equal",
    }
}
words! {
    /// Which TTIs carry less because of control.
    pub enum ControlTtis {
        /// None.
        None = "none",
        /// The values of the thesis's testbed.
        Testbed = "testbed",
    }
}
words! {
    /// How a bearer takes from its QoS flows.
    pub enum SdapOrder {
        /// Always from the most important.
        Priority = "priority",
        /// A packet of each in turn.
        RoundRobin = "round_robin",
        /// As many bytes of each.
        Drr = "drr",
    }
}
words! {
    /// Which way the data of a flow goes.
    pub enum Direction {
        /// Through the bottleneck.
        Down = "down",
        /// Through the uplink.
        Up = "up",
    }
}
words! {
    /// The protocol of packets.
    pub enum Protocol {
        /// Datagrams.
        Udp = "udp",
        /// TCP.
        Tcp = "tcp",
    }
}

/// A link; its text is checked here, and the library with its cache builds it.
#[derive(Clone, Copy, Debug)]
pub struct Link;

impl Accept for Link {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        Ok((component::read_link(path, node)?, Link))
    }
    fn components() -> Vec<&'static Component> {
        links::components()
    }
    fn describe(_: &Parameter) -> String {
        "link".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "$ref": "#/$defs/link" })
    }
}

/// A model of random loss.
#[derive(Clone, Copy, Debug)]
pub struct Loss(pub LossModel);

/// As the command does: a percentage, or a model by its name.
impl Accept for Loss {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let fault = |error: ComponentError| {
            let text = node.text().unwrap_or_default();
            Fault::new(node.line, path, format!("'{text}': {}", error.message))
        };
        let arguments = match node.text() {
            Some(text) if is_percentage(text) => LossModel::parse(text).map_err(fault)?,
            _ => component::read(LOSSES, path, node)?,
        };
        let model = LossModel::build(&arguments).map_err(fault)?;
        Ok((arguments.typed().to_string(), Loss(model)))
    }
    fn components() -> Vec<&'static Component> {
        LOSSES.to_vec()
    }
    fn describe(_: &Parameter) -> String {
        "percent or model of loss".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [{ "type": "string", "pattern": r"^[0-9.]+%$" }, { "$ref": "#/$defs/loss" }] })
    }
}

/// The link of the acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplink {
    /// Nothing: they are not queued.
    None,
    /// A line of this rate.
    Rate(Rate),
    /// A link by its name.
    Link,
    /// The name of a trace.
    Trace,
}

/// As the command does: `none`, a plain rate as a line, a link by its name, or else a trace.
impl Accept for Uplink {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let Some(text) = node.text() else {
            return Ok((component::read_link(path, node)?, Uplink::Link));
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
                line_of_text(path, node, "a rate, a link, the name of a trace, or none")?;
                Uplink::Trace
            }
        };
        Ok((text.to_string(), kind))
    }
    fn components() -> Vec<&'static Component> {
        links::components()
    }
    fn describe(_: &Parameter) -> String {
        "rate, link, trace or none".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [
            { "const": "none" },
            { "type": "string", "description": "a rate, a link, or the name of a trace" },
            { "$ref": "#/$defs/link" },
        ] })
    }
}

/// The name of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceName;

impl Accept for TraceName {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "the name of a trace in quotes, such as \"synth-lte-driving\"";
        Ok((line_of_text(path, node, EXPECTED)?, TraceName))
    }
    fn describe(_: &Parameter) -> String {
        "trace".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// How a trace is to be read.
#[derive(Clone, Copy, Debug)]
pub struct TraceFormat;

impl Accept for TraceFormat {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let text = line_of_text(path, node, &format!("{} in quotes", qdelay_trace::format::usages()))?;
        crate::traces::Format::parse(Some(&text))
            .map_err(|error| Fault::new(node.line, path, error.message))?;
        Ok((text, TraceFormat))
    }
    fn describe(_: &Parameter) -> String {
        qdelay_trace::format::usages()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}

/// The name of a flow, UE or bearer.
#[derive(Clone, Copy, Debug)]
pub struct Name;

impl Accept for Name {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "letters, digits, - and _, at most 64";
        let name = line_of_text(path, node, EXPECTED)?;
        let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.len() > NAME_MAX || !name.chars().all(allowed) {
            return Err(wrong_type(path, node, EXPECTED));
        }
        Ok((name, Name))
    }
    fn describe(_: &Parameter) -> String {
        "name".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" })
    }
}

/// A codepoint, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscp(pub u8);

impl Dscp {
    /// A set with this one alone: bit n is codepoint n.
    pub fn mask(self) -> u64 {
        1 << self.0
    }
}

impl Accept for Dscp {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"";
        let text = match &node.content {
            Content::Text(text) | Content::Whole(text) => text.clone(),
            _ => return Err(wrong_type(path, node, EXPECTED)),
        };
        match dscp::parse(&text) {
            Some(number) => Ok((text, Dscp(number))),
            None => Err(Fault::new(node.line, path, format!("'{text}': no codepoint; expected {EXPECTED}"))),
        }
    }
    fn meaning(&self, _: &str) -> String {
        self.0.to_string()
    }
    fn describe(_: &Parameter) -> String {
        "codepoint: name or number".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 0, "maximum": 63 },
            { "type": "string", "pattern": "^([0-9]+|[A-Za-z]+[0-9]*)$" },
        ] })
    }
}

/// Codepoints: bit n is codepoint n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscps(pub u64);

/// One, or a list of them.
impl Accept for Dscps {
    fn read(key: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let Content::List(list) = &node.content else {
            let (text, one) = Dscp::read(key, path, node)?;
            return Ok((text, Dscps(one.mask())));
        };
        if list.is_empty() {
            return Err(wrong_type(path, node, "a codepoint, or a list of them, such as [\"ef\", 5]"));
        }
        let (mut texts, mut all) = (Vec::new(), 0);
        for item in list {
            let (text, one) = Dscp::read(key, path, item)?;
            if all & one.mask() != 0 {
                let message = format!("'{text}' is given twice; expected each codepoint once");
                return Err(Fault::new(item.line, path, message));
            }
            all |= one.mask();
            texts.push(text);
        }
        Ok((texts.join(","), Dscps(all)))
    }
    fn describe(_: &Parameter) -> String {
        "codepoint, or list of them".to_string()
    }
    fn schema(parameter: &Parameter) -> Json {
        let one = Dscp::schema(parameter);
        json!({ "anyOf": [one, { "type": "array", "minItems": 1, "uniqueItems": true, "items": one }] })
    }
}

/// Seeds, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<u64>);

impl Accept for Seeds {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "whole numbers, such as 1, [1, 2, 7] or \"1..5\"";
        let fail = |message: String| Fault::new(node.line, path, message);
        let number =
            |text: &str| text.parse::<u64>().map_err(|_| fail(format!("'{text}': expected {EXPECTED}")));
        let seeds = match &node.content {
            Content::Text(text) => {
                parse_seeds(text).map_err(|message| fail(format!("'{text}': {message}")))?
            }
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
        Ok((String::new(), Seeds(seeds)))
    }
    fn describe(_: &Parameter) -> String {
        "number, list or range".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 0 },
            { "type": "array", "minItems": 1, "uniqueItems": true, "items": { "type": "integer", "minimum": 0 } },
            { "type": "string", "pattern": "^[0-9., =]+$" },
        ] })
    }
}

/// Width of the bins of the time series; `None` for off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins(pub Option<Span>);

impl Accept for Bins {
    fn read(key: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "a duration in quotes, such as \"100ms\", or \"off\"";
        let text = line_of_text(path, node, EXPECTED)?;
        if text == "off" {
            return Ok((text, Bins(None)));
        }
        let width = Parameter { unit: Unit::Span, min: "1ms", max: "1440min", ..key.parameter };
        match width.read(&text) {
            Ok(Value::Span(span)) => Ok((text, Bins(Some(span)))),
            Ok(_) => Err(wrong_type(path, node, EXPECTED)),
            Err(message) => Err(Fault::new(node.line, path, format!("'{text}': {message}, or off"))),
        }
    }
    fn meaning(&self, _: &str) -> String {
        format!("{:?}", self.0)
    }
    fn describe(_: &Parameter) -> String {
        "duration or off".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [{ "const": "off" }, span_schema()] })
    }
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets.
    Packets(u64),
    /// A number of bytes.
    Bytes(u64),
}

/// A plain number is of packets; bytes have their unit.
impl Accept for Limit {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "a number of packets, such as 30, or bytes with their unit, such as \"64kb\"";
        const PACKETS_MAX: u64 = 10_000_000;
        let text = match &node.content {
            Content::Text(text) | Content::Whole(text) => text.clone(),
            _ => return Err(wrong_type(path, node, EXPECTED)),
        };
        let fail = |message: String| Fault::new(node.line, path, format!("'{text}': {message}"));
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') {
            return match text.parse::<u64>() {
                Ok(packets) if (1..=PACKETS_MAX).contains(&packets) => Ok((text, Limit::Packets(packets))),
                _ => Err(fail(format!("out of range; expected 1 to {PACKETS_MAX} packets"))),
            };
        }
        match parse_bytes(&text) {
            Ok(bytes) if bytes >= MTU_BYTES => Ok((text, Limit::Bytes(bytes))),
            Ok(_) => Err(fail(format!("not a packet fits; expected at least {MTU_BYTES} bytes"))),
            Err(_) => Err(fail(format!("expected {EXPECTED}"))),
        }
    }
    fn json(&self, text: &str) -> Json {
        match self {
            Limit::Packets(packets) => json!(packets),
            Limit::Bytes(_) => json!(text),
        }
    }
    fn meaning(&self, _: &str) -> String {
        format!("{self:?}")
    }
    fn describe(_: &Parameter) -> String {
        "packets, or bytes with a unit".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [
            { "type": "integer", "minimum": 1 },
            { "type": "string", "pattern": r"^[0-9.]+([kmKM]?[bB])?$" },
        ] })
    }
}

/// A probability, 0 to 1, written in percent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Percent(pub f64);

impl Accept for Percent {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "percent in quotes, 0% to 100%, such as \"20%\"";
        let text = line_of_text(path, node, EXPECTED)?;
        match parse_percent(&text) {
            Ok(share) if share <= 1.0 => Ok((text, Percent(share))),
            _ => Err(Fault::new(node.line, path, format!("'{text}': expected {EXPECTED}"))),
        }
    }
    fn meaning(&self, _: &str) -> String {
        self.0.to_string()
    }
    fn describe(_: &Parameter) -> String {
        "percent".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "string", "pattern": r"^[0-9.]+%$" })
    }
}

/// A part of all resource blocks, written in percent with up to four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub slice::Share);

impl Accept for Share {
    fn read(_: &Key, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "percent in quotes, above 0% and up to 100%, such as \"25%\"";
        let text = line_of_text(path, node, EXPECTED)?;
        let share = parse_percent(&text).unwrap_or(0.0);
        match slice::Share::from_millionths((share * 1e6).round() as u32) {
            Ok(share) => Ok((text, Share(share))),
            Err(_) => Err(Fault::new(node.line, path, format!("'{text}': expected {EXPECTED}"))),
        }
    }
    fn describe(_: &Parameter) -> String {
        "percent".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "string", "pattern": r"^[0-9.]+%$" })
    }
}

/// A table of labels by axis, which is read against the axes of the study.
#[derive(Clone, Copy, Debug)]
pub struct Labels;

impl Accept for Labels {
    fn read(_: &Key, _: &str, _: &Node) -> Result<(String, Self), Fault> {
        Ok((String::new(), Labels))
    }
    fn describe(parameter: &Parameter) -> String {
        parameter.unit.describe()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "object" })
    }
}

/// Seeds as they are typed: `1`, `1,7`, `1..5` (both ends included), or any of them separated by commas.
///
/// # Errors
/// Anything else, or more than [`SEEDS_MAX`](super::declare::SEEDS_MAX).
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

/// Checks that there are seeds, not too many, and no duplicates.
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
    use crate::scenario::declare::{Flow, Settings};

    #[test]
    fn probabilities_are_percent() {
        let read = |text: &str| {
            let node = Node::new(7, Content::Text(text.to_string()));
            let key = Flow::TABLE.key("other_share").unwrap();
            Percent::read(key, "flow.other_share", &node).map(|(_, Percent(probability))| probability)
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
