//! The component `web`.

use super::Page;
use crate::connection::{self, Carriers, ConnectionConfig, OVER};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};

const OBJECTS: Typed<u32> = Typed::new("objects", "71", "Objects of the page, the document included")
    .unit(Unit::Count("objects"))
    .within("1", "10000")
    .source("Web Almanac 2024, median page");
const BYTES: Typed<u64> = Typed::new("bytes", "2652kb", "Total bytes of all objects")
    .unit(Unit::Bytes)
    .within("1", "1000mb")
    .source("Web Almanac 2024, median page");
const DOCUMENT: Typed<u64> =
    Typed::new("document", "18kb", "Bytes of the document, which names further objects")
        .unit(Unit::Bytes)
        .within("1", "1000mb")
        .source("Web Almanac 2024, median page");
const NESTED: Typed<f64> =
    Typed::new("nested", "0.3", "Share of objects that are named by an object other than the document")
        .within("0", "1")
        .source("ours");
const PAGE: Typed<u64> = Typed::new("page", "1", "Number of the page, which seeds the sizes of its objects")
    .unit(Unit::Count("pages"))
    .within("0", "")
    .source("ours");
const CONNECTIONS: Typed<Option<u64>> =
    Typed::new("connections", "", "Number of connections; default 6, or 1 with multiplex=on")
        .unit(Unit::Count("connections"))
        .within("1", "64")
        .source("browsers; RFC 9112 section 9.4");
const MULTIPLEX: Typed<bool> = Typed::new(
    "multiplex",
    "off",
    "Multiplexing: a request does not wait for the answer to the request before",
)
.source("HTTP/1.1; on: HTTP/2, HTTP/3");
const THINK: Typed<Span> =
    Typed::new("think", "20ms", "Processing time of the server per answer").within("0", "60s").source("ours");
const PAUSE: Typed<Span> =
    Typed::new("pause", "1s", "Mean time from the end of a load to the next load, exponential")
        .within("0", "60min")
        .source("ours");

static COMPONENT: Component = Component::new(
    Kind::Transport,
    "web",
    "A browser that loads a page of objects repeatedly, with pauses for reading",
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

/// Settings of a browser.
#[derive(Clone, Debug)]
pub struct WebConfig {
    /// Transport of each connection.
    pub connection: ConnectionConfig,
    /// Number of connections, 1 to 64.
    pub connections: usize,
    /// Whether requests do not wait for earlier answers; implies one connection.
    pub multiplexes: bool,
    /// The page.
    pub page: Arc<Page>,
    /// Processing time of the server per answer.
    pub think: Span,
    /// Mean time from the end of a load to the next load.
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
            "over: only TCP has several connections; expected multiplex=on or connections=1".to_string()
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
