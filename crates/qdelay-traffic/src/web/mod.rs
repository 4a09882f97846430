//! Web pages: a browser loads a page of objects that depend on each other, over several connections or over one, reads, and loads it again.
//!
//! | file | what it has |
//! | --- | --- |
//! | `page` | the objects of a page: sizes, and which one names which |
//! | `browser` | what is requested when, and on which connection; page load times |
//! | `component` | the component `web` |
//! | `ends` | the browser at the far end of its connections, a server at their near end |
//!
//! # Differences from the reference
//! * All objects come from one server, and its names are known. Browsers compute between downloads, where this one takes no time.
//! * An object names others when it has arrived whole; browsers read ahead.
//! * Nothing is cached: each load is of every object. Connections stay open, so that all loads but the first find them warm.
//! * With `multiplex=on` answers follow each other in the order of the requests, as on one stream; HTTP/2 and HTTP/3 mix them.

mod browser;
mod component;
mod ends;
mod page;

pub use browser::{Browser, Load, WebOutcome};
pub use component::WebConfig;
pub(crate) use component::{COMPONENTS, build};
pub use ends::WebEnds;
pub use page::{Object, Page};
