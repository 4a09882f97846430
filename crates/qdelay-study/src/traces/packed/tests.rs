use super::*;
use arbtest::arbitrary::Unstructured;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

fn packed(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}
fn unpack(mut bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut found = Vec::new();
    super::unpacked(&mut bytes)?.read_to_end(&mut found).map(|_| found)
}

#[test]
fn packed_text_is_the_text() {
    let rows: Vec<u8> = (0..50_000).flat_map(|ms| format!("{ms}\n").into_bytes()).collect();
    assert_eq!(unpack(&packed(&rows)).unwrap(), rows);
    let two = [packed(b"0\n"), packed(b"5\n")].concat();
    assert_eq!(unpack(&two).unwrap(), b"0\n5\n");
    for plain in [&b""[..], b"0", b"0\n5\n", b"\x1f"] {
        assert_eq!(unpack(plain).unwrap(), plain);
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
        let error = unpack(&whole[..end]).unwrap_err().to_string();
        assert!(error.starts_with("it is compressed by gzip and damaged"), "{error}");
    }
    let bomb = packed(&vec![b'0'; 20_000_000]);
    let error = unpack(&bomb).unwrap_err().to_string();
    assert_eq!(error, "it unpacks to more than 4 GB or 500 times its size");
}

/// `zstd` 1.5 of the numbers 0 to 6, over and over, one in each of 400 lines: a compressed block with literals, a sequence and a checksum.
const COMPRESSED: &[u8] =
    b"\x28\xb5\x2f\xfd\x04\x68\xad\x00\x00\x70\x30\x0a\x31\x0a\x32\x0a\x33\x0a\x34\x0a\x35\x0a\x36\x0a\x01\x00\x0f\xa3\x9a\x4a\x41\x48\x04\xc6";

/// A frame of a raw block and a block of one repeated byte, by hand from RFC 8878: magic number, descriptor without anything, a window of
/// 1 MB, blocks with the last one marked.
fn frame(text: &[u8], byte: u8, count: u32) -> Vec<u8> {
    let header = |is_last: bool, kind: u32, size: u32| {
        let [a, b, c, _] = (u32::from(is_last) | kind << 1 | size << 3).to_le_bytes();
        [a, b, c]
    };
    let raw = header(false, 0, text.len() as u32);
    [&[0x28, 0xb5, 0x2f, 0xfd, 0, 10 << 3][..], &raw, text, &header(true, 1, count), &[byte]].concat()
}

#[test]
fn zstd_is_unpacked() {
    let lines: String = (0..400).map(|line| format!("{}\n", line % 7)).collect();
    assert_eq!(unpack(COMPRESSED).unwrap(), lines.as_bytes());
    assert_eq!(unpack(&frame(b"0\n5\n", b'7', 3)).unwrap(), b"0\n5\n777");
    let skipped = [&b"\x5a\x2a\x4d\x18\x03\0\0\0abc"[..], COMPRESSED, &frame(b"x", b'y', 1)].concat();
    assert_eq!(unpack(&skipped).unwrap(), [lines.as_bytes(), b"xy"].concat());
    assert_eq!(unpack(b"\x50\x2a\x4d\x18\0\0\0\0").unwrap(), b"");
    let rows: Vec<u8> = (0..50_000).flat_map(|ms| format!("{ms}\n").into_bytes()).collect();
    let level = ruzstd::encoding::CompressionLevel::Fastest;
    assert_eq!(unpack(&ruzstd::encoding::compress_to_vec(&rows[..], level)).unwrap(), rows);
}

#[test]
fn damaged_zstd_is_refused() {
    let two = [&frame(b"0\n5\n", b'\n', 1)[..], COMPRESSED].concat();
    let boundary = two.len() - COMPRESSED.len();
    for end in (4..two.len()).filter(|end| *end != boundary) {
        let error = unpack(&two[..end]).unwrap_err().to_string();
        assert!(error.ends_with("damaged (it ends within a frame)"), "{end}: {error}");
    }
    let mut other = COMPRESSED.to_vec();
    *other.last_mut().unwrap() ^= 1;
    let error = unpack(&other).unwrap_err().to_string();
    assert!(error.contains("the checksum of a frame is not that of its contents"), "{error}");
    let wide = [0x28, 0xb5, 0x2f, 0xfd, 0, 20 << 3, 1, 0, 0];
    let error = unpack(&wide).unwrap_err().to_string();
    assert!(error.contains("its window has 1024 MB; expected at most 128"), "{error}");
    let bomb = [&b"\x28\xb5\x2f\xfd\0\x50"[..], &b"\x02\0\x10\0".repeat(40)[..]].concat();
    assert_eq!(unpack(&bomb).unwrap_err().to_string(), "it unpacks to more than 4 GB or 500 times its size");
}

#[test]
fn any_bytes_are_unpacked_or_refused() {
    let gzip = packed(b"0\n5\n9\n");
    let frames = [&frame(b"0\n5\n", b'\n', 1)[..], COMPRESSED].concat();
    let pieces: &[&[u8]] = &[
        &frames[..6],
        &COMPRESSED[..8],
        &gzip[..10],
        b"\x50\x2a\x4d\x18\xff\xff\xff\xff",
        b"\xff\xfe",
        b"PAR1",
    ];
    qdelay_testing::fuzz::fuzz(2.0, |u: &mut Unstructured<'_>| {
        let valid = if u.arbitrary()? { &gzip } else { &frames };
        let bytes = qdelay_testing::fuzz::mutate(u, valid.to_vec(), pieces)?;
        if let Err(error) = unpack(&bytes) {
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        Ok(())
    });
}
