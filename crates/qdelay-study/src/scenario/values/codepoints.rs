//! Codepoints of Differentiated Services (RFC 2474) as values.

use qdelay_config::value::wrong_type;
use qdelay_config::{Accept, Content, Fault, Node};
use qdelay_core::component::Parameter;
use qdelay_core::dscp;
use serde_json::{Value as Json, json};

/// A codepoint, 0 to 63.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscp(pub u8);

impl Dscp {
    /// The set with only this codepoint: bit n stands for codepoint n.
    pub fn mask(self) -> u64 {
        1 << self.0
    }
}

impl Accept for Dscp {
    fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        const EXPECTED: &str = "0 to 63, or a name such as \"ef\", \"af41\", \"cs1\" or \"be\"";
        let text = match &node.content {
            Content::Text(text) | Content::Whole(text) => text.clone(),
            _ => return Err(wrong_type(path, node, EXPECTED)),
        };
        match dscp::parse(&text) {
            Some(number) => Ok((text, Dscp(number))),
            None => {
                Err(Fault::new(node.line, path, format!("'{text}': unknown codepoint; expected {EXPECTED}")))
            }
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

/// A set of codepoints: bit n stands for codepoint n.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dscps(pub u64);

/// Accepts a codepoint, or a list of codepoints.
impl Accept for Dscps {
    fn read(parameter: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
        let Content::List(list) = &node.content else {
            let (text, one) = Dscp::read(parameter, path, node)?;
            return Ok((text, Dscps(one.mask())));
        };
        if list.is_empty() {
            return Err(wrong_type(path, node, "a codepoint, or a list of them, such as [\"ef\", 5]"));
        }
        let (mut texts, mut all) = (Vec::new(), 0);
        for item in list {
            let (text, one) = Dscp::read(parameter, path, item)?;
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
