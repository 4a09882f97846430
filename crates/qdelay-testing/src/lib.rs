//! Harness of test programs with tests that depend on the machine: on network namespaces, a browser, recorded traces, a tool.
//!
//! A crate has one such program, `tests/main.rs`, which lists the files beside it, and a second one if some tests need more
//! privileges than a user has or change state of the whole process. Both are declared in `Cargo.toml` with `harness = false`,
//! below `autotests = false`. The macros of this crate are imported for all their files, so that a plain `#[test]` is the one
//! from here:
//!
//! ```text
//! #[macro_use]
//! extern crate qdelay_testing;
//!
//! mod ports {
//!     use qdelay_testing::{Need, skip};
//!
//!     #[test]
//!     fn a_port_of_the_machine() {
//!         if !std::path::Path::new("/dev/net/tun").exists() {
//!             skip(Need::Net, "there is no /dev/net/tun");
//!         }
//!     }
//! }
//!
//! main!();
//! ```
//!
//! A test that calls [`skip`] ends there and counts as ignored, not as passed. If `QDELAY_REQUIRE` contains the need, it fails
//! instead. Names, filters and options are those of `cargo test`. `#[helper]` marks functions that are not tests but run in a
//! process of their own: see [`helper_arguments`].
//!
//! Random cases have seeds that replay them: see [`for_each_seed`].
//!
//! The program of this crate runs all tests of the workspace and lists the skipped ones at the end: see [`suite`].

pub mod changes;
mod counting;
pub mod effort;
pub mod fingerprints;
mod folder;
pub mod fuzz;
pub mod loops;
mod need;
pub mod parts;
mod report;
mod seeds;
pub mod suite;
mod turns;
mod waiting;

pub use counting::{Counting, allocations};
pub use effort::least;
pub use folder::Folder;
pub use inventory;
pub use need::{Need, Required};
pub use parts::Part;
pub use qdelay_testing_macros::{helper, test};
pub use report::{BEGUN_FILE, SKIPPED_FILE, TIMES_FILE};
pub use seeds::for_each_seed;
pub use turns::{TURNS, Turn, side_by_side};
pub use waiting::{eventually, is_alive, pause};

use libtest_mimic::{Arguments, Completion, Conclusion, Failed, Trial};
use report::{Cause, Skipped};
use std::fmt::Display;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::sync::OnceLock;

/// Kind of an entry in a program's list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Test that `cargo test` runs and counts.
    Test,
    /// Helper that runs in a process started by a test.
    Helper,
}

/// Function with one of the attributes.
#[derive(Debug)]
pub struct Entry {
    /// Test or helper.
    pub kind: Kind,
    /// Name with crate and modules.
    pub path: &'static str,
    /// The function.
    pub run: fn(),
    /// Reason why the test only runs on request.
    pub ignored: Option<&'static str>,
    /// Part of the tests; `None` for a test that only needs a Rust toolchain.
    pub part: Option<Part>,
    /// True for a test that depends on real time or moves real packets.
    pub waits: bool,
}

inventory::collect!(Entry);

impl Entry {
    /// Name for filters, without the program's name.
    fn name(&self) -> &'static str {
        self.path.split_once("::").map_or(self.path, |(_, name)| name)
    }
}

/// Makes the `main` of a test program; `waits` marks programs whose tests depend on real time ([`Turn::Waits`]).
#[macro_export]
macro_rules! main {
    () => {
        $crate::main!(@ Works);
    };
    (waits) => {
        $crate::main!(@ Waits);
    };
    (@ $turn:ident) => {
        fn main() -> ::std::process::ExitCode {
            $crate::run(env!("CARGO_PKG_NAME"), env!("CARGO_CRATE_NAME"), $crate::Turn::$turn)
        }
    };
}

/// Value of `QDELAY_REQUIRE`, set by [`run`]: without it a test cannot be skipped.
static REQUIRED: OnceLock<Required> = OnceLock::new();

/// Ends the test, because the machine lacks something. The reason becomes one line.
///
/// # Panics
///
/// If `QDELAY_REQUIRE` contains the need, and in a program without [`main!`], whose tests cannot be skipped.
pub fn skip(need: Need, reason: impl Display) -> ! {
    let reason = reason.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    let required =
        REQUIRED.get().expect("only tests of a program with qdelay_testing::main!() can be skipped");
    assert!(!required.has(need), "QDELAY_REQUIRE has {}, and it is missing: {reason}", need.name());
    resume_unwind(Box::new(Skipped { cause: Cause::Need(need), reason }));
}

