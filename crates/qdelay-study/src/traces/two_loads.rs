//! Keys of a trace of opportunities that say how it is replayed: bytes of an opportunity, and the light load of a replay of two loads,
//! `HEAVY:light=LIGHT` (CellReplay).

use super::channel::parse;
use super::window::{BEYOND, BYTES, FOR, FROM, LIGHT, PAUSE, SCALE, SIZES};
use super::{Trace, link};
use qdelay_core::component::{Arguments, without_brackets};
use qdelay_path::{AnyLink, LightSpec, TraceLink};
use qdelay_trace::trains::{self, SizeDelays, Trains};
use std::io::Read;

/// The files that a replay of two loads needs beside its trace, and the reader of each.
pub(super) trait Files {
    /// Applies `read` to the file `name`.
    fn with_file<T>(
        &self,
        name: &str,
        read: impl Fn(&mut dyn Read) -> Result<(T, u64), String>,
    ) -> Result<T, String>;
}

/// The link that `trace` drives with the keys of its name.
pub(super) fn build(
    arguments: Option<&Arguments>,
    trace: &Trace,
    repeat: bool,
    files: &impl Files,
) -> Result<AnyLink, String> {
    let Some(arguments) = arguments else { return Ok(link(trace, repeat)) };
    let light = arguments.get(&LIGHT);
    let of_light = arguments.first_given(&[SIZES.name(), PAUSE.name(), BEYOND.name()]);
    if let Some(key) = of_light.filter(|_| light.is_none()) {
        return Err(format!("{key} without light; expected light=FILE beside it"));
    }
    let bytes = arguments.get(&BYTES).or(light.map(|_| 1400));
    let schedule = match (trace, bytes) {
        (Trace::Schedule(schedule), _) => schedule,
        (Trace::Rates(_), None) => return Ok(link(trace, repeat)),
        (Trace::Rates(_), Some(_)) => {
            return Err("bytes and light are of a trace of opportunities, and this one has rates; expected \
                opportunities, as 'qdelay trace convert' makes them"
                .to_string());
        }
    };
    let made = TraceLink::new(schedule, TraceLink::OVERHEAD_BYTES, repeat);
    // The declared range keeps it within 16 bits.
    let made = bytes.map_or(made.clone(), |bytes| made.with_slots(bytes as u16));
    let Some(name) = light.map(without_brackets) else { return Ok(made.into()) };
    if arguments.is_given(&SCALE) {
        return Err(
            "scale with light; expected no scale, as a light load has no capacity to scale".to_string()
        );
    }
    let trains = files.with_file(name, |input| {
        let (whole, digest) = parse(trains::Parser::new(), input)?;
        Ok((part(arguments, &whole)?, digest))
    })?;
    let sizes: Option<SizeDelays> = match arguments.get(&SIZES).map(without_brackets) {
        Some(name) => Some(files.with_file(name, |input| parse(trains::SizeParser::new(), input))?),
        None => None,
    };
    let light = LightSpec {
        trains,
        sizes,
        pause: arguments.get(&PAUSE),
        beyond_recorded: arguments.get(&BEYOND) == "recorded",
    };
    Ok(made.with_light(light).into())
}

/// A line about keys that do not change what a trace is.
pub(super) fn note(arguments: Option<&Arguments>) -> Option<String> {
    let arguments = arguments?;
    let of_replay = [BYTES.name(), LIGHT.name(), SIZES.name(), PAUSE.name(), BEYOND.name()];
    let key = arguments.first_given(&of_replay)?;
    Some(format!("{key}: not in these figures, which are of the trace alone in opportunities of 1504 bytes"))
}

/// The trains of the window of the trace.
fn part(arguments: &Arguments, whole: &Trains) -> Result<Trains, String> {
    if !arguments.is_given(&FROM) && !arguments.is_given(&FOR) {
        return Ok(whole.clone());
    }
    let from = arguments.get(&FROM);
    let length = arguments.get(&FOR).unwrap_or(whole.period().saturating_sub(from));
    whole.window(from, length).map_err(|error| format!("from and for: {}", error.problem))
}
