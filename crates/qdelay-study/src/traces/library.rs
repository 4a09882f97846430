//! Library of traces and links for scenarios: searches several places, reads each once, and shares them among cases and threads.

use super::channel::{self, FileChannel};
use super::delay::{self, BuiltDelay, Delay, Extent};
use super::jitter::{self, JitterText};
use super::loss::{self, Loss};
use super::two_loads::{self, Files};
use super::window::Window;
use super::{Format, TraceUsed, find_shipped, read_with_digest, unreadable};
use crate::links;
use crate::scenario::build_link;
use qdelay_core::component::Arguments;
use qdelay_path::{AnyLink, Curve, Jitter, LossModel, OverTime};
use qdelay_ran::radio::Channel;
use qdelay_trace::LossRate;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A trace, built as a link.
#[derive(Clone, Debug)]
pub struct FoundTrace {
    /// Name of the requested trace, or of the shipped trace that replaces it.
    pub name: String,
    /// Link that the trace drives; clones share the trace.
    pub link: AnyLink,
    /// Digest, and the name of the trace that it replaces.
    pub used: TraceUsed,
}

/// Errors that mean that the file does not exist; `Unsupported` on a platform without files.
const IS_NOWHERE: [ErrorKind; 3] = [ErrorKind::NotFound, ErrorKind::NotADirectory, ErrorKind::Unsupported];

/// Key of a cached trace: name, format, repetition, substitute.
type Key = (String, Option<String>, bool, Option<String>);

/// A radio channel, built for a cell.
#[derive(Clone, Debug)]
pub struct FoundChannel {
    /// Name of the requested file, or of the shipped trace that replaces it.
    pub name: String,
    /// The channel; clones share its data.
    pub channel: Channel,
    /// Digest, and the name of the file that it replaces.
    pub used: TraceUsed,
}

/// A delay or a loss over time.
#[derive(Clone, Debug)]
pub struct FoundCurve<C> {
    /// Name of the file; `None` for steps.
    pub name: Option<String>,
    /// The curve.
    pub curve: C,
    /// Digest of the file.
    pub used: Option<TraceUsed>,
}

/// A loss over time from a file.
pub(crate) type FoundLoss = FoundCurve<OverTime<LossRate>>;

/// Key of a cached delay: its text, and what it is the delay of.
type DelayKey = (String, bool);

/// Key of a cached channel: its text and its substitute.
type ChannelKey = (String, Option<String>);

/// Finds traces and builds links, each once. Places searched for a name, in order: shipped traces, the folder of the scenario,
/// the path as given, the added folders.
#[derive(Debug, Default)]
pub struct Library {
    beside: Option<PathBuf>,
    folders: Vec<PathBuf>,
    /// True if only regular files are read: a pipe could block the reader.
    regular_files: bool,
    /// True if no file is opened.
    shipped_only: bool,
    /// True for options, without a scenario whose `[fallback]` may have substitutes.
    is_for_options: bool,
    /// Files by name, which take precedence over searched ones.
    given: BTreeMap<String, PathBuf>,
    /// Contents of files by name, which take precedence over searched ones.
    contents: BTreeMap<String, Arc<[u8]>>,
    /// Files read so far, by name.
    files: Mutex<BTreeMap<String, PathBuf>>,
    traces: Mutex<BTreeMap<Key, Result<FoundTrace, String>>>,
    channels: Mutex<BTreeMap<ChannelKey, Result<FoundChannel, String>>>,
    links: Mutex<BTreeMap<String, Result<AnyLink, String>>>,
    delays: Mutex<BTreeMap<DelayKey, Result<FoundCurve<Curve>, String>>>,
    /// Losses of files, by their text.
    losses: Mutex<BTreeMap<String, Result<FoundLoss, String>>>,
    jitters: Mutex<BTreeMap<String, Result<FoundCurve<Jitter>, String>>>,
    /// Files that a trace needs beside itself.
    beside_traces: Mutex<BTreeMap<String, TraceUsed>>,
}

