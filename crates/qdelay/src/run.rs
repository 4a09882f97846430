//! `qdelay run`: runs a scenario's cases into a folder, prints their tables and writes a report.

use crate::cli::LabBottleneck;
use crate::cli::{By, Run, RunClock};
use crate::{native, pack, program, report, run_table};
use qdelay_core::Span;
use qdelay_core::component::Registry;
use qdelay_emu::netns::user;
use qdelay_lab::{Lab, Wanted, image};
use qdelay_real::{CaseRequests, ExternalPrograms, RealTime};
use qdelay_study::cost::{self, Stopwatch};
use qdelay_study::engine::{self, Progress, Runner, Shard, Simulator};
use qdelay_study::results::{CaseSummary, SCHEMA_VERSION, Summary, pretty};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::shipped;
use qdelay_study::traces::Library;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::live::control_options::HttpListener;
use qdelay_terminal::output::{self, eprintln_line, print_next, report_substitutes, shell_word};
use qdelay_terminal::progress::{Bar, StudyProgress};
use serde_json::{Value, json};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::thread;

/// Number of cases above which the command asks before it begins.
const CASES_ASKED: u64 = 10_000;
/// Number of cases above which no page is written, because a browser could not open it.
const CASES_REPORTED: usize = 2_000;

/// Runs the command.
///
/// # Errors
/// Bad input, a failed audit, or an expectation that is missed.
pub fn run(options: &Run, registry: &Registry) -> Result<(), Failure> {
    let watch = Stopwatch::start();
    let Some(scenario) = &options.scenario else { return output::print(&list(registry)) };
    let unpacked = pack::unpacked(Path::new(scenario))?;
    let packed = unpacked.as_ref().map(|unpacked| unpacked.scenario().into_os_string());
    let scenario = packed.as_ref().unwrap_or(scenario);
    let (name, text) = shipped::read(scenario)?;
    if options.print {
        return output::print(&text);
    }
    let overrides = Overrides {
        seeds: options.seeds.as_ref().map(|seeds| seeds.0.clone()),
        duration: options.duration,
        starts: options.starts,
        connections: options.connections,
    };
    let registry = &native::named_by(scenario, options.allow_native, registry);
    let study = Study::parse_with(&name, &text, &overrides, registry)
        .map_err(|error| engine::missing_component(Path::new(scenario), error))?
        .with_components(program::components(registry, &text), false);
    ask(options.shard.unwrap_or(Shard::WHOLE).count(study.case_count()), options.yes)?;
    let http = check_clock(options, &study)?;
    check_files(options, &study)?;
    let has_record = |name: &str| study.records().iter().any(|record| record == name);
    let library = Library::for_scenario(Some(Path::new(scenario)), &options.traces);
    let out = options.out.clone().unwrap_or_else(|| Path::new("qdelay-results").join(&study.name));
    let engine_options = engine::Options {
        out: out.clone(),
        // Real cases share the machine's processors, so only one runs at a time.
        jobs: if options.clock == RunClock::Real { 1 } else { jobs(options.jobs) },
        fresh: options.fresh,
        packets: options.packets || has_record("packets"),
        series: options.series || has_record("series"),
        commit: crate::commit(),
    };
    let (place, fresh) = (out.display().to_string(), options.fresh);
    let parting = move |reached| interrupted(reached, &place, fresh);
    let run = |runner: &dyn Runner, progress: &dyn Progress| match options.shard {
        None => engine::run_by(runner, &study, &library, &engine_options, progress).map(Done::Whole),
        Some(shard) => engine::run_shard_by(runner, &study, &library, &engine_options, shard, progress)
            .map(|cases| Done::Shard(shard, cases)),
    };
    let done = match options.clock {
        RunClock::Simulated => {
            let bar = Bar::default();
            bar.when_interrupted(parting);
            run(&Simulator, &bar)?
        }
        RunClock::Lab => {
            let lab = lab(options, &study, study.overrides(), &library)?;
            lab.bar.when_interrupted(parting);
            let done = run(&lab, &lab)?;
            say_cost(lab.simulated(), watch.seconds());
            done
        }
        RunClock::Real => {
            let programs = ExternalPrograms::parse(&options.program)
                .map_err(|error| Failure::input("--program", error))?;
            let requests = options.control.given().map(|name| {
                let places = options.control.open(http)?;
                let case = study.case(0, &library)?;
                CaseRequests::serve(places, &case, registry, &options.traces)
                    .map_err(|error| Failure::input(name, error))
            });
            let real = RealTime::new(!options.no_realtime)
                .with_programs(programs)
                .with_requests(requests.transpose()?);
            real.bar.when_interrupted(parting);
            let done = run(&real, &real)?;
            if real.has_unused_requests() {
                eprintln_line("the case was done already, and no request reached it; --fresh runs it again");
            }
            done
        }
    };
    for warning in study.warnings() {
        eprintln_line(&format!("warning: {}", one_line(&warning.to_string())));
    }
    report_substitutes(&library);
    match done {
        Done::Whole(summary) => {
            let page = write_report(options.no_report, registry, &summary, &out)?;
            print_summary(&summary, &out, page.as_deref(), options.by, options.json, &watch)?;
            if study.has_connections() && !options.json {
                output::print(&windows_of(&out))?;
            }
            unpacked.as_ref().map_or(Ok(()), |unpacked| pack::compare(unpacked, &out))?;
            trusted(&summary.cases, options.strict)?;
            expected(&summary)?;
            // The line about windows names a command already.
            if options.json || study.has_connections() {
                Ok(())
            } else {
                print_next(&next(&out, page.as_deref()))
            }
        }
        Done::Shard(shard, cases) => {
            print_shard(&study, shard, &cases, &out, options.json, &watch)?;
            trusted(&cases, options.strict)
        }
    }
}

