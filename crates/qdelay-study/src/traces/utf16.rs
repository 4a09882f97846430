//! Text in UTF-16 with a byte order mark, as programs of Windows write it, decoded to UTF-8 while it is read.

use super::opening::Opening;
use std::io::{self, ErrorKind, Read};

const LITTLE_ENDIAN: [u8; 2] = [0xff, 0xfe];
const BIG_ENDIAN: [u8; 2] = [0xfe, 0xff];
/// Bytes that are decoded at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// The text of `input` as UTF-8; all but UTF-16 is returned as it is.
///
/// # Errors
/// The input cannot be read.
pub(super) fn decoded<'a>(input: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let opening = Opening::read(input)?;
    let read_unit: fn([u8; 2]) -> u16 = if opening.begins_with(&LITTLE_ENDIAN) {
        u16::from_le_bytes
    } else if opening.begins_with(&BIG_ENDIAN) {
        u16::from_be_bytes
    } else {
        return Ok(Box::new(opening));
    };
    let mut decoded = Decoded {
        input: opening,
        read_unit,
        chunk: vec![0; CHUNK_BYTES],
        odd: None,
        high: None,
        text: String::new(),
        given: 0,
        offset: 0,
        line: 1,
    };
    // The mark itself is no part of the text.
    decoded.input.read_exact(&mut [0; 2])?;
    decoded.offset = 2;
    Ok(Box::new(decoded))
}

/// Decodes UTF-16.
struct Decoded<'a> {
    input: Opening<'a>,
    read_unit: fn([u8; 2]) -> u16,
    chunk: Vec<u8>,
    /// The first byte of a unit that a chunk's end cut.
    odd: Option<u8>,
    /// The first half of a pair of surrogates.
    high: Option<u16>,
    /// Decoded text, of which `given` bytes have been read.
    text: String,
    given: usize,
    /// Bytes of the file before the next unit, and the number of its line.
    offset: u64,
    line: u64,
}

impl Decoded<'_> {
    fn wrong(&self, offset: u64, what: &str) -> io::Error {
        let line = self.line;
        io::Error::new(
            ErrorKind::InvalidData,
            format!(
                "it is text in UTF-16 and line {line} has {what} at byte {offset}; expected whole characters"
            ),
        )
    }

    fn unit(&mut self, unit: u16) -> io::Result<()> {
        let at = self.offset;
        self.offset += 2;
        let units = match (self.high.take(), unit) {
            (None, 0xd800..=0xdbff) => {
                self.high = Some(unit);
                return Ok(());
            }
            (None, _) => [unit, 0],
            (Some(high), 0xdc00..=0xdfff) => [high, unit],
            (Some(_), _) => return Err(self.wrong(at - 2, "half a pair of surrogates")),
        };
        match char::decode_utf16(units).next() {
            Some(Ok(c)) => {
                self.text.push(c);
                self.line += u64::from(c == '\n');
                Ok(())
            }
            _ => Err(self.wrong(at, "half a pair of surrogates")),
        }
    }

    /// Decodes the next chunk; false at the end.
    fn next(&mut self) -> io::Result<bool> {
        let filled = super::fill(&mut self.input, &mut self.chunk)?;
        if filled == 0 {
            return match (self.odd, self.high) {
                (Some(_), _) => Err(self.wrong(self.offset, "half a unit of two bytes")),
                (None, Some(_)) => Err(self.wrong(self.offset - 2, "half a pair of surrogates")),
                (None, None) => Ok(false),
            };
        }
        self.text.clear();
        self.given = 0;
        for at in 0..filled {
            let byte = self.chunk[at];
            match self.odd.take() {
                None => self.odd = Some(byte),
                Some(first) => self.unit((self.read_unit)([first, byte]))?,
            }
        }
        Ok(true)
    }
}