impl Library {
    /// A library of the shipped traces, and of files by their paths.
    pub fn new() -> Library {
        Library::default()
    }
    /// A library that also searches the folder of `scenario`, the folders `given`, and the folder in the environment variable
    /// `QDELAY_TRACES`.
    pub fn for_scenario(scenario: Option<&Path>, given: &[PathBuf]) -> Library {
        let beside = scenario.and_then(Path::parent).filter(|_| scenario.is_some_and(Path::is_file));
        let library = match beside {
            Some(folder) => Library::new().beside(folder),
            None => Library::new(),
        };
        let variable = std::env::var_os("QDELAY_TRACES").map(PathBuf::from);
        let library = Library { is_for_options: scenario.is_none(), ..library };
        given.iter().cloned().chain(variable).fold(library, Library::folder)
    }
    /// Searches `folder` first, as the folder of the scenario.
    #[must_use]
    pub fn beside(self, folder: impl Into<PathBuf>) -> Library {
        Library { beside: Some(folder.into()), ..self }
    }
    /// Searches `folder` after all others.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Library {
        self.folders.push(folder.into());
        self
    }

    /// Refuses pipes and other files that are not regular.
    #[must_use]
    pub fn regular_files(self) -> Library {
        Library { regular_files: true, ..self }
    }

    /// Uses the file `path` for the trace `name`, without a search.
    #[must_use]
    pub fn with_file(mut self, name: impl Into<String>, path: impl Into<PathBuf>) -> Library {
        self.given.insert(name.into(), path.into());
        self
    }
    /// Uses `contents` for the trace `name`, without a search. The name of a shipped trace keeps its trace.
    #[must_use]
    pub fn with_contents(mut self, name: impl Into<String>, contents: impl Into<Arc<[u8]>>) -> Library {
        self.contents.insert(name.into(), contents.into());
        self
    }
    /// Files that have been read so far, by the requested name.
    pub fn files(&self) -> BTreeMap<String, PathBuf> {
        lock(&self.files).clone()
    }

    /// Finds the trace `name`, or a [window](super::window) of a trace, in `format` (see [`Format::parse`]); with `repeat` it
    /// starts over at its end. Uses the shipped trace `stand_in` if `name` does not exist.
    ///
    /// # Errors
    /// One line: the trace is not found or cannot be read. A file that exists but cannot be read is not substituted.
    pub fn trace(
        &self,
        name: &str,
        format: Option<&str>,
        repeat: bool,
        stand_in: Option<&str>,
    ) -> Result<FoundTrace, String> {
        let key = (name.to_string(), format.map(str::to_string), repeat, stand_in.map(str::to_string));
        let mut traces = lock(&self.traces);
        if let Some(found) = traces.get(&key) {
            return found.clone();
        }
        let found = self.find(name, format, repeat, stand_in);
        traces.insert(key, found.clone());
        found
    }

    /// Finds the `channel` with these `arguments`. Uses the shipped trace `stand_in` if its file does not exist.
    ///
    /// # Errors
    /// Errors of [`Library::trace`].
    pub fn channel(
        &self,
        channel: &FileChannel,
        arguments: &Arguments,
        stand_in: Option<&str>,
    ) -> Result<FoundChannel, String> {
        let key = (arguments.typed().to_string(), stand_in.map(str::to_string));
        let mut channels = lock(&self.channels);
        if let Some(found) = channels.get(&key) {
            return found.clone();
        }
        let found = self.find_channel(channel, arguments, stand_in);
        channels.insert(key, found.clone());
        found
    }

    fn find_channel(
        &self,
        channel: &FileChannel,
        arguments: &Arguments,
        stand_in: Option<&str>,
    ) -> Result<FoundChannel, String> {
        let name = channel.file(arguments)?;
        if let Some((channel, digest)) = self.with_found(name, |input| channel.read(arguments, input))? {
            let used = TraceUsed { digest: format!("{digest:016x}"), substitute_for: None };
            return Ok(FoundChannel { name: name.to_string(), channel, used });
        }
        let Some((shipped, mut contents)) = stand_in.and_then(|name| Some((name, find_shipped(name)?)))
        else {
            return Err(self.nowhere(name));
        };
        let (trace, digest) = read_with_digest(&mut contents, &Format::default())?;
        let used = TraceUsed { digest: format!("{digest:016x}"), substitute_for: Some(name.to_string()) };
        Ok(FoundChannel { name: shipped.to_string(), channel: channel::from_link_trace(trace, true), used })
    }

    /// Finds a delay over time, for a key that is the delay of `of`.
    ///
    /// # Errors
    /// The file is not found or cannot be read.
    pub(crate) fn moving_delay(
        &self,
        arguments: &Arguments,
        of: Extent,
    ) -> Result<FoundCurve<Curve>, String> {
        let key = (arguments.typed().to_string(), of == Extent::RoundTrip);
        let find = || match delay::file(arguments)? {
            Some(name) => self.find_curve(name, |input| delay::read(arguments, of, input)),
            None => {
                let curve = Curve::build(arguments).map_err(|error| error.to_string())?;
                Ok(FoundCurve { name: None, curve, used: None })
            }
        };
        lock(&self.delays).entry(key).or_insert_with(find).clone()
    }

    /// Finds a loss over time in the file that `arguments` name.
    ///
    /// # Errors
    /// The file is not found or cannot be read.
    pub(crate) fn loss_of_file(&self, arguments: &Arguments) -> Result<FoundLoss, String> {
        let find = || match loss::file(arguments)? {
            Some(name) => self.find_curve(name, |input| loss::read(arguments, input)),
            None => Err(format!("'{}' has no file", arguments.typed())),
        };
        lock(&self.losses).entry(arguments.typed().to_string()).or_insert_with(find).clone()
    }

    fn find_curve<C>(
        &self,
        name: &str,
        read: impl Fn(&mut dyn Read) -> Result<(C, u64), String>,
    ) -> Result<FoundCurve<C>, String> {
        let Some((curve, digest)) = self.with_found(name, read)? else {
            // Curves have no substitutes.
            return Err(self.in_no_place(name));
        };
        let used = TraceUsed { digest: format!("{digest:016x}"), substitute_for: None };
        Ok(FoundCurve { name: Some(name.to_string()), curve, used: Some(used) })
    }

    /// Builds `loss`.
    ///
    /// # Errors
    /// The file is not found or cannot be read.
    pub fn loss(&self, loss: &Loss) -> Result<LossModel, String> {
        match loss {
            Loss::Model(model) => Ok(model.clone()),
            Loss::File(arguments) => Ok(LossModel::over_time(self.loss_of_file(arguments)?.curve)),
        }
    }

    /// Builds `jitter`.
    ///
    /// # Errors
    /// The file is not found or cannot be read.
    pub fn jitter(&self, jitter: &JitterText) -> Result<Jitter, String> {
        match jitter.without_file() {
            Some(jitter) => Ok(jitter),
            None => Ok(self.jitter_of_file(&jitter.arguments)?.curve),
        }
    }

    /// Builds a jitter whose table is in a file.
    pub(crate) fn jitter_of_file(&self, arguments: &Arguments) -> Result<FoundCurve<Jitter>, String> {
        let find = || match jitter::file(arguments)? {
            Some(name) => self.find_curve(name, |input| jitter::read(arguments, input)),
            None => Err(format!("'{}' has no file", arguments.typed())),
        };
        lock(&self.jitters).entry(arguments.typed().to_string()).or_insert_with(find).clone()
    }

    /// Builds `delay`, for an option that is the delay of `of`.
    ///
    /// # Errors
    /// The file is not found or cannot be read.
    pub fn delay(&self, delay: &Delay, of: Extent) -> Result<BuiltDelay, String> {
        match delay {
            Delay::Constant(span) => Ok(BuiltDelay { least: *span, curve: None }),
            Delay::Moving(arguments) => Ok(self.moving_delay(arguments, of)?.curve.into()),
        }
    }

    /// Traces and channels that have been found so far, by name.
    pub fn used(&self) -> BTreeMap<String, TraceUsed> {
        let traces: Vec<(String, TraceUsed)> = lock(&self.traces)
            .values()
            .flatten()
            .map(|found| (found.name.clone(), found.used.clone()))
            .collect();
        let channels = lock(&self.channels);
        let channels = channels.values().flatten().map(|found| (found.name.clone(), found.used.clone()));
        let delays = lock(&self.delays);
        let delays = delays.values().flatten().filter_map(|found| found.name.clone().zip(found.used.clone()));
        let losses = lock(&self.losses);
        let losses = losses.values().flatten().filter_map(|found| found.name.clone().zip(found.used.clone()));
        let beside = lock(&self.beside_traces).clone();
        let jitters = lock(&self.jitters);
        let jitters =
            jitters.values().flatten().filter_map(|found| found.name.clone().zip(found.used.clone()));
        channels.chain(traces).chain(delays).chain(losses).chain(jitters).chain(beside).collect()
    }

    /// Registers `link` as the trace `name`, starting over at its end if `repeat`.
    pub(crate) fn know_trace(&self, name: &str, repeat: bool, link: &AnyLink) {
        let used = TraceUsed { digest: String::new(), substitute_for: None };
        let found = FoundTrace { name: name.to_string(), link: link.clone(), used };
        lock(&self.traces).insert((name.to_string(), None, repeat, None), Ok(found));
    }

    /// Registers `link` under `text`.
    pub(crate) fn know_link(&self, text: &str, link: &AnyLink) {
        lock(&self.links).insert(text.to_string(), Ok(link.clone()));
    }

    /// Builds the link with this text.
    ///
    /// # Errors
    /// The text is not a valid link.
    pub fn link(&self, text: &str) -> Result<AnyLink, String> {
        let mut links = lock(&self.links);
        if let Some(link) = links.get(text) {
            return link.clone();
        }
        let link = build_link(text);
        links.insert(text.to_string(), link.clone());
        link
    }

    /// The link for a text in any notation: a rate, a link by its name, or else a trace.
    ///
    /// # Errors
    /// Errors of [`Library::link`] and [`Library::trace`].
    pub fn link_or_trace(&self, text: &str, repeat: bool) -> Result<AnyLink, String> {
        if links::is_link(text) {
            return self.link(text).map_err(|error| links::or_file(text, &error));
        }
        self.trace(text, None, repeat, None)
            .map(|found| found.link)
            .map_err(|error| error + self.or_link(text))
    }

    /// True if the trace `name` exists, even if it cannot be read.
    pub fn has_trace(&self, name: &str) -> bool {
        !matches!(self.with_found(file_of(name), |_| Ok(())), Ok(None))
    }

    /// Hint after the error of the unknown trace `name`, where a link is accepted as well.
    pub(crate) fn or_link(&self, name: &str) -> &'static str {
        if self.has_trace(name) { "" } else { links::OR_LINK }
    }

    fn find(
        &self,
        name: &str,
        format: Option<&str>,
        repeat: bool,
        stand_in: Option<&str>,
    ) -> Result<FoundTrace, String> {
        let given = Format::parse(format).map_err(|error| error.message)?.by_key();
        let (file, window) = Window::split(name)?;
        let format = window.format_or(&given)?;
        let read = |input: &mut dyn Read, format: &Format, substitute_for: Option<&str>| {
            let (trace, digest) = read_with_digest(input, format)?;
            let link = two_loads::build(window.arguments(), &window.cut(trace)?, repeat, self)?;
            Ok((
                link,
                TraceUsed {
                    digest: format!("{digest:016x}"),
                    substitute_for: substitute_for.map(str::to_string),
                },
            ))
        };
        if let Some((link, used)) = self.with_found(file, |input| read(input, &format, None))? {
            return Ok(FoundTrace { name: name.to_string(), link, used });
        }
        // Only a missing file is replaced; an unreadable one is an error.
        if let Some(shipped) = stand_in
            && let Some(mut contents) = find_shipped(shipped)
        {
            let (link, used) = read(&mut contents, &Format::default(), Some(file))?;
            let name = format!("{shipped}{}", &name[file.len()..]);
            return Ok(FoundTrace { name, link, used });
        }
        Err(self.nowhere(file))
    }

    /// Applies `read` to the shipped trace or the file `name`; `None` if neither exists.
    fn with_found<T>(
        &self,
        name: &str,
        read: impl Fn(&mut dyn Read) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        // Shipped traces come first, so that their names mean the same on every machine.
        if let Some(mut contents) = find_shipped(name) {
            return read(&mut contents).map(Some);
        }
        if let Some(contents) = self.contents.get(name) {
            return read(&mut &contents[..]).map(Some).map_err(|message| format!("{name}: {message}"));
        }
        if self.shipped_only {
            return Err(format!("no shipped trace '{name}'; expected one of 'qdelay trace list'"));
        }
        for path in &self.places(name) {
            match path.metadata() {
                Ok(found) if found.is_dir() => {
                    return Err(format!("{} is a folder; expected a file with a trace", path.display()));
                }
                Ok(found) if self.regular_files && !found.is_file() => {
                    return Err(format!(
                        "{} is no regular file; expected a file with a trace",
                        path.display()
                    ));
                }
                Ok(_) => {
                    let in_file = |message: String| format!("{}: {message}", path.display());
                    let mut file = File::open(path).map_err(|error| in_file(unreadable(&error)))?;
                    lock(&self.files).insert(name.to_string(), path.clone());
                    return read(&mut file).map(Some).map_err(in_file);
                }
                Err(error) if IS_NOWHERE.contains(&error.kind()) => {}
                Err(error) => return Err(format!("{}: {}", path.display(), unreadable(&error))),
            }
        }
        Ok(None)
    }

    fn nowhere(&self, name: &str) -> String {
        let substitute = if self.is_for_options { "" } else { ", or a substitute under [fallback]" };
        self.in_no_place(name) + substitute
    }

    /// Error about a file that is in none of its places.
    fn in_no_place(&self, name: &str) -> String {
        let places: Vec<String> = self.places(name).iter().map(|path| path.display().to_string()).collect();
        format!(
            "no trace '{name}': it is not shipped, and there is no {}; expected it in a folder given by --traces or \
             QDELAY_TRACES",
            places.join(", no ")
        )
    }

    /// The same library without files: shipped traces only.
    #[must_use]
    pub fn shipped_only(self) -> Library {
        Library { shipped_only: true, ..self }
    }

    /// Paths to search for a file, in order, without duplicates.
    fn places(&self, name: &str) -> Vec<PathBuf> {
        if let Some(given) = self.given.get(name) {
            return vec![given.clone()];
        }
        let mut places: Vec<PathBuf> = Vec::new();
        let beside = self.beside.iter().map(|folder| folder.join(name));
        let others = self.folders.iter().map(|folder| folder.join(name));
        for path in beside.chain([Path::new(name).to_path_buf()]).chain(others) {
            if !places.contains(&path) {
                places.push(path);
            }
        }
        places
    }
}

