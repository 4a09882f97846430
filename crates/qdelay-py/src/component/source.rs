//! Sources of datagrams: a class decides send time and size of the next one.

use super::Role;
use super::call::{Class, Input, Instance, Number};
use pyo3::prelude::*;
use qdelay_core::component::{Component, Custom, Kind};
use qdelay_core::{Random, Span, Time};
use qdelay_traffic::source::{self, Source};
use std::sync::Arc;

pub const ROLE: Role = Role {
    name: "source",
    kind: Kind::Transport,
    common: |own| own.to_vec(),
    methods: &[("next", &[Input::Now, Input::Random])],
    custom,
};
const NEXT: usize = 0;
const EXPECTED: &str = "(seconds to the next datagram, its IP bytes from 28 to 65535), or None for no more";

fn custom(component: &'static Component, class: Arc<Class>) -> Custom {
    source::custom(component, move |arguments| {
        Ok(Datagrams { instance: class.instance(arguments)?, now: Time::ZERO })
    })
}

#[derive(Clone, Debug)]
struct Datagrams {
    instance: Instance,
    /// Time since the start of the flow.
    now: Time,
}

impl Source for Datagrams {
    fn next(&mut self, random: &mut Random) -> Option<(Span, u32)> {
        let now = self.now;
        let value = |input| match input {
            Input::Random => Number::Float(random.unit()),
            _ => Number::seconds(now),
        };
        let next = self.instance.call(NEXT, now, value, |answer| {
            if answer.is_none() {
                return Ok(None);
            }
            let (seconds, bytes) = answer.extract::<(f64, u32)>().map_err(|_| EXPECTED)?;
            let is_sound = (0.0..=1e9).contains(&seconds) && (28..=65_535).contains(&bytes);
            is_sound.then(|| Some((Span::from_secs_f64(seconds), bytes))).ok_or(EXPECTED)
        });
        let next = next.flatten()?;
        self.now = now + next.0;
        Some(next)
    }
}
