//! The component `web`.

use super::Page;
use crate::connection::{self, Carriers, ConnectionConfig, OVER};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

const OBJECTS: Typed<u32> = Typed::new("objects", "71", "Objects of the page, the document among them")
    .unit(Unit::Count("objects"))
    .within("1", "10000")
    .source("Web Almanac 2024, median page");
const BYTES: Typed<u64> = Typed::new("bytes", "2652kb", "Bytes of all objects together")
    .unit(Unit::Bytes)
    .within("1", "1000mb")
    .source("Web Almanac 2024, median page");
const DOCUMENT: Typed<u64> = Typed::new("document", "18kb", "Bytes of the document, which names the others")
    .unit(Unit::Bytes)
    .within("1", "1000mb")
    .source("Web Almanac 2024, median page");
const NESTED: Typed<f64> = Typed::new("nested", "0.3", "Share of objects that others than the document name")
    .within("0", "1")
    .source("ours");
const PAGE: Typed<u64> = Typed::new("page", "1", "Which page: another number has other sizes")
    .unit(Unit::Count("pages"))
    .within("0", "")
    .source("ours");
const CONNECTIONS: Typed<Option<u64>> =
    Typed::new("connections", "", "How many connections it has; 6, and 1 with multiplex=on")
        .unit(Unit::Count("connections"))
        .within("1", "64")
        .source("browsers; RFC 9112 section 9.4");
const MULTIPLEX: Typed<bool> =
    Typed::new("multiplex", "off", "Whether requests do not wait until the one before is answered")
        .source("HTTP/1.1; on: HTTP/2, HTTP/3");
const THINK: Typed<Span> =
    Typed::new("think", "20ms", "How long the server takes for an answer").within("0", "60s").source("ours");
const PAUSE: Typed<Span> =
    Typed::new("pause", "1s", "Mean time of reading from one load to the next, exponential")
        .within("0", "60min")
        .source("ours");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "web",
    "A browser that loads a page of objects again and again, and reads in between",
)
.source("HTTP Archive, Web Almanac 2024")
.with(&[
    OVER.parameter(),
    OBJECTS.parameter(),
    BYTES.parameter(),
    DOCUMENT.parameter(),
    NESTED.parameter(),
    PAGE.parameter(),
    CONNECTIONS.parameter(),
    MULTIPLEX.parameter(),
    THINK.parameter(),
    PAUSE.parameter(),
])
.positional("over");
pub(crate) const COMPONENTS: &[&Component] = &[&COMPONENT];

/// A browser: what it loads, and over which connections.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// The connections.
    pub connection: ConnectionConfig,
    /// How many.
    pub connections: usize,
    /// Whether requests do not wait for answers; then there is one connection.
    pub multiplexes: bool,
    /// What is loaded.
    pub page: Arc<Page>,
    /// How long the server takes for an answer.
    pub think: Span,
    /// Mean time between loads.
    pub pause: Span,
}

pub(crate) fn build(arguments: &Arguments, carriers: &Carriers) -> Result<WebConfig, ComponentError> {
    config(arguments, carriers).map_err(|message| arguments.fail(message))
}

fn config(arguments: &Arguments, carriers: &Carriers) -> Result<WebConfig, String> {
    let (bytes, document) = (arguments.get(&BYTES), arguments.get(&DOCUMENT));
    if document > bytes {
        return Err("document is larger than the page; expected at most bytes".to_string());
    }
    let connection = connection::parse(arguments, arguments.get(&OVER), carriers)
        .map_err(|message| format!("over: {message}"))?;
    let multiplexes = arguments.get(&MULTIPLEX);
    let connections = arguments.get(&CONNECTIONS).unwrap_or(if multiplexes { 1 } else { 6 }) as usize;
    if multiplexes && connections > 1 {
        return Err("multiplex=on has one connection; remove connections".to_string());
    }
    if connections > 1 && matches!(connection, ConnectionConfig::Own(_)) {
        return Err(
            "over: several connections are of TCP; expected multiplex=on or connections=1".to_string()
        );
    }
    let objects = arguments.get(&OBJECTS) as usize;
    let page = Page::synthetic(objects, bytes, document, arguments.get(&NESTED), arguments.get(&PAGE));
    Ok(WebConfig {
        connection,
        connections,
        multiplexes,
        page: Arc::new(page),
        think: arguments.get(&THINK),
        pause: arguments.get(&PAUSE),
    })
}
