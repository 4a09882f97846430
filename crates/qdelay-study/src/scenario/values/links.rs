//! Links, traces and random loss as values.

use crate::links;
use crate::scenario::component;
use crate::traces::delay::{self, Delay};
use crate::traces::jitter::{self, JitterText};
use crate::traces::loss::{self, LinkLoss, Loss};
use qdelay_config::value::{line_of_text, wrong_type};
use qdelay_config::{Accept, Fault, Node};
use qdelay_core::component::{Component, Parameter, Unit};
use qdelay_core::units::{parse_rate, parse_span};
use qdelay_core::{Rate, Span};
use serde_json::{Value as Json, json};

/// A link; its text is checked here, and built by the library, which caches it.
#[derive(Clone, Copy, Debug)]
pub struct Link;

impl Accept for Link {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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

/// Accepts a percentage, or a loss model by its name.
impl Accept for Loss {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let fault = |error: String| {
            let text = node.text().unwrap_or_default();
            Fault::new(node.line, path, format!("'{text}': {error}"))
        };
        let arguments = match node.text() {
            Some(text) => Loss::arguments(text).map_err(fault)?,
            None if node.table().is_none() => {
                return Err(wrong_type(
                    path,
                    node,
                    "a percentage in quotes, such as \"1%\", or a model of loss",
                ));
            }
            None => component::read(&loss::components(), path, node)?,
        };
        let loss = Loss::new(&arguments).map_err(fault)?;
        Ok((arguments.typed().to_string(), loss))
    }
    fn components() -> Vec<&'static Component> {
        loss::components()
    }
    fn describe(_: &Parameter) -> String {
        "percent or model of loss".to_string()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "anyOf": [{ "type": "string", "pattern": r"^[0-9.]+%$" }, { "$ref": "#/$defs/loss" }] })
    }
}

/// A number, or what the command line accepts.
impl Accept for LinkLoss {
    const UNIT: Unit = Unit::Number;

    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let Some(text) = node.text() else {
            let (text, number) = f64::read(parameter, path, node)?;
            return Ok((text, LinkLoss::probability(number)));
        };
        let read = LinkLoss::parse(text);
        let read = read.map_err(|error| Fault::new(node.line, path, format!("'{text}': {error}")))?;
        Ok((text.to_string(), read))
    }
    fn components() -> Vec<&'static Component> {
        loss::components()
    }
    fn describe(_: &Parameter) -> String {
        "probability or loss".to_string()
    }
    fn schema(parameter: &Parameter) -> Json {
        json!({ "anyOf": [f64::schema(parameter), { "type": "string" }] })
    }
}

/// A delay: a time, or a delay over time.
impl Accept for Delay {
    const UNIT: Unit = Unit::Span;

    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        match node.text() {
            // A text with spaces is in netem's words.
            Some(text) if !Delay::is_constant(text) || text.contains(' ') => {
                let read = Delay::parse(text)
                    .map_err(|error| Fault::new(node.line, path, format!("'{text}': {error}")))?;
                Ok((text.to_string(), read))
            }
            None if node.table().is_some() => {
                let arguments = component::read(&delay::components(), path, node)?;
                delay::check(&arguments).map_err(|error| Fault::new(node.line, path, error))?;
                Ok((arguments.typed().to_string(), Delay::Moving(arguments)))
            }
            _ => Span::read(parameter, path, node).map(|(text, span)| (text, Delay::Constant(span))),
        }
    }
    fn meaning(&self, text: &str) -> String {
        self.constant().map_or(text.to_string(), |span| format!("{span:?}"))
    }
    fn components() -> Vec<&'static Component> {
        delay::components()
    }
    fn describe(_: &Parameter) -> String {
        "time or delay".to_string()
    }
    fn schema(parameter: &Parameter) -> Json {
        json!({ "anyOf": [Span::schema(parameter), { "$ref": "#/$defs/delay" }] })
    }
}

/// A jitter: a time, or a distribution.
impl Accept for JitterText {
    const UNIT: Unit = Unit::Span;

    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let fault = |text: &str, error: String| Fault::new(node.line, path, format!("'{text}': {error}"));
        if node.table().is_some() {
            let arguments = component::read(&jitter::components(), path, node)?;
            let text = arguments.typed().to_string();
            let jitter = JitterText::new(arguments).map_err(|error| fault(&text, error))?;
            return Ok((text, jitter));
        }
        match node.text() {
            Some(text) if parse_span(text).is_err() => {
                Ok((text.to_string(), JitterText::parse(text).map_err(|error| fault(text, error))?))
            }
            _ => {
                let (text, span) = Span::read(parameter, path, node)?;
                Ok((text, JitterText::from(span)))
            }
        }
    }
    fn meaning(&self, text: &str) -> String {
        match self.without_file() {
            Some(jitter) if jitter.is_plain() => format!("{:?}", jitter.size),
            _ => text.to_string(),
        }
    }
    fn components() -> Vec<&'static Component> {
        jitter::components()
    }
    fn describe(_: &Parameter) -> String {
        "time or jitter".to_string()
    }
    fn schema(parameter: &Parameter) -> Json {
        json!({ "anyOf": [Span::schema(parameter), { "$ref": "#/$defs/jitter" }] })
    }
}

/// The link of the acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplink {
    /// No link: acknowledgements are not queued.
    None,
    /// A line with this rate.
    Rate(Rate),
    /// A link by its name.
    Link,
    /// The name of a trace.
    Trace,
}

/// Accepts `none`, a plain rate as a line, a link by its name, or else a trace.
impl Accept for Uplink {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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

/// The format of a trace.
#[derive(Clone, Copy, Debug)]
pub struct TraceFormat;

impl Accept for TraceFormat {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let text = line_of_text(path, node, &format!("{} in quotes", crate::traces::programs::usages()))?;
        crate::traces::Format::parse(Some(&text))
            .map_err(|error| Fault::new(node.line, path, error.message))?;
        Ok((text, TraceFormat))
    }
    fn describe(_: &Parameter) -> String {
        crate::traces::programs::usages()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "string", "minLength": 1 })
    }
}
