//! TOML documents with the line of every value, in the order of the file.

use crate::fault::Fault;
use crate::lines::{self, Lines};
use qdelay_core::component::Registry;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// Largest TOML file that is read, in bytes.
pub const BYTES_MAX: usize = 10_000_000;

/// A value.
#[derive(Clone, Debug)]
pub struct Node {
    /// Line where the value begins, from 1; 0 without a document.
    pub line: u32,
    /// Content of the value.
    pub content: Content,
    /// Components that the document may name in addition to the built-in ones.
    pub registry: Registry,
}

/// The content of a value.
#[derive(Clone, Debug)]
pub enum Content {
    /// A string.
    Text(String),
    /// An integer, in decimal digits.
    Whole(String),
    /// A float as it is written, without underscores.
    Float(String),
    /// True or false.
    Switch(bool),
    /// A date or time; no key accepts one.
    Time(String),
    /// An array.
    List(Vec<Node>),
    /// A table, or inline table.
    Table(Vec<Entry>),
}

/// A key and its value.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the key, without quotes.
    pub key: String,
    /// The line of the key.
    pub line: u32,
    /// Position of the key in the document, in bytes; orders entries of different tables.
    pub at: usize,
    /// Value of the key.
    pub value: Node,
}

impl Node {
    /// A value without a document.
    pub const fn new(line: u32, content: Content) -> Node {
        Node { line, content, registry: Registry::new() }
    }
    /// Kind of the value and, for a scalar, its text: `the integer 7`, `an array`.
    pub fn describe(&self) -> String {
        match &self.content {
            Content::Text(text) => {
                let escaped =
                    |c: char| if c.is_control() { c.escape_debug().to_string() } else { c.to_string() };
                format!("the string '{}'", text.chars().map(escaped).collect::<String>())
            }
            Content::Whole(text) => format!("the integer {text}"),
            Content::Float(text) => format!("the float {text}"),
            Content::Switch(on) => format!("the boolean {on}"),
            Content::Time(text) => format!("the date or time {text}"),
            Content::List(list) if list.is_empty() => "an empty array".to_string(),
            Content::List(_) => "an array".to_string(),
            Content::Table(_) => "a table".to_string(),
        }
    }
    /// The string; `None` for another kind of value.
    pub fn text(&self) -> Option<&str> {
        if let Content::Text(text) = &self.content { Some(text) } else { None }
    }
    /// The elements of the array; `None` for another kind of value.
    pub fn list(&self) -> Option<&[Node]> {
        if let Content::List(list) = &self.content { Some(list) } else { None }
    }
    /// The entries of the table; `None` for another kind of value.
    pub fn table(&self) -> Option<&[Entry]> {
        if let Content::Table(entries) = &self.content { Some(entries) } else { None }
    }
}

/// Reads a file into its entries, in document order.
///
/// # Errors
/// The text is larger than [`BYTES_MAX`] or is not TOML.
pub fn parse(text: &str) -> Result<Vec<Entry>, Fault> {
    parse_with(text, &Registry::new())
}

/// Reads a file as [`parse`] does; the file may also name components of `registry`.
///
/// # Errors
/// Errors of [`parse`].
pub fn parse_with(text: &str, registry: &Registry) -> Result<Vec<Entry>, Fault> {
    if text.len() > BYTES_MAX {
        let message =
            format!("{} bytes are too many; expected a file of at most {BYTES_MAX} bytes", text.len());
        return Err(Fault { line: 0, message });
    }
    let (lines, table) = lines::parse(text).map_err(|(line, message)| Fault { line, message })?;
    Ok(Reader { lines, registry }.entries(table.get_ref()))
}

/// Converts TOML values to nodes.
struct Reader<'a> {
    lines: Lines,
    registry: &'a Registry,
}

impl Reader<'_> {
    fn entries(&self, table: &DeTable<'_>) -> Vec<Entry> {
        let entry = |(key, at, value): (&str, usize, _)| Entry {
            key: key.to_string(),
            line: self.lines.line_at(at),
            at,
            value: self.node(value),
        };
        lines::entries(table).into_iter().map(entry).collect()
    }
    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let content = match value.get_ref() {
            DeValue::String(text) => Content::Text(text.to_string()),
            DeValue::Integer(whole) => match i128::from_str_radix(whole.as_str(), whole.radix()) {
                Ok(number) => Content::Whole(number.to_string()),
                Err(_) => Content::Whole(whole.to_string()),
            },
            DeValue::Float(float) => Content::Float(float.as_str().to_string()),
            DeValue::Boolean(on) => Content::Switch(*on),
            DeValue::Datetime(time) => Content::Time(time.to_string()),
            DeValue::Array(list) => Content::List(self.list(list)),
            DeValue::Table(table) => Content::Table(self.entries(table)),
        };
        Node { line: self.lines.line_at(value.span().start), content, registry: self.registry.clone() }
    }
    fn list(&self, list: &DeArray<'_>) -> Vec<Node> {
        list.iter().map(|item| self.node(item)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_have_their_lines_in_file_order() {
        let text =
            "# c\r\nb = 1\r\n[z]\nx.y = \"\"\"\n\n\"\"\"\na = [\n 1,\n 2.5]\n[[m]]\n[[m]]\n\"ü\" = true\n";
        let entries = parse(text).unwrap();
        let shape: Vec<(&str, u32)> = entries.iter().map(|entry| (entry.key.as_str(), entry.line)).collect();
        assert_eq!(shape, [("b", 2), ("z", 3), ("m", 10)]);
        let z = entries[1].value.table().unwrap();
        assert_eq!(
            z.iter().map(|entry| (entry.key.as_str(), entry.line)).collect::<Vec<_>>(),
            [("x", 4), ("a", 7)]
        );
        let list = z[1].value.list().unwrap();
        assert_eq!((list[0].line, list[1].line, list[1].describe()), (8, 9, "the float 2.5".to_string()));
        let m = entries[2].value.list().unwrap();
        assert_eq!((m[0].line, m[1].line, m[1].table().unwrap()[0].line), (10, 11, 12));
    }

    #[test]
    fn numbers_are_converted_to_plain_decimals() {
        let entries =
            parse("a = 0x1_0\nb = -1_000\nc = 1_0.5e1\nd = 340282366920938463463374607431768211456").unwrap();
        let text: Vec<String> = entries.iter().map(|entry| entry.value.describe()).collect();
        assert_eq!(text[..3], ["the integer 16", "the integer -1000", "the float 10.5e1"]);
        assert!(text[3].starts_with("the integer 3402823669"));
    }

    #[test]
    fn invalid_toml_is_refused_with_its_line() {
        fn error(text: &str) -> Fault {
            parse(text).unwrap_err()
        }
        assert_eq!(error("a = 1\na = 2"), Fault { line: 2, message: "not TOML: duplicate key".into() });
        assert_eq!(error("a = 1\nb = [").line, 2);
        assert!(error(&"#".repeat(BYTES_MAX + 1)).message.contains("at most 10000000 bytes"));
        assert!(error(&("a.".repeat(100_000) + "b = 1")).message.contains("recursion"));
    }
}
