//! The files of a folder as a list in the program, so that one more needs no line anywhere. For build scripts.

use std::cmp::Ordering;
use std::fs;
use std::io::{Error, Result};
use std::path::{Path, PathBuf};

/// What a listed file's name ends in.
const ENDING: &str = ".toml";

/// Writes `FOLDER.rs` for `include!`: an expression of type `&[(&str, &str)]`, name and text of each TOML file of `folder` in the crate that is built, with its subfolders. A name is the path in `folder` without the ending, with `/` on every platform; names are in
/// natural order. The crate is built anew where a file comes, goes or changes.
///
/// # Errors
/// A folder that cannot be read, a file's name that is not Unicode, or no `OUT_DIR` that can be written to.
pub fn list(folder: &str) -> Result<()> {
    println!("cargo::rerun-if-changed={folder}");
    let mut names = Vec::new();
    find(Path::new(folder), "", &mut names)?;
    names.sort_by(|one, other| natural(one, other));
    let entry = |name: &String| {
        let place = format!("/{folder}/{name}{ENDING}");
        format!("    ({name:?}, include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), {place:?}))),\n")
    };
    let entries: String = names.iter().map(entry).collect();
    let out =
        std::env::var_os("OUT_DIR").ok_or_else(|| Error::other("no OUT_DIR; expected a build script"))?;
    fs::write(PathBuf::from(out).join(format!("{folder}.rs")), format!("&[\n{entries}]\n"))
}

fn find(folder: &Path, prefix: &str, names: &mut Vec<String>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string();
        let name = name.map_err(|name| Error::other(format!("{}: not Unicode", name.display())))?;
        if name.starts_with('.') {
            // Hidden, such as the swap file of an editor.
            continue;
        }
        if entry.path().is_dir() {
            find(&entry.path(), &format!("{prefix}{name}/"), names)?;
        } else if let Some(stem) = name.strip_suffix(ENDING) {
            names.push(format!("{prefix}{stem}"));
        }
    }
    Ok(())
}

/// Numbers in names by their value: `fig4` before `fig10`.
fn natural(one: &str, other: &str) -> Ordering {
    parts(one).cmp(&parts(other)).then_with(|| one.cmp(other))
}

/// Characters, and whole numbers in place of their digits.
fn parts(name: &str) -> Vec<(char, u64)> {
    let mut parts: Vec<(char, u64)> = Vec::new();
    for character in name.chars() {
        match (character.to_digit(10), parts.last_mut()) {
            (Some(digit), Some(('0', number))) => {
                *number = number.saturating_mul(10).saturating_add(digit.into())
            }
            (Some(digit), _) => parts.push(('0', digit.into())),
            (None, _) => parts.push((character, 0)),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_order_of_their_value() {
        let ordered = [
            "5g/emulator-1",
            "5g/emulator-1-bytes",
            "5g/emulator-2",
            "12g",
            "abe/fig4",
            "abe/fig4-wide",
            "abe/fig010",
            "abe/fig10",
            "b",
        ];
        for (one, other) in ordered.iter().zip(&ordered[1..]) {
            assert_eq!(natural(one, other), Ordering::Less, "{one} before {other}");
            assert_eq!(natural(other, one), Ordering::Greater, "{one} before {other}");
        }
    }
}
