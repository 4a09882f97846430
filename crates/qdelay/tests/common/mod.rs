//! Runs the built command, and reads its results.

pub mod lab;

use qdelay_testing::{Need, skip, suite};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// Program of the crate that the tests belong to.
pub const PROGRAM: &str = match (option_env!("CARGO_BIN_EXE_qdelay"), option_env!("CARGO_BIN_EXE_qdelay-dev"))
{
    (Some(program), _) | (None, Some(program)) => program,
    (None, None) => panic!("cargo names no program"),
};

/// The command with these arguments, not started yet.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments);
    command
}

/// Runs the command to its end.
pub fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Runs a command that must succeed without output on standard error; returns its output.
pub fn succeed(arguments: &[&str]) -> String {
    let output = run(arguments);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), complaint.as_ref()), (Some(0), ""), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Same as [`succeed`], for a command that prints JSON of this schema.
pub fn json(arguments: &[&str]) -> Value {
    let value: Value = serde_json::from_str(&succeed(arguments)).unwrap();
    assert_eq!(value["schema_version"], 2);
    value
}

/// Runs a command that must refuse its input: status 2, no output, one line on standard error that contains all of `parts`.
pub fn refused(arguments: &[&str], parts: &[&str]) {
    let output = run(arguments);
    let line = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {line}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    assert_eq!(line.lines().count(), 1, "{arguments:?}: {line}");
    assert!(line.starts_with("qdelay: ") && line.ends_with('\n'), "{arguments:?}: {line}");
    for part in parts {
        assert!(line.contains(part), "{arguments:?}: '{part}' is not in: {line}");
    }
}

/// An empty folder for one test.
pub fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Folder of the only case in a folder of results.
pub fn case_of(out: &Path) -> PathBuf {
    std::fs::read_dir(out.join("cases")).unwrap().next().unwrap().unwrap().path()
}

/// Writes a file with this content; returns its path.
pub fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_string()
}

/// Skips the test where real packets of other programs cannot be used.
pub fn needs_real_packets() {
    let works = |program: &str, argument: &str| {
        Command::new(program).arg(argument).output().is_ok_and(|output| output.status.success())
    };
    if !rustix::process::geteuid().is_root() {
        skip(Need::Net, "not root");
    } else if !Path::new("/dev/net/tun").exists() {
        skip(Need::Net, "there is no /dev/net/tun");
    } else if !Command::new("unshare").args(["--net", "true"]).status().is_ok_and(|status| status.success()) {
        skip(Need::Net, "no namespaces here");
    } else if !works("iperf3", "--version") {
        skip(Need::Tools, "no iperf3 command");
    }
}

/// The JSON of a file.
pub fn read(path: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Program `name` of `examples/`, built like everything in the suite, so that nothing is compiled with other features. The suite has built
/// it; a build here could replace the test programs that are running.
pub fn example(name: &str) -> PathBuf {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let crate_folder =
            std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
        let target =
            Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("the folder of all that is built");
        if std::env::var_os(suite::BUILT).is_some() {
            return target.join("debug");
        }
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(suite::BUILD).args(["--quiet", "--offline", "--locked", "--target-dir"]).arg(target);
        // Build scripts of dependencies (ring) run again if these variables, which cargo sets for tests, have changed.
        let of_test = ["CARGO_BIN_", "CARGO_CRATE_", "CARGO_MANIFEST_", "CARGO_PKG_", "OUT_DIR"];
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| of_test.iter().any(|beginning| name.starts_with(beginning))) {
                cargo.env_remove(name);
            }
        }
        let output = cargo.current_dir(Path::new(&crate_folder).join("../..")).output().expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        target.join("debug")
    });
    BUILT.join(name)
}

/// Every file below `folder` with its bytes.
pub fn tree(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.insert(path.strip_prefix(folder).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// Asserts that two folders have the same files with the same bytes.
pub fn assert_equal(one: &Path, other: &Path) {
    let (one, other) = (tree(one), tree(other));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    for (path, bytes) in &one {
        assert!(other[path] == *bytes, "{} differs", path.display());
    }
}
