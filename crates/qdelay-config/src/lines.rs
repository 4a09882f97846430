//! TOML with the lines of its keys.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where each line of a text begins.
pub struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Lines {
        let after = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        Lines(std::iter::once(0).chain(after).collect())
    }

    /// The line, from 1, that the byte `at` is in.
    pub fn of(&self, at: usize) -> u32 {
        // Files are far below 2^32 bytes.
        self.0.partition_point(|start| *start <= at) as u32
    }
}

/// Reads TOML.
///
/// # Errors
/// The mistake, with its line.
pub fn parse(text: &str) -> Result<(Lines, Spanned<DeTable<'_>>), (u32, String)> {
    let lines = Lines::new(text);
    match DeTable::parse(text) {
        Ok(table) => Ok((lines, table)),
        Err(error) => {
            let at = error.span().map_or(text.len(), |span| span.start);
            Err((lines.of(at), format!("not TOML: {}", error.message())))
        }
    }
}

/// Keys, the bytes where they stand, and their values, in the order of the text.
pub fn entries<'t, 'i>(table: &'t DeTable<'i>) -> Vec<(&'t str, usize, &'t Spanned<DeValue<'i>>)> {
    let mut entries: Vec<_> =
        table.iter().map(|(key, value)| (key.get_ref().as_ref(), key.span().start, value)).collect();
    entries.sort_by_key(|(_, at, _)| *at);
    entries
}
