//! Errors of the command line itself, as the one line that every other error is.

use crate::error::{Failure, one_line};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::error::Error;

/// Prints help and versions where they were asked for; turns everything else into a [`Failure`].
pub fn report(error: &clap::Error) -> Result<(), Failure> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        // Help goes to standard output; a reader that has gone away is no error.
        let _ = error.print();
        return Ok(());
    }
    let context = |kind| error.get(kind).and_then(text);
    let option = context(ContextKind::InvalidArg).unwrap_or_default();
    let option = option.split([' ', '=']).next().unwrap_or("").to_string();
    if error.kind() == ErrorKind::ValueValidation
        && let (Some(value), Some(cause)) = (context(ContextKind::InvalidValue), error.source())
    {
        return Err(Failure::input(option, format!("'{value}': {cause}")));
    }
    if error.kind() == ErrorKind::InvalidValue {
        let known = context(ContextKind::ValidValue).unwrap_or_default();
        let message = match context(ContextKind::InvalidValue).filter(|value| !value.is_empty()) {
            Some(value) => format!("'{value}' is not known; expected one of {known}"),
            None => "a value is missing; expected one after the option".to_string(),
        };
        return Err(Failure::input(option, message));
    }
    Err(Failure::input("", format!("{}; see 'qdelay --help' and 'qdelay COMMAND --help'", summary(error))))
}

fn text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(all) => Some(all.join(", ")),
        _ => None,
    }
}

/// What clap would say, without the usage that follows it.
fn summary(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:"))
        .filter(|line| !line.is_empty())
        .collect();
    let joined = lines.join(" ");
    one_line(joined.strip_prefix("error: ").unwrap_or(&joined)).replace(" tip: ", "; ")
}