impl Read for Decoded<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            if !self.next()? {
                return Ok(0);
            }
        }
        let left = &self.text.as_bytes()[self.given..];
        let n = left.len().min(buffer.len());
        buffer[..n].copy_from_slice(&left[..n]);
        self.given += n;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::Library;
    use arbtest::arbitrary::Unstructured;
    use qdelay_path::LinkModel;

    fn text(bytes: &[u8]) -> Result<String, String> {
        let mut found = String::new();
        let result = decoded(bytes).and_then(|mut text| text.read_to_string(&mut found));
        result.map(|_| found).map_err(|error| error.to_string())
    }
    /// The units of a text in both orders of bytes, with the mark.
    fn both(units: impl Iterator<Item = u16> + Clone) -> [Vec<u8>; 2] {
        let little = [0xfeff].into_iter().chain(units.clone()).flat_map(u16::to_le_bytes).collect();
        [little, [0xfeff].into_iter().chain(units).flat_map(u16::to_be_bytes).collect()]
    }

    #[test]
    fn text_is_decoded_in_both_orders() {
        let long = "0,1\r\n".repeat(20_000) + "größer 𝄞\n";
        for plain in ["", "0\n5\n", "t,r\n0,1\n", "é\u{1f600}x", &long] {
            for bytes in both(plain.encode_utf16()) {
                assert_eq!(text(&bytes).as_deref(), Ok(plain));
            }
        }
        assert_eq!(text(b"0\n5\n").as_deref(), Ok("0\n5\n"));
        assert_eq!(text(b"\xff").unwrap_err(), "stream did not contain valid UTF-8");
    }

    #[test]
    fn half_characters_have_a_place() {
        let [little, big] = both("0\n5\n".encode_utf16());
        assert_eq!(
            text(&little[..little.len() - 1]).unwrap_err(),
            "it is text in UTF-16 and line 2 has half a unit of two bytes at byte 8; expected whole characters"
        );
        assert!(text(&big[..5]).unwrap_err().contains("line 1 has half a unit of two bytes at byte 4"));
        for (units, place) in [
            (&[0x30, 0xd800][..], "line 1 has half a pair of surrogates at byte 4"),
            (&[0x0a, 0xd800, 0x30], "line 2 has half a pair of surrogates at byte 4"),
            (&[0xdc00], "line 1 has half a pair of surrogates at byte 2"),
            (&[0xd800, 0xd800, 0xdc00], "line 1 has half a pair of surrogates at byte 2"),
        ] {
            for bytes in both(units.iter().copied()) {
                let error = text(&bytes).unwrap_err();
                assert!(error.contains(place), "{error}, expected {place}");
            }
        }
    }

    /// The standard library decodes whole strings of units.
    #[test]
    fn any_units_are_decoded_as_the_standard_library_does() {
        qdelay_testing::fuzz::fuzz(1.0, |u: &mut Unstructured<'_>| {
            let units: Vec<u16> = u.arbitrary()?;
            let expected = String::from_utf16(&units).ok();
            for bytes in both(units.iter().copied()) {
                assert_eq!(text(&bytes).ok(), expected);
                assert!(text(&[&bytes[..], b"0"].concat()).is_err(), "an odd number of bytes");
            }
            Ok(())
        });
    }

    #[test]
    fn traces_delays_and_channels_may_be_in_utf_16() {
        let [little, big] = both("t,r\n0,10\n1,20\n".encode_utf16());
        let library = Library::new().with_contents("l.csv", little.clone()).with_contents("b.csv", big);
        for name in ["l.csv:format=[csv:r:time=t]", "b.csv:format=[csv:r:time=t]"] {
            let found = library.trace(name, None, true, None).unwrap();
            assert_eq!(found.link.length(), Some(qdelay_core::Span::from_secs(2)));
        }
        let [little, _] = both("3\n1\n2\n3\n".encode_utf16());
        let parser = qdelay_trace::capacity::Parser::new();
        let (trace, _) = crate::traces::channel::parse(parser, &mut &little[..]).unwrap();
        assert_eq!(trace.values(), [1, 2, 3]);
    }
}