/// Arguments with which a test's own program runs the function `name` of any of its modules, which has `#[helper]`, instead of
/// tests. It runs on the main thread before another thread exists; a panic gives status 101.
pub fn helper_arguments(name: &str) -> [&str; 2] {
    [HELPER, name]
}

/// First argument of a process that runs a helper.
const HELPER: &str = "--helper";

/// Runs the tests of a program, or one of its helpers.
pub fn run(package: &'static str, program: &'static str, turn: Turn) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).take(2).collect();
    let required = match Required::of_environment() {
        Ok(required) => required,
        Err(complaint) => {
            eprintln!("{package}: {complaint}");
            return ExitCode::from(2);
        }
    };
    let _ = REQUIRED.set(required);
    let entries = || inventory::iter::<Entry>.into_iter();
    if let [HELPER, name] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let is_asked =
            |entry: &&Entry| entry.kind == Kind::Helper && entry.path.rsplit("::").next() == Some(name);
        let [helper] = entries().filter(is_asked).collect::<Vec<_>>()[..] else {
            panic!("{program} has no helper {name}, or several");
        };
        (helper.run)();
        return ExitCode::SUCCESS;
    }
    let mut arguments = Arguments::from_args();
    let threads = || std::env::var("RUST_TEST_THREADS").ok()?.parse().ok();
    arguments.test_threads = arguments.test_threads.or_else(threads);
    let turn_of = |entry: &Entry| if entry.waits { Turn::Waits } else { turn };
    let only_waiting = std::env::var_os(suite::ONLY_WAITING).is_some();
    let is_chosen =
        |entry: &&Entry| entry.kind == Kind::Test && (!only_waiting || turn_of(entry) == Turn::Waits);
    let mut tests: Vec<&Entry> = entries().filter(is_chosen).collect();
    // Tests of parts take longest, so they begin first and others run beside them to the end.
    tests.sort_by_key(|entry| (entry.part.is_none(), entry.path));
    let left_out = match parts::parse(&std::env::var(parts::LEFT_OUT).unwrap_or_default()) {
        Ok(left_out) => left_out,
        Err(complaint) => {
            eprintln!("{package}: {}: {complaint}", parts::LEFT_OUT);
            return ExitCode::from(2);
        }
    };
    let is_left_out = |entry: &Entry| entry.part.is_some_and(|part| left_out.contains(&part));
    // Tests that run on request are not started, so they are listed as skipped here. Tests of a part that is left out do not run
    // even on request.
    if !arguments.list {
        for entry in &tests {
            let skipped = match (entry.part, entry.ignored) {
                (Some(part), _) if is_left_out(entry) => Skipped::left_out(part),
                (_, Some(reason)) if !arguments.ignored && !arguments.include_ignored => {
                    Skipped { cause: Cause::Request, reason: reason.to_string() }
                }
                _ => continue,
            };
            report::append(package, program, entry.name(), &skipped);
        }
    }
    let trials = tests.into_iter().map(|entry| {
        if is_left_out(entry) {
            return Trial::ignorable_test(entry.name(), || Ok(Completion::ignored())).with_ignored_flag(true);
        }
        let turn = turn_of(entry);
        let trial = Trial::ignorable_test(entry.name(), move || outcome(package, program, turn, entry));
        trial.with_ignored_flag(entry.ignored.is_some())
    });
    let conclusion: Conclusion = libtest_mimic::run(&arguments, trials.collect());
    conclusion.exit_code()
}

/// Runs a test on its own thread, which has the test's name in messages, and whose namespaces end with it. In a suite,
/// waits for a turn first.
fn outcome(package: &str, program: &str, turn: Turn, entry: &'static Entry) -> Result<Completion, Failed> {
    let _turn = turns::wait(turn);
    #[allow(clippy::disallowed_methods, reason = "for the reader of the list")]
    let begin = std::time::Instant::now();
    report::append_begin(entry.name());
    let outcome = outcome_of(package, program, entry);
    report::append_time(package, program, entry.name(), begin.elapsed().as_secs_f64());
    report::append_end(entry.name());
    outcome
}

fn outcome_of(package: &str, program: &str, entry: &'static Entry) -> Result<Completion, Failed> {
    let thread = std::thread::Builder::new().name(entry.name().to_string()).spawn(entry.run);
    let payload = match thread.map_err(|error| Failed::from(format!("no thread: {error}")))?.join() {
        Ok(()) => return Ok(Completion::Completed),
        Err(payload) => payload,
    };
    match payload.downcast::<Skipped>() {
        Ok(skipped) => {
            report::append(package, program, entry.name(), &skipped);
            Ok(Completion::ignored_with(skipped.to_string()))
        }
        // The panic message is on standard error, with its location.
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            Err(text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("it panicked").into())
        }
    }
}
