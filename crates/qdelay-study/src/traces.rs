//! Traces: finding them, detecting their format, and reading them in chunks.
//!
//! A name is that of a file, or else of a shipped trace, with or without its ending `.down`. The first line determines the
//! format. The user names the format of a table with a header, because nothing says which column to read: after the name, as in
//! `table.csv:format=[csv:column=NAME]`, or by `trace_format`.
//!
//! Files are read 64 kB at a time; the limits of each parser bound the memory.
//!
//! A [`Library`] finds traces for scenarios: it searches several places, and reads each file once.

pub mod channel;
mod contents;
pub mod delay;
mod extent;
mod guessing;
pub mod jitter;
mod library;
pub mod loss;
mod netem;
mod opening;
mod packed;
#[cfg(feature = "engine")]
mod parquet;
pub mod programs;
mod steps;
mod two_loads;
mod utf16;
pub mod window;

use crate::InputError;
pub use crate::results::TraceFile as TraceUsed;
use contents::Contents;
pub use guessing::{Beginning, DelaysRead, Guessed, guess, look};
pub(crate) use library::FoundCurve;
pub use library::{FoundChannel, FoundTrace, Library, file_of};
use programs::{FileDelays, Output, Program};
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_path::link::RateLink;
use qdelay_path::{AnyLink, TraceLink};
pub use qdelay_trace::format::Trace;
use qdelay_trace::{SHIPPED, TraceError, format, shipped};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use window::Window;

const CHUNK_BYTES: usize = 64 * 1024;
/// Option that names a format on the command line.
const OPTION: &str = "--trace-format";

/// The link that a trace drives; with `repeat` the trace starts over at its end.
pub fn link(trace: &Trace, repeat: bool) -> AnyLink {
    match trace {
        Trace::Schedule(schedule) => TraceLink::new(schedule, TraceLink::OVERHEAD_BYTES, repeat).into(),
        Trace::Rates(rates) => RateLink::new(rates, 0, repeat).into(),
    }
}

/// Format of a trace file: given by the user, or detected from the first line.
#[derive(Clone, Debug, Default)]
pub struct Format {
    given: Option<Given>,
    /// True if a key of a scenario gives the format, rather than an option.
    is_key: bool,
}

/// A format that the user names.
#[derive(Clone, Debug)]
enum Given {
    /// Lines of text.
    Text(Arguments),
    /// The output of a program.
    Output(Output),
}

impl Format {
    /// Reads `--trace-format`.
    ///
    /// # Errors
    /// An unknown format, or keys that it does not have.
    pub fn parse(text: Option<&str>) -> Result<Format, InputError> {
        let format = text.map(Format::named).transpose();
        Ok(format.map_err(|error| InputError::new(OPTION, error))?.unwrap_or_default())
    }

    /// The format `name[:key=value...]`: of text, or a program's.
    ///
    /// # Errors
    /// An unknown name; keys that are unknown, missing or contradict each other.
    pub(super) fn named(text: &str) -> Result<Format, ComponentError> {
        let given = match programs::named(text) {
            Some(program) => Given::Output(Output::parse(program, text)?),
            None => Given::Text(format::parse(text).map_err(|error| {
                match error.message.strip_suffix(&format::usages()) {
                    Some(known) => ComponentError::new(text, format!("{known}{}", programs::usages())),
                    None => error,
                }
            })?),
        };
        Ok(Format { given: Some(given), is_key: false })
    }

    /// The program whose output the format reads as JSON.
    fn output(&self) -> Option<&Output> {
        match &self.given {
            Some(Given::Output(output)) if matches!(output.text_format(), Ok(None)) => Some(output),
            _ => None,
        }
    }

    /// Reads delays.
    ///
    /// # Errors
    /// The format has no delays, or the file cannot be read.
    fn delays(&self, input: &mut dyn Read) -> Result<FileDelays, String> {
        let mut contents = Contents::of_file(input).map_err(|error| unreadable(&error))?;
        match &self.given {
            Some(Given::Output(output)) => output.delays(&mut contents),
            Some(Given::Text(arguments)) => Err(programs::no_delays(arguments.component().name)),
            None => Err(programs::no_delays("")),
        }
    }

