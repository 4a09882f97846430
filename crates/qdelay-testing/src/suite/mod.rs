//! Runs all tests of the workspace; at the end prints skipped tests, failed ones with their complaints, and the numbers of
//! passed, failed and skipped tests.
//!
//! Cargo builds and lists the programs. They run side by side, beginning with those that took longest the last time; as many
//! tests run at once as the machine has processors, over all programs (`turns.rs`), so that no processor is idle while one
//! program ends with its longest test; and in addition as many tests that mostly wait. A program's output is shown after its
//! end, and kept in the suite's folder.
//!
//! A test that does not end is killed with its program ([`LIMIT`]). For a program that ends without a result, the suite prints
//! the kind of its end, and its tests that had begun and not ended.

mod counts;
mod process;
mod programs;

use crate::effort;
use crate::parts::{self, LEFT_OUT, Part};
use crate::report::{self, BEGUN_FILE, SKIPPED_FILE, TIMES_FILE};
use crate::turns::{self, TURNS, Turn};
use counts::Counts;
use process::{End, Limits};
use programs::Program;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// Variable with the time limit of a test in seconds (900), 0 for no limit. For a program of unit tests, which does not
/// report when they begin, it applies to the whole program.
pub const LIMIT: &str = "QDELAY_TEST_LIMIT";

/// Cargo arguments that build all test programs, and the programs of `examples/` that tests run. Other builds with
/// these arguments compile nothing again.
pub const BUILD: [&str; 4] = ["build", "--workspace", "--tests", "--bins"];

/// Variable of programs that the suite runs once everything of [`BUILD`] is built.
pub const BUILT: &str = "QDELAY_BUILT";

/// Variable that limits a program to its tests that depend on real time. Set by the suite.
pub const ONLY_WAITING: &str = "QDELAY_ONLY_WAITING";

/// Job of the suite: a program, or the examples in the documentation of all crates, which cargo builds and runs.
enum Job {
    Program(Program),
    Documentation,
}

impl Job {
    fn title(&self) -> String {
        match self {
            Job::Program(program) => program.title(),
            Job::Documentation => "examples in the documentation".into(),
        }
    }

    fn options(&self) -> String {
        match self {
            Job::Program(program) => program.options(),
            Job::Documentation => "--doc".into(),
        }
    }

    /// True if the tests limit themselves how many run at once, as tests with this crate's harness do.
    fn waits_for_turns(&self) -> bool {
        matches!(self, Job::Program(program) if !program.is_unit)
    }
}

/// Run of the suite.
struct Suite<'a> {
    cargo: OsString,
    selection: &'a Selection,
    folder: PathBuf,
    /// Time limit of a test.
    limit: Option<Duration>,
    /// Factor of [`effort::EFFORT`].
    factor: f64,
    /// The suite was interrupted.
    interrupted: Arc<AtomicBool>,
}

/// Failed job.
struct Failed {
    /// Options of `cargo test` for the job.
    options: String,
    /// End of the program, if it printed no result.
    end: Option<String>,
    /// Failed tests, each with its complaint.
    tests: Vec<(String, String)>,
}

/// Results so far.
#[derive(Default)]
struct SuiteResults {
    counts: Counts,
    failed: Vec<Failed>,
    /// Seconds by title.
    times: BTreeMap<String, f64>,
}

/// Selection of programs and tests that [`run`] builds and runs.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Arguments of cargo that build the programs.
    pub build: Vec<String>,
    /// Arguments of `cargo test --doc` for the examples in documentation; `None` to leave them out.
    pub documentation: Option<Vec<String>>,
    /// Options for the programs, as after `--` of `cargo test`.
    pub options: Vec<String>,
    /// Parts whose tests are listed as skipped.
    pub left_out: Vec<Part>,
    /// Runs only tests that depend on real time.
    pub only_waiting: bool,
    /// Number of tests that run at once; `None` for the number of processors.
    pub at_once: Option<usize>,
    /// Factor of [`effort::EFFORT`] if the environment has none (1).
    pub effort: Option<f64>,
    /// Titles of programs that are not run.
    pub without: Vec<String>,
}

