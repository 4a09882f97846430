//! Help of every command fits 80 columns, and `qdelay help COMMAND` prints the same text.

use crate::common::{refused, succeed};

const COLUMNS: usize = 80;

/// Commands listed in a help text.
fn listed(help: &str) -> Vec<String> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names = lines.take_while(|line| line.starts_with("  ")).filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).map(str::to_string).collect()
}

/// Every command with its parents, the program itself first.
pub fn commands() -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        let names = listed(&help(&path, "--help"));
        let below = names.into_iter().filter(|name| name != "help");
        found.extend(below.map(|name| path.iter().cloned().chain([name]).collect()));
    }
    found
}

pub fn help(path: &[String], option: &str) -> String {
    let words: Vec<&str> = path.iter().map(String::as_str).chain([option]).collect();
    succeed(&words)
}

#[test]
fn lines_fit_80_columns() {
    let commands = commands();
    assert!(commands.len() > 18 && commands.iter().any(|path| path.join(" ") == "trace convert"));
    let fits = |whose: &str, text: &str| {
        for line in text.lines() {
            assert!(line.chars().count() <= COLUMNS, "{whose}: {} columns: {line}", line.chars().count());
        }
    };
    fits("qdelay", &succeed(&[]));
    for path in commands {
        for option in ["-h", "--help"] {
            fits(&format!("{} {option}", path.join(" ")), &help(&path, option));
        }
    }
}

#[test]
fn help_command_is_as_the_option() {
    for path in commands() {
        let asked = help(&path, "--help");
        let words: Vec<&str> = std::iter::once("help").chain(path.iter().map(String::as_str)).collect();
        assert_eq!(succeed(&words), asked, "{words:?}");
        if let [group, name] = path.as_slice() {
            assert_eq!(succeed(&[group, "help", name]), asked, "{group} help {name}");
        }
    }
    refused(&["help", "nothing"], &["nothing: unknown command; expected one that 'qdelay --help' lists"]);
    refused(&["help", "trace", "nothing"], &["nothing: unknown command", "'qdelay trace --help'"]);
}

/// Version of the package, followed by the commit if the command was built from a checkout.
#[test]
fn version_with_commit() {
    let printed = succeed(&["--version"]);
    let rest = printed.trim_end().strip_prefix(concat!("qdelay ", env!("CARGO_PKG_VERSION")));
    let commit = rest.expect("the package's version");
    let is_commit = |text: &str| {
        let hash = text.strip_prefix(" (").and_then(|text| text.strip_suffix(')'));
        hash.is_some_and(|hash| hash.len() >= 10 && hash.chars().all(|c| c.is_ascii_hexdigit()))
    };
    assert!(commit.is_empty() || is_commit(commit), "{printed}");
}