    /// The same format, given by the key `trace_format` of a scenario.
    pub(crate) fn by_key(self) -> Format {
        Format { is_key: true, ..self }
    }

    /// Returns true if the user names the format.
    pub(crate) const fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// The option or the key that names the format.
    pub(crate) const fn option(&self) -> &'static str {
        if self.is_key { "trace_format" } else { OPTION }
    }

    fn parser(&self, beginning: &[u8]) -> Result<Box<dyn format::Parser>, ReadError> {
        if self.given.is_none()
            && let Some(program) = programs::recognised(beginning)
        {
            return Err(ReadError::Program(program));
        }
        if let Some(what) = format::foreign(beginning) {
            return Err(ReadError::Foreign(what));
        }
        match &self.given {
            Some(Given::Text(arguments)) => return format::parser(arguments).map_err(ReadError::Format),
            Some(Given::Output(output)) => {
                if let Some(arguments) = output.text_format().map_err(ReadError::Format)? {
                    return format::parser(&arguments).map_err(ReadError::Format);
                }
            }
            None => {}
        }
        let found = format::detect(beginning);
        format::parser(&Arguments::defaults(found.component)).map_err(|_| ReadError::Unsaid(found))
    }
}

/// Reads the trace `name`, a file, a shipped trace, or a [`window`] of either, with lines about the file, such as the number of rows
/// without a value.
///
/// # Errors
/// One line with the file, the line in it, and the expected contents.
pub fn load(name: &OsStr, format: &Format) -> Result<(Trace, Vec<String>), InputError> {
    let (trace, mut notes, window) = load_window(name, format)?;
    notes.extend(two_loads::note(window.arguments()));
    Ok((trace, notes))
}

/// The link of the trace `name`, which is found as by [`load`]; the files that stand in its keys are found by `library`. With `repeat` the
/// trace starts over at its end.
///
/// # Errors
/// Errors of [`load`], and files of the keys that cannot be read.
pub fn load_link(
    name: &OsStr,
    format: &Format,
    repeat: bool,
    library: &Library,
) -> Result<AnyLink, InputError> {
    let (trace, _, window) = load_window(name, format)?;
    two_loads::build(window.arguments(), &trace, repeat, library)
        .map_err(|message| InputError::new(Path::new(name).display(), message))
}

/// The part of a trace that its name asks for, lines about the file, and the keys of the name.
fn load_window(name: &OsStr, format: &Format) -> Result<(Trace, Vec<String>, Window), InputError> {
    let place = Path::new(name).display().to_string();
    let fail = |message: String| InputError::new(if place.is_empty() { "''" } else { &place }, message);
    let (name, window) = match name.to_str().map(Window::split) {
        Some(split) => split.map(|(name, window)| (OsStr::new(name), window)).map_err(fail)?,
        None => (name, Window::default()),
    };
    let format = &window.format_or(format).map_err(fail)?;
    let path = Path::new(name);
    let found = match path.metadata() {
        Ok(found) if found.is_dir() => {
            return Err(fail("is a folder; expected a file with a trace".to_string()));
        }
        Ok(_) => {
            let mut file = File::open(path).map_err(|error| fail(unreadable(&error)))?;
            read(&mut file, format)
        }
        // A file takes precedence over a shipped trace with the same name.
        Err(error) if error.kind() == ErrorKind::NotFound => match name.to_str().and_then(find_shipped) {
            Some(mut contents) => read(&mut contents, format),
            None => {
                return Err(fail(format!(
                    "no such file, and no shipped trace of this name; expected a file or one of {}",
                    SHIPPED.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
                )));
            }
        },
        Err(error) => return Err(fail(unreadable(&error))),
    };
    let (trace, notes) = found.map_err(|error| fail(error.message()))?;
    Ok((window.cut(trace).map_err(fail)?, notes, window))
}

