//! Components that a program adds to the built-in ones, identified by the digest of the program's file.

use qdelay_core::component::Registry;
use qdelay_study::engine;
use std::collections::BTreeMap;

/// Components of the program that `text` names, each with the digest of the program's file, for `study.json`: after a new build,
/// the program does not continue an existing folder.
pub fn components(registry: &Registry, text: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let words = text.split(|c| !is_word(c));
    let built_in = Registry::new().with(qdelay_quic::custom());
    let own = registry.components().filter(|own| built_in.components().all(|known| known.name != own.name));
    let named: Vec<&str> =
        own.map(|component| component.name).filter(|name| words.clone().any(|word| word == *name)).collect();
    if named.is_empty() {
        return BTreeMap::new();
    }
    let part = part();
    named.into_iter().map(|name| (name.to_string(), [part.clone()].into())).collect()
}

/// Name of the program and digest of its file.
fn part() -> (String, String) {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let digest = engine::sha256_of_file(&path);
    let digest =
        digest.unwrap_or_else(|error| format!("unknown: the program's file cannot be read: {error}"));
    (format!("{}{name}", engine::PROGRAM), digest)
}
