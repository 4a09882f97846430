//! An own queue discipline, with the whole command around it: `random_early` drops arrivals with a probability that grows with
//! the backlog.
//!
//! ```text
//! cargo run --release -- compare --qdisc random_early,codel,bode --trace synth-lte-driving --seed 1..5
//! cargo run --release -- run scenario.toml
//! sudo target/release/own-aqm link --down 10mbit --qdisc random_early:full=50 -- curl -O https://example.com/file
//! ```

use qdelay::core::component::{Component, Kind, Registry, Typed, Unit};
use qdelay::core::qdisc::{self, Fifo, FifoLaw, LIMIT, Ring, limit};
use qdelay::core::{Context, DropReason, Packet, Sink};
use std::process::ExitCode;

const FULL: Typed<u64> = Typed::new("full", "100", "packets at which every arrival is dropped")
    .unit(Unit::Count("packets"))
    .within("1", "10000000");
static RANDOM_EARLY: Component =
    Component::new(Kind::Qdisc, "random_early", "drops at random, more often the longer the queue")
        .with(&[FULL.parameter(), LIMIT.parameter()]);
const EARLY: DropReason = DropReason::new("early");

#[derive(Clone, Debug)]
struct RandomEarly {
    full: u64,
}

impl FifoLaw for RandomEarly {
    fn admit<S: Sink>(
        &mut self,
        ring: &mut Ring,
        context: &mut Context<'_, S>,
        packet: &mut Packet,
    ) -> Result<(), DropReason> {
        if context.random.below(self.full) < ring.len() as u64 {
            return Err(EARLY);
        }
        ring.check_room(packet)
    }
}

fn main() -> ExitCode {
    let aqm = qdisc::custom(&RANDOM_EARLY, |arguments| {
        Ok(Fifo::new(limit(arguments), RandomEarly { full: arguments.get(&FULL) }))
    });
    qdelay::main_with(Registry::new().with(aqm))
}
