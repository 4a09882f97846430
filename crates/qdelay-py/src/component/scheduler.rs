//! MAC schedulers: a class ranks UEs; resource blocks go to the highest rank first.

use super::Role;
use super::call::{Class, Input, Instance, Number};
use pyo3::prelude::*;
use qdelay_core::component::{Component, Custom, Kind};
use qdelay_core::{Span, Time};
use qdelay_ran::mac::{self, Demand, Policy};
use std::sync::Arc;

pub const ROLE: Role = Role {
    name: "scheduler",
    kind: Kind::Scheduler,
    common: |own| own.to_vec(),
    methods: &[
        ("rank", &[Input::Ue, Input::Bytes, Input::RateBytes, Input::Tti]),
        ("begin", &[Input::Tti, Input::Now]),
        ("carried", &[Input::Ue, Input::Bytes, Input::Tti]),
        ("start", &[Input::Ues]),
    ],
    custom,
};
const RANK: usize = 0;
const BEGIN: usize = 1;
const CARRIED: usize = 2;
const START: usize = 3;

fn custom(component: &'static Component, class: Arc<Class>) -> Custom {
    mac::custom(component, move |arguments| {
        Ok(Ranks { instance: class.instance(arguments)?, length: Span::ZERO, tti: 0 })
    })
}

#[derive(Clone, Debug)]
struct Ranks {
    instance: Instance,
    /// Duration of a TTI.
    length: Span,
    tti: u64,
}

impl Ranks {
    fn now(&self) -> Time {
        Time::ZERO + self.length * self.tti
    }
    fn ask(&self, place: usize, numbers: &[(Input, u64)]) -> Option<Option<f64>> {
        let value = |input| match (numbers.iter().find(|(known, _)| *known == input), input) {
            (Some((_, number)), _) => Number::Whole(*number),
            (None, Input::Now) => Number::seconds(self.now()),
            (None, _) => Number::Whole(self.tti),
        };
        self.instance.call(place, self.now(), value, |answer| {
            if place != RANK {
                return Ok(None);
            }
            let rank = answer.extract::<f64>().ok().filter(|rank| !rank.is_nan());
            rank.map(Some).ok_or("a number: the UE with the highest is first")
        })
    }
}

impl Policy for Ranks {
    fn start(&mut self, ues: usize, tti: Span) {
        self.length = tti;
        self.ask(START, &[(Input::Ues, ues as u64)]);
    }
    fn begin(&mut self, tti: u64) {
        self.tti = tti;
        self.ask(BEGIN, &[]);
    }
    fn rank(&self, demand: &Demand) -> f64 {
        let numbers = [
            (Input::Ue, u64::from(demand.ue)),
            (Input::Bytes, demand.bytes),
            (Input::RateBytes, demand.rate_bytes),
        ];
        self.ask(RANK, &numbers).flatten().unwrap_or(0.0)
    }
    fn carried(&mut self, ue: u32, bytes: u64) {
        self.ask(CARRIED, &[(Input::Ue, u64::from(ue)), (Input::Bytes, bytes)]);
    }
}
