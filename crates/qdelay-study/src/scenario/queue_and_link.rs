//! The queue and the link of the bottleneck or of a hop.

use super::declare::{Hop, Path};
use super::sources::Sources;
use super::values::{Link, Qdisc, TraceFormat, TraceName};
use qdelay_config::{AnySetting, Fault, Setting};
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc, Qdisc as _};
use qdelay_path::{AnyLink, LinkModel};

/// The keys of `[path]` or of a hop that describe a queue and the link behind it.
pub(super) struct QueueAndLink<'a> {
    link: &'a Setting<Option<Link>>,
    trace: &'a Setting<Option<TraceName>>,
    trace_format: &'a Setting<Option<TraceFormat>>,
    repeat: &'a Setting<bool>,
    qdisc: &'a Setting<Qdisc>,
    limit: &'a Setting<Option<u64>>,
}

impl<'a> From<&'a Path> for QueueAndLink<'a> {
    fn from(Path { link, trace, trace_format, repeat, qdisc, limit, .. }: &'a Path) -> Self {
        Self { link, trace, trace_format, repeat, qdisc, limit }
    }
}

impl<'a> From<&'a Hop> for QueueAndLink<'a> {
    fn from(Hop { link, trace, trace_format, repeat, qdisc, limit, .. }: &'a Hop) -> Self {
        Self { link, trace, trace_format, repeat, qdisc, limit }
    }
}

impl QueueAndLink<'_> {
    /// Checks that the table, which begins in `line`, has either a link or a trace.
    pub fn check(&self, table: &str, line: u32) -> Result<(), Fault> {
        const EITHER: &str =
            "expected one of the two, such as trace = \"synth-lte-driving\" or link = \"10mbit\"";
        match (self.link.is_set(), self.trace.is_set()) {
            (true, true) => {
                let message = format!("both a link and a trace are given; {EITHER}");
                // The later one was probably added last, so the fault names that one.
                let is_link_later = self.link.line() > self.trace.line();
                return Err(if is_link_later { self.link.fault(message) } else { self.trace.fault(message) });
            }
            (false, false) => {
                return Err(Fault::new(
                    line,
                    table,
                    format!("neither a link nor a trace is given; {EITHER}"),
                ));
            }
            _ => {}
        }
        let of_traces: [&dyn AnySetting; 2] = [self.repeat, self.trace_format];
        match of_traces.into_iter().find(|setting| self.link.is_set() && setting.is_given()) {
            Some(setting) => {
                let message = "a link is given; expected this key only with a trace";
                Err(Fault::new(setting.line(), setting.key().path, message))
            }
            None => Ok(()),
        }
    }

    /// The discipline, with the table's limit unless its own limit is given.
    pub fn qdisc(&self) -> Result<Arguments, Fault> {
        with_limit(self.qdisc, self.limit.get())
    }

    fn link(&self, sources: &mut Sources<'_>) -> Result<AnyLink, Fault> {
        if self.link.is_set() {
            return sources.link(self.link.text()).map_err(|message| self.link.fault(message));
        }
        let format = self.trace_format.is_set().then(|| self.trace_format.text());
        let trace = sources.trace(self.trace.text(), format, self.repeat.get());
        trace.map_err(|message| self.trace.fault(message))
    }

    /// The link behind the discipline; refuses a link slower than the rate that the discipline relies on.
    pub fn link_below(&self, sources: &mut Sources<'_>) -> Result<AnyLink, Fault> {
        with_promised_rate(self.qdisc, self.link(sources)?)
    }
}

/// The discipline of `setting`, with this limit unless its own limit is given.
pub(super) fn with_limit(setting: &Setting<Qdisc>, limit: Option<u64>) -> Result<Arguments, Fault> {
    let mut arguments = setting.value().0.clone();
    if let Some(limit) = limit {
        arguments.default_to(&qdisc::LIMIT, limit);
    }
    AnyQdisc::build(&arguments).map_err(|error| setting.fault(error))?;
    Ok(arguments)
}

/// The `link` behind the discipline of `setting`; refuses a link that is slower than the rate the discipline relies on, or whose
/// rate varies.
pub(super) fn with_promised_rate(setting: &Setting<Qdisc>, link: AnyLink) -> Result<AnyLink, Fault> {
    let arguments = &setting.value().0;
    let promised = AnyQdisc::build(arguments).ok().and_then(|qdisc| qdisc.promised_rate());
    let Some(promised) = promised else { return Ok(link) };
    let found = match link.rate() {
        Some(rate) if promised <= rate => return Ok(link),
        Some(rate) => format!("the link has {rate}"),
        None => "the link's rate varies".to_string(),
    };
    let message = format!(
        "{} relies on a rate of {promised}, but {found}; expected at most the rate of the link, or no rate if that varies",
        arguments.component().name
    );
    Err(setting.fault(message))
}