/// Runs the tests of a selection. Lists, durations and the programs' output are written to `folder`.
///
/// The status is cargo's if it cannot build, and 1 if a test has failed.
pub fn run(folder: &Path, selection: &Selection) -> ExitCode {
    match counts(folder, selection) {
        Ok(results) => ExitCode::from(u8::from(!results.is_passed)),
        Err(status) => status,
    }
}

/// Outcome of a run of the suite.
pub(crate) struct Results {
    pub is_passed: bool,
    pub is_interrupted: bool,
    /// `cargo test` options of the program, and the test.
    pub failed: Vec<String>,
}

/// Runs like [`run`], and returns the outcome.
///
/// # Errors
/// The exit status for a suite that could not run.
pub(crate) fn counts(folder: &Path, selection: &Selection) -> Result<Results, ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let limit = match std::env::var(LIMIT).map(|text| text.parse::<u32>()) {
        Err(_) => 900,
        Ok(Ok(seconds)) => seconds,
        Ok(Err(_)) => {
            return Err(refuse(format_args!("{LIMIT}: expected whole seconds, or 0 for no limit")));
        }
    };
    let limit = (limit > 0).then_some(Duration::from_secs(limit.into()));
    let factor = match std::env::var(effort::EFFORT).map(|text| effort::parse(&text)) {
        Err(_) => selection.effort.unwrap_or(1.0),
        Ok(Ok(factor)) => factor,
        Ok(Err(complaint)) => return Err(refuse(complaint)),
    };
    let programs = match programs::build(&cargo, &selection.build) {
        Ok(Ok(programs)) => programs,
        Ok(Err(status)) => {
            let code = status.code().and_then(|code| u8::try_from(code).ok());
            return Err(ExitCode::from(code.unwrap_or(1)));
        }
        Err(error) => return Err(refuse(format_args!("cargo: {error}"))),
    };
    // Tests start in other folders, so the path is absolute.
    let run = std::path::absolute(folder).and_then(|folder| {
        fs::create_dir_all(&folder)?;
        let interrupted = interrupted()?;
        let suite = Suite { cargo, selection, folder, limit, factor, interrupted };
        fs::write(suite.skipped(), "")?;
        fs::write(suite.test_times(), "")?;
        suite.run(programs)
    });
    run.map_err(|error| refuse(format_args!("{}: {error}", folder.display())))
}

/// True if a signal has asked this process to end, in this run of the suite or before. (Programs are in their own process groups, so a
/// terminal's interrupt does not reach them.)
fn interrupted() -> io::Result<Arc<AtomicBool>> {
    static FLAG: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(flag) = FLAG.get() {
        return Ok(flag.clone());
    }
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, flag.clone())?;
    }
    Ok(FLAG.get_or_init(|| flag).clone())
}

fn refuse(complaint: impl Display) -> ExitCode {
    eprintln!("qdelay-testing: {complaint}");
    ExitCode::from(2)
}

