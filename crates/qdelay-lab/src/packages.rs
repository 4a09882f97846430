//! Debian packages by a private configuration of apt: nothing is installed, and nothing of the system's own apt is changed.
//!
//! The mirror is that of the system's apt, with its proxies. Signatures are checked with Debian's keyring, whatever the system's
//! configuration permits, because programs of the packages run on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Debian's public keys (package debian-archive-keyring).
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Processor architecture of the machine.
const ARCHITECTURE: &str = "amd64";
/// Suites that identify a mirror of Debian.
const SUITES: &[&str] = &[
    "bullseye",
    "bookworm",
    "trixie",
    "forky",
    "sid",
    "oldoldstable",
    "oldstable",
    "stable",
    "testing",
    "unstable",
];

/// A package file, as apt names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageFile {
    /// File name: package, version and architecture.
    pub name: String,
    /// Digest from the archive's signed index.
    pub digest: String,
}

/// Packages of one suite, with apt's files in a folder of their own.
#[derive(Debug)]
pub struct Suite {
    folder: PathBuf,
    name: String,
}

impl Suite {
    /// Reads the suite's index of packages into `folder`.
    ///
    /// # Errors
    /// No apt, no keyring, no mirror, no network, or no such suite; the message is one line.
    pub fn open(folder: PathBuf, mirror: &str, name: &str) -> Result<Suite, String> {
        if !Path::new(KEYRING).is_file() {
            return Err(format!(
                "{KEYRING} does not exist, which verifies packages; expected it (package debian-archive-keyring)"
            ));
        }
        let make = || -> io::Result<()> {
            for below in ["lists/partial", "cache/archives/partial", "files"] {
                fs::create_dir_all(folder.join(below))?;
            }
            fs::write(folder.join("status"), "")?;
            let source = format!("deb [arch={ARCHITECTURE} signed-by={KEYRING}] {mirror} {name} main\n");
            fs::write(folder.join("sources.list"), source)
        };
        make().map_err(|error| format!("{}: cannot be written: {error}", folder.display()))?;
        let suite = Suite { folder, name: name.to_string() };
        run(suite.command("apt-get").arg("update"))
            .map_err(|error| format!("the index of Debian {name} cannot be read: {error}"))?;
        Ok(suite)
    }

    /// Name of the first package that `package` depends on.
    ///
    /// # Errors
    /// There is no such package.
    pub fn dependency(&self, package: &str) -> Result<String, String> {
        let missing = |error: &str| format!("Debian {} has no package {package}: {error}", self.name);
        let text =
            run(self.command("apt-cache").args(["depends", package])).map_err(|error| missing(&error))?;
        let first = text.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
        first.map(str::to_string).ok_or_else(|| missing("it depends on none"))
    }

    /// Files of `packages` and of all packages that they depend on.
    ///
    /// # Errors
    /// There is no such package.
    pub fn with_dependencies(&self, packages: &[&str]) -> Result<Vec<PackageFile>, String> {
        let mut command = self.command("apt-get");
        command.args(["install", "--print-uris", "-y", "--no-install-recommends"]).args(packages);
        run(&mut command).map(|text| files(&text))
    }
    /// File of `package` alone.
    ///
    /// # Errors
    /// There is no such package.
    pub fn alone(&self, package: &str) -> Result<Vec<PackageFile>, String> {
        run(self.command("apt-get").args(["download", "--print-uris", package])).map(|text| files(&text))
    }

