//! The test programs of a workspace, as built and named by cargo.

use serde_json::Value;
use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// Test program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Program {
    /// Crate, and name of the program in the crate.
    pub package: String,
    pub name: String,
    /// True for the unit tests of a library or command, which the standard library's harness runs.
    pub is_unit: bool,
    pub executable: PathBuf,
    /// Folder of the crate, in which cargo would start the program.
    pub folder: PathBuf,
}

impl Program {
    /// Parses a message of cargo; `None` if it is not about a test program.
    fn of_message(line: &str) -> Option<Self> {
        let message: Value = serde_json::from_str(line).ok()?;
        if message["reason"] != "compiler-artifact" || message["profile"]["test"] != true {
            return None;
        }
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
        Some(Self {
            package: folder.file_name()?.to_str()?.to_string(),
            name: message["target"]["name"].as_str()?.to_string(),
            is_unit: message["target"]["kind"][0] != "test",
            executable: message["executable"].as_str()?.into(),
            folder,
        })
    }

    /// Name in lists.
    pub fn title(&self) -> String {
        format!("{} {}{}", self.package, if self.is_unit { "unit tests of " } else { "" }, self.name)
    }

    /// Options of `cargo test` for this program alone.
    pub fn options(&self) -> String {
        let target = match (self.is_unit, self.executable_of_library()) {
            (false, _) => format!("--test {}", self.name),
            (true, true) => "--lib".to_string(),
            (true, false) => format!("--bin {}", self.name),
        };
        format!("-p {} {target}", self.package)
    }

    /// Library programs are named like their crate, with underscores.
    fn executable_of_library(&self) -> bool {
        self.name == self.package.replace('-', "_") && self.folder.join("src/lib.rs").exists()
    }
}

/// Builds the programs that `arguments` of cargo select; returns cargo's status if that fails.
pub(super) fn build(cargo: &OsStr, arguments: &[String]) -> io::Result<Result<Vec<Program>, ExitStatus>> {
    let mut command = Command::new(cargo);
    command.args(arguments).args(["--quiet", "--message-format", "json-render-diagnostics"]);
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let lines = BufReader::new(child.stdout.take().expect("it is a pipe")).lines();
    let programs = lines.map_while(Result::ok).filter_map(|line| Program::of_message(&line)).collect();
    let status = child.wait()?;
    Ok(if status.success() { Ok(programs) } else { Err(status) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_cargo() {
        let line = r#"{"reason":"compiler-artifact","manifest_path":"/w/crates/a-b/Cargo.toml","target":{"kind":["KIND"],"name":"NAME"},"profile":{"test":true},"executable":"/t/x"}"#;
        let read = |kind: &str, name: &str| {
            Program::of_message(&line.replace("KIND", kind).replace("NAME", name)).unwrap()
        };
        let program = read("test", "main");
        assert_eq!((program.title(), program.options()), ("a-b main".into(), "-p a-b --test main".into()));
        let program = read("bin", "a-b");
        assert_eq!(program.title(), "a-b unit tests of a-b");
        assert_eq!(program.options(), "-p a-b --bin a-b");
        assert_eq!(Program::of_message(&line.replace("\"test\":true", "\"test\":false")), None);
        assert_eq!(Program::of_message("text"), None);
    }
}
