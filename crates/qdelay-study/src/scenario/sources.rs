//! Links and channels of a case, and the traces that they come from.

use crate::traces::delay::{BuiltDelay, Delay, Extent};
use crate::traces::jitter::JitterText;
use crate::traces::loss::Loss;
use crate::traces::{FoundCurve, Library, TraceUsed, channel, file_of};
use qdelay_core::component::Arguments;
use qdelay_core::{Random, Span};
use qdelay_path::{AnyLink, Jitter, LinkModel, LossModel};
use qdelay_ran::radio::Channel;
use std::collections::BTreeMap;

/// Sources of the links of a case: the library, the traces used so far, and the place where the run begins on each.
pub(super) struct Sources<'a> {
    pub library: &'a Library,
    pub fallback: &'a BTreeMap<String, String>,
    pub used: BTreeMap<String, TraceUsed>,
    /// With random starts: seed that the places are drawn from, and duration of the run.
    pub random: Option<(u64, Span)>,
    /// Place where the run begins on each trace, except the beginning.
    pub places: BTreeMap<String, Span>,
}

impl Sources<'_> {
    /// Builds the link of a trace.
    pub fn trace(&mut self, name: &str, format: Option<&str>, repeat: bool) -> Result<AnyLink, String> {
        let stand_in = self.fallback.get(file_of(name)).map(String::as_str);
        let found = self.library.trace(name, format, repeat, stand_in)?;
        self.used.entry(found.name.clone()).or_insert(found.used);
        let mut link = found.link;
        self.start(name, &mut link, repeat);
        Ok(link)
    }

    /// Builds the link with this text. A synthetic link begins at a random place, as traces do.
    pub fn link(&mut self, text: &str) -> Result<AnyLink, String> {
        let mut link = self.library.link(text)?;
        if link.opportunities().is_some() {
            self.start(text, &mut link, true);
        }
        Ok(link)
    }

    fn start(&mut self, name: &str, link: &mut AnyLink, repeat: bool) {
        if let Some(place) = link.length().and_then(|length| self.place(name, length, repeat)) {
            link.start_from(place);
        }
    }

    /// Place where the run begins on the trace `name`, in whole milliseconds; `None` for the beginning. All traces of a run begin
    /// at the same share of their length, so that recordings of both directions stay together. A trace that does not start over
    /// leaves enough time for the run, if it is long enough.
    fn place(&mut self, name: &str, length: Span, repeat: bool) -> Option<Span> {
        let (seed, duration) = self.random?;
        let places = if repeat { length } else { length.saturating_sub(duration) }.as_millis();
        if places == 0 {
            return None;
        }
        let share = Random::derive(seed, "traces", "place").unit();
        let draw = || Span::from_millis(((share * places as f64) as u64).min(places - 1));
        let place = *self.places.entry(name.to_string()).or_insert_with(draw);
        Some(place).filter(|place| !place.is_zero())
    }

    /// A delay, read from its file if it has one. A delay over time begins at a random place, as traces do.
    pub fn delay(&mut self, delay: &Delay, of: Extent) -> Result<BuiltDelay, String> {
        let Delay::Moving(arguments) = delay else { return self.library.delay(delay, of) };
        let found = self.library.moving_delay(arguments, of)?;
        let (length, repeats) = (found.curve.steps().period(), found.curve.repeats());
        let (curve, place) = self.start_of(found, length, repeats);
        Ok(BuiltDelay::from(curve.starting_from(place)))
    }

    /// A loss, read from its file if it has one. A file begins at a random place, as traces do.
    pub fn loss(&mut self, loss: &Loss) -> Result<LossModel, String> {
        let Loss::File(arguments) = loss else { return self.library.loss(loss) };
        let found = self.library.loss_of_file(arguments)?;
        let (length, repeats) = (found.curve.steps().period(), found.curve.repeats());
        let (losses, place) = self.start_of(found, length, repeats);
        Ok(LossModel::over_time(losses.starting_from(place)))
    }

    /// A jitter, read from its file if it has one.
    pub fn jitter(&mut self, jitter: &JitterText) -> Result<Jitter, String> {
        match jitter.without_file() {
            Some(jitter) => Ok(jitter),
            None => {
                let found = self.library.jitter_of_file(jitter.arguments())?;
                let (name, used) = (found.name, found.used);
                name.zip(used).into_iter().for_each(|(name, used)| {
                    self.used.entry(name).or_insert(used);
                });
                Ok(found.curve)
            }
        }
    }

    /// A curve, and the place where the run begins on it: the beginning if it is not from a file.
    fn start_of<C>(&mut self, found: FoundCurve<C>, length: Span, repeats: bool) -> (C, Span) {
        let Some((name, used)) = found.name.zip(found.used) else { return (found.curve, Span::ZERO) };
        let place = self.place(&name, length, repeats).unwrap_or_default();
        self.used.entry(name).or_insert(used);
        (found.curve, place)
    }

    /// A radio channel, read from its file if it has one, and the place where the run begins on it.
    pub fn channel(&mut self, arguments: &Arguments) -> Result<(Channel, Span), String> {
        let Some(channel) = channel::find(arguments) else {
            return Channel::build(arguments)
                .map(|channel| (channel, Span::ZERO))
                .map_err(|error| error.to_string());
        };
        let stand_in = channel.file(arguments).ok().and_then(|name| self.fallback.get(name));
        let found = self
            .library
            .channel(channel, arguments, stand_in.map(String::as_str))
            .map_err(|message| format!("'{}': {message}", arguments.typed()))?;
        let place = match channel::length(&found.channel) {
            Some((length, repeat)) => self.place(&found.name, length, repeat),
            None => None,
        };
        self.used.entry(found.name).or_insert(found.used);
        Ok((found.channel, place.unwrap_or_default()))
    }
}
