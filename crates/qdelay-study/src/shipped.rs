//! The built-in scenarios, from the folder `scenarios` of this crate.

use crate::InputError;
use qdelay_config::fault::near;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::Path;

/// Scenario files are texts of some lines.
const TEXT_BYTES_MAX: u64 = 10_000_000;

/// Name and TOML text of each, in natural order. A file `scenarios/a/b.toml` is called `a/b`.
pub static SCENARIOS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/scenarios.rs"));

/// The text of the scenario called `name`, with or without the ending `.toml`.
pub fn find(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    SCENARIOS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The name that is meant where no scenario is called `name`: one that differs little, or ends like it.
pub fn suggest(name: &str) -> Option<&'static str> {
    let name = name.strip_suffix(".toml").unwrap_or(name);
    let names = || SCENARIOS.iter().map(|(known, _)| *known);
    let last = |known: &'static str| known.rsplit('/').next().unwrap_or(known);
    near(name, names()).or_else(|| names().find(|known| last(known) == name)).or_else(|| {
        near(name, names().map(last)).and_then(|close| names().find(|known| last(known) == close))
    })
}

/// The name of a scenario, as it was typed, and its text: of a file where there is one, else of a shipped one.
///
/// # Errors
/// Neither exists, or the file cannot be read.
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
            // A device or a pipe has no length before it is read.
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

/// The text of a file, or its beginning if it is too large.
fn read_file(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    std::fs::File::open(path)?.take(TEXT_BYTES_MAX + 1).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_near_misses() {
        assert!(find("demo/first").is_some() && find("demo/first.toml").is_some());
        assert!(find("first").is_none() && find("").is_none());
        assert_eq!(suggest("demo/frist"), Some("demo/first"));
        assert_eq!(suggest("first"), Some("demo/first"));
        assert_eq!(suggest("seed"), Some("demo/seeds"));
        assert_eq!(suggest("nothing-like-it"), None);
    }
}
