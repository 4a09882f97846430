//! Bin widths, queue limits, probabilities and shares as values.

use super::MTU_BYTES;
use qdelay_config::value::{line_of_text, span_schema, wrong_type};
use qdelay_config::{Accept, Content, Fault, Node};
use qdelay_core::Span;
use qdelay_core::component::{Parameter, Unit, Value};
use qdelay_core::units::{parse_bytes, parse_percent};
use qdelay_ran::slice;
use serde_json::{Value as Json, json};

/// Bin width of time series; `None` for off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bins(pub Option<Span>);

impl Accept for Bins {
    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "a duration in quotes, such as \"100ms\", or \"off\"";
        let text = line_of_text(path, node, EXPECTED)?;
        if text == "off" {
            return Ok((text, Bins(None)));
        }
        let width = Parameter { unit: Unit::Span, min: "1ms", max: "1440min", ..*parameter };
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

/// Durations in ascending order, each once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spans(pub Vec<Span>);

/// Accepts a duration, or a list of durations.
impl Accept for Spans {
    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let one = std::slice::from_ref(node);
        let list = match &node.content {
            Content::List(list) if !list.is_empty() => list.as_slice(),
            Content::List(_) => {
                let expected = "a duration in quotes, or a list of them, such as [\"10ms\", \"20ms\"]";
                return Err(wrong_type(path, node, expected));
            }
            _ => one,
        };
        let (mut texts, mut spans) = (Vec::new(), Vec::new());
        for item in list {
            let (text, span) = Span::read(&Parameter { unit: Unit::Span, ..*parameter }, path, item)?;
            if spans.contains(&span) {
                let message = format!("'{text}' is given twice; expected each duration once");
                return Err(Fault::new(item.line, path, message));
            }
            texts.push(text);
            spans.push(span);
        }
        spans.sort_unstable();
        Ok((texts.join(","), Spans(spans)))
    }
    fn meaning(&self, _: &str) -> String {
        format!("{:?}", self.0)
    }
    fn describe(_: &Parameter) -> String {
        "duration, or list of them".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        let one = span_schema();
        json!({ "anyOf": [one, { "type": "array", "minItems": 1, "uniqueItems": true, "items": one }] })
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

/// Accepts a plain number as packets, and a number with a unit as bytes.
impl Accept for Limit {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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
            Ok(_) => Err(fail(format!("no packet fits; expected at least {MTU_BYTES} bytes"))),
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
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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

/// A share of all resource blocks, written in percent with up to four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share(pub slice::Share);

impl Accept for Share {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::declare::{Flow, Settings};

    #[test]
    fn probabilities_are_percentages_up_to_100() {
        let read = |text: &str| {
            let node = Node::new(7, Content::Text(text.to_string()));
            let key = Flow::TABLE.key("second_share").unwrap();
            Percent::read(&key.parameter, "flow.second_share", &node)
                .map(|(_, Percent(probability))| probability)
        };
        assert_eq!(
            (read("20%"), read("0%"), read("100%"), read("0.5%")),
            (Ok(0.2), Ok(0.0), Ok(1.0), Ok(0.005))
        );
        for bad in ["20", "%", "100.1%", "-1%", "1e1%", "nan%", "inf%", "1 %", "", "1.2.3%"] {
            assert!(read(bad).unwrap_err().message.contains("0% to 100%"), "{bad}");
        }
    }
}
