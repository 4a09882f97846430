//! Web traffic: a browser loads a page of dependent objects over one or several connections, pauses for reading, and loads the page again.
//!
//! | file | contents |
//! | --- | --- |
//! | `page` | objects of a page: sizes and dependencies |
//! | `browser` | order of requests, their connections, page load times |
//! | `component` | the component `web` |
//! | `ends` | the browser at the far end of its connections, a server at their near end |
//!
//! # Differences from the reference
//! * All objects come from one server, without name resolution. The browser's own processing takes no time.
//! * An object names further objects once it has arrived completely; real browsers parse it while it arrives.
//! * Nothing is cached: each load requests every object. Connections stay open, so that all loads but the first find open windows.
//! * With `multiplex=on` answers arrive in the order of the requests, as on one stream; HTTP/2 and HTTP/3 interleave them.

mod browser;
mod component;
mod ends;
mod page;

pub use browser::{Browser, Load, WebOutcome};
pub use component::WebConfig;
pub(crate) use component::{COMPONENTS, build};
pub use ends::WebEnds;
pub use page::{Object, Page};
