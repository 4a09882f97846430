//! Parts of the tests: groups that need a program from outside the project, or a build of their own. `make test` leaves them
//! out and lists their tests as skipped; `make test-all` runs all of them; `.ci/run` runs those whose files a landing has
//! changed, and all of them at every fifth landing and at the end of an issue ([`Part::RULES`], [`Landing`]).
//!
//! A test says its part in its attribute: `#[test(Browser)]`. A test without a part belongs to `make test`.

use std::path::Path;
use std::process::Command;

/// Variable with the names of the parts whose tests a program lists as skipped. Set by the suite.
pub const LEFT_OUT: &str = "QDELAY_LEFT_OUT";

/// Group of tests with its own outside need.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// Pages in Chromium, and PDFs by poppler.
    Browser,
    /// Players and calls in a browser: Node.js, ffmpeg, Chromium.
    Stream,
    /// A Linux kernel in QEMU.
    Lab,
    /// The wheel, its tests, types and notebooks: Python, maturin, packages of its index.
    Python,
    /// The documentation as a site: Sphinx.
    Site,
    /// The Debian package, the archive, the release: dpkg-dev, lintian, shellcheck.
    Packages,
    /// Builds with fewer features, for targets without an operating system, and for packages: other Rust targets.
    Targets,
    /// Real traffic generators: iperf3, irtt.
    Tools,
    /// Instructions per packet, TTI and decision of the optimized command: valgrind.
    Instructions,
}

/// Rule of a part in `.ci/run`.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Part that the rule is about.
    pub part: Part,
    /// Name on command lines and in lists.
    pub name: &'static str,
    /// Programs and packages needed beside a Rust toolchain, for lists.
    pub needs: &'static str,
    /// Beginnings of paths, from the root of the repository: a landing that changes one of them runs the part.
    pub paths: &'static [&'static str],
}

impl Part {
    /// All parts, in the order of lists.
    pub const RULES: [Rule; 9] = [
        Rule {
            part: Self::Browser,
            name: "browser",
            needs: "Chromium, poppler-utils",
            paths: &["crates/qdelay-report/", "crates/qdelay-web/", "crates/qdelay-papers/"],
        },
        Rule {
            part: Self::Stream,
            name: "stream",
            needs: "Node.js, npm, ffmpeg, Chromium",
            paths: &["demos/", "crates/qdelay-emu/", "crates/qdelay-traffic/src/streaming/"],
        },
        Rule {
            part: Self::Lab,
            name: "lab",
            needs: "QEMU, Debian packages of its image",
            paths: &["crates/qdelay-lab/", "crates/qdelay-dev/src/validate/netem/"],
        },
        Rule {
            part: Self::Python,
            name: "python",
            needs: "Python 3.11 with venv, packages of its index",
            paths: &["Cargo.lock", "crates/qdelay-native/", "crates/qdelay-py/", "crates/qdelay-study/src/"],
        },
        Rule {
            part: Self::Site,
            name: "site",
            needs: "Python 3.11 with venv, packages of its index, Chromium",
            paths: &["docs/", "README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"],
        },
        Rule {
            part: Self::Packages,
            name: "packages",
            needs: "dpkg-dev, binutils, lintian, shellcheck",
            paths: &["packaging/", "Cargo.lock", "Cargo.toml", "Makefile"],
        },
        Rule {
            part: Self::Targets,
            name: "targets",
            needs: "Rust targets thumbv7em-none-eabihf, wasm32-unknown-unknown, x86_64-unknown-none",
            paths: &["crates/qdelay-core/", "crates/qdelay-record/", "examples/bare-metal/", "Cargo.toml"],
        },
        Rule {
            part: Self::Tools,
            name: "tools",
            needs: "iperf3, irtt",
            paths: &[
                "crates/qdelay-emu/",
                "crates/qdelay-real/",
                "crates/qdelay-gateway/",
                "crates/qdelay-terminal/src/live/",
            ],
        },
        Rule {
            part: Self::Instructions,
            name: "instructions",
            needs: "valgrind, the optimized command",
            paths: &[
                "benches/",
                "Cargo.toml",
                "crates/qdelay-core/src/",
                "crates/qdelay-path/src/",
                "crates/qdelay-ran/src/",
                "crates/qdelay-record/src/",
                "crates/qdelay-sim/src/",
                "crates/qdelay-traffic/src/",
            ],
        },
    ];

