//! Replay of a recording of the kernel's queue, as a queue and a link of the scenario's own path, which measures it.

use super::capture::{Capture, HEAD_BYTES};
use super::fates::{Fate, Fates};
use super::{ETHERNET, Kernel};
use crate::measure::MeasuringTap;
use crate::path;
use qdelay_core::component::{Arguments, Component, Kind, Registry};
use qdelay_core::qdisc::{self, Backlog, Qdisc};
use qdelay_core::{Context, DropReason, MarkReason, Packet, Sink, Time};
use qdelay_emu::device::Port;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::pool::Pool;
use qdelay_path::link::Recorded;
use qdelay_record::Recorder;
use qdelay_sim::{Bottleneck, Scenario};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

/// Drop by the kernel's discipline; a recording does not contain the reason.
const DROPPED: DropReason = DropReason::new("kernel_drop");
/// Mark by the kernel's discipline.
const MARKED: MarkReason = MarkReason::new("kernel_mark");

static COMPONENT: Component = Component::new(Kind::Qdisc, "kernel", "a recording of the kernel's discipline");

/// The result of a replay.
pub(crate) struct Replayed<'a> {
    /// The tap with the measures.
    pub gauge: MeasuringTap<'a>,
    /// Number of packets that the kernel dropped according to the recording.
    pub dropped: u64,
    /// Reasons against trusting the recording.
    pub reasons: Vec<String>,
}

/// Plays `capture` through the path of `scenario`, and passes its packets to `recorder`. The kernel's queue held `queued` packets at the end.
///
/// # Errors
/// The path cannot be built, or its audit failed; the message is one line.
pub(crate) fn replay<'a, R: Recorder>(
    scenario: &'a Scenario,
    kernel: &Kernel,
    capture: &Capture,
    queued: u64,
    recorder: R,
    flow: Arc<AtomicU32>,
) -> Result<Replayed<'a>, String> {
    let fates = Arc::new(Fates::new(capture, kernel.qdisc.drops_departures, queued));
    let times: Arc<[Time]> = fates.departures.iter().map(|departure| departure.at).collect();
    let queue =
        Playback { fates: Arc::clone(&fates), waiting: BTreeMap::new(), arrived: 0, left: 0, bytes: 0 };
    let registry = Registry::new().with(qdisc::custom(&COMPONENT, move |_| Ok(queue.clone())));
    let mut plan = path::plan(scenario);
    let link = Recorded::new(kernel.class.rate, ETHERNET, times);
    plan.bottleneck = Bottleneck::link(Arguments::defaults(&COMPONENT).within(&registry), link);
    let topology = plan.topology().map_err(|error| error.to_string())?;
    let gauge = MeasuringTap::new(scenario, &topology, flow);
    // A slot for every packet, so that no packet is lost in the replay.
    let most = u32::try_from(capture.arrived.len()).unwrap_or(u32::MAX).max(1);
    let pool = Pool::new(crate::MTU, most);
    let mut emulator = Emulator::tapped(plan, pool, recorder, gauge).map_err(|error| error.to_string())?;
    for seen in &capture.arrived {
        emulator.advance(seen.at);
        deliver(&mut emulator);
        let slot = emulator.take_slot().ok_or("the recording has more packets than fit into memory")?;
        emulator.buffer(slot)[..HEAD_BYTES].copy_from_slice(&seen.head);
        emulator
            .arrive(seen.at, Port::Outside, slot, seen.bytes as usize)
            .map_err(|error| format!("a recorded packet cannot be read: {error:?}"))?;
    }
    emulator.advance(Time::ZERO + scenario.duration);
    deliver(&mut emulator);
    emulator.audit().map_err(|error| format!("the audit of the recording failed: {error}"))?;
    let dropped =
        fates.by_arrival.iter().filter(|fate| matches!(fate, Fate::Refused | Fate::DroppedBefore(_))).count()
            as u64;
    let mut reasons = Vec::new();
    if capture.lost > 0 {
        reasons.push(format!("{} packets at the bottleneck were not recorded", capture.lost));
    }
    if fates.unexplained > 0 {
        reasons.push(format!("{} packets left the bottleneck without a recorded arrival", fates.unexplained));
    }
    let (_, gauge) = emulator.into_parts();
    Ok(Replayed { gauge, dropped, reasons })
}

/// Frees the slots of the packets that have left the path.
fn deliver<R: Recorder>(emulator: &mut Emulator<R, MeasuringTap<'_>>) {
    while let Some(release) = emulator.next_release() {
        emulator.settle(release.slot);
    }
}

/// Queue of a replay: packets leave in the recorded order, and are dropped and marked as recorded.
#[derive(Clone, Debug)]
struct Playback {
    fates: Arc<Fates>,
    /// Queued packets, by number of arrival.
    waiting: BTreeMap<usize, Packet>,
    /// Number of arrivals so far.
    arrived: usize,
    /// Number of departures so far.
    left: usize,
    bytes: u64,
}

impl Playback {
    fn remove(&mut self, arrival: usize) -> Option<Packet> {
        let packet = self.waiting.remove(&arrival)?;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}

impl Qdisc for Playback {
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        let arrival = self.arrived;
        self.arrived += 1;
        if self.fates.by_arrival.get(arrival) == Some(&Fate::Refused) {
            return context.sink.dropped(&packet, DROPPED);
        }
        self.bytes += u64::from(packet.bytes);
        self.waiting.insert(arrival, packet);
    }

    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        let fates = Arc::clone(&self.fates);
        let departure = fates.departures.get(self.left)?;
        for arrival in &fates.dropped[self.left] {
            if let Some(packet) = self.remove(*arrival) {
                context.sink.dropped(&packet, DROPPED);
            }
        }
        let mut packet = self.remove(departure.arrival)?;
        self.left += 1;
        if departure.marked {
            context.mark(&mut packet, MARKED);
        }
        Some(packet)
    }

    fn head(&self) -> Option<&Packet> {
        let next = self.fates.departures.get(self.left);
        let next = next.and_then(|departure| self.waiting.get(&departure.arrival));
        next.or_else(|| self.waiting.values().next())
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.waiting.len() as u64, bytes: self.bytes }
    }

    fn has_timer(&self) -> bool {
        false
    }
}