/// Outcome of a run.
#[allow(clippy::large_enum_variant, reason = "one per run")]
enum Done {
    Whole(Summary),
    Shard(Shard, Vec<CaseSummary>),
}

/// Prints the tables of a folder, or its JSON.
///
/// # Errors
/// Standard output cannot be written to.
pub fn print_summary(
    summary: &Summary,
    out: &Path,
    page: Option<&Path>,
    by: Option<By>,
    json: bool,
    watch: &Stopwatch,
) -> Result<(), Failure> {
    output::print(&if json {
        pretty(
            &json!({ "schema_version": SCHEMA_VERSION, "out": out, "report": page, "summary": summary, "cost": cost(watch) }),
        )
    } else {
        run_table::text(summary, out, page, by)
    })
}

/// Command line that plots the congestion windows of a folder. `run` has no such option: figure, measure, flows and size
/// are options of `plot` already.
fn windows_of(out: &Path) -> String {
    let folder = shell_word(&out.display().to_string());
    format!("windows: qdelay plot {folder} --figure time --measure cwnd --out cwnd.pdf\n")
}

/// Command after a run: a figure, or the page if there is none.
pub fn next(out: &Path, page: Option<&Path>) -> String {
    let folder = shell_word(&out.display().to_string());
    match page {
        Some(_) => format!("qdelay plot {folder} --figure cdf --out cdf.pdf"),
        None => format!("qdelay report {folder}"),
    }
}

fn print_shard(
    study: &Study,
    shard: Shard,
    cases: &[CaseSummary],
    out: &Path,
    json: bool,
    watch: &Stopwatch,
) -> Result<(), Failure> {
    let (count, all) = (cases.len(), study.case_count());
    output::print(&if json {
        let shard =
            json!({ "index": shard.index(), "of": shard.total(), "cases": count, "cases_of_study": all });
        pretty(&json!({ "schema_version": SCHEMA_VERSION, "out": out, "shard": shard, "cost": cost(watch) }))
    } else {
        format!(
            "Shard {shard} of {}: {count} of {all} cases. 'qdelay merge' makes one folder of all shards.\n\nresults: {}\n",
            one_line(&study.name),
            one_line(&out.display().to_string())
        )
    })
}

fn cost(watch: &Stopwatch) -> Value {
    json!({ "cpu_seconds": cost::process_cpu_seconds(), "wall_seconds": watch.seconds(), "max_rss_mb": cost::max_rss_mb() })
}

/// Checks, with `strict`, that every case can be trusted.
fn trusted(cases: &[CaseSummary], strict: bool) -> Result<(), Failure> {
    let doubtful = cases.iter().filter(|case| case.trustworthy == Some(false)).count();
    if strict && doubtful > 0 {
        return Err(Failure::Check(format!("{doubtful} of {} cases cannot be trusted", cases.len())));
    }
    Ok(())
}

/// Checks that all expectations are met.
///
/// # Errors
/// A missed expectation.
pub fn expected(summary: &Summary) -> Result<(), Failure> {
    match summary.expects.iter().filter(|expect| expect.verdict == "miss").count() {
        0 => Ok(()),
        missed => {
            Err(Failure::Check(format!("{missed} of {} expectations are missed", summary.expects.len())))
        }
    }
}

/// Laboratory with the image of the options.
fn lab<'a>(
    options: &Run,
    study: &'a Study,
    overrides: &'a Overrides,
    library: &'a Library,
) -> Result<Lab<'a>, Failure> {
    let failed = |error| Failure::input("--clock lab", error);
    let cache = image::cache().map_err(failed)?;
    let image = image::find(&cache, options.image.as_deref()).map_err(failed)?;
    let wanted = match options.bottleneck {
        None | Some(LabBottleneck::Auto) => Wanted::Auto,
        Some(LabBottleneck::Linux) => Wanted::Linux,
        Some(LabBottleneck::Qdelay) => Wanted::Qdelay,
    };
    Lab::new(image, wanted, study, overrides, library).map_err(failed)
}

/// Cost of the laboratory in wall time. The cost is printed but not in the results, which are equal on every machine.
fn say_cost(simulated: Span, wall_s: f64) {
    let minutes = simulated.as_secs_f64() / 60.0;
    if minutes > 0.0 {
        eprintln_line(&format!(
            "{:.0} simulated seconds took {wall_s:.0} s: {:.0} s a simulated minute",
            simulated.as_secs_f64(),
            wall_s / minutes
        ));
    }
}

