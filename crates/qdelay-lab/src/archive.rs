//! Archives in the format of a kernel's initial file system: cpio, "newc" (Linux,
//! `Documentation/driver-api/early-userspace/buffer-format.rst`).
//!
//! Times, owners and inode numbers depend only on the order of the entries, so that equal files give equal archives.

/// First characters of a header.
const MAGIC: &[u8] = b"070701";
/// Number of header fields behind the magic, each of 8 hexadecimal digits.
const FIELDS: usize = 13;
const HEADER: usize = 6 + FIELDS * 8;
/// Name of the last entry.
const TRAILER: &str = "TRAILER!!!";
/// Alignment of entries, names and contents in bytes.
const ALIGNMENT: usize = 4;

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const LINK: u32 = 0o120_777;

/// Writer of an archive in memory.
#[derive(Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    entries: u32,
}

impl Writer {
    /// Adds a folder. The parent folders have to be in the archive already.
    pub fn folder(&mut self, name: &str) {
        self.entry(name, FOLDER, &[]);
    }
    /// Adds a file.
    pub fn file(&mut self, name: &str, contents: &[u8]) {
        self.entry(name, FILE, contents);
    }
    /// Adds an executable file.
    pub fn program(&mut self, name: &str, contents: &[u8]) {
        self.entry(name, PROGRAM, contents);
    }
    /// Adds a symbolic link.
    pub fn link(&mut self, name: &str, to: &str) {
        self.entry(name, LINK, to.as_bytes());
    }

    /// Returns the finished archive.
    #[must_use]
    pub fn finish(mut self) -> Vec<u8> {
        self.entry(TRAILER, 0, &[]);
        self.bytes
    }

    fn entry(&mut self, name: &str, mode: u32, contents: &[u8]) {
        self.entries += 1;
        let inode = if name == TRAILER { 0 } else { self.entries };
        // Fields: inode, mode, owner, group, links, time, size; major and minor of device and special device; name length, checksum.
        let name_bytes = name.len() + 1;
        let fields: [u32; FIELDS] =
            [inode, mode, 0, 0, 1, 0, contents.len() as u32, 0, 0, 0, 0, name_bytes as u32, 0];
        self.bytes.extend_from_slice(MAGIC);
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08X}").as_bytes());
        }
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.align();
        self.bytes.extend_from_slice(contents);
        self.align();
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(ALIGNMENT), 0);
    }
}

/// Reads the entries of an archive: names and contents.
///
/// # Errors
/// The bytes are not a complete archive; the message says where.
pub fn read(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, &'static str> {
    let mut entries = Vec::new();
    let mut at = 0;
    loop {
        let header = bytes.get(at..).and_then(|rest| rest.get(..HEADER)).ok_or("it ends within a header")?;
        if !header.starts_with(MAGIC) {
            return Err("it has no header where one is expected");
        }
        let field = |index: usize| {
            let digits = header.get(6 + index * 8..)?.get(..8)?;
            usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        // Fields 6 and 11 are the size of the contents and the length of the name with its zero byte.
        let (Some(size), Some(name_bytes)) = (field(6), field(11)) else {
            return Err("its header has a field that is not a number");
        };
        let name_at = at + HEADER;
        let name =
            bytes.get(name_at..).and_then(|rest| rest.get(..name_bytes)).ok_or("it ends within a name")?;
        let name = name.split_last().and_then(|(_, name)| std::str::from_utf8(name).ok());
        let name = name.ok_or("it has a name that is not UTF-8")?;
        let begin = (name_at + name_bytes).next_multiple_of(ALIGNMENT);
        let contents = bytes.get(begin..).and_then(|rest| rest.get(..size)).ok_or("it ends within a file")?;
        if name == TRAILER {
            return Ok(entries);
        }
        entries.push((name, contents));
        at = (begin + size).next_multiple_of(ALIGNMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_written() {
        let mut archive = Writer::default();
        archive.folder("job");
        archive.file("job/five", b"12345");
        archive.link("job/same", "five");
        archive.program("job/empty", b"");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % ALIGNMENT, 0);
        let expected: [(&str, &[u8]); 4] =
            [("job", b""), ("job/five", b"12345"), ("job/same", b"five"), ("job/empty", b"")];
        assert_eq!(read(&bytes).unwrap(), expected);
        // Bytes after the end are ignored, and missing bytes are an error.
        assert_eq!(read(&[&bytes[..], b"more"].concat()).unwrap().len(), 4);
        for cut in 0..bytes.len() - 8 {
            assert!(read(&bytes[..cut]).is_err(), "{cut} bytes");
        }
        assert!(read(&[b'x'; 200]).is_err());
    }

    #[test]
    fn header_matches_the_format() {
        let mut archive = Writer::default();
        archive.file("a", b"hello");
        let bytes = archive.finish();
        let header = "070701000000010000".to_string() + "81A4";
        assert!(bytes.starts_with(header.as_bytes()));
        assert_eq!(&bytes[110..120], b"a\0hello\0\0\0", "name and contents begin at multiples of 4");
    }
}
