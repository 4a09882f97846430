//! An additional round trip of a flow over time, beside a walk over its steps.

use crate::common::{Log, drain, packet};
use qdelay_core::component::Arguments;
use qdelay_core::{Packet, Random, Rate, Span, Time, qdisc};
use qdelay_path::stack::{Bottleneck, Dumbbell, FlowKey, FlowWay};
use qdelay_path::{Curve, Impairments, Jitter, Line};
use qdelay_trace::{DelayStep, DelaySteps};

/// Steps of a delay in us, which start over after a period.
#[derive(Clone, Debug)]
struct Moves {
    steps: Vec<(u64, u64)>,
    period: u64,
}

impl Moves {
    fn draw(random: &mut Random) -> Moves {
        let (mut start, mut steps) = (0, Vec::new());
        for _ in 0..1 + random.below(6) {
            steps.push((start, random.below(40_000)));
            start += 1 + random.below(50_000);
        }
        Moves { steps, period: start }
    }
    fn curve(&self) -> Curve {
        let step = |&(start, delay): &(u64, u64)| DelayStep {
            start: Time::ZERO + Span::from_micros(start),
            value: Span::from_micros(delay),
        };
        let steps = DelaySteps::new(self.steps.iter().map(step).collect(), Span::from_micros(self.period));
        Curve::new(steps.unwrap(), true, false)
    }
    /// The delay at a time, both in ns.
    fn at(&self, now: u64) -> u64 {
        let within = now % (self.period * 1000);
        self.steps.iter().rfind(|(start, _)| start * 1000 <= within).unwrap().1 * 1000
    }
}

/// Passes packets through a delay that keeps their order.
fn in_order(times: &mut [u64], delay: impl Fn(u64) -> u64) {
    let mut last = 0;
    for time in times {
        last = last.max(*time + delay(*time));
        *time = last;
    }
}

#[test]
fn acknowledgements_take_the_rest_of_the_round_trip_and_their_flow_s_own() {
    for seed in 0..200 {
        let random = &mut Random::derive(seed, "extra", "draws");
        let [base, extra] = [Moves::draw(random), Moves::draw(random)];
        let base_moves = random.below(2) == 0;
        let constant = random.below(2) * random.below(20_000_000);
        let moving = FlowWay {
            access: (random.below(2) == 0).then_some(Rate::INFINITE),
            extra_rtt: Span::from_nanos(constant),
            extra_curve: Some(Box::new(extra.curve())),
            ..FlowWay::default()
        };
        let flows = [FlowWay::default(), moving];
        let curve = base.curve();
        let dumbbell = Dumbbell {
            hops: &[],
            bottleneck: &Bottleneck::link(
                Arguments::parse(qdisc::COMPONENTS, "taildrop").unwrap(),
                Line::new(Rate::from_bps(8_000_000), 0),
            ),
            uplink: None,
            rtt_curve: base_moves.then_some(&curve),
            base_rtt: Span::from_millis(10),
            jitter: &Jitter::NONE,
            uplink_jitter: &Jitter::NONE,
            impairments: &Impairments::default(),
            flows: &flows,
            key: FlowKey::Flow,
            is_changeable: false,
            seed: 1,
        };
        let mut topology = dumbbell.build().unwrap();
        let (mut log, mut at) = (Log::default(), 0);
        let mut times = [Vec::new(), Vec::new()];
        for handle in 0..300 {
            at += random.below(3_000_000);
            let flow = (handle % 2) as usize;
            times[flow].push(at);
            let packet = Packet { flow: flow as u32, ..packet(handle, 40) };
            topology.path.ingress(Time::from_nanos(at), topology.ack_entry[flow], packet, &mut log).unwrap();
        }
        drain(&mut topology.path, Time::NEVER, &mut log);
        let rest = |now: u64| if base_moves { base.at(now) - base.at(now) / 2 } else { 5_000_000 };
        in_order(&mut times[0], rest);
        match base_moves {
            // Two delays, each of which keeps the order.
            true => {
                in_order(&mut times[1], |now| rest(now) + constant);
                in_order(&mut times[1], |now| extra.at(now));
            }
            false => in_order(&mut times[1], |now| rest(now) + constant + extra.at(now)),
        }
        let mut expected: Vec<(u64, u64)> = (0_u64..)
            .zip(times)
            .flat_map(|(flow, times)| (0_u64..).zip(times).map(move |(n, time)| (time, 2 * n + flow)))
            .collect();
        expected.sort_unstable();
        let mut found = log.delivered();
        found.sort_unstable();
        assert_eq!(found, expected, "seed {seed}: {base:?} {extra:?}");
    }
}