/// Message after an interrupted run.
fn interrupted(reached: Option<StudyProgress>, out: &str, fresh: bool) -> String {
    let Some(StudyProgress { name, done, all }) = reached else {
        return "interrupted before any case was run".to_string();
    };
    let command = if fresh { "the same command without --fresh" } else { "the same command" };
    format!(
        "interrupted: {done} of {all} cases of {name} are done and kept in {out}; {command} continues from there"
    )
}

/// Number of cases at once: as requested, or one for each core.
pub fn jobs(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Checks options that only one clock has. Under the real clock, also listens for requests by HTTP, and enters private namespaces for users
/// other than root.
fn check_clock(options: &Run, study: &Study) -> Result<Option<HttpListener>, Failure> {
    let (is_real, is_lab) = (options.clock == RunClock::Real, options.clock == RunClock::Lab);
    let control = options.control.given();
    let given = [
        (control.unwrap_or_default(), control.is_some() && !is_real, "real time", "--clock real"),
        ("--no-realtime", options.no_realtime && !is_real, "real time", "--clock real"),
        ("--program", !options.program.is_empty() && !is_real, "real programs", "--clock real"),
        ("--strict", options.strict && !is_real && !is_lab, "real programs", "--clock real or lab"),
        ("--image", options.image.is_some() && !is_lab, "the laboratory", "--clock lab"),
        ("--bottleneck", options.bottleneck.is_some() && !is_lab, "the laboratory", "--clock lab"),
    ];
    if let Some((name, _, what, clock)) = given.into_iter().find(|(_, is_wrong, ..)| *is_wrong) {
        return Err(Failure::input(name, format!("is an option of {what}; expected it with {clock}")));
    }
    if !is_real {
        return Ok(None);
    }
    if let Some(name) = control.filter(|_| study.case_count() != 1) {
        let message = format!(
            "changes the path of one case by hand, and the matrix has {} cases; expected a scenario with one, such as with --seeds 1",
            study.case_count()
        );
        return Err(Failure::input(name, message));
    }
    if options.jobs.is_some_and(|jobs| jobs > 1) {
        return Err(Failure::input(
            "--jobs",
            "cases in real time run one after another; expected 1, or no --jobs",
        ));
    }
    // The address is one of this machine's namespace, which an ordinary user is about to leave.
    let http = options.control.listen()?;
    if !user::is_administrator() {
        user::enter().map_err(|error| Failure::input("--clock real", error))?;
    }
    output::exit_when_interrupted();
    Ok(http)
}

/// Refuses shared objects: the laboratory's machine receives the scenario, its traces and this program, and nothing else.
fn check_files(options: &Run, study: &Study) -> Result<(), Failure> {
    match study.component_files().keys().next() {
        Some(name) if options.clock == RunClock::Lab => {
            let message = "is a shared object, which the laboratory does not support; expected it with --clock simulated or real";
            Err(Failure::input(format!("'{name}'"), message))
        }
        _ => Ok(()),
    }
}

fn list(registry: &Registry) -> String {
    let width = shipped::SCENARIOS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let line = |(name, text): &(&str, &str)| {
        let title = Study::parse_with(name, text, &Overrides::default(), registry)
            .map_or_else(|error| error.to_string(), |s| s.title);
        format!("{name:width$}  {title}\n")
    };
    shipped::SCENARIOS.iter().map(line).collect()
}

/// Asks before a very large matrix, which is probably a mistake.
fn ask(cases: u64, yes: bool) -> Result<(), Failure> {
    if cases <= CASES_ASKED || yes {
        return Ok(());
    }
    let refuse = |what: &str| {
        Err(Failure::input(
            "matrix",
            format!("{cases} cases{what}; expected fewer, or --yes to run them all"),
        ))
    };
    if !io::stdin().is_terminal() {
        return refuse("");
    }
    let _ = write!(io::stderr(), "The matrix has {cases} cases. Run them all? [y/N] ");
    let mut answer = String::new();
    let _ = io::stdin().lock().read_line(&mut answer);
    if matches!(answer.trim(), "y" | "Y" | "yes") { Ok(()) } else { refuse(" are not run") }
}

/// Writes the page of a folder unless unwanted or too large; returns the page's path.
///
/// # Errors
/// A page that cannot be written.
pub fn write_report(
    no_report: bool,
    registry: &Registry,
    summary: &Summary,
    out: &Path,
) -> Result<Option<PathBuf>, Failure> {
    if no_report {
        return Ok(None);
    }
    if summary.cases.len() > CASES_REPORTED {
        eprintln_line(&format!(
            "no report: {} cases are more than the {CASES_REPORTED} of a page",
            summary.cases.len()
        ));
        return Ok(None);
    }
    let page = out.join("report.html");
    report::write(&[out.to_path_buf()], &page, registry)?;
    Ok(Some(page))
}
