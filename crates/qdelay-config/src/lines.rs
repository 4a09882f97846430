//! TOML text with the line of each key.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Position where each line begins, in bytes.
pub struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines(std::iter::once(0).chain(after).collect())
    }

    /// The line, from 1, that contains the byte at position `at`.
    pub fn line_at(&self, at: usize) -> u32 {
        // `document::BYTES_MAX` keeps files below 2^32 bytes.
        self.0.partition_point(|start| *start <= at) as u32
    }
}

/// Parses TOML and the positions of its lines.
///
/// # Errors
/// Line and message of the first syntax error.
pub fn parse(text: &str) -> Result<(Lines, Spanned<DeTable<'_>>), (u32, String)> {
    let lines = Lines::new(text);
    match DeTable::parse(text) {
        Ok(table) => Ok((lines, table)),
        Err(error) => {
            let at = error.span().map_or(text.len(), |span| span.start);
            Err((lines.line_at(at), format!("not TOML: {}", error.message())))
        }
    }
}

/// Keys with their position in bytes and their value, in the order of the text.
pub fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, usize, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span().start, value)).collect();
    entries.sort_by_key(|(_, at, _)| *at);
    entries
}
