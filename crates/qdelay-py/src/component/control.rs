//! Congestion controls: a class decides the window, and the pacing rate if it has `pacing`. Loss detection, recovery and timers are TCP's.

use super::Role;
use super::call::{Class, Input, Instance, Number};
use pyo3::prelude::*;
use qdelay_core::component::{Component, Custom, Kind};
use qdelay_core::{Random, Rate, Span};
use qdelay_traffic::control::{self, AckSample, Connection, Controller, Window};
use qdelay_traffic::tcp::KNOBS;
use std::sync::Arc;

pub const ROLE: Role = Role {
    name: "control",
    kind: Kind::Transport,
    common: |own| KNOBS.iter().chain(own).copied().collect(),
    methods: &[("ack", INPUTS), ("loss", INPUTS), ("pacing", INPUTS)],
    custom,
};
const INPUTS: &[Input] = &[
    Input::Now,
    Input::Cwnd,
    Input::Ssthresh,
    Input::Acked,
    Input::Lost,
    Input::InFlight,
    Input::Rtt,
    Input::Srtt,
    Input::MinRtt,
    Input::Rate,
    Input::Segment,
    Input::Limited,
];
const ACK: usize = 0;
const LOSS: usize = 1;
const PACING: usize = 2;
/// Smallest window, in segments.
const LEAST: u32 = 2;

fn custom(component: &'static Component, class: Arc<Class>) -> Custom {
    control::custom(component, move |arguments| {
        Ok(Control { instance: class.instance(arguments)?, rate: None, credit: 0.0 })
    })
}

#[derive(Clone, Debug)]
struct Control {
    instance: Instance,
    /// Pacing rate.
    rate: Option<Rate>,
    /// Fraction of a segment by which the class's window exceeds the window in use.
    credit: f64,
}

impl Control {
    fn ask(
        &self,
        place: usize,
        connection: &Connection,
        window: &Window,
        sample: Option<&AckSample>,
    ) -> Option<Option<f64>> {
        let credit = if place == ACK { self.credit } else { 0.0 };
        let value = |input| number(input, connection, window, sample, credit);
        self.instance.call(place, connection.now, value, |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            let number = answer.extract::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
            number
                .map(Some)
                .ok_or("a number of at least 0 (segments; of pacing bit/s), or None for no change")
        })
    }
}

/// Value of an input. A loss has no sample of an acknowledgement: counts are then 0, and measurements unknown.
fn number(
    input: Input,
    connection: &Connection,
    window: &Window,
    sample: Option<&AckSample>,
    credit: f64,
) -> Number {
    match input {
        Input::Now => Number::seconds(connection.now),
        Input::Cwnd => Number::Float(f64::from(window.cwnd) + credit),
        Input::Ssthresh => window.ssthresh.into(),
        Input::Acked => sample.map_or(0, |sample| sample.acked_sacked).into(),
        Input::Lost => sample.map_or(0, |sample| sample.losses).into(),
        Input::InFlight => connection.in_flight.into(),
        Input::Rtt => sample.and_then(|sample| sample.rtt).into(),
        Input::Srtt => Some(connection.srtt).filter(|srtt| !srtt.is_zero()).into(),
        Input::MinRtt => Some(connection.min_rtt).filter(|rtt| *rtt != Span::MAX).into(),
        Input::Rate => {
            let measured = sample.and_then(|sample| Some((sample.delivered, sample.interval?)));
            measured.filter(|(_, interval)| !interval.is_zero()).map_or(
                Number::Unknown,
                |(delivered, interval)| {
                    let bits = f64::from(delivered) * f64::from(connection.mss) * 8.0;
                    Number::Float(bits / interval.as_secs_f64())
                },
            )
        }
        Input::Segment => connection.mss.into(),
        Input::Limited => Number::Switch(connection.window_limited),
        _ => Number::Unknown,
    }
}

impl Controller for Control {
    fn init(&mut self, _: &Connection, _: &mut Window, _: &mut Random) {}

    fn ssthresh(&mut self, connection: &Connection, window: &Window) -> u32 {
        self.credit = 0.0;
        let half = (window.cwnd / 2).max(LEAST);
        match self.ask(LOSS, connection, window, None).flatten() {
            Some(segments) => (segments as u32).max(LEAST),
            None => half,
        }
    }

    fn grow(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        if let Some(Some(segments)) = self.ask(ACK, connection, window, Some(sample)) {
            let whole = segments.floor().clamp(f64::from(LEAST), f64::from(window.clamp));
            self.credit = (segments - whole).clamp(0.0, 1.0 - f64::EPSILON);
            window.cwnd = whole as u32;
        }
        if let Some(rate) = self.ask(PACING, connection, window, Some(sample)) {
            self.rate = rate.map(|bps| Rate::from_bps(bps as u64));
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }

    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}
