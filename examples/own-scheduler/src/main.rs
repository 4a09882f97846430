//! An own MAC scheduler and an own radio channel, with the whole command around them: `least_served` gives resource blocks to the UE
//! that has received the fewest bytes; `tunnel` is a channel that is lost now and then.
//!
//! ```text
//! cargo run --release -- run cell.toml
//! ```

use qdelay::core::component::{Component, Kind, Registry, Typed};
use qdelay::core::{Random, Span, Time};
use qdelay::ran::mac::{self, Demand, Policy};
use qdelay::ran::radio::{self, ChannelModel, Quality};
use qdelay::ran::tables::Carrier;
use std::process::ExitCode;

static LEAST_SERVED: Component = Component::new(
    Kind::Scheduler,
    "least_served",
    "resource blocks to the UE that has received the fewest bytes",
);

#[derive(Clone, Debug, Default)]
struct LeastServed {
    bytes: Vec<u64>,
}

impl Policy for LeastServed {
    fn start(&mut self, ues: usize, _: Span) {
        self.bytes = vec![0; ues];
    }
    fn rank(&self, demand: &Demand) -> f64 {
        -(self.bytes[demand.ue as usize] as f64)
    }
    fn carried(&mut self, ue: u32, bytes: u64) {
        self.bytes[ue as usize] += bytes;
    }
}

const EVERY: Typed<Span> = Typed::new("every", "5s", "mean time between tunnels").within("100ms", "1000s");
const FOR: Typed<Span> = Typed::new("for", "1s", "length of a tunnel").within("1ms", "100s");
static TUNNEL: Component = Component::new(Kind::Channel, "tunnel", "MCS 20, and nothing at all in tunnels")
    .with(&[EVERY.parameter(), FOR.parameter()]);

#[derive(Clone, Debug)]
struct Tunnel {
    every: Span,
    length: Span,
    random: Random,
    next: Time,
}

impl Tunnel {
    fn draw(&mut self) -> Span {
        Span::from_secs_f64(self.every.as_secs_f64() * self.random.exponential())
    }
}

impl ChannelModel for Tunnel {
    fn start(&mut self, _: &Carrier, random: Random) {
        self.random = random;
        self.next = Time::ZERO + self.draw();
    }
    fn quality(&mut self, now: Time) -> Quality {
        while now >= self.next + self.length {
            let gap = self.draw();
            self.next += self.length + gap;
        }
        if now >= self.next { Quality::Outage } else { Quality::mcs(20) }
    }
}

fn main() -> ExitCode {
    let scheduler = mac::custom(&LEAST_SERVED, |_| Ok(LeastServed::default()));
    let channel = radio::custom(&TUNNEL, |arguments| {
        let random = Random::derive(0, "", "");
        Ok(Tunnel { every: arguments.get(&EVERY), length: arguments.get(&FOR), random, next: Time::ZERO })
    });
    qdelay::main_with(Registry::new().with(scheduler).with(channel))
}
