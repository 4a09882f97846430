//! The shipped scenarios, from the folder `scenarios` of this crate.

use crate::InputError;
use qdelay_config::fault::near;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

/// Largest scenario file that is read, in bytes.
const TEXT_BYTES_MAX: u64 = 10_000_000;

/// Name and TOML text of each scenario, in natural order. The file `scenarios/a/b.toml` has the name `a/b`.
pub static SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The text of the shipped scenario `name`, with or without the ending `.toml`.
pub fn find(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The shipped scenario whose name is close to the unknown `name`, or ends like it.
pub fn suggest(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let names = || SCENARIOS.iter().map(|(known, _)| *known);
    let last = |known: &'static str| known.rsplit('/').next().unwrap_or(known);
    near(name, names()).or_else(|| names().find(|known| last(known) == name)).or_else(|| {
        near(name, names().map(last)).and_then(|close| names().find(|known| last(known) == close))
    })
}

/// Name and text of a scenario: the file if it exists, otherwise the shipped scenario of that name.
///
/// # Errors
/// No such file or shipped scenario, or a file that cannot be read.
pub fn read(scenario: &OsStr) -> Result<(String, String), InputError> {
    let path = Path::new(scenario);
    let place = path.display();
    match path.metadata() {
        Ok(found) if found.is_dir() => Err(InputError::new(place, "is a folder; expected a scenario file")),
        Ok(found) if found.len() > TEXT_BYTES_MAX => {
            let message =
                format!("has {} bytes; expected a scenario of at most {TEXT_BYTES_MAX}", found.len());
            Err(InputError::new(place, message))
        }
        Ok(_) => match read_file(path) {
            // The size of a pipe or device is not known before it is read.
            Ok(text) if text.len() as u64 > TEXT_BYTES_MAX => {
                let message = format!("has more bytes than {TEXT_BYTES_MAX}; expected a scenario");
                Err(InputError::new(place, message))
            }
            Ok(text) => Ok((scenario.to_string_lossy().into_owned(), text)),
            Err(error) => {
                Err(InputError::new(place, format!("cannot be read: {error}; expected a TOML file")))
            }
        },
        Err(_) => find(&scenario.to_string_lossy())
            .map(|text| (scenario.to_string_lossy().into_owned(), text.to_string()))
            .ok_or_else(|| {
                let names: Vec<&str> = SCENARIOS.iter().map(|(name, _)| *name).collect();
                let message = format!(
                    "no such file, and no shipped scenario; expected a file or one of {}",
                    names.join(", ")
                );
                InputError::new(place, message)
            }),
    }
}

/// The text of a file, cut off one byte after the size limit.
fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shipped_scenarios_are_found_and_suggested() {
        assert!(find("demo/first").is_some() && find("demo/first.toml").is_some());
        assert!(find("first").is_none() && find("").is_none());
        assert_eq!(suggest("demo/frist"), Some("demo/first"));
        assert_eq!(suggest("first"), Some("demo/first"));
        assert_eq!(suggest("seed"), Some("demo/seeds"));
        assert_eq!(suggest("nothing-like-it"), None);
    }
}
