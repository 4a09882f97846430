//! Each default is stated once in the sources: with the declaration of its parameter or key.

use crate::architecture::root;
use qdelay_study::scenario::declare::TABLES;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Declarations with equal names and defaults but different meanings. A new entry needs its meanings.
const DIFFERENT: [(&str, &str, &str); 6] = [
    ("ecn", "off", "codel marks at dequeue, pie and red at enqueue, and tfrc as an endpoint"),
    ("overhead", "0", "bytes on the link of ABE's paper, up to 1 kB; bytes on any link, up to 64 kB"),
    ("size", "1000b", "IP bytes of a call's packet; application bytes of a TFRC segment"),
    ("variant", "rfc", "the choices are different for codel, fq_codel and pie"),
    ("weight", "0.1", "of a period in dsd's estimates; of a packet in a call's estimate of loss"),
    ("window", "100ms", "of ABE's estimate of a rate; of proportional fair's average"),
];

/// Every source of the crates, without its unit tests.
fn sources() -> Vec<(PathBuf, String)> {
    fn collect(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        let mut entries: Vec<PathBuf> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                let code = text.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
                let code: Vec<&str> =
                    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
                found.push((path, code.join("\n")));
            }
        }
    }
    let mut found = Vec::new();
    let mut crates: Vec<PathBuf> =
        fs::read_dir(root().join("crates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    crates.sort();
    crates.iter().for_each(|folder| collect(&folder.join("src"), &mut found));
    found
}

/// The text literals with which `text` begins, separated by commas.
fn literals(text: &str) -> Vec<&str> {
    let mut rest = text.trim_start();
    let mut found = Vec::new();
    while let Some(after) = rest.strip_prefix('"')
        && let Some((literal, behind)) = after.split_once('"')
    {
        found.push(literal);
        rest = behind.trim_start().strip_prefix(',').unwrap_or_default().trim_start();
    }
    found
}

#[test]
fn a_parameter_is_declared_once() {
    let mut places: BTreeMap<(String, String), Vec<PathBuf>> = BTreeMap::new();
    let mut count = 0;
    for (path, code) in sources() {
        for declaration in code.split("Typed::new(").skip(1) {
            if let [name, default, ..] = literals(declaration)[..] {
                count += 1;
                if !default.is_empty() {
                    places.entry((name.to_string(), default.to_string())).or_default().push(path.clone());
                }
            }
        }
    }
    assert!(count > 120, "only {count} declarations were found: the search has gone blind");
    let is_different = |key: &(String, String)| {
        DIFFERENT.iter().any(|(name, default, _)| key.0 == *name && key.1 == *default)
    };
    let twice: Vec<_> = places.iter().filter(|(key, files)| files.len() > 1 && !is_different(key)).collect();
    for (name, default, _) in DIFFERENT {
        let files = &places[&(name.to_string(), default.to_string())];
        assert!(files.len() > 1, "{name} = {default} is declared once; remove its line from DIFFERENT");
    }
    assert!(twice.is_empty(), "one constant for all, or a line in DIFFERENT: {twice:#?}");
}

/// A parameter with a default is read without another default.
#[test]
fn no_reader_has_a_default_of_its_own() {
    let mut count = 0;
    for (path, code) in sources() {
        for (at, _) in code.match_indices("arguments.get(&") {
            count += 1;
            let call = code[at..].lines().take(2).collect::<Vec<_>>().join("").replace(' ', "");
            let Some((_, fallback)) = call.split_once(").unwrap_or(") else { continue };
            let is_literal = fallback.starts_with(|first: char| first.is_ascii_digit() || first == '"')
                || ["true", "false"].iter().any(|word| fallback.starts_with(word));
            assert!(!is_literal, "{}: {call}", path.display());
        }
    }
    assert!(count > 120, "only {count} calls were found: the search has gone blind");
}

/// An option that is a key of scenario files takes its default from the key. Benchmarks have their own workloads.
#[test]
fn options_take_defaults_from_keys() {
    let keys: Vec<(&str, &str)> = TABLES
        .iter()
        .flat_map(|table| table.keys)
        .map(|key| (key.parameter.name, key.parameter.default))
        .filter(|(_, default)| !default.is_empty())
        .collect();
    let mut count = 0;
    for (path, code) in sources().into_iter().filter(|(path, _)| !path.ends_with("bench/options.rs")) {
        for option in code.split("default_value = ").skip(1) {
            count += 1;
            let Some(default) = literals(option).first().copied() else { continue };
            let field =
                option.split("pub ").nth(1).and_then(|rest| rest.split(':').next()).unwrap_or_default();
            assert!(!keys.contains(&(field, default)), "{}: {field} = {default}", path.display());
        }
    }
    assert!(count >= 30, "only {count} options were found: the search has gone blind");
}