    /// Rule of this part.
    pub fn rule(self) -> &'static Rule {
        Self::RULES.iter().find(|rule| rule.part == self).expect("every part has a rule")
    }

    /// Part with this name.
    ///
    /// # Errors
    /// A line with the accepted names.
    pub fn from_name(name: &str) -> Result<Self, String> {
        let found = Self::RULES.iter().find(|rule| rule.name == name);
        found.map(|rule| rule.part).ok_or_else(|| {
            let names = Self::RULES.map(|rule| rule.name).join(", ");
            format!("unknown part '{name}'; expected some of {names}, with commas between them")
        })
    }
}

/// Parses names of parts, separated by commas.
///
/// # Errors
/// Errors of [`Part::from_name`].
pub fn parse(names: &str) -> Result<Vec<Part>, String> {
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(Part::from_name).collect()
}

/// Names of parts, separated by commas: the inverse of [`parse`].
pub fn names(parts: &[Part]) -> String {
    parts.iter().map(|part| part.rule().name).collect::<Vec<_>>().join(",")
}

/// File with the number of the landing, read by `.ci/run`.
pub const LANDING: &str = ".ci/landing";

/// Number of landings after which all parts run.
const WHOLE_EVERY: u32 = 5;

/// Landing that a checkout prepares.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Landing {
    /// Number of this landing.
    pub number: u32,
    /// Commit that landed before it.
    pub base: String,
    /// True where the landing ends an issue.
    pub ends_issue: bool,
}

impl Landing {
    /// Parses the file [`LANDING`].
    ///
    /// # Errors
    /// A line with the key that is missing or wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let value = |key: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
            found
                .map(str::trim)
                .ok_or(format!("{LANDING}: missing line '{key} ...'; 'make landing' writes the file"))
        };
        let number = value("number")?;
        let ends_issue = value("ends-issue")?;
        Ok(Self {
            number: number
                .parse()
                .map_err(|_| format!("{LANDING}: number '{number}': expected a whole number"))?,
            base: value("base")?.to_string(),
            ends_issue: match ends_issue {
                "yes" => true,
                "no" => false,
                other => return Err(format!("{LANDING}: ends-issue '{other}': expected yes or no")),
            },
        })
    }

    /// True where all parts run.
    fn is_whole(&self) -> bool {
        self.ends_issue || self.number.is_multiple_of(WHOLE_EVERY)
    }
}

/// Parts that `.ci/run` runs, with the reason for each part.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Choice {
    /// Reason for this set, in one line.
    pub reason: String,
    /// Parts to run, each with its reason.
    pub run: Vec<(Part, String)>,
    /// Parts left out.
    pub left_out: Vec<Part>,
}

/// Applies the rule to the paths that changed since `landing.base`; `None` if git cannot tell them.
pub fn choose(landing: &Landing, changed: Option<&[String]>) -> Choice {
    let all = |reason: String| {
        let run = Part::RULES.map(|rule| (rule.part, "all parts run".to_string())).to_vec();
        Choice { reason, run, left_out: Vec::new() }
    };
    let number = landing.number;
    let Some(changed) = changed else {
        return all(format!(
            "landing {number}: all parts, because commit {} is not in this clone",
            landing.base
        ));
    };
    if landing.is_whole() {
        let why = if landing.ends_issue {
            "it ends an issue".into()
        } else {
            format!("every {WHOLE_EVERY}th is whole")
        };
        return all(format!("landing {number}: all parts, because {why}"));
    }
    let (mut run, mut left_out) = (Vec::new(), Vec::new());
    for rule in &Part::RULES {
        let hit = changed.iter().find(|path| rule.paths.iter().any(|beginning| path.starts_with(beginning)));
        match hit {
            Some(path) => run.push((rule.part, format!("{path} changed"))),
            None => left_out.push(rule.part),
        }
    }
    let reason = format!("landing {number}: parts by {} paths changed since {}", changed.len(), landing.base);
    Choice { reason, run, left_out }
}

