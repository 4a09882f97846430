//! Simulated runs of a cell. A flow that starts some milliseconds later meets the outages of a trace with another
//! window, so the simulated flow starts when the real one did, and again slightly earlier and later.
//!
//! The runs are aligned on the arrival of the first whole segment at the bottleneck. Before that, a real flow did more than a
//! simulated one: its program was started, and waited for a message from the other end.

use super::cells::{LinkCell, Run};
use super::figures::LinkFigures;
use super::store::Attempt;
use qdelay_core::{Span, Time};
use qdelay_sim::{Direction, PacketRecord, Recorder, Scenario};
use qdelay_study::engine::{Named, outcomes};
use qdelay_terminal::error::Failure;
use qdelay_terminal::progress::Bar;

/// Offsets to the real flow's start, in microseconds; the first is 0.
const OFFSETS_US: [i64; 5] = [0, -1000, 1000, -3000, 3000];
/// Smallest whole segment in bytes; SYNs and segments that open a connection are smaller.
const WHOLE_SEGMENT: u32 = 200;
/// Precision of the search for the start.
const EXACTLY: Span = Span::from_micros(20);
/// Length of an outage that may delay the first segment during the search.
const PATIENCE: Span = Span::from_secs(3);

/// Simulated runs of a cell.
#[derive(Clone, Debug)]
pub struct Simulated {
    /// Results at each offset; the first has the real flow's start.
    pub figures: Vec<LinkFigures>,
    /// Arrival of the first whole segment at the bottleneck in the first run.
    pub begun_ms: Option<f64>,
}

/// Simulates every cell with a real run.
///
/// # Errors
/// A case without an outcome.
pub fn run(
    cells: &[LinkCell],
    runs: &[Vec<Attempt>],
    jobs: Option<usize>,
) -> Result<Vec<Option<Simulated>>, Failure> {
    let mut cases = Vec::new();
    let mut begun = Vec::new();
    for (cell, runs) in cells.iter().zip(runs) {
        let target = runs.last().and_then(|last| last.begun_ms);
        begun.push(match (&cell.run, target) {
            (Ok(run), Some(ms)) => Some(plan(run, &cell.name, Span::from_secs_f64(ms / 1e3), &mut cases)),
            _ => None,
        });
    }
    let outcomes = match cases.is_empty() {
        true => Vec::new(),
        false => outcomes("validate link, simulated", &cases, jobs, &Bar::default())?,
    };
    let mut outcomes = outcomes.iter();
    let simulated = cells.iter().zip(begun).map(|(cell, begun)| {
        let begun = begun?;
        let header_seconds = cell.run.as_ref().ok().and_then(|run| run.header_seconds);
        let figures = outcomes.by_ref().take(OFFSETS_US.len());
        let figures = figures.map(|outcome| LinkFigures::from_outcome(outcome, header_seconds)).collect();
        Some(Simulated { figures, begun_ms: begun.map(|time| time.since(Time::ZERO).as_millis_f64()) })
    });
    Ok(simulated.collect())
}

/// Adds the cases of a cell; returns the start of the flow in the first of them.
fn plan(run: &Run, name: &str, target: Span, cases: &mut Vec<Named>) -> Option<Time> {
    let scenario = &run.case.scenario;
    let start = start_for(scenario, Time::ZERO + target);
    for offset in OFFSETS_US {
        let shift = Span::from_micros(offset.unsigned_abs());
        let start = if offset < 0 { start.saturating_sub(shift) } else { start + shift };
        cases.push(Named { name: name.to_string(), scenario: started(scenario, start) });
    }
    begins(scenario, start, target)
}

/// Start for which the first whole segment arrives at the bottleneck closest to `target`. The arrival never decreases with
/// the start, and moves in steps behind a trace link.
fn start_for(scenario: &Scenario, target: Time) -> Span {
    let whole = target.since(Time::ZERO);
    let begins = |start: Span| begins(scenario, start, whole);
    let (mut early, mut late) = (Span::ZERO, whole);
    while late.saturating_sub(early) > EXACTLY {
        let middle = early + late.saturating_sub(early) / 2;
        if begins(middle).is_some_and(|time| time <= target) { early = middle } else { late = middle }
    }
    let far = |start: Span| begins(start).map(|time| time.since(target).max(target.since(time)));
    match (far(early), far(late)) {
        (Some(a), Some(b)) if b < a => late,
        (None, Some(_)) => late,
        _ => early,
    }
}

fn started(scenario: &Scenario, start: Span) -> Scenario {
    let mut scenario = scenario.clone();
    scenario.flows.iter_mut().for_each(|flow| flow.start = start);
    scenario
}

/// Arrival of the first whole segment at the bottleneck.
fn begins(scenario: &Scenario, start: Span, target: Span) -> Option<Time> {
    let duration = scenario.duration.min(target + PATIENCE);
    let mut first = First(None);
    let run = qdelay_sim::run_recorded(&Scenario { duration, ..started(scenario, start) }, &mut first);
    run.ok().and(first.0)
}

/// Arrival of the first whole segment.
struct First(Option<Time>);

impl Recorder for First {
    fn packet(&mut self, record: &PacketRecord) {
        if record.direction == Direction::Data
            && record.bytes > WHOLE_SEGMENT
            && let Some(arrival) = record.arrival
        {
            self.0 = Some(self.0.map_or(arrival, |first| first.min(arrival)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Against, cells};
    use super::*;
    use qdelay_sim::Bottleneck;
    use qdelay_study::links;
    use qdelay_study::traces::Library;

    #[test]
    fn the_simulated_flow_begins_when_the_real_one_did() {
        let library = Library::new();
        let cells =
            cells(Against::Simulator, &library, 5, None, &["att,cubic,taildrop".to_string()]).unwrap();
        assert!(cells[0].run.is_err(), "the trace is not shipped");
        let mut scenario = test_scenario();
        // The trace has an opportunity in every millisecond of a burst, and none between bursts.
        for (link, near) in [("10mbit", 1), ("synth:lte-driving:duration=10s", 10)] {
            scenario.bottleneck = bottleneck(link);
            for target in [25, 300, 1234] {
                let target = Span::from_millis(target);
                let start = start_for(&scenario, Time::ZERO + target);
                let begun = begins(&scenario, start, target).unwrap().since(Time::ZERO);
                let far = begun.saturating_sub(target).max(target.saturating_sub(begun));
                assert!(far <= Span::from_millis(near), "{link}: {target} {begun}");
            }
        }
    }

    fn bottleneck(link: &str) -> Bottleneck {
        let qdisc = crate::validate::parse_qdisc("taildrop").unwrap();
        Bottleneck::link(qdisc, links::parse(link).unwrap())
    }

    fn test_scenario() -> Scenario {
        use crate::validate::parse_transport;
        use qdelay_sim::FlowSpec;
        Scenario {
            bottleneck: bottleneck("10mbit"),
            uplink: None,
            hops: Vec::new(),
            base_rtt: Span::from_millis(10),
            rtt_curve: None,
            jitter: qdelay_sim::Jitter::NONE,
            uplink_jitter: qdelay_sim::Jitter::NONE,
            impairments: qdelay_sim::Impairments::default(),
            flows: vec![FlowSpec::new("cubic", parse_transport("cubic").unwrap())],
            probe: None,
            duration: Span::from_secs(5),
            warmup: Span::ZERO,
            seed: 1,
            min_packet_bytes: 200,
            groups: Vec::new(),
            series: None,
            connections: false,
        }
    }
}
