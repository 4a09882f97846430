//! Instructions of the command per packet, TTI and decision, compared with `benches/instructions.tsv`.
//!
//! Instruction counts do not depend on other load on the machine, so a few percent can be detected. A job runs with two lengths under
//! valgrind; the difference of the instructions over the difference of the work excludes the start of the program. `make instructions`
//! builds the command, counts, and fails if a job has grown; `make instructions-renew` writes the file.
//! Counts on another processor, compiler or C library differ by about a percent.

use qdelay_testing::{Need, skip};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Largest allowed growth over the file.
const GROWTH: f64 = 1.03;

/// Command with two lengths, and the work that grows with the length.
struct Job {
    name: &'static str,
    per: &'static str,
    /// Arguments without the length.
    arguments: &'static str,
    /// Option of the length, and two lengths.
    lengths: [&'static str; 3],
    /// Work done, from the report and the length.
    done: fn(&Value, f64) -> f64,
}

const JOBS: [Job; 7] = [
    dumbbell("dumbbell, codel", "bench dumbbell --qdisc codel"),
    dumbbell("dumbbell, taildrop", "bench dumbbell --qdisc taildrop"),
    dumbbell("dumbbell, bode", "bench dumbbell --qdisc bode"),
    dumbbell("dumbbell, fq_codel", "bench dumbbell --qdisc fq_codel"),
    Job {
        name: "cell of 20 UEs",
        per: "TTI",
        arguments: "bench cell --ues 20",
        lengths: ["--duration", "500ms", "1500ms"],
        done: |_, length| length,
    },
    Job {
        name: "EQP, 64 queues",
        per: "decision",
        arguments: "bench eqp --queues 64",
        lengths: ["--ttis", "200", "600"],
        done: |report, length| length * report["decisions"].as_array().map_or(0, Vec::len) as f64,
    },
    Job {
        name: "runs of papers",
        per: "packet",
        arguments: "bench papers",
        lengths: ["--runs", "1", "2"],
        done: |report, length| {
            let papers = report["papers"].as_array().into_iter().flatten();
            length * papers.filter_map(|paper| paper["packets_forwarded"].as_f64()).sum::<f64>()
        },
    },
];

const fn dumbbell(name: &'static str, arguments: &'static str) -> Job {
    let done: fn(&Value, f64) -> f64 = |report, _| report["packets_forwarded"].as_f64().unwrap_or(0.0);
    Job { name, per: "packet", arguments, lengths: ["--duration", "5s", "10s"], done }
}

/// Instructions of a run under valgrind, and the output. Status 1 means a missed time target, which is expected under valgrind.
fn counted(program: &Path, job: &Job, length: &str) -> (f64, Value) {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
    command.args(job.arguments.split(' ')).args([job.lengths[0], length, "--json"]);
    let output = command.output().expect("valgrind runs");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {told}", job.name);
    let count = told.lines().find_map(|line| line.split_once("Collected : ")?.1.trim().parse().ok());
    let report =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{}: {error}", job.name));
    (count.unwrap_or_else(|| panic!("{}: no count in: {told}", job.name)), report)
}

/// Instructions of the job per packet, TTI or decision.
fn measured(program: &Path, job: &Job) -> f64 {
    let [_, short, long] = job.lengths;
    let run = |length: &str| {
        let (instructions, report) = counted(program, job, length);
        let number: f64 = length.trim_end_matches(char::is_alphabetic).parse().expect("a number");
        (instructions, (job.done)(&report, number))
    };
    let ((less, few), (more, many)) = (run(short), run(long));
    assert!(many > few && few > 0.0, "{}: {few} and {many}", job.name);
    (more - less) / (many - few)
}

/// Line of the file.
#[derive(Debug, PartialEq)]
struct Line {
    per: String,
    now: f64,
    /// Smallest count so far.
    least: f64,
}

fn root() -> PathBuf {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    Path::new(&folder).join("../..")
}

fn file() -> PathBuf {
    root().join("benches/instructions.tsv")
}

const HEAD: &str = "\
# Instructions of qdelay-dev, optimized as by make build, counted by valgrind (crates/qdelay-dev/tests/instructions.rs). Anew: make instructions-renew
# 'least' is the least that it has ever been; where 'now' is more than 3% above it, a line of CHANGELOG.md has to say why, with both.
job\tper\tnow\tleast
";

fn parse(text: &str) -> BTreeMap<String, Line> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let line = |line: &str| {
        let [name, per, now, least] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("{line}: {text} is no number"));
        (name.to_string(), Line { per: per.to_string(), now: number(now), least: number(least) })
    };
    lines.map(line).collect()
}

fn committed() -> BTreeMap<String, Line> {
    let text = std::fs::read_to_string(file()).unwrap_or_default();
    parse(&text)
}

/// Jobs that have grown by more than 3% over their smallest count, without a line that names the job and both figures.
fn unexplained(lines: &BTreeMap<String, Line>, changes: &str) -> Vec<String> {
    let is_explained = |name: &str, line: &Line| {
        let parts = [name.to_string(), line.now.to_string(), line.least.to_string()];
        changes.lines().any(|told| parts.iter().all(|part| told.contains(part)))
    };
    let grown =
        lines.iter().filter(|(name, line)| line.now > line.least * GROWTH && !is_explained(name, line));
    grown.map(|(name, line)| format!("{name}: {} to {}", line.least, line.now)).collect()
}

#[test]
fn growth_is_explained() {
    let lines = committed();
    assert_eq!(lines.len(), JOBS.len(), "make instructions-renew writes {}", file().display());
    let changes = std::fs::read_to_string(root().join("CHANGELOG.md")).expect("a changelog");
    let grown = unexplained(&lines, &changes);
    assert!(grown.is_empty(), "CHANGELOG.md has no line with the name and both figures of: {grown:?}");
}

#[test]
fn growth_without_a_line_is_found() {
    let lines = parse("job\tper\tnow\tleast\nlong run\tpacket\t104\t100\nshort run\tTTI\t103\t100\n");
    assert_eq!(unexplained(&lines, "* 104 instead of 100"), ["long run: 100 to 104"]);
    assert!(
        unexplained(&lines, "* long run: 104 instructions for a packet, 100 before, because...").is_empty()
    );
}

#[test(Instructions)]
fn jobs_need_no_more_instructions_than_committed() {
    let Some(program) = std::env::var_os("QDELAY_OPTIMIZED") else {
        skip(Need::Tools, "QDELAY_OPTIMIZED names no optimized command; make instructions does");
    };
    if Command::new("valgrind").arg("--version").output().is_err() {
        skip(Need::Tools, "there is no valgrind");
    }
    let committed = committed();
    let (mut text, mut grown) = (HEAD.to_string(), Vec::new());
    for job in &JOBS {
        let now = measured(Path::new(&program), job).round();
        let before = committed.get(job.name);
        println!(
            "{}: {now} instructions for a {}, {} before",
            job.name,
            job.per,
            before.map_or(f64::NAN, |line| line.now)
        );
        if before.is_none_or(|before| now > before.now * GROWTH) {
            grown.push(job.name);
        }
        let least = before.map_or(now, |before| before.least.min(now));
        let _ = writeln!(text, "{}\t{}\t{now}\t{least}", job.name, job.per);
    }
    if std::env::var_os("QDELAY_REGENERATE").is_some() {
        std::fs::write(file(), text).expect("the file is written");
        return;
    }
    assert!(
        grown.is_empty(),
        "more than 3% above {}: {grown:?}\nWhere that is wanted: make instructions-renew, and a line in CHANGELOG.md",
        file().display()
    );
}
