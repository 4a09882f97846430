//! Pacers: a class decides when a packet may pass to the buffer below.

use super::Role;
use super::call::{Class, Input, Instance, Number};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use qdelay_core::component::{Component, Custom, Kind};
use qdelay_core::pacer::{self, Eligible, Pacer, Signal, Signals};
use qdelay_core::{Span, Time};
use std::sync::Arc;

pub const ROLE: Role = Role {
    name: "pacer",
    kind: Kind::Pacer,
    common: |own| own.to_vec(),
    methods: &[
        ("eligible", &[Input::Now, Input::Size]),
        ("forwarded", &[Input::Now, Input::Size]),
        ("served", &[Input::Now, Input::Capacity, Input::Sent, Input::Bytes, Input::Packets]),
        ("dequeued", &[Input::Now, Input::Bytes]),
        ("remaining", &[Input::Now, Input::Bytes]),
        ("opportunity", &[Input::Now, Input::Capacity]),
        ("refused", &[Input::Now]),
    ],
    custom,
};
const ELIGIBLE: usize = 0;
const FORWARDED: usize = 1;
const SERVED: usize = 2;
const DEQUEUED: usize = 3;
const REMAINING: usize = 4;
const OPPORTUNITY: usize = 5;
const REFUSED: usize = 6;

fn custom(component: &'static Component, class: Arc<Class>) -> Custom {
    pacer::custom(component, move |arguments, _| Ok(Gate { instance: class.instance(arguments)? }))
}

#[derive(Clone, Debug)]
struct Gate {
    instance: Instance,
}

impl Gate {
    fn tell(&self, place: usize, now: Time, numbers: &[(Input, u64)]) {
        let value = |input| {
            let found = numbers.iter().find(|(known, _)| *known == input);
            found.map_or(Number::seconds(now), |(_, number)| Number::Whole(*number))
        };
        self.instance.call(place, now, value, |_| Ok(()));
    }
}

impl Pacer for Gate {
    /// Asks the class: True means now, False or None wait for the next signal, and a number is the time to wait in seconds.
    fn next_eligible(&mut self, now: Time, size_bytes: u64) -> Eligible {
        let value = |input| match input {
            Input::Size => Number::Whole(size_bytes),
            _ => Number::seconds(now),
        };
        let answer = self.instance.call(ELIGIBLE, now, value, |answer| {
            if answer.is_none() {
                return Ok(Eligible::OnSignal);
            }
            if answer.is_instance_of::<PyBool>() {
                return Ok(if answer.is_truthy().unwrap_or(true) {
                    Eligible::Now
                } else {
                    Eligible::OnSignal
                });
            }
            let seconds =
                answer.extract::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
            seconds
                .map(|seconds| match Span::from_secs_f64(seconds) {
                    Span::ZERO => Eligible::Now,
                    wait => Eligible::At(now + wait),
                })
                .ok_or("True (at once), the seconds to wait, or None (until a signal comes)")
        });
        answer.unwrap_or(Eligible::Now)
    }
    fn forwarded(&mut self, now: Time, bytes: u64) {
        self.tell(FORWARDED, now, &[(Input::Size, bytes)]);
    }
    fn on_signal(&mut self, now: Time, signal: Signal) {
        match signal {
            Signal::Dequeued { bytes } => self.tell(DEQUEUED, now, &[(Input::Bytes, bytes)]),
            Signal::Remaining { bytes } => self.tell(REMAINING, now, &[(Input::Bytes, bytes)]),
            Signal::Capacity { bytes } => self.tell(OPPORTUNITY, now, &[(Input::Capacity, bytes)]),
            Signal::Refused => self.tell(REFUSED, now, &[]),
            Signal::Served(served) => {
                let numbers = [
                    (Input::Capacity, served.capacity_bytes),
                    (Input::Sent, served.sent_bytes),
                    (Input::Bytes, served.remaining_bytes),
                    (Input::Packets, served.remaining_packets),
                ];
                self.tell(SERVED, now, &numbers);
            }
            // Python classes are refused over F1-U.
            Signal::Delivered(_) => {}
        }
    }
    fn listens(&self) -> Signals {
        Signals {
            dequeued: self.instance.has(DEQUEUED),
            remaining: self.instance.has(REMAINING),
            capacity: self.instance.has(OPPORTUNITY),
            refused: self.instance.has(REFUSED),
            served: self.instance.has(SERVED),
            delivered: false,
        }
    }
}
