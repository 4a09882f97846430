//! `qdelay trace`: statistics of traces, conversion, synthesis, and the built-in traces.

use crate::cli::{TraceCommand, TraceConvert, TraceGuess, TraceInfo, TraceList, TraceSynth, WrittenFormat};
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_study::traces::{self as trace_files, DelaysRead, Format, Guessed, Trace};
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output::{self, print_next, shell_word};
use qdelay_terminal::text_table::{self, Column};
use qdelay_trace::info::{self, BinStatistics};
use qdelay_trace::shipped::ORIGINS;
use qdelay_trace::{SHIPPED, convert, mahimahi, mbps, synth};
use serde::Serialize;
use std::ffi::OsStr;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// A trace that cannot be read, or a file that cannot be written.
pub fn run(command: &TraceCommand) -> Result<(), Failure> {
    match command {
        TraceCommand::Info(options) => print_info(options),
        TraceCommand::Guess(TraceGuess { files }) => files.iter().try_for_each(|file| print_guess(file)),
        TraceCommand::Convert(options) => convert_file(options),
        TraceCommand::Synth(options) => synthesize(options),
        TraceCommand::List(options) => list(options),
    }
}

fn print_info(options: &TraceInfo) -> Result<(), Failure> {
    let format = Format::parse(options.trace_format.as_deref())?;
    let (mut all, mut uneven, mut lines) = (Vec::new(), Vec::new(), Vec::new());
    for name in &options.files {
        let (trace, notes) = trace_files::load(name, &format)?;
        let name = name.to_string_lossy().into_owned();
        let is_named = names_the_interval(options) || name.contains(":sample=");
        if matches!(&trace, Trace::Rates(rates) if rates.is_uneven()) && !is_named {
            uneven.push(name.clone());
        }
        lines.extend(
            notes.iter().chain(&unlikely(&trace)).map(|note| format!("{}: {note}\n", one_line(&name))),
        );
        all.push(Described { notes, ..Described::new(name, None, &trace) });
    }
    print_described(all, options.json)?;
    if !options.json && !lines.is_empty() {
        output::print(&format!("\n{}", lines.concat()))?;
    }
    if !options.json && !uneven.is_empty() {
        let names = uneven.join(", ");
        output::print(&format!(
            "\nUneven distances: {names}. Where no '# sample after' stands in it, a sample of the format mbps speaks of the interval before its time \
             there\n(as in traces of Pensieve, Puffer and Oboe), and one of csv of the interval after it. 'sample' says otherwise, as in\n\
             FILE:format=[mbps:sample=after].\n"
        ))?;
    }
    match options.files.first() {
        Some(file) if !options.json => {
            let format = options.trace_format.as_deref();
            let format =
                format.map_or(String::new(), |format| format!(" --trace-format {}", shell_word(format)));
            print_next(&format!("qdelay compare --trace {}{format}", shell_word(&file.to_string_lossy())))
        }
        _ => Ok(()),
    }
}

/// A hint about rates that no link has had, such as those of a file in other units.
fn unlikely(trace: &Trace) -> Option<String> {
    /// Mean in Mbit/s that is unlikely of samples minutes apart, and of any.
    const SLOW_MBPS: f64 = 1e3;
    const MBPS: f64 = 2e4;
    const MINUTE: Span = Span::from_secs(60);
    let Trace::Rates(rates) = trace else { return None };
    let mean = rates.mean_mbps();
    let apart = Span::from_nanos(rates.period().as_nanos() / rates.steps().len().max(1) as u64);
    if mean > SLOW_MBPS && apart >= MINUTE {
        return Some(format!(
            "a mean of {mean:.0} Mbit/s from samples {:.1} minutes apart is unlikely; times in ms and rates in kbit/s, as Oboe has them, \
             are read by :format=[mbps:time=ms:unit=kbit]",
            apart.as_secs_f64() / 60.0
        ));
    }
    (mean > MBPS).then(|| {
        format!("a mean of {mean:.0} Mbit/s is unlikely; 'unit' reads rates in another unit, as in :format=[mbps:unit=bit]")
    })
}

/// Formats that state which interval a sample covers.
fn names_the_interval(options: &TraceInfo) -> bool {
    options.trace_format.as_deref().is_some_and(|format| format.contains(":sample="))
}

/// Prints the guess at a file's format, and what the file is if it is read so.
fn print_guess(file: &OsStr) -> Result<(), Failure> {
    let Guessed { guess, delays } = trace_files::guess(file)?;
    let name = format!("{}:format=[{}]", file.to_string_lossy(), guess.format);
    let mut text = format!("{}\n  format: {}\n", one_line(&file.to_string_lossy()), one_line(&guess.format));
    for line in &guess.assumed {
        text += &format!("  assumed: {}\n", one_line(line));
    }
    if let Some(read) = delays {
        return print_delays(text, file, &guess.format, read);
    }
    match trace_files::load(OsStr::new(&name), &Format::default()) {
        Ok((trace, notes)) => {
            let (mean, duration) = match &trace {
                Trace::Schedule(schedule) => (schedule.mean_mbps(), schedule.period()),
                Trace::Rates(rates) => (rates.mean_mbps(), rates.period()),
            };
            text += &format!("  read so: {:.1} s, mean {mean:.2} Mbit/s\n", duration.as_secs_f64());
            for note in notes.into_iter().chain(unlikely(&trace)) {
                text += &format!("  {note}\n");
            }
        }
        Err(error) => text += &format!("  not read so: {}\n", one_line(&error.message)),
    }
    text += &format!("  command: qdelay trace info {}\n", shell_word(&name));
    output::print(&text)
}