impl Files for Library {
    fn with_file<T>(
        &self,
        name: &str,
        read: impl Fn(&mut dyn Read) -> Result<(T, u64), String>,
    ) -> Result<T, String> {
        let (found, digest) = self.with_found(name, read)?.ok_or_else(|| self.nowhere(name))?;
        let used = TraceUsed { digest: format!("{digest:016x}"), substitute_for: None };
        lock(&self.beside_traces).insert(name.to_string(), used);
        Ok(found)
    }
}

/// The file or trace that `name` is a window of.
pub fn file_of(name: &str) -> &str {
    Window::split(name).map_or(name, |(file, _)| file)
}

/// Locks a cache; entries stay valid after a panic of another thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_path::LinkModel;

    #[test]
    fn a_missing_trace_is_replaced_by_its_substitute() {
        let library = Library::new();
        let found = library.trace("synth-subway", None, true, None).unwrap();
        assert_eq!((found.name.as_str(), found.used.substitute_for.as_deref()), ("synth-subway", None));
        assert_eq!(found.used.digest.len(), 16);
        let stands_in = library.trace("far/away", None, true, Some("synth-subway")).unwrap();
        assert_eq!(stands_in.name, "synth-subway");
        assert_eq!(stands_in.used.substitute_for.as_deref(), Some("far/away"));
        assert_eq!(stands_in.used.digest, found.used.digest);
        let error = Library::new().folder("/nowhere").trace("far/away", None, true, None).unwrap_err();
        assert!(error.contains("there is no far/away, no /nowhere/far/away; expected it in"), "{error}");
    }

    #[test]
    fn given_contents_are_read_in_place_of_a_file() {
        let library =
            Library::new().with_contents("mine", &b"0\n3\n5\n"[..]).with_contents("odd", &b"0\nx\n"[..]);
        let found = library.trace("mine", None, true, None).unwrap();
        assert_eq!(
            (found.name.as_str(), found.link.length()),
            ("mine", Some(qdelay_core::Span::from_millis(5)))
        );
        assert!(library.has_trace("mine") && library.files().is_empty());
        let error = library.trace("odd", None, true, None).unwrap_err();
        assert!(error.starts_with("odd: line 2"), "{error}");
    }

    /// The notation of `qdelay link`, gateways and uplinks.
    #[test]
    fn a_table_may_stand_in_place_of_a_link() {
        let library = Library::new().with_contents("t.csv", &b"t,r\n0,10\n1,20\n"[..]);
        let link = library.link_or_trace("t.csv:format=[csv:r:time=t]", true).unwrap();
        assert_eq!(link.length(), Some(qdelay_core::Span::from_secs(2)));
        assert!(library.has_trace("t.csv:format=[csv:r]") && library.has_trace("t.csv:format=[csv:q]"));
        let error = library.link_or_trace("t.csv", true).unwrap_err();
        assert!(error.ends_with("as in FILE:format=[csv:column=NAME]"), "{error}");
    }

    /// Two loads: the trace, and what stands beside it.
    #[test]
    fn a_trace_has_a_light_load_beside_it() {
        let library = Library::new()
            .with_contents("heavy", &b"5\n10\n"[..])
            .with_contents("light", &b"0 20 0 1\n500 30 0 2\n1000 20 0\n"[..])
            .with_contents("sizes", &b"100 -1\n1400 0\n"[..])
            .with_contents("rates", &b"0 10\n1 20\n"[..]);
        let build = |text: &str| library.trace(text, None, true, None).map(|found| found.link);
        let whole = build("heavy:light=light:light_sizes=sizes:light_pause=5ms:light_beyond=base").unwrap();
        let load = whole.light().unwrap();
        assert_eq!((load.slot_bytes, load.overhead_bytes), (1400, 4));
        assert_eq!((load.spec.pause, load.spec.beyond_recorded), (qdelay_core::Span::from_millis(5), false));
        assert_eq!(load.spec.sizes.as_ref().unwrap().at(100), -1_000_000);
        assert!(build("heavy").unwrap().light().is_none());
        assert!(build("heavy:light=[light]:bytes=1504").unwrap().light().unwrap().slot_bytes == 1504);
        let part = build("heavy:light=light:from=0s:for=5ms").unwrap().light().unwrap();
        assert_eq!(part.spec.trains.period(), qdelay_core::Span::from_millis(5));
        let used = library.used();
        assert_eq!(used["light"].digest.len(), 16);
        for (text, expected) in [
            ("heavy:light_pause=1ms", "light_pause without light; expected light=FILE"),
            ("heavy:light=nowhere", "no trace 'nowhere'"),
            ("heavy:light=heavy", "heavy: line 1"),
            ("heavy:light=light:scale=2", "scale with light"),
            ("rates:light=light", "qdelay trace convert"),
            ("rates:bytes=1400", "a trace of opportunities"),
            ("heavy:light=light:light_sizes=light", "light: line 1"),
        ] {
            let error = build(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn clones_of_a_link_share_its_trace() {
        let library = Library::new();
        let (a, b) =
            (library.trace("synth-subway", None, true, None), library.link("synth:subway:duration=2s"));
        let link = a.unwrap().link.opportunities().cloned().unwrap();
        assert!(size_of_val(&link) <= 64, "a handle, not a table");
        assert!(b.is_ok() && library.link("synth:subway:duration=2s").is_ok());
    }

    #[test]
    fn digests_of_traces_are_fnv_1a() {
        let digest = |bytes: &[u8]| read_with_digest(&mut &*bytes, &Format::default()).unwrap().1;
        // By hand, FNV-1a of "1\n": basis ^ 0x31, times prime, ^ 0x0a, times prime.
        let step = |digest: u64, byte: u64| (digest ^ byte).wrapping_mul(0x100_0000_01b3);
        assert_eq!(digest(b"1\n"), step(step(0xcbf2_9ce4_8422_2325, 0x31), 0x0a));
    }
}