/// Choice for the checkout in this folder.
///
/// # Errors
/// A line about the file [`LANDING`] that is missing, wrong or not renewed.
pub fn choose_for(root: &Path) -> Result<Choice, String> {
    let text = std::fs::read_to_string(root.join(LANDING)).map_err(|error| format!("{LANDING}: {error}"))?;
    let landing = Landing::parse(&text)?;
    let before = git(root, &["show", &format!("{}:{LANDING}", landing.base)]);
    if let Some(before) = before.and_then(|text| Landing::parse(&text).ok())
        && before.number >= landing.number
    {
        return Err(format!(
            "{LANDING}: number {}, and commit {} has number {}; 'make landing' writes the next one",
            landing.number, landing.base, before.number
        ));
    }
    let changed = git(root, &["diff", "--name-only", "--no-renames", &landing.base]);
    let changed: Option<Vec<String>> = changed.map(|text| text.lines().map(str::to_string).collect());
    Ok(choose(&landing, changed.as_deref()))
}

/// Output of git; `None` if git fails.
pub(crate) fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landing(number: u32, ends_issue: bool) -> Landing {
        Landing { number, base: "abc".into(), ends_issue }
    }

    fn chosen(paths: &[&str]) -> String {
        let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
        let choice = choose(&landing(3, false), Some(&paths));
        assert_eq!(choice.run.len() + choice.left_out.len(), Part::RULES.len());
        names(&choice.run.iter().map(|(part, _)| *part).collect::<Vec<_>>())
    }

    #[test]
    fn changed_paths_choose_parts() {
        assert_eq!(chosen(&[]), "");
        assert_eq!(chosen(&["crates/qdelay-lab/src/lib.rs"]), "lab");
        assert_eq!(chosen(&["crates/qdelay-core/src/lib.rs"]), "targets,instructions");
        assert_eq!(chosen(&["crates/qdelay-core/tests/main.rs", "docs/link.md"]), "site,targets");
    }

    #[test]
    fn all_parts_run_at_every_fifth_landing_the_end_of_an_issue_and_without_history() {
        for (landing, changed) in [
            (landing(10, false), Some(&[][..])),
            (landing(3, true), Some(&[][..])),
            (landing(3, false), None),
        ] {
            let choice = choose(&landing, changed);
            assert_eq!((choice.run.len(), choice.left_out.len()), (9, 0), "{}", choice.reason);
        }
    }

    #[test]
    fn names_return() {
        let all = Part::RULES.map(|rule| rule.part);
        assert_eq!(parse(&names(&all)), Ok(all.to_vec()));
        assert_eq!(parse(""), Ok(Vec::new()));
        assert!(
            parse("browser,lap").unwrap_err().starts_with("unknown part 'lap'; expected some of browser,")
        );
    }

    /// `.ci/tools` must install for exactly these parts.
    #[test]
    fn the_installer_knows_every_part() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let names = Part::RULES.map(|rule| rule.name);
        let install = |parts: &[&str]| {
            let mut command = Command::new("bash");
            command.arg(root.join(".ci/tools")).args(parts).env("QDELAY_INSTALL", "no");
            let output = command.output().expect("bash runs");
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        assert_eq!(install(&names).0, Some(0));
        let (status, complaint) = install(&["lap"]);
        let expected = format!("tools: unknown part 'lap'; expected {} or all\n", names.join(", "));
        assert_eq!((status, complaint), (Some(2), expected));
        let text = std::fs::read_to_string(root.join(".ci/tools")).expect("it ran");
        assert!(text.contains(&format!("parts=\"{}\"\n", names.join(" "))), "'all' stands for other parts");
    }

    #[test]
    fn a_landing_has_three_keys() {
        let text = "# a comment\nnumber 7\nbase abc\nends-issue no\n";
        assert_eq!(Landing::parse(text), Ok(Landing { number: 7, ..landing(7, false) }));
        assert!(Landing::parse("number 7\nbase abc\n").unwrap_err().contains("missing line 'ends-issue"));
        assert!(Landing::parse(&text.replace('7', "x")).unwrap_err().contains("expected a whole number"));
    }
}