/// Prints what a file of delays is, and the command that uses it.
fn print_delays(
    mut text: String,
    file: &OsStr,
    format: &str,
    read: Result<DelaysRead, String>,
) -> Result<(), Failure> {
    match read {
        Ok(read) => {
            let duration = read.duration.as_secs_f64();
            text += &format!("  read so: delays over {duration:.1} s, {} to {}\n", read.least, read.most);
            for note in read.notes {
                text += &format!("  {}\n", one_line(&note));
            }
        }
        Err(error) => text += &format!("  not read so: {}\n", one_line(&error)),
    }
    let delay = format!("trace:{}:format=[{format}]", file.to_string_lossy());
    text += &format!("  command: qdelay compare --rtt {}\n", shell_word(&delay));
    output::print(&text)
}

fn list(options: &TraceList) -> Result<(), Failure> {
    print_described(shipped()?, options.json)?;
    match SHIPPED.first() {
        Some((name, _)) if !options.json => print_next(&format!("qdelay compare --trace {name}")),
        _ => Ok(()),
    }
}

/// Shipped traces as JSON.
///
/// # Errors
/// An unreadable shipped trace.
pub fn list_json() -> Result<String, Failure> {
    Ok(pretty(&Report { schema_version: SCHEMA_VERSION, traces: shipped()? }))
}

fn shipped() -> Result<Vec<Described>, Failure> {
    let mut all = Vec::new();
    for (name, _) in SHIPPED {
        let (trace, _) = trace_files::load(name.as_ref(), &Format::default())?;
        let origin = ORIGINS.iter().find(|(known, _)| known == name).map(|(_, origin)| *origin);
        all.push(Described::new(name.to_string(), origin, &trace));
    }
    Ok(all)
}

/// Prints statistics of traces. The note defines the columns, since a trace's rate depends on the bin width that it is measured over.
fn print_described(traces: Vec<Described>, json: bool) -> Result<(), Failure> {
    if json {
        return output::print(&pretty(&Report { schema_version: SCHEMA_VERSION, traces }));
    }
    let note = "Rates in Mbit/s. p5, p50, p95 and variation (standard deviation over mean) are of bins of 1 s; a gap is a time in which\n\
        nothing can be sent; outage is the share of the time that lies in gaps of more than 100 ms.\n\n";
    let mut columns = vec![Column::left("trace"), Column::left("format")];
    let numbers = [
        "time\ns",
        "mean",
        "p5",
        "p50",
        "p95",
        "varia-\ntion",
        "gaps >\n100 ms",
        "gaps\n> 1 s",
        "longest\ngap, s",
        "outage\n%",
    ];
    columns.extend(numbers.map(Column::right));
    let table = text_table::table(&columns, traces.iter().map(Described::row).collect());
    let mut text = format!("{note}{table}\n");
    for trace in &traces {
        if let Some(origin) = trace.made_by {
            text += &format!("\n{} is made by --link {origin}", trace.name);
        }
    }
    output::print(&(text.trim_end().to_string() + "\n"))
}

#[derive(Serialize)]
struct Report {
    schema_version: u32,
    traces: Vec<Described>,
}

#[derive(Serialize)]
struct Described {
    name: String,
    format: &'static str,
    made_by: Option<&'static str>,
    duration_s: f64,
    opportunities: u64,
    mean_mbps: f64,
    bins_100ms: Bins,
    bins_1s: Bins,
    longest_gap_s: f64,
    gaps_over_100ms: u64,
    gaps_over_1s: u64,
    outage_s: f64,
    /// Lines about the file, such as the number of rows without a value.
    notes: Vec<String>,
}

#[derive(Serialize)]
struct Bins {
    bins: u64,
    min_mbps: f64,
    p5_mbps: f64,
    p25_mbps: f64,
    p50_mbps: f64,
    p75_mbps: f64,
    p95_mbps: f64,
    max_mbps: f64,
    coefficient_of_variation: f64,
    zero_share: f64,
}

impl Described {
    fn new(name: String, made_by: Option<&'static str>, trace: &Trace) -> Described {
        let (format, info) = match trace {
            Trace::Schedule(schedule) => ("mahimahi", info::of_schedule(schedule)),
            Trace::Rates(rates) => ("mbps", info::of_rates(rates)),
        };
        Described {
            name,
            format,
            made_by,
            duration_s: info.duration.as_secs_f64(),
            opportunities: info.opportunities,
            mean_mbps: round(info.mean_mbps),
            bins_100ms: Bins::from(&info.bins_100ms),
            bins_1s: Bins::from(&info.bins_1s),
            longest_gap_s: info.longest_gap.as_secs_f64(),
            gaps_over_100ms: info.gaps_over_100ms,
            gaps_over_1s: info.gaps_over_1s,
            outage_s: info.outage.as_secs_f64(),
            notes: Vec::new(),
        }
    }