/// Reads a trace, and computes the FNV-1a digest of its bytes.
pub(crate) fn read_with_digest(input: &mut dyn Read, format: &Format) -> Result<(Trace, u64), String> {
    let mut input = Digesting { input, digest: FNV_BASIS };
    let (trace, _) = read(&mut input, format).map_err(|error| error.message())?;
    Ok((trace, input.digest))
}

const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Digest of a text, computed as for traces.
#[cfg(feature = "engine")]
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    let step = |digest: u64, byte: &u8| (digest ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
    format!("{:016x}", bytes.iter().fold(FNV_BASIS, step))
}

/// A reader that computes the digest of its data.
struct Digesting<'a> {
    input: &'a mut dyn Read,
    digest: u64,
}

impl Read for Digesting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.input.read(buffer)?;
        for byte in buffer.iter().take(n) {
            self.digest = (self.digest ^ u64::from(*byte)).wrapping_mul(FNV_PRIME);
        }
        Ok(n)
    }
}

pub(crate) fn unreadable(error: &io::Error) -> String {
    format!("cannot be read: {error}; expected a file that can be read")
}

/// Contents of the shipped trace `name`, with or without its ending `.down`.
pub(crate) fn find_shipped(name: &str) -> Option<&'static [u8]> {
    shipped::find(name).or_else(|| shipped::find(&format!("{name}.down")))
}

/// Reason why a trace was not read.
enum ReadError {
    Io(io::Error),
    Trace(String),
    /// The requested format is invalid.
    Format(String),
    /// The file is a known kind of file that is not a text trace.
    Foreign(&'static str),
    /// The file looks like an output of this program, which the format has to name.
    Program(&'static Program),
    /// The first line matches this format, which needs parameters.
    Unsaid(&'static format::Format),
}

impl ReadError {
    fn message(&self) -> String {
        match self {
            ReadError::Io(error) => unreadable(error),
            ReadError::Trace(message) | ReadError::Format(message) => message.clone(),
            ReadError::Foreign(what) => format!("is {what}"),
            ReadError::Program(program) if !program.has_rates() => program.no_rates(),
            ReadError::Program(Program { component, usage, .. }) => {
                let name = component.name;
                format!(
                    "looks like an output of {name}; give the format after the file's name, as in FILE:format=[{usage}]"
                )
            }
            ReadError::Unsaid(format::Format { begins, usage, .. }) => {
                format!(
                    "line 1: looks like {begins}; the column to read is not known: give it after the file's name, as in FILE:format=[{usage}]"
                )
            }
        }
    }
}

fn read(input: &mut dyn Read, format: &Format) -> Result<(Trace, Vec<String>), ReadError> {
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut contents = Contents::of_file(input).map_err(ReadError::Io)?;
    if let Some(output) = format.output() {
        return output
            .rates(&mut contents)
            .map(|(rates, notes)| (Trace::Rates(rates), notes))
            .map_err(ReadError::Trace);
    }
    let mut filled = fill(&mut contents, &mut chunk).map_err(ReadError::Io)?;
    let mut parser = format.parser(&chunk[..filled])?;
    let wrong = |contents: &Contents<'_>, error: &TraceError| ReadError::Trace(contents.explain(error));
    while filled > 0 {
        parser.feed(&chunk[..filled]).map_err(|error| wrong(&contents, &error))?;
        filled = fill(&mut contents, &mut chunk).map_err(ReadError::Io)?;
    }
    parser.finish_with_notes().map_err(|error| wrong(&contents, &error))
}

/// The bytes of a file that may be compressed, unpacked while they are read, with limits on what they unpack to.
///
/// # Errors
/// The file cannot be read.
pub fn unpacked<'a>(input: &'a mut dyn Read) -> io::Result<Box<dyn Read + 'a>> {
    packed::unpacked(input)
}

/// Reads until `chunk` is full or the input ends; returns the number of bytes read.
fn fill(input: &mut dyn Read, chunk: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < chunk.len() {
        match input.read(&mut chunk[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
