//! BoDe over cellular traces. In the laboratory the emulator carries real packets through the path; the recorded arrivals then go through
//! the
//! simulator's path, which must decide the same to the nanosecond. The same scenario also runs in the simulator with its own TCP, with
//! several
//! seeds and without recorded packets.

use super::recording::{Recorded, Recording};
use super::{Runs, Where};
use qdelay_core::{DropReason, Packet, Time};
use qdelay_lab::Wanted;
use qdelay_path::stack::{Dumbbell, FlowKey, FlowWay, Topology};
use qdelay_path::{NodeId, Observer};
use qdelay_sim::{FlowSpec, Scenario};
use qdelay_study::results::{CaseSummary, Summary, round};
use qdelay_study::scenario::Case;
use qdelay_terminal::error::Failure;
use serde::Serialize;

const SCENARIO: &str = r#"
[path]
trace = "synth-lte-driving"
rtt = "10ms"
uplink = "48mbit"
limit = 1000
qdisc = "bode:target=20ms"
[[flow]]
name = "tcp"
[run]
duration = "10s"
warmup = "1s"
[matrix]
path.trace = ["synth-lte-driving", "synth-subway"]
flow.transport = ["cubic", "bbr"]
"#;
/// Largest relative difference of end-to-end figures.
const WITHIN: f64 = 0.03;
/// Seeds of the end-to-end runs. These runs do not record packets, because recording takes time of the machine's only processor.
const WHOLE_SEEDS: [u64; 3] = [1, 2, 3];

/// Compared cell.
#[derive(Clone, Debug, Serialize)]
pub struct BodeCell {
    pub cell: String,
    /// The end-to-end run can be trusted; otherwise `run.json` has the reasons. Decisions do not depend on this.
    pub trustworthy: bool,
    /// Number of recorded packets.
    pub packets: u64,
    /// Number of dropped packets.
    pub drops: u64,
    /// Packets that ended while all arrivals were known: a drop depends on packets that arrived later.
    pub judged: u64,
    /// Packets with the same fate and the same times.
    pub equal: u64,
    /// First difference.
    pub first: Option<String>,
    pub end_to_end: [Figure; 2],
}

/// Figure of the laboratory and of the simulator.
#[derive(Clone, Debug, Serialize)]
pub struct Figure {
    pub measure: &'static str,
    /// Means over the seeds.
    pub lab: f64,
    pub simulated: f64,
    /// Values by seed.
    pub lab_by_seed: Vec<f64>,
    pub simulated_by_seed: Vec<f64>,
    /// Simulator minus laboratory, relative to the laboratory.
    pub difference: f64,
    pub is_within: bool,
}

impl Figure {
    fn new(
        measure: &'static str,
        of: fn(&CaseSummary) -> f64,
        [lab, simulated]: [&[CaseSummary]; 2],
    ) -> Figure {
        let by_seed = |runs: &[CaseSummary]| runs.iter().map(|run| round(of(run))).collect::<Vec<f64>>();
        let mean = |figures: &[f64]| figures.iter().sum::<f64>() / figures.len().max(1) as f64;
        let (lab_by_seed, simulated_by_seed) = (by_seed(lab), by_seed(simulated));
        let (lab, simulated) = (mean(&lab_by_seed), mean(&simulated_by_seed));
        let difference = if lab > 0.0 { simulated / lab - 1.0 } else { simulated };
        Figure {
            measure,
            lab: round(lab),
            simulated: round(simulated),
            lab_by_seed,
            simulated_by_seed,
            difference: round(difference),
            is_within: difference.abs() <= WITHIN,
        }
    }
}

