//! The scenarios that are built in. They stand in the folder `scenarios` of this crate.

use crate::scenario::fault::near;

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
