//! Archives in the `tar` format (POSIX.1-1988, "ustar") with regular files only, ordered by name, without owners and times, so
//! that equal files make equal archives.

use crate::InputError;
use crate::files::{self, cannot_write};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path};

const BLOCK: usize = 512;
/// Byte ranges of the fields in a header: name, size, checksum, kind, magic, prefix of the name.
const NAME: std::ops::Range<usize> = 0..100;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;
const KIND: usize = 156;
const MAGIC: std::ops::Range<usize> = 257..262;
const PREFIX: std::ops::Range<usize> = 345..500;
/// Largest file of an archive, and largest total size, in bytes.
const BYTES_MAX: u64 = 1 << 30;

/// True if the file `path` begins as an archive does.
pub fn is_archive(path: &Path) -> bool {
    let mut header = [0; BLOCK];
    path.is_file()
        && File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok()
        && header[MAGIC] == *b"ustar"
        && checksum(&header) == octal(&header[CHECKSUM])
}

/// True if `name` stays below the folder that an archive is unpacked into, and fits into a header.
pub fn is_packable(name: &str) -> bool {
    let plain =
        Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    plain && split(&normal(name)).is_some()
}

/// A path in its shortest form: `./a//b` becomes `a/b`.
fn normal(name: &str) -> String {
    let parts = Path::new(name).components().filter_map(|part| match part {
        Component::Normal(part) => part.to_str(),
        _ => None,
    });
    parts.collect::<Vec<&str>>().join("/")
}

/// Writes an archive of `contents`, by name; each name must [be packable](is_packable).
///
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, contents: &BTreeMap<String, Vec<u8>>) -> Result<(), InputError> {
    let mut archive = Vec::new();
    for (name, bytes) in contents {
        let Some(header) = header(&normal(name), bytes.len()) else {
            return Err(InputError::new(
                path.display(),
                format!("'{name}' is not allowed as a file name in an archive"),
            ));
        };
        archive.extend(header);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(BLOCK), 0);
    }
    archive.resize(archive.len() + 2 * BLOCK, 0);
    files::write_bytes(path, &archive)
}

/// Unpacks the archive `path` into `into`, a private folder.
///
/// # Errors
/// The file is not such an archive (other kinds of entries, names that lead out of the folder, more than 1 GiB), or the folder
/// cannot be written to.
pub fn unpack(path: &Path, into: &Path) -> Result<(), InputError> {
    let wrong =
        |what: &str| InputError::new(path.display(), format!("{what}; expected an archive of 'qdelay pack'"));
    let mut file = File::open(path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let mut all = 0;
    loop {
        let mut header = [0; BLOCK];
        file.read_exact(&mut header).map_err(|_| wrong("ends too early"))?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        if header[MAGIC] != *b"ustar" || checksum(&header) != octal(&header[CHECKSUM]) {
            return Err(wrong("is damaged"));
        }
        let name = name_in(&header).ok_or_else(|| wrong("has a name that is not UTF-8"))?;
        // 0)|Links and names such as `../x` would write outside of `into`.
        if !matches!(header[KIND], b'0' | 0) || !is_packable(&name) || normal(&name) != name {
            return Err(wrong(&format!(
                "has '{}', which is not a file below the archive's folder",
                name.escape_debug()
            )));
        }
        let size = octal(&header[SIZE]).filter(|size| *size <= BYTES_MAX);
        let size = size.ok_or_else(|| wrong("has a file that is too large"))?;
        all += size;
        if all > BYTES_MAX {
            return Err(wrong(&format!("has more than {BYTES_MAX} bytes")));
        }
        unpack_file(&mut file, size, &into.join(&name)).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => wrong("ends too early"),
            _ => cannot_write(&into.join(&name), &error),
        })?;
    }
}

