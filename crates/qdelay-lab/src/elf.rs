//! Parts of a program that the machine needs: the loaded segments of its file, and its shared libraries.
//!
//! Source: System V ABI, AMD64 supplement, "Object files"; `elf(5)`.

use std::path::{Path, PathBuf};
use std::process::Command;

const MAGIC: &[u8] = b"\x7fELF\x02\x01";
const LOAD: u32 = 1;
const INTERPRETER: u32 = 3;
/// Length of a program header in bytes.
const PROGRAM_HEADER: usize = 56;

/// A program header: its type, and the place and length of its contents in the file.
struct Part {
    kind: u32,
    offset: usize,
    bytes: usize,
}

fn number<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn parts(elf: &[u8]) -> Option<Vec<Part>> {
    if !elf.starts_with(MAGIC) {
        return None;
    }
    let begin = u64::from_le_bytes(number(elf, 32)?) as usize;
    let count = usize::from(u16::from_le_bytes(number(elf, 56)?));
    let part = |index: usize| {
        let header = elf.get(begin + index * PROGRAM_HEADER..)?.get(..PROGRAM_HEADER)?;
        Some(Part {
            kind: u32::from_le_bytes(number(header, 0)?),
            offset: u64::from_le_bytes(number(header, 8)?) as usize,
            bytes: u64::from_le_bytes(number(header, 32)?) as usize,
        })
    };
    (0..count).map(part).collect()
}

/// Path of the dynamic loader of `elf`; `None` for a static program, and for a file that is not a program.
pub fn loader(elf: &[u8]) -> Option<PathBuf> {
    let part = parts(elf)?.into_iter().find(|part| part.kind == INTERPRETER)?;
    let path = elf.get(part.offset..)?.get(..part.bytes)?;
    let path = std::str::from_utf8(path.strip_suffix(b"\0").unwrap_or(path)).ok()?;
    Some(PathBuf::from(path))
}

/// The file without the sections that are not loaded: symbols and debugging information, which can be most of the file.
#[must_use]
pub fn trimmed(elf: &[u8]) -> Vec<u8> {
    let end = parts(elf).and_then(|parts| {
        parts.iter().filter(|part| part.kind == LOAD).map(|part| part.offset + part.bytes).max()
    });
    let mut trimmed = elf.get(..end.unwrap_or(elf.len())).unwrap_or(elf).to_vec();
    if end.is_some() {
        // The section table was cut off, so its offset, count and name index are cleared.
        for range in [40..48, 60..64] {
            if let Some(field) = trimmed.get_mut(range) {
                field.fill(0);
            }
        }
    }
    trimmed
}

/// Shared libraries of `program`, as `loader` finds them: only below `root`, or as on this machine.
///
/// # Errors
/// A library is missing, or the loader cannot be run; the message is one line.
pub fn libraries(loader: &Path, root: Option<&Path>, program: &Path) -> Result<Vec<PathBuf>, String> {
    let mut command = Command::new(loader);
    if let Some(root) = root {
        let below = ["lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"]
            .map(|name| root.join(name).display().to_string());
        command.args(["--inhibit-cache", "--library-path", &below.join(":")]);
    }
    let text = crate::packages::run(command.arg("--list").arg(program))?;
    let mut found = Vec::new();
    for line in text.lines() {
        let (name, rest) = line.trim().split_once(" => ").unwrap_or((line.trim(), line.trim()));
        let path = rest.split(" (").next().unwrap_or(rest);
        if path.starts_with("not found") {
            return Err(format!("{}: its library {name} is missing", program.display()));
        }
        // The loader lists itself, and the kernel's vDSO, which has no file.
        if Path::new(path).is_absolute() && !path.contains("/ld-linux") {
            found.push(PathBuf::from(path));
        }
    }
    match root {
        Some(root) => match found.iter().find(|path| !path.starts_with(root)) {
            Some(path) => {
                Err(format!("{}: its library {} is not from the packages", program.display(), path.display()))
            }
            None => Ok(found),
        },
        None => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_trimmed_and_its_libraries_are_found() {
        let path = std::env::current_exe().unwrap();
        let elf = std::fs::read(&path).unwrap();
        let trimmed = trimmed(&elf);
        assert!(trimmed.len() <= elf.len());
        assert_eq!(loader(&trimmed), loader(&elf), "the loaded segments are still there");
        if let Some(loader) = loader(&elf) {
            let libraries = libraries(&loader, None, &path).unwrap();
            assert!(libraries.iter().any(|path| path.to_string_lossy().contains("libc.so")), "{libraries:?}");
            let error = super::libraries(&loader, Some(Path::new("/nowhere")), &path).unwrap_err();
            assert!(
                error.contains("missing")
                    || error.contains("not from the packages")
                    || error.contains("cannot open"),
                "{error}"
            );
        }
    }

    #[test]
    fn files_that_are_not_programs_are_not_trimmed() {
        assert_eq!(trimmed(b"#!/bin/sh"), b"#!/bin/sh");
        assert_eq!(loader(b"\x7fELF\x02\x01"), None);
    }
}
