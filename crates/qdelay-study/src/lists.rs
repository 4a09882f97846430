//! Lists of components in command-line options.

use crate::InputError;
use qdelay_core::component::{Arguments, Component, Registry, find_outside_brackets, split_outside_brackets};
use std::collections::BTreeSet;

/// The components of a list option. `registry` has components of the same kind in addition to those `built_in`.
///
/// # Errors
/// An unknown name, key or value, an empty item, or a component that occurs twice.
pub fn component_list(
    option: &str,
    lists: &[String],
    built_in: &[&'static Component],
    registry: &Registry,
) -> Result<Vec<Arguments>, InputError> {
    let known = registry.beside(built_in);
    let mut all = Vec::new();
    for list in lists {
        let items = items(list).map_err(|message| InputError::new(option, message))?;
        refuse_parameters(option, &items, &known)?;
        for item in items {
            all.push(registry.parse(built_in, item).map_err(|error| InputError::new(option, error))?);
        }
    }
    refuse_repeated(option, all.iter().map(|arguments| arguments.typed().to_string()))?;
    Ok(all)
}

/// The component of an option that takes a single one.
///
/// # Errors
/// Errors of [`component_list`], and several components.
pub fn component(
    option: &str,
    text: &str,
    built_in: &[&'static Component],
    registry: &Registry,
) -> Result<Arguments, InputError> {
    let mut all = component_list(option, &[text.to_string()], built_in, registry)?;
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        _ => Err(InputError::new(option, format!("'{text}': several are given; expected one"))),
    }
}

/// Splits `text` at its commas, except inside square brackets.
///
/// # Errors
/// An empty item, or a bracket without its partner.
fn items(text: &str) -> Result<Vec<&str>, String> {
    let items = split_outside_brackets(text, ',').map_err(|message| format!("'{text}': {message}"))?;
    let items: Vec<&str> = items.into_iter().map(str::trim).collect();
    if items.iter().any(|item| item.is_empty()) {
        return Err(format!("'{text}': a name is missing; expected names separated by single commas"));
    }
    Ok(items)
}

/// Refuses commas between parameters; the error shows the correct notation.
fn refuse_parameters(
    option: &str,
    items: &[&str],
    registry: &[&'static Component],
) -> Result<(), InputError> {
    let is_parameter = |item: &&&str| {
        let name = find_outside_brackets(item, ':').map_or(**item, |end| &item[..end]);
        find_outside_brackets(name, '=').is_some()
    };
    let Some(at) = items.iter().position(|item| is_parameter(&item)).filter(|at| *at > 0) else {
        return Ok(());
    };
    let kind = registry.first().map_or("component", |component| component.kind.name());
    let parameters = items[at..].iter().take_while(is_parameter).copied();
    let meant: Vec<&str> = std::iter::once(items[at - 1]).chain(parameters).collect();
    let message = format!(
        "unknown {kind} '{}'; parameters are separated by ':', expected {}",
        items[at],
        meant.join(":")
    );
    Err(InputError::new(option, message))
}

/// Refuses duplicates: two equal cases could not be distinguished.
///
/// # Errors
/// An element of `all` occurs twice.
pub fn refuse_repeated(option: &str, all: impl Iterator<Item = String>) -> Result<(), InputError> {
    let mut seen = BTreeSet::new();
    for typed in all {
        if !seen.insert(typed.clone()) {
            return Err(InputError::new(option, format!("'{typed}' is given twice; expected each once")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_outside_brackets_separate_items() {
        assert!(items("a,,b").is_err() && items("").is_err());
        assert_eq!(items("a, b"), Ok(vec!["a", "b"]));
        assert_eq!(items("a@[b,c],d"), Ok(vec!["a@[b,c]", "d"]));
        assert!(items("a@[b,c").unwrap_err().contains("'a@[b,c': '[' without its ']'"));
        assert!(items("a],b").unwrap_err().contains("']' without its '['"));
    }
}