impl Suite<'_> {
    /// Runs all jobs.
    fn run(&self, mut programs: Vec<Program>) -> io::Result<Results> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let processors = self.selection.at_once.unwrap_or(processors);
        turns::lay_out(&self.turns(), processors)?;
        let before = fs::read_to_string(self.times()).unwrap_or_default();
        // Unit tests use the standard library's harness, which cannot select by kind.
        programs.retain(|program| !(self.selection.only_waiting && program.is_unit));
        programs.retain(|program| !self.selection.without.contains(&program.title()));
        let jobs = in_order(programs, self.selection.documentation.is_some(), &before);
        let (jobs, found) = (Mutex::new(jobs.into_iter()), Mutex::new(SuiteResults::default()));
        std::thread::scope(|scope| {
            // One thread more than turns: while a program has one test left, another uses the free turn.
            for _ in 0..=2 * processors {
                scope.spawn(|| {
                    while let Some(job) = next(&jobs).filter(|_| !self.is_interrupted()) {
                        self.end(&job, self.carry_out(&job), &found);
                    }
                });
            }
        });
        let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        let times = found.times.iter().map(|(title, seconds)| format!("{title}\t{seconds:.1}\n"));
        if !self.is_interrupted() {
            fs::write(self.times(), times.collect::<String>())?;
        }
        fs::write(self.test_times(), report::longest_first(&fs::read_to_string(self.test_times())?))?;
        let skipped = fs::read_to_string(self.skipped())?;
        print!("{}", report::grouped(&skipped));
        for Failed { options, end, tests } in &found.failed {
            println!("failed: cargo test {options}");
            end.iter().for_each(|end| println!("  {end}"));
            tests.iter().for_each(|(name, said)| print!("  {name}\n{said}"));
        }
        if self.is_interrupted() {
            println!("interrupted: not everything was run");
        }
        println!("{}", found.counts);
        let failed = found.failed.iter().flat_map(|failed| {
            let tests = failed.tests.iter().map(|(name, _)| format!("{}: {name}", failed.options));
            let end = failed.end.iter().map(|end| format!("{}: {end}", failed.options));
            tests.chain(end).collect::<Vec<_>>()
        });
        Ok(Results {
            is_passed: found.failed.is_empty() && !self.is_interrupted(),
            is_interrupted: self.is_interrupted(),
            failed: failed.collect(),
        })
    }

    fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    fn turns(&self) -> PathBuf {
        self.folder.join("turns")
    }

    fn times(&self) -> PathBuf {
        self.folder.join("times.tsv")
    }

    /// Duration of each test, except for unit tests.
    fn test_times(&self) -> PathBuf {
        self.folder.join("tests.tsv")
    }

    fn skipped(&self) -> PathBuf {
        self.folder.join("skipped.tsv")
    }

    /// Runs a job to its end: returns how it ended and its output.
    fn carry_out(&self, job: &Job) -> io::Result<(End, Vec<u8>)> {
        let mut command = match job {
            Job::Program(program) => {
                let mut command = Command::new(&program.executable);
                command.current_dir(&program.folder).env("CARGO_MANIFEST_DIR", &program.folder);
                command
            }
            Job::Documentation => {
                let mut command = Command::new(&self.cargo);
                command
                    .args(["test", "--doc", "--quiet"])
                    .args(self.selection.documentation.iter().flatten())
                    .arg("--");
                command
            }
        };
        let mut limits = Limits { of_test: self.limit, of_silence: self.limit };
        let _turn = if job.waits_for_turns() {
            command.env(TURNS, self.turns());
            // Limit that exceeds the time that the program may wait for a turn.
            limits.of_silence = self.limit.map(|limit| 2 * limit);
            None
        } else {
            command.arg("--test-threads=1").env_remove(TURNS);
            Some(turns::wait_in(&self.turns(), Turn::Works)?)
        };
        // A file, because processes left by a test may keep a pipe open.
        let path = self.folder.join(job.title().replace(' ', "-") + ".txt");
        let begun = path.with_extension("begun");
        let output = File::create(&path)?;
        command.env(LEFT_OUT, parts::names(&self.selection.left_out));
        if self.selection.only_waiting {
            command.env(ONLY_WAITING, "yes");
        }
        if let Some(at_once) = self.selection.at_once {
            command.env("RUST_TEST_THREADS", at_once.to_string());
        }
        command.env(effort::EFFORT, self.factor.to_string());
        if self.selection.build.starts_with(&BUILD.map(String::from)) {
            command.env(BUILT, "yes");
        }
        if std::env::var_os(effort::PROPTEST_CASES).is_none() {
            command.env(effort::PROPTEST_CASES, effort::proptest_default(self.factor));
        }
        command
            .args(&self.selection.options)
            .env(SKIPPED_FILE, self.skipped())
            .env(TIMES_FILE, self.test_times());
        command.env(BEGUN_FILE, &begun).stdout(output.try_clone()?).stderr(output);
        let end = process::run(&mut command, &begun, limits, &self.interrupted)?;
        Ok((end, fs::read(&path)?))
    }

    /// Shows the output of a job, and counts its results.
    fn end(&self, job: &Job, outcome: io::Result<(End, Vec<u8>)>, found: &Mutex<SuiteResults>) {
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
        let title = job.title();
        let (is_passed, output, seconds) = match &outcome {
            Ok((end, output)) => {
                (end.status.success(), String::from_utf8_lossy(output), end.time.as_secs_f64())
            }
            Err(error) => (false, format!("{title}: {error}\n").into(), 0.0),
        };
        let has_result = found.counts.add(&output, is_passed);
        let how = outcome.as_ref().ok().and_then(|(end, _)| how_it_ended(end, &output, has_result));
        // The reader may have exited; the tests continue.
        let mut out = io::stdout().lock();
        let _ = write!(out, "     Running {title} ({seconds:.1} s)\n{output}");
        if let Some(how) = &how {
            let line = if output.is_empty() || output.ends_with('\n') { "" } else { "\n" };
            let _ = writeln!(out, "{line}{title}: {how}");
        }
        if !is_passed || how.is_some() {
            found.failed.push(Failed {
                options: job.options(),
                end: how,
                tests: counts::complaints(&output),
            });
        }
        found.times.insert(title, seconds);
    }
}