/// Copies `size` bytes from the archive into the new file `path`, and skips the rest of the last block.
fn unpack_file(archive: &mut File, size: u64, path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut file = files::create(path)?;
    if io::copy(&mut archive.take(size), &mut file)? < size {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    file.flush()?;
    let padding = size.next_multiple_of(BLOCK as u64) - size;
    match io::copy(&mut archive.take(padding), &mut io::sink())? {
        read if read == padding => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn header(name: &str, size: usize) -> Option<[u8; BLOCK]> {
    let (prefix, rest) = split(name)?;
    let mut header = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(NAME.start, rest.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(SIZE.start, format!("{size:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(KIND, b"0");
    put(MAGIC.start, b"ustar\x0000");
    put(PREFIX.start, prefix.as_bytes());
    let sum = checksum(&header)?;
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Some(header)
}

/// Splits a name into prefix and rest, at most 155 and 100 bytes; `None` if it does not fit.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.is_empty() {
        return None;
    }
    if name.len() <= NAME.len() {
        return Some(("", name));
    }
    let places = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
    places
        .into_iter()
        .find(|(prefix, rest)| prefix.len() <= PREFIX.len() && rest.len() <= NAME.len() && !rest.is_empty())
}

fn name_in(header: &[u8; BLOCK]) -> Option<String> {
    let text = |range: std::ops::Range<usize>| {
        let bytes = &header[range];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        std::str::from_utf8(&bytes[..end]).ok()
    };
    let (prefix, rest) = (text(PREFIX)?, text(NAME)?);
    Some(if prefix.is_empty() { rest.to_string() } else { format!("{prefix}/{rest}") })
}

/// Sum of all bytes of a header, with its checksum field as spaces.
fn checksum(header: &[u8; BLOCK]) -> Option<u64> {
    let byte = |(at, byte): (usize, &u8)| u64::from(if CHECKSUM.contains(&at) { b' ' } else { *byte });
    Some(header.iter().enumerate().map(byte).sum())
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    u64::from_str_radix(text.trim_matches(['\0', ' ']), 8).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Scratch;

    fn contents() -> BTreeMap<String, Vec<u8>> {
        let long = format!("{}/{}", "a".repeat(120), "b".repeat(90));
        let files =
            [("a.toml", b"one".to_vec()), ("./b/c", vec![7; 1024]), (&long, Vec::new()), ("d", vec![1; 513])];
        files.into_iter().map(|(name, bytes)| (name.to_string(), bytes)).collect()
    }

    #[test]
    fn unpacking_restores_the_packed_files() {
        let scratch = Scratch::new("qdelay-archive").unwrap();
        let (path, into) = (scratch.path().join("x.tar"), scratch.path().join("into"));
        write(&path, &contents()).unwrap();
        assert!(is_archive(&path) && !is_archive(scratch.path()));
        unpack(&path, &into).unwrap();
        for (name, bytes) in contents() {
            assert_eq!(fs::read(into.join(normal(&name))).unwrap(), bytes, "{name}");
        }
        // The system's `tar`, if installed, lists the same names.
        if let Ok(output) = std::process::Command::new("tar").arg("-tf").arg(&path).output() {
            assert!(String::from_utf8_lossy(&output.stdout).lines().any(|line| line == "b/c"), "{output:?}");
        }
    }

    #[test]
    fn archives_with_paths_out_of_the_folder_are_refused() {
        for name in ["/etc/passwd", "../a", "a/../b", "", "."] {
            assert!(!is_packable(name), "{name}");
        }
        assert!(is_packable("./my.so") && !is_packable(&"a".repeat(101)));
        let scratch = Scratch::new("qdelay-archive-bad").unwrap();
        let path = scratch.path().join("x.tar");
        write(&path, &contents()).unwrap();
        let good = fs::read(&path).unwrap();
        let mut unpacked = 0;
        let mut refused = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = good.clone();
            change(&mut bytes);
            fs::write(&path, bytes).unwrap();
            unpacked += 1;
            unpack(&path, &scratch.path().join(unpacked.to_string())).unwrap_err().message
        };
        let resum = |bytes: &mut Vec<u8>| {
            let mut header: [u8; BLOCK] = bytes[..BLOCK].try_into().unwrap();
            let sum = checksum(&header).unwrap();
            header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
            bytes[..BLOCK].copy_from_slice(&header);
        };
        assert!(refused(&|bytes| bytes[0] = b'x').contains("is damaged"));
        assert!(refused(&|bytes| bytes.truncate(700)).contains("ends too early"));
        let renamed = |name: &'static [u8]| {
            move |bytes: &mut Vec<u8>| {
                bytes[NAME].fill(0);
                bytes[..name.len()].copy_from_slice(name);
                resum(bytes);
            }
        };
        assert!(refused(&renamed(b"../x")).contains("not a file below"));
        assert!(refused(&renamed(b"/tmp/x")).contains("not a file below"));
        assert!(
            refused(&|bytes| {
                bytes[KIND] = b'2';
                resum(bytes);
            })
            .contains("not a file below")
        );
        assert!(!scratch.path().join("x").exists());
    }
}
