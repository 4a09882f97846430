//! Errors of the command line itself, one line each like all other errors.

use crate::cli;
use clap::CommandFactory;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use qdelay_config::RenamedKey;
use qdelay_config::renamed::RENAMED;
use qdelay_core::component::suggestion;
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use std::error::Error;
use std::io::Write;

/// Error of a clock that starts the command's own executable again, where the process is an interpreter.
pub const NOT_AN_EXECUTABLE: &str = "needs the command as a separate executable, which the Python package is not; expected an installed command (README.md)";

/// Prints help and versions on request; converts all errors into a [`Failure`].
///
/// # Errors
/// Every error of the command line; help that cannot be written.
pub fn report(error: &clap::Error) -> Result<(), Failure> {
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        return output::printed(error.print().and_then(|()| std::io::stdout().flush()));
    }
    Err(failure(error))
}

/// Converts clap's error into the form of the other errors.
pub fn failure(error: &clap::Error) -> Failure {
    let context = |kind| error.get(kind).and_then(text).filter(|text| !text.is_empty());
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    // Clap writes options with their value: "--duration <TIME>".
    let option = argument.split([' ', '=']).next().unwrap_or("");
    let (command, help) = command(error);
    match (error.kind(), context(ContextKind::InvalidValue), context(ContextKind::ValidValue)) {
        (ErrorKind::ValueValidation, Some(value), _) => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            Failure::input(option, format!("'{value}': {cause}"))
        }
        (ErrorKind::InvalidValue, Some(value), Some(known)) => {
            let near = suggestion(&value, known.split(", "));
            Failure::input(option, format!("'{value}' is not known; expected one of {known}{near}"))
        }
        (ErrorKind::InvalidValue, ..) => {
            Failure::input(option, format!("a value is missing; expected one after it ({help})"))
        }
        (ErrorKind::UnknownArgument, ..) => {
            if let Some(renamed) = renamed(option, &command) {
                return Failure::input(option, format!("was renamed; expected {renamed}"));
            }
            let near = near(context(ContextKind::SuggestedArg));
            Failure::input(option, format!("unknown; expected what {help} lists{near}"))
        }
        (ErrorKind::InvalidSubcommand, ..) => {
            let name = context(ContextKind::InvalidSubcommand).unwrap_or_default();
            let near = near(context(ContextKind::SuggestedSubcommand));
            Failure::input(name, format!("unknown command; expected one that {help} lists{near}"))
        }
        (ErrorKind::MissingRequiredArgument, ..) => {
            Failure::input(command, format!("{} is missing; expected what {help} shows", list(error)))
        }
        (ErrorKind::MissingSubcommand | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand, ..) => {
            Failure::input(command, format!("a command is missing; expected one that {help} lists"))
        }
        (ErrorKind::ArgumentConflict, ..) => {
            let prior = context(ContextKind::PriorArg).filter(|prior| *prior != argument);
            let message = prior.map_or("given twice; expected once".to_string(), |prior| {
                format!("not possible together with {}; expected one of them", few(&prior))
            });
            Failure::input(option, format!("{message} ({help})"))
        }
        _ => Failure::input(command, format!("{}; expected what {help} shows", first_line(error))),
    }
}

/// A list of options; of a long one, the options of a path, the one that the command line has.
fn few(options: &str) -> String {
    let all: Vec<&str> = options.split(", ").collect();
    let [first, .., _, _, _] = all.as_slice() else { return options.to_string() };
    // Clap lists all that the argument excludes, given or not.
    let given: Vec<String> = std::env::args().collect();
    let name = |option: &str| option.split([' ', '=']).next().unwrap_or_default().to_string();
    let is_given = |option: &str| {
        given.iter().any(|word| {
            word.strip_prefix(option).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    let one =
        all.iter().map(|option| name(option)).find(|option| is_given(option)).unwrap_or_else(|| name(first));
    format!("the options of the path, such as {one}")
}

/// New name of the option `old` of the command, such as "compare", if it was renamed.
fn renamed(old: &str, command: &str) -> Option<String> {
    let all = cli::Cli::command();
    let command = command.split(' ').try_fold(&all, |outer, name| outer.find_subcommand(name))?;
    RENAMED
        .iter()
        .filter(|key| old.strip_prefix("--") == Some(key.old))
        .map(RenamedKey::option)
        .find(|option| command.get_opts().any(|known| known.get_long() == option.strip_prefix("--")))
}

/// Suggestion at the end of a message; clap puts the nearest one last.
fn near(suggested: Option<String>) -> String {
    let nearest = suggested.as_deref().and_then(|all| all.rsplit(", ").next());
    nearest.map(|near| format!("; did you mean '{near}'?")).unwrap_or_default()
}

fn text(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(text) => Some(text.clone()),
        ContextValue::Strings(all) => Some(all.join(", ")),
        _ => None,
    }
}

fn list(error: &clap::Error) -> String {
    error.get(ContextKind::InvalidArg).and_then(text).unwrap_or_else(|| "an argument".to_string())
}

/// Command that the error concerns, such as "trace convert", and the way to its help.
fn command(error: &clap::Error) -> (String, String) {
    let text = error.render().to_string();
    let usage = text.lines().find_map(|line| line.trim().strip_prefix("Usage: ")).unwrap_or("qdelay");
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_alphabetic());
    let command = usage.split(' ').take_while(is_name).collect::<Vec<_>>().join(" ");
    let help = format!("'{command} --help'");
    (command.trim_start_matches("qdelay").trim_start().to_string(), help)
}

fn first_line(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let line = text.lines().next().unwrap_or("");
    line.strip_prefix("error: ").unwrap_or(line).to_string()
}
