//! The figures of a preset beside those that it was fitted to, computed from its values.

use super::{Figure, Of, Preset, Quantity};
use crate::link_keys::LinkKeys;
use crate::traces::Library;
use qdelay_core::component::{Arguments, Registry};
use qdelay_core::{Rate, Span, Time};
use qdelay_path::stack::Plan;
use qdelay_trace::info::{self, TraceInfo};
use qdelay_trace::rates::{RateStep, RateSteps};
use qdelay_trace::schedule::Schedule;
use qdelay_trace::synth::{self, Synth};

/// A figure with the preset's value.
#[derive(Clone, Copy, Debug)]
pub struct Fitted {
    /// The published figure.
    pub figure: &'static Figure,
    /// Value of the preset.
    pub found: f64,
}

impl Fitted {
    /// Difference over the published value; `None` where that is 0.
    pub fn error(&self) -> Option<f64> {
        let published = self.figure.published;
        (published != 0.0).then(|| (self.found - published) / published)
    }
}

/// A figure as text: three digits, at most two of them behind the point, or three below 1.
pub fn number(value: f64) -> String {
    match value {
        _ if value >= 100.0 => format!("{value:.0}"),
        _ if value >= 10.0 => format!("{value:.1}"),
        _ if value >= 1.0 || value == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// The figures of `preset`.
///
/// # Errors
/// A value of the preset cannot be built: a fault of the table.
pub fn of(preset: &'static Preset) -> Result<Vec<Fitted>, String> {
    let mut keys = LinkKeys::default();
    keys.apply(preset.name, preset, &Registry::new()).map_err(|error| error.to_string())?;
    let plan = keys.plan(1, &Library::new(), &Registry::new()).map_err(|error| error.to_string())?;
    let (down, up) = (Capacity::of(keys.down.keys().link.text())?, Capacity::of(keys.up.keys().link.text())?);
    let trips = preset.figures.iter().any(|figure| matches!(figure.quantity, Quantity::Time(_)));
    let trips = if trips { round_trips(&plan, &down, &up) } else { Vec::new() };
    let found = |figure: &Figure| match (figure.of, figure.quantity) {
        (Of::Down, quantity) => down.statistic(quantity),
        (Of::Up, quantity) => up.statistic(quantity),
        (Of::RoundTrip, Quantity::Time(percentile)) => {
            let rank = (trips.len() * usize::from(percentile)).div_ceil(100).max(1);
            trips.get(rank - 1).map_or(0.0, |trip| trip.as_millis_f64())
        }
        (Of::RoundTrip, _) => {
            let [down, up] = [&plan.down, &plan.up].map(|direction| direction.impairment.loss.least());
            100.0 * (1.0 - (1.0 - down) * (1.0 - up))
        }
    };
    Ok(preset.figures.iter().map(|figure| Fitted { figure, found: found(figure) }).collect())
}

/// Capacity of a direction over time.
enum Capacity {
    Opportunities(Schedule, TraceInfo),
    Constant(TraceInfo),
}

impl Capacity {
    fn of(link: &str) -> Result<Capacity, String> {
        if link.starts_with(synth::COMPONENT.name) {
            let arguments = Arguments::parse(&[&synth::COMPONENT], link).map_err(|error| error.message)?;
            let schedule = Synth::from_arguments(&arguments).schedule().map_err(|error| error.to_string())?;
            let info = info::of_schedule(&schedule);
            return Ok(Capacity::Opportunities(schedule, info));
        }
        // The full rate of a Starlink terminal is that of its name.
        let rate = link.split(':').find_map(|word| qdelay_core::units::parse_rate(word).ok());
        let rate: Rate = rate.ok_or_else(|| format!("'{link}' has no rate"))?;
        let steps = RateSteps::new(vec![RateStep { start: Time::ZERO, rate }], Span::from_secs(1));
        Ok(Capacity::Constant(info::of_rates(&steps.map_err(|error| error.to_string())?)))
    }

    fn statistic(&self, quantity: Quantity) -> f64 {
        let (Capacity::Opportunities(_, info) | Capacity::Constant(info)) = self;
        match quantity {
            Quantity::Mean => info.mean_mbps,
            Quantity::Rate(5) => info.bins_1s.p5_mbps,
            Quantity::Rate(95) => info.bins_1s.p95_mbps,
            Quantity::Rate(_) => info.bins_1s.p50_mbps,
            Quantity::Variation => info.bins_1s.coefficient_of_variation,
            Quantity::Outage => 100.0 * info.outage.as_secs_f64() / info.duration.as_secs_f64(),
            Quantity::LongestGap => info.longest_gap.as_secs_f64(),
            Quantity::Time(_) | Quantity::Loss => f64::NAN,
        }
    }

    /// Times of opportunities in a round, and the round, in milliseconds; `None` where there is always one.
    fn times(&self) -> Option<(Vec<u64>, u64)> {
        match self {
            Capacity::Constant(_) => None,
            Capacity::Opportunities(schedule, _) => {
                let cursor = schedule.cursor(false).filter(|item| item.count > 0);
                let period = schedule.period().as_nanos() / 1_000_000;
                Some((cursor.map(|item| item.ms).collect(), period))
            }
        }
    }
}

/// The time of the first opportunity at or after `now`.
fn next(times: Option<&(Vec<u64>, u64)>, now: u64) -> u64 {
    let Some((times, period)) = times else { return now };
    let round = now / period * period;
    let at = times.partition_point(|time| *time < now - round);
    times.get(at).map_or_else(|| round + period + times.first().unwrap_or(&0), |time| round + time)
}

/// Round trips of a small packet over the idle link, ascending: one that leaves in each millisecond of five minutes.
fn round_trips(plan: &Plan, down: &Capacity, up: &Capacity) -> Vec<Span> {
    let (down, up) = (down.times(), up.times());
    let mut curves = [&plan.down, &plan.up].map(|direction| direction.curve.clone());
    let constant = [plan.down.delay, plan.up.delay];
    let mut delay = |direction: usize, at: u64| {
        let moving = curves[direction]
            .as_mut()
            .map_or(Span::ZERO, |curve| curve.at(Time::ZERO + Span::from_millis(at)));
        constant[direction] + moving
    };
    let mut trips: Vec<Span> = (0..300_000)
        .map(|start| {
            let sent = next(up.as_ref(), start);
            let turned = Span::from_millis(sent) + delay(1, sent);
            // Opportunities are in milliseconds: a packet waits for the next one.
            let left = next(down.as_ref(), turned.as_nanos().div_ceil(1_000_000));
            let waited = if down.is_some() { Span::from_millis(left) } else { turned };
            waited + delay(0, left) - Span::from_millis(start)
        })
        .collect();
    trips.sort_unstable();
    trips
}