/// Runs and compares the cells.
///
/// # Errors
/// A machine that fails, a recording that cannot be read, or a path that cannot be built.
pub fn compare(place: &Where<'_>) -> Result<Vec<BodeCell>, Failure> {
    if !place.is_meant("bode") {
        return Ok(Vec::new());
    }
    let runs = Runs::recorded(place, "bode", SCENARIO, Wanted::Qdelay)?;
    let whole = Runs::run(place, ("bode-whole", SCENARIO), Wanted::Qdelay, (&WHOLE_SEEDS, false))?;
    let simulated = whole.simulate(place)?;
    let by_cell = |summary: &Summary| -> Vec<Vec<CaseSummary>> {
        summary.cases.chunks(WHOLE_SEEDS.len()).map(<[CaseSummary]>::to_vec).collect()
    };
    let ends: Vec<_> = by_cell(&whole.summary).into_iter().zip(by_cell(&simulated)).collect();
    let of = |(case, (lab, simulated)): (&Case, &(Vec<CaseSummary>, Vec<CaseSummary>))| {
        let recording = runs.recording(case)?;
        let scenario: &Scenario = &case.scenario;
        let seen =
            replay(scenario, &recording).map_err(|error| Failure::Check(format!("{}: {error}", case.id)))?;
        let figures: [&[CaseSummary]; 2] = [lab, simulated];
        let ([judged, equal], first) = equal(&recording, &seen);
        Ok(BodeCell {
            cell: case.labels[..2].join(", "),
            trustworthy: lab.iter().all(|run| run.trustworthy != Some(false)),
            packets: recording.packets.len() as u64,
            drops: recording.packets.iter().filter(|row| row.is_dropped()).count() as u64,
            judged,
            equal,
            first,
            end_to_end: [
                Figure::new("throughput Mbit/s", |case| case.throughput_mbps, figures),
                Figure::new("p99 ms", |case| case.queue_delay_ms.p99, figures),
            ],
        })
    };
    runs.cases.iter().zip(&ends).map(of).collect()
}