/// Describes the end of a program that printed no result, or was ended by the suite.
fn how_it_ended(end: &End, output: &str, has_result: bool) -> Option<String> {
    if has_result && end.reason.is_none() && end.status.code().is_some() {
        return None;
    }
    let mut how = process::words(end.status);
    if !has_result {
        how.push_str(" without a result");
    }
    if let Some(reason) = &end.reason {
        how = format!("{how}, because {reason}");
    }
    let mut unfinished = end.unfinished.clone();
    if unfinished.is_empty() && !has_result {
        unfinished.extend(counts::unfinished(output).map(str::to_string));
    }
    if !unfinished.is_empty() {
        how = format!("{how}; begun and not ended: {}", unfinished.join(", "));
    }
    Some(how)
}

fn next(jobs: &Mutex<std::vec::IntoIter<Job>>) -> Option<Job> {
    jobs.lock().unwrap_or_else(PoisonError::into_inner).next()
}

/// Jobs in the order of their duration in the list, longest first; before them jobs missing in the list, programs of whole crates
/// first.
fn in_order(programs: Vec<Program>, has_documentation: bool, times: &str) -> Vec<Job> {
    let seconds = |title: &str| {
        times.lines().find_map(|line| line.strip_prefix(title)?.strip_prefix('\t')?.parse::<f64>().ok())
    };
    let mut jobs: Vec<Job> = programs.into_iter().map(Job::Program).collect();
    jobs.sort_by_key(|job| !job.waits_for_turns());
    jobs.extend(has_documentation.then_some(Job::Documentation));
    jobs.sort_by(|a, b| {
        let [a, b] = [a, b].map(|job| seconds(&job.title()).unwrap_or(f64::INFINITY));
        b.total_cmp(&a)
    });
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn longest_jobs_begin() {
        let program = |name: &str, is_unit: bool| Program {
            package: "a".into(),
            name: name.into(),
            is_unit,
            executable: PathBuf::new(),
            folder: PathBuf::new(),
        };
        let programs = ["x", "y", "z"].map(|name| program(name, false));
        let all = programs.into_iter().chain([program("u", true)]);
        let jobs = in_order(all.collect(), true, "a x\t1.5\na z\t20.0\na xx\t100\n");
        let titles: Vec<String> = jobs.iter().map(Job::title).collect();
        assert_eq!(titles, ["a y", "a unit tests of u", "examples in the documentation", "a z", "a x"]);
    }
}