    /// Downloads `packages`, with their dependencies or alone, and unpacks them into `into`.
    ///
    /// # Errors
    /// No network, a file that does not match the signed index, or no disk space.
    pub fn unpack(&self, packages: &[&str], is_alone: bool, into: &Path) -> Result<(), String> {
        let downloaded = self.folder.join("files");
        let mut command = self.command("apt-get");
        if is_alone {
            command.arg("download").args(packages).current_dir(&downloaded);
        } else {
            command.args(["install", "--download-only", "-y", "--no-install-recommends"]).args(packages);
        }
        run(&mut command).map_err(|error| format!("the packages cannot be downloaded: {error}"))?;
        let folder = if is_alone { downloaded } else { self.folder.join("cache/archives") };
        let unreadable = |error: io::Error| format!("{}: cannot be read: {error}", folder.display());
        let entries = fs::read_dir(&folder).map_err(unreadable)?.collect::<io::Result<Vec<_>>>();
        let mut paths: Vec<PathBuf> =
            entries.map_err(unreadable)?.into_iter().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == "deb"));
        paths.sort_unstable();
        for path in paths {
            let unpacked = run(Command::new("dpkg-deb").arg("--extract").arg(&path).arg(into));
            unpacked.map_err(|error| format!("{} cannot be unpacked: {error}", path.display()))?;
        }
        Ok(())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let below = |name: &str| self.folder.join(name).display().to_string();
        for (option, value) in [
            ("Dir::State::lists", below("lists")),
            ("Dir::State::status", below("status")),
            ("Dir::Cache", below("cache")),
            ("Dir::Etc::sourcelist", below("sources.list")),
            ("Dir::Etc::sourceparts", "/dev/null".to_string()),
            ("Dir::Etc::preferences", "/dev/null".to_string()),
            ("Dir::Etc::preferencesparts", "/dev/null".to_string()),
            ("APT::Architecture", ARCHITECTURE.to_string()),
            // Without another user: the folder belongs to this user alone.
            ("APT::Sandbox::User", String::new()),
            ("Acquire::Languages", "none".to_string()),
            ("Acquire::AllowInsecureRepositories", "false".to_string()),
            ("Acquire::AllowWeakRepositories", "false".to_string()),
            ("Acquire::AllowDowngradeToInsecureRepositories", "false".to_string()),
            ("APT::Get::AllowUnauthenticated", "false".to_string()),
            ("APT::Get::Force-Yes", "false".to_string()),
            // An index that cannot be downloaded is an error instead of a warning.
            ("APT::Update::Error-Mode", "any".to_string()),
            ("Acquire::IndexTargets::deb::DEP-11::DefaultEnabled", "false".to_string()),
            ("Acquire::Retries", "2".to_string()),
            ("Acquire::http::Timeout", "30".to_string()),
        ] {
            command.args(["-o", &format!("{option}={value}")]);
        }
        command.arg("-q");
        command
    }
}

/// Address of the Debian mirror that the system's apt uses.
///
/// # Errors
/// There is no apt, or none of its sources is a mirror of Debian.
pub fn system_mirror() -> Result<String, String> {
    let format = "$(RELEASE) $(COMPONENT) $(REPO_URI)";
    let mut command = Command::new("apt-get");
    let text = run(command.args(["indextargets", "--format", format, "Created-By: Packages"]))?;
    let mirror = text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (release, component, mirror) = (words.next()?, words.next()?, words.next()?);
        (SUITES.contains(&release) && component == "main").then(|| mirror.to_string())
    });
    mirror.ok_or_else(|| {
        "none of apt's sources is a mirror of Debian; expected --mirror with the address of one".to_string()
    })
}

/// Runs a command to its end; returns its output.
///
/// # Errors
/// The command cannot be started, or fails, with its first error; the message is one line.
pub fn run(command: &mut Command) -> Result<String, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stdin(Stdio::null()).env("LC_ALL", "C").output().map_err(|error| {
        format!("{program} cannot be started: {error}; 'qdelay lab build' needs Debian's apt and dpkg")
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = text.lines().find(|line| line.starts_with("E: ") || line.starts_with("Err:"));
    let line = line.or_else(|| text.lines().rfind(|line| !line.trim().is_empty()));
    Err(format!("{program}: {}", line.unwrap_or("it failed without a message").trim_start_matches("E: ")))
}

/// Parses apt's list: `'ADDRESS' NAME BYTES DIGEST` in each line.
fn files(text: &str) -> Vec<PackageFile> {
    let file = |line: &str| {
        let mut words = line.strip_prefix('\'')?.split_ascii_whitespace().skip(1);
        let (name, _bytes, digest) = (words.next()?, words.next()?, words.next().unwrap_or(""));
        Some(PackageFile { name: name.to_string(), digest: digest.to_string() })
    };
    let mut files: Vec<PackageFile> = text.lines().filter_map(file).collect();
    files.sort_unstable();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apt_lists_of_files_are_parsed() {
        let text = "Reading package lists...\n'http://m/pool/i/iperf3_3.12-1_amd64.deb' iperf3_3.12-1_amd64.deb 33964 SHA256:ab\n\
                    'http://m/pool/b/b_1_all.deb' b_1_all.deb 5 \nThe following NEW packages\n";
        let file = |name: &str, digest: &str| PackageFile { name: name.into(), digest: digest.into() };
        assert_eq!(files(text), [file("b_1_all.deb", ""), file("iperf3_3.12-1_amd64.deb", "SHA256:ab")]);
    }

    #[test]
    fn first_error_of_a_program_is_reported() {
        let error = run(Command::new("sh")
            .args(["-c", "echo W: x >&2; echo E: no such suite >&2; echo E: b >&2; exit 3"]));
        assert_eq!(error.unwrap_err(), "sh: no such suite");
        assert_eq!(
            run(Command::new("sh").args(["-c", "exit 3"])).unwrap_err(),
            "sh: it failed without a message"
        );
        assert!(run(&mut Command::new("/nowhere/apt-get")).unwrap_err().contains("needs Debian's apt"));
    }
}