/// Fate of each packet on the path, by place in the recording.
#[derive(Clone, Debug)]
struct Seen {
    nodes: [NodeId; 3],
    dequeued: Vec<Option<Time>>,
    departed: Vec<Option<Time>>,
    ended: Vec<Option<(Time, &'static str)>>,
}

impl Observer for Seen {
    fn dequeued(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node == self.nodes[0] {
            self.dequeued[packet.handle as usize] = Some(now);
        }
    }
    fn departed(&mut self, now: Time, node: NodeId, _: NodeId, packet: &Packet) {
        if node == self.nodes[1] {
            self.departed[packet.handle as usize] = Some(now);
        }
    }
    fn dropped(&mut self, now: Time, _: NodeId, packet: &Packet, reason: DropReason) {
        self.ended[packet.handle as usize] = Some((now, reason.name()));
    }
    fn delivered(&mut self, now: Time, node: NodeId, packet: &Packet) {
        if node == self.nodes[2] {
            self.ended[packet.handle as usize] = Some((now, "delivered"));
        }
    }
}

/// Plays the arrivals through the path of `scenario`, built as in the simulator.
fn replay(scenario: &Scenario, recording: &Recording) -> Result<Seen, String> {
    let flows: Vec<FlowWay> = scenario.flows.iter().map(FlowSpec::way).collect();
    let dumbbell = Dumbbell {
        hops: &scenario.hops,
        bottleneck: &scenario.bottleneck,
        uplink: scenario.uplink.as_ref(),
        base_rtt: scenario.base_rtt,
        rtt_curve: None,
        jitter: &scenario.jitter,
        uplink_jitter: &scenario.uplink_jitter,
        impairments: &scenario.impairments,
        flows: &flows,
        key: FlowKey::Flow,
        is_changeable: false,
        seed: scenario.seed,
    };
    let Topology { mut path, queue, link, receivers, data_entry, .. } =
        dumbbell.build().map_err(|error| error.to_string())?;
    let all = recording.packets.len();
    let mut seen = Seen {
        nodes: [queue, link, receivers],
        dequeued: vec![None; all],
        departed: vec![None; all],
        ended: vec![None; all],
    };
    for row in &recording.packets {
        let entry = data_entry.get(row.packet.flow as usize).or(data_entry.last()).copied().unwrap_or(queue);
        path.ingress(row.packet.arrival, entry, row.packet, &mut seen).map_err(|error| error.to_string())?;
    }
    let end = (Time::ZERO + scenario.duration).max(path.now());
    path.poll(end, &mut seen).map_err(|error| error.to_string())?;
    path.audit().map_err(|error| error.to_string())?;
    Ok(seen)
}

/// Number of judged packets, number of them with the same fate and times, and the first difference.
fn equal(recording: &Recording, seen: &Seen) -> ([u64; 2], Option<String>) {
    let until = recording.known_until();
    let (mut judged, mut equal) = (0, 0);
    let mut first: Option<(Time, String)> = None;
    for (place, row) in recording.packets.iter().enumerate().filter(|(_, row)| row.ended <= until) {
        judged += 1;
        let ours = (seen.dequeued[place], seen.departed[place], seen.ended[place]);
        let theirs = (row.dequeued, row.departed, Some((row.ended, row.fate.as_str())));
        if ours == theirs {
            equal += 1;
        } else if first.as_ref().is_none_or(|(at, _)| row.ended < *at) {
            first = Some((row.ended, difference(place, row, ours)));
        }
    }
    ([judged, equal], first.map(|(_, text)| text))
}

fn difference(
    place: usize,
    row: &Recorded,
    (dequeued, departed, ended): (Option<Time>, Option<Time>, Option<(Time, &str)>),
) -> String {
    let at = |time: Option<Time>| time.map_or("never".to_string(), |time| time.as_nanos().to_string());
    let text = |dequeued, departed, fate: &str, ended| {
        format!("{fate} at {}, dequeued at {}, departed at {}", at(ended), at(dequeued), at(departed))
    };
    format!(
        "packet {place}, {} bytes, came at {} ns: emulator {}; simulator {}",
        row.packet.bytes,
        row.packet.arrival.as_nanos(),
        text(row.dequeued, row.departed, &row.fate, Some(row.ended)),
        text(dequeued, departed, ended.map_or("inside", |(_, fate)| fate), ended.map(|(time, _)| time))
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_study::scenario::{Overrides, Study};
    use qdelay_study::traces::Library;

    /// Recording of the path's own decisions on packets every 2 ms.
    fn recorded(scenario: &Scenario) -> Recording {
        let row = |number: u64| Recorded {
            packet: Packet { arrival: Time::from_nanos(number * 300_000), bytes: 1500, ..Packet::default() },
            dequeued: None,
            departed: None,
            ended: Time::ZERO,
            fate: String::new(),
        };
        let mut recording = Recording::new((0..2000).map(row).collect());
        let seen = replay(scenario, &recording).unwrap();
        for (place, row) in recording.packets.iter_mut().enumerate() {
            (row.dequeued, row.departed) = (seen.dequeued[place], seen.departed[place]);
            let (ended, fate) = seen.ended[place].unwrap();
            (row.ended, row.fate) = (ended, fate.to_string());
        }
        recording
    }

    #[test]
    fn an_equal_recording_and_one_with_another_decision() {
        let study = Study::parse("bode", SCENARIO, &Overrides::default()).unwrap();
        assert_eq!(study.case_count(), 4);
        let scenario = study.case(0, &Library::new()).unwrap().scenario;
        let mut recording = recorded(&scenario);
        let drops = recording.packets.iter().filter(|row| row.is_dropped()).count();
        assert!(drops > 10, "{drops}");
        let ([judged, same], first) = equal(&recording, &replay(&scenario, &recording).unwrap());
        assert!(judged > 1900 && same == judged && first.is_none(), "{judged} {same} {first:?}");
        let late = recording.packets[1000].ended + qdelay_core::Span::from_nanos(1);
        recording.packets[1000].ended = late;
        let ([again, same], first) = equal(&recording, &replay(&scenario, &recording).unwrap());
        assert_eq!((again, same), (judged, judged - 1));
        assert!(first.unwrap().starts_with("packet 1000, 1500 bytes, came at 300000000 ns: emulator "));
    }
}
