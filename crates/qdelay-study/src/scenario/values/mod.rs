//! Types of the values of a scenario's keys: reading, description, and form in results.

mod codepoints;
mod components;
mod links;
mod quantities;
mod seeds;
mod words;

pub use codepoints::{Dscp, Dscps};
pub use components::*;
pub use links::{Link, TraceFormat, TraceName, Uplink};
pub use quantities::{Bins, Limit, Percent, Share, Spans};
pub(crate) use seeds::check_seeds;
pub use seeds::{SEEDS_MAX, Seeds, parse_seeds};
pub use words::*;

use qdelay_config::value::{line_of_text, wrong_type};
use qdelay_config::{Accept, Fault, Node};
use qdelay_core::component::Parameter;
use serde_json::{Value as Json, json};

/// Longest name of an element, such as a flow or a UE, in bytes.
const NAME_MAX: usize = 64;
/// The largest packet that flows send, in bytes: an IP packet in an Ethernet frame.
pub(super) const MTU_BYTES: u64 = 1500;

/// The name of an element: a flow, hop, UE, bearer or slice.
#[derive(Clone, Copy, Debug)]
pub struct Name;

impl Accept for Name {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
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

/// A table of labels by axis; its contents are read later, against the axes of the study.
#[derive(Clone, Copy, Debug)]
pub struct Labels;

impl Accept for Labels {
    fn read(_: &Parameter, _: &str, _: &Node) -> Result<(String, Self), Fault> {
        Ok((String::new(), Labels))
    }
    fn describe(parameter: &Parameter) -> String {
        parameter.unit.describe()
    }
    fn schema(_: &Parameter) -> Json {
        json!({ "type": "object" })
    }
}
