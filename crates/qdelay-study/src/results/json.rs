//! Layout of result files: each field of an object on its own line, a list of numbers on one line, and an object inside a list on
//! one line. The files stay readable, and a curve does not fill the screen.

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io::{self, Write};

/// `value` as JSON in the layout of result files, with a line end.
pub fn text(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut bytes, Lines::default());
    // Keys are texts, and numbers are finite or become null, so serialization cannot fail.
    let done = value.serialize(&mut serializer);
    debug_assert!(done.is_ok());
    bytes.push(b'\n');
    String::from_utf8(bytes).unwrap_or_default()
}

/// `value` as JSON with every item on its own line, and a line end.
pub fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

/// Formatter: pretty outside of lists, compact inside.
#[derive(Default)]
struct Lines {
    pretty: PrettyFormatter<'static>,
    /// Depth of objects outside of lists.
    outer: usize,
    lists: usize,
    /// Depth of objects inside the innermost list.
    inner: usize,
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists += 1;
        writer.write_all(b"[")
    }
    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.lists -= 1;
        writer.write_all(b"]")
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { writer.write_all(b", ") }
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists == 0 {
            self.outer += 1;
            return self.pretty.begin_object(writer);
        }
        if self.lists == 1 && self.inner == 0 {
            writer.write_all(b"\n")?;
            (0..=self.outer).try_for_each(|_| writer.write_all(b"  "))?;
        }
        self.inner += 1;
        writer.write_all(b"{")
    }
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists == 0 {
            self.outer -= 1;
            return self.pretty.end_object(writer);
        }
        self.inner -= 1;
        writer.write_all(b"}")
    }
    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (self.lists, first) {
            (0, _) => self.pretty.begin_object_key(writer, first),
            (_, true) => Ok(()),
            (_, false) => writer.write_all(b", "),
        }
    }
    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.lists == 0 { self.pretty.end_object_value(writer) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn lists_are_written_on_one_line() {
        let value = json!({ "a": { "b": [1, 2, null] }, "c": [{ "d": [], "e": { "f": 1 } }, { "d": [[1], []] }], "g": {} });
        let expected = "{\n  \"a\": {\n    \"b\": [1, 2, null]\n  },\n  \"c\": [\n    {\"d\": [], \"e\": {\"f\": 1}}, \n    \
            {\"d\": [[1], []]}],\n  \"g\": {}\n}\n";
        assert_eq!(text(&value), expected);
        assert_eq!(serde_json::from_str::<Value>(&text(&value)).unwrap(), value);
    }
}
