//! Traces compressed by gzip, unpacked while they are read, with limits on what they unpack to.

use std::io::{self, Read};

/// Beginning of a gzip file (RFC 1952).
#[cfg(feature = "engine")]
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Most bytes that a file may unpack to: more than the longest trace that a reader accepts.
#[cfg(feature = "engine")]
const BYTES_MAX: u64 = 4 << 30;
/// Most bytes that a byte of a file may unpack to, once there are [`RATIO_FROM`]: text of a trace packs to a fifth or a hundredth,
/// a file made to exhaust the reader to a thousandth.
#[cfg(feature = "engine")]
const RATIO_MAX: u64 = 500;
#[cfg(feature = "engine")]
const RATIO_FROM: u64 = 1 << 20;

/// The text of a file that may be compressed. Without the feature `engine` it is returned as it is, and refused by its beginning.
///
/// # Errors
/// The file cannot be read.
#[cfg(feature = "engine")]
pub(super) fn text<'a>(input: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    let mut beginning = [0; 2];
    let filled = super::fill(input, &mut beginning)?;
    let is_packed = beginning == GZIP;
    let whole = io::Cursor::new(beginning).take(filled as u64).chain(input);
    Ok(if is_packed { Box::new(Unpacked::new(whole)) } else { Box::new(whole) })
}

#[cfg(not(feature = "engine"))]
pub(super) fn text<'a>(input: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    Ok(Box::new(input))
}

/// Counts the bytes that are read.
#[cfg(feature = "engine")]
struct Counted<R> {
    input: R,
    count: u64,
}

#[cfg(feature = "engine")]
impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        self.count += n as u64;
        Ok(n)
    }
}

/// Unpacks gzip, of one or more members.
#[cfg(feature = "engine")]
struct Unpacked<R> {
    decoder: flate2::read::MultiGzDecoder<Counted<R>>,
    written: u64,
}

#[cfg(feature = "engine")]
impl<R: Read> Unpacked<R> {
    fn new(input: R) -> Unpacked<R> {
        Unpacked { decoder: flate2::read::MultiGzDecoder::new(Counted { input, count: 0 }), written: 0 }
    }
}

#[cfg(feature = "engine")]
impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let damaged = |error: io::Error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => io::Error::new(error.kind(), format!("it is compressed by gzip and damaged ({error})")),
        };
        let n = self.decoder.read(buffer).map_err(damaged)?;
        self.written += n as u64;
        let read = self.decoder.get_ref().count;
        if self.written > BYTES_MAX || self.written > RATIO_FROM && self.written / RATIO_MAX > read {
            let most =
                format!("it unpacks to more than {} GB or {RATIO_MAX} times its size", BYTES_MAX >> 30);
            return Err(io::Error::other(most));
        }
        Ok(n)
    }
}

#[cfg(all(test, feature = "engine"))]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }
    fn unpacked(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut found = Vec::new();
        text(&mut bytes)?.read_to_end(&mut found).map(|_| found)
    }

    #[test]
    fn packed_text_is_the_text() {
        let rows: Vec<u8> = (0..50_000).flat_map(|ms| format!("{ms}\n").into_bytes()).collect();
        assert_eq!(unpacked(&packed(&rows)).unwrap(), rows);
        let two = [packed(b"0\n"), packed(b"5\n")].concat();
        assert_eq!(unpacked(&two).unwrap(), b"0\n5\n");
        for plain in [&b""[..], b"0", b"0\n5\n", b"\x1f"] {
            assert_eq!(unpacked(plain).unwrap(), plain);
        }
    }

    #[test]
    fn traces_and_channels_may_be_packed() {
        use crate::traces::Library;
        use qdelay_path::LinkModel;
        let library = Library::new().with_contents("t.csv.gz", packed(b"t,r\n0,10\n1,20\n"));
        let found = library.trace("t.csv.gz:format=[csv:r:time=t]", None, true, None).unwrap();
        assert_eq!(found.link.length(), Some(qdelay_core::Span::from_secs(2)));
        let text = packed(b"3\n1\n2\n3\n");
        let (trace, _) =
            crate::traces::channel::parse(qdelay_trace::capacity::Parser::new(), &mut &text[..]).unwrap();
        assert_eq!(trace.values(), [1, 2, 3]);
        let twice = Library::new().with_contents("t.gz", packed(&packed(b"0\n5\n")));
        assert!(twice.trace("t.gz", None, true, None).unwrap_err().contains("is compressed by gzip"));
    }

    #[test]
    fn damaged_files_and_bombs_are_refused() {
        let whole = packed(b"0\n5\n9\n");
        for end in 2..whole.len() {
            let error = unpacked(&whole[..end]).unwrap_err().to_string();
            assert!(error.starts_with("it is compressed by gzip and damaged"), "{error}");
        }
        let bomb = packed(&vec![b'0'; 20_000_000]);
        let error = unpacked(&bomb).unwrap_err().to_string();
        assert_eq!(error, "it unpacks to more than 4 GB or 500 times its size");
    }
}
