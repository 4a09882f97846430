//! Contents of a file as text: unpacked and in UTF-8, whatever the file is. Everything that reads a file of a trace, of delays or of a
//! channel reads it from here.

use super::{packed, utf16};
use std::io::{self, Read};

/// The text of a file.
///
/// # Errors
/// The file cannot be read, or not as text.
pub(super) fn text<'a>(input: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    utf16::decoded(packed::unpacked(input)?)
}