    fn row(&self) -> Vec<String> {
        let bins = &self.bins_1s;
        let mut row = vec![one_line(&self.name), self.format.to_string(), format!("{:.1}", self.duration_s)];
        row.extend(
            [self.mean_mbps, bins.p5_mbps, bins.p50_mbps, bins.p95_mbps].map(|mbps| format!("{mbps:.2}")),
        );
        row.push(format!("{:.2}", bins.coefficient_of_variation));
        row.extend([self.gaps_over_100ms, self.gaps_over_1s].map(|gaps| gaps.to_string()));
        row.push(format!("{:.2}", self.longest_gap_s));
        row.push(format!("{:.1}", self.outage_s / self.duration_s * 100.0));
        row
    }
}

impl From<&BinStatistics> for Bins {
    fn from(bins: &BinStatistics) -> Self {
        Bins {
            bins: bins.bins,
            min_mbps: round(bins.min_mbps),
            p5_mbps: round(bins.p5_mbps),
            p25_mbps: round(bins.p25_mbps),
            p50_mbps: round(bins.p50_mbps),
            p75_mbps: round(bins.p75_mbps),
            p95_mbps: round(bins.p95_mbps),
            max_mbps: round(bins.max_mbps),
            coefficient_of_variation: round(bins.coefficient_of_variation),
            zero_share: round(bins.zero_share),
        }
    }
}

fn convert_file(options: &TraceConvert) -> Result<(), Failure> {
    output::refuse_existing(&options.output, options.force)?;
    let format = Format::parse(options.trace_format.as_deref())?;
    let (trace, _) = trace_files::load(&options.input, &format)?;
    let fail = |error| Failure::input(Path::new(&options.input).display(), error);
    let converted = match (trace, options.to) {
        (Trace::Schedule(schedule), WrittenFormat::Mbps) => {
            convert::to_rates(&schedule, options.bin).map_err(fail)?.into()
        }
        (Trace::Rates(rates), WrittenFormat::Mahimahi) => convert::to_schedule(&rates).map_err(fail)?.into(),
        (trace @ Trace::Schedule(_), WrittenFormat::Mahimahi)
        | (trace @ Trace::Rates(_), WrittenFormat::Mbps) => trace,
    };
    write(&converted, &options.output, options.force)
}

fn synthesize(options: &TraceSynth) -> Result<(), Failure> {
    output::refuse_existing(&options.out, options.force)?;
    let arguments = synth_arguments(options)?;
    let synth = synth::Synth::from_arguments(&arguments);
    let fail = |error| Failure::input("trace synth", error);
    let written: Trace = match options.to {
        WrittenFormat::Mahimahi => synth.schedule().map_err(fail)?.into(),
        WrittenFormat::Mbps => synth.rates().map_err(fail)?.into(),
    };
    write(&written, &options.out, options.force)
}

/// Parses each option alone first, so that an error names the option.
fn synth_arguments(options: &TraceSynth) -> Result<Arguments, Failure> {
    let TraceSynth { preset, duration, seed, .. } = options;
    let named = [
        ("--preset", synth::PRESET.name(), preset),
        ("--duration", synth::DURATION.name(), duration),
        ("--seed", synth::SEED.name(), seed),
    ];
    let mut parts = Vec::new();
    for (option, key, value) in named {
        let part = format!("{key}={value}");
        Arguments::from_parts(&synth::COMPONENT, &part, [part.as_str()].into_iter())
            .map_err(|message| Failure::input(option, error_of(value, &part, &message)))?;
        parts.push(part);
    }
    for part in &options.parameters {
        if !part.contains('=') {
            return Err(Failure::input(
                format!("'{part}'"),
                "unexpected; expected parameters as KEY=VALUE, such as rate=2mbit",
            ));
        }
        parts.push(part.clone());
    }
    Arguments::from_parts(&synth::COMPONENT, &parts.join(":"), parts.iter().map(String::as_str))
        .map_err(|message| Failure::input("trace synth", message))
}

/// Error message without the part that the user did not type.
fn error_of(value: &str, part: &str, message: &str) -> String {
    format!("'{value}': {}", message.strip_prefix(&format!("{part}: ")).unwrap_or(message))
}

/// Writes opportunities in mahimahi's format, or a rate as lines of seconds and Mbit/s.
fn write(trace: &Trace, path: &Path, force: bool) -> Result<(), Failure> {
    output::write_file(path, force, |mut out| match trace {
        Trace::Schedule(schedule) => mahimahi::write(schedule, &mut out),
        Trace::Rates(rates) => mbps::write(rates, &mut out),
    })?;
    // Standard output carries the trace.
    if path == Path::new("-") {
        return Ok(());
    }
    print_next(&format!("qdelay trace info {}", shell_word(&path.display().to_string())))
}
