//! The error for the scenario of a result folder that names an unavailable component.

use crate::InputError;
use crate::files;
use crate::results::StudyFile;
use std::collections::BTreeMap;
use std::path::Path;

/// Adds advice to `error`, the error of reading `scenario`. Advice is known if the scenario is the copy in a result folder, whose
/// `study.json` lists the missing component.
pub fn missing_component(scenario: &Path, error: InputError) -> InputError {
    let of_run = || {
        let text = files::read_text(&scenario.with_file_name("study.json")).ok()?;
        serde_json::from_str::<StudyFile>(&text).ok()
    };
    let Some(unknown) = error.message.find("unknown ") else { return error };
    let Some(study) = of_run() else { return error };
    let rest = &error.message[unknown..];
    // The message quotes the unknown name; advice is known for components in `study.json`.
    let Some((name, parts)) = study.components.iter().find(|(name, _)| rest.contains(&format!("'{name}'")))
    else {
        return error;
    };
    let what = match program(parts) {
        Some(program) => {
            format!("is a component of the program '{program}'; expected a run by that program")
        }
        None => format!(
            "is a Python component ({}) that is not registered; expected in a Python program qdelay.register(...) and then \
             qdelay.Scenario('{}'), or the archive of qdelay.pack",
            definition(name, parts),
            scenario.display()
        ),
    };
    InputError::new(&error.place, format!("{}'{name}' {what}", &error.message[..unknown]))
}

/// Prefix of the part that names the program of a component.
pub const PROGRAM: &str = "program ";

/// Name of the program that provides a component; `None` for a Python component.
pub fn program(parts: &BTreeMap<String, String>) -> Option<&str> {
    parts.keys().find_map(|part| part.strip_prefix(PROGRAM))
}

/// The part that defines a component: the class of the same name, or else the first part of its own code.
fn definition<'a>(name: &str, parts: &'a BTreeMap<String, String>) -> &'a str {
    let plain = |text: &str| text.chars().filter(|c| *c != '_').collect::<String>().to_lowercase();
    let own = || parts.keys().filter(|part| *part != "python" && !part.starts_with("package "));
    let named = own().find(|part| part.rsplit('.').next().is_some_and(|last| plain(last) == plain(name)));
    named.or_else(|| own().next()).map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_defined_by_the_class_of_its_name() {
        let parts = |names: &[&str]| names.iter().map(|name| (name.to_string(), String::new())).collect();
        let of = |name, names: &[&str]| definition(name, &parts(names)).to_string();
        assert_eq!(
            of("every_tenth", &["a.base", "own.EveryTenth", "own.EveryTenth.admit", "python"]),
            "own.EveryTenth"
        );
        assert_eq!(of("law", &["law (declaration)", "package numba", "python"]), "law (declaration)");
        assert_eq!(of("law", &["python"]), "");
    }
}
