//! A two-way link that holds packets' bytes; the host passes the time to it.
//!
//! Sans-IO: it opens no device and reads no clock. The host
//!
//! 1. takes a slot ([`Emulator::take_slot`]), reads a packet into it and passes it in ([`Emulator::arrive`]);
//! 2. advances the time ([`Emulator::advance`]), at [`Emulator::next_deadline`] or later: due events happen at their own times
//!    on the path, so that no decision depends on how late the host comes;
//! 3. writes released packets ([`Emulator::next_release`]) to their devices and gives the slots back ([`Emulator::settle`]).
//!
//! Every slot in use belongs to a packet on the path, to a release, or to the host; [`Emulator::audit`] checks that.
//! Nothing is allocated for a packet once pool and queues have grown.

mod event;
mod meter;

pub use crate::replace::Replaced;
pub use event::{Event, EventKind, EventLog, LoggedEvent, Tap};

use crate::device::{Port, Received};
use crate::frame::{self, Malformed};
use crate::plan_kind::PlanKind;
use crate::pool::{Pool, Slot};
use crate::replace::{Replaceable, replace_parts};
use crate::resets::{Arrival, Connections, Reset};
use meter::{Meter, handle};
use qdelay_core::{DropReason, Time};
use qdelay_path::stack::StackError;
use qdelay_path::stack::{Adjustment, PathNodes, Plan, Role};
use qdelay_path::{
    AnyLink, AuditError, BuildError, BuildProblem, ByReason, Count, DelaySpec, ImpairmentSpec, LinkUsage,
    NodeId, Observer, Path, PathError,
};
use qdelay_record::{DelayHistogram, Recorder};
use std::fmt;

/// The meter as a dynamic observer, so that the path is compiled once for all recorders and taps. The indirect call costs
/// little beside the system calls of a packet.
fn any<'a>(meter: &'a mut (impl Observer + 'a)) -> &'a mut (dyn Observer + 'a) {
    meter
}

/// A packet that the path has released, to be written to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The device that the packet goes to.
    pub port: Port,
    /// The slot of its bytes, to be given back by [`Emulator::settle`].
    pub slot: Slot,
    /// IP bytes.
    pub bytes: u32,
    /// Link-layer header bytes in front of the IP packet.
    pub header: u8,
    /// True if the transport checksum of the packet [is left out](crate::gso).
    pub is_unsummed: bool,
    /// Time at which the path released the packet: the path's own time, however late the host is.
    pub due: Time,
}

/// Measurements of the packets that come from one port.
#[derive(Clone, Debug, Default)]
pub struct PortMeasures {
    /// Packets that arrived at the queue.
    pub arrived: Count,
    /// Packets that left the link.
    pub departed: Count,
    /// Packets that left the path at its exit.
    pub delivered: Count,
    /// Reads from the device that were not IP packets and never entered the path.
    pub malformed: u64,
    /// Packets of connections that were reset, which did not enter the path.
    pub reset: u64,
    /// Packets of which an impairment changed a bit.
    pub corrupted: u64,
    /// Copies that an impairment made.
    pub duplicated: u64,
    /// Time from arrival to dequeue.
    pub sojourn: DelayHistogram,
    /// Time from arrival to the end of transmission on the link.
    pub queue_delay: DelayHistogram,
}

/// A defect of this program: packets or slots were lost or duplicated.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EmulatorError {
    /// The counts on the path do not balance.
    Path(AuditError),
    /// The path refused a call.
    Call(PathError),
    /// The slots in use differ from those of packets on the path, of releases and of the host.
    Slots {
        /// Slots in use.
        in_use: u64,
        /// Packets on the path.
        inside: u64,
        /// Releases that the host has not taken yet.
        releases: u64,
        /// Slots that the host holds.
        held: u64,
    },
}

impl fmt::Display for EmulatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmulatorError::Path(error) => error.fmt(f),
            EmulatorError::Call(error) => write!(f, "the path refused a call: {error}"),
            EmulatorError::Slots { in_use, inside, releases, held } => write!(
                f,
                "{in_use} slots are in use, but {inside} packets are on the path, {releases} wait to be written and the host \
                 holds {held} slots"
            ),
        }
    }
}
impl std::error::Error for EmulatorError {}

/// Two-way link or path that holds packets' bytes; see the module. `recorder` is notified of each packet at its end; packets
/// that go down are recorded as [`Data`](qdelay_record::Direction::Data), those that go up as
/// [`Acknowledgement`](qdelay_record::Direction::Acknowledgement). `tap` is notified of each event, with the packet's bytes.
pub struct Emulator<R = (), T = ()> {
    path: Path,
    meter: Meter<R, T>,
    /// The running plan.
    pub(crate) plan: PlanKind,
    sequence: u32,
    held: u64,
    fault: Option<PathError>,
    /// The connections that can be reset; `None` where no one may ask for it.
    connections: Option<Box<Connections>>,
}

impl<R: Recorder> Emulator<R> {
    /// Builds the link of `plan`, with the packets' bytes in `pool`.
    ///
    /// # Errors
    /// The path cannot be built from the plan.
    pub fn new(plan: impl Into<PlanKind>, pool: Pool, recorder: R) -> Result<Self, StackError> {
        Emulator::tapped(plan, pool, recorder, ())
    }
}

impl<R: Recorder, T: Tap> Emulator<R, T> {
    /// Builds the link as [`Emulator::new`] does, with a tap.
    ///
    /// # Errors
    /// The path cannot be built from the plan.
    pub fn tapped(plan: impl Into<PlanKind>, pool: Pool, recorder: R, tap: T) -> Result<Self, StackError> {
        let plan = plan.into();
        let (path, nodes) = plan.build()?;
        let has_stages = plan.as_link().is_none();
        let meter = Meter::new(pool, nodes, has_stages, recorder, tap);
        Ok(Emulator { path, meter, plan, sequence: 0, held: 0, fault: None, connections: None })
    }

    /// The running plan.
    pub fn plan(&self) -> &PlanKind {
        &self.plan
    }

    /// Replaces the parts of the running plan that differ from `plan`, at `now`, after all events that are due by then; the
    /// other parts are not affected. No packet is lost or reordered: see [`Path::replace_queue`], [`Path::replace_link`],
    /// [`Path::replace_impairment`], [`Path::replace_delay`] and [`Path::hold_queue`]. A different seed replaces queues and delays too, because their random streams depend on the
    /// seed. A time before that of the previous call is taken as the time of that call.
    ///
    /// # Errors
    /// An impairment that is not a probability, a link with a light load in place of another, or the running plan is not a link of two
    /// directions; nothing has changed.
    pub fn replace(&mut self, now: Time, plan: Plan) -> Result<Replaced, BuildError> {
        self.replace_plan(now, plan, Replaced::default())
    }

    fn replace_plan(&mut self, now: Time, plan: Plan, anew: Replaced) -> Result<Replaced, BuildError> {
        let now = now.max(self.path.now());
        let PlanKind::Link(runs) = &mut self.plan else {
            plan.check()?;
            let node = self.path.name(self.meter.nodes.link[Port::Outside.index()]).to_string();
            return Err(BuildError::new(node, BuildProblem::Fixed));
        };
        let nodes = Replaceable::from(&self.meter.nodes);
        let (replaced, done) =
            replace_parts(&mut self.path, nodes, now, runs, plan, anew, any(&mut self.meter))?;
        for (port, link) in [(Port::Outside, &runs.down.link), (Port::Inside, &runs.up.link)] {
            if replaced.link[port.index()] {
                self.meter.tap.link_replaced(now, port, link);
            }
        }
        self.note(done);
        Ok(replaced)
    }

    /// Applies `adjustment` at `now`, as [`Emulator::replace`] does, and begins the links, delays and losses in it anew. A scenario's path takes it too, where it has the parts.
    ///
    /// # Errors
    /// The part that cannot be changed, and why; nothing has changed.
    pub fn adjust(&mut self, now: Time, adjustment: &Adjustment) -> Result<Replaced, String> {
        match &self.plan {
            PlanKind::Link(plan) => {
                let mut plan = (**plan).clone();
                adjustment.apply(&mut plan);
                self.replace_plan(now, plan, Replaced::anew(adjustment)).map_err(|error| error.to_string())
            }
            PlanKind::Dumbbell(_) => self.adjust_dumbbell(now, adjustment),
        }
    }

    /// Changes the path at `now`, not before the time of the previous call.
    pub(crate) fn change(
        &mut self,
        now: Time,
        change: impl FnOnce(&mut Path, Time, &mut &mut dyn Observer) -> Result<(), PathError>,
    ) -> Result<(), String> {
        let now = now.max(self.path.now());
        change(&mut self.path, now, &mut any(&mut self.meter)).map_err(|error| error.to_string())
    }

    /// Tells the tap about a link that has begun in place of another.
    pub(crate) fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        self.meter.tap.link_replaced(now.max(self.path.now()), port, link);
    }

    /// Keeps what is behind the link of packets from `port` for later changes.
    pub(crate) fn keep_behind(&mut self, port: Port, delay: DelaySpec, impairment: ImpairmentSpec) {
        if let PlanKind::Dumbbell(plan) = &mut self.plan {
            plan.set_behind(port, delay, impairment);
        }
    }

    fn note(&mut self, done: Result<(), PathError>) {
        if let Err(fault) = done {
            self.fault = Some(fault);
        }
    }

    /// Takes a free slot to read a packet into; `None` while all are in use.
    #[inline]
    pub fn take_slot(&mut self) -> Option<Slot> {
        let slot = self.meter.pool.take_slot()?;
        self.held += 1;
        Some(slot)
    }

    /// The whole slot, for writing.
    #[inline]
    pub fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.meter.pool.bytes_mut(slot)
    }

    /// Passes in the packet in `slot`, which came from `port` at `now`: `received` is a [`Received`] of kind
    /// [`Kind::Ip`](crate::device::Kind::Ip), or the number of IP bytes. All events due by then happen first. A time before
    /// that of the previous call is taken as the time of that call.
    ///
    /// # Errors
    /// The slot does not hold an IP packet. The packet is counted as malformed, and its slot is free again.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        port: Port,
        slot: Slot,
        received: impl Into<Received>,
    ) -> Result<(), Malformed> {
        let Received { bytes, header, is_unsummed, .. } = received.into();
        if is_unsummed && self.meter.tap.reads_bytes() {
            let data = self.meter.pool.bytes_mut(slot).get_mut(usize::from(header)..bytes);
            frame::complete_checksum(data.unwrap_or(&mut []));
        }
        let data = self.meter.pool.bytes(slot);
        let data = data.get(..bytes).unwrap_or(data);
        let parsed = frame::parse(data.get(usize::from(header)..).unwrap_or(&[]));
        // Time stamps of two devices may be out of order; the time of the path never decreases.
        let now = now.max(self.path.now());
        let frame = match parsed {
            Ok(frame) => frame,
            Err(malformed) => {
                self.refuse(now, port, slot);
                return Err(malformed);
            }
        };
        if self.connections.is_some() && self.is_reset(now, port, slot, header, bytes) {
            return Ok(());
        }
        self.meter.pool.set_header(slot, header, is_unsummed);
        let mut packet = frame.packet(handle(self.sequence, slot));
        if let PlanKind::Dumbbell(plan) = &self.plan {
            packet.class = plan.classes.class_of(&frame);
        }
        self.meter.begin(now, &packet);
        self.run_inspections(now);
        self.sequence = self.sequence.wrapping_add(1);
        let entry = self.meter.nodes.entry[port.index()];
        self.held -= 1;
        if let Err(fault) = self.path.ingress(now, entry, packet, &mut any(&mut self.meter)) {
            self.fault = Some(fault);
            self.meter.pool.free_slot(slot);
        }
        Ok(())
    }

    /// Follows TCP connections from now on, so that they can be [reset](Emulator::reset).
    pub fn follow_connections(&mut self) {
        self.connections.get_or_insert_default();
    }

    /// Resets the TCP connections with the port `number` at either end, or all, at `now`; returns how many. The segments that end them are
    /// released at once, to both sides, and belong to no direction's figures.
    pub fn reset(&mut self, now: Time, number: Option<u16>) -> usize {
        let now = now.max(self.path.now());
        let Some(connections) = &mut self.connections else { return 0 };
        let (count, resets) = connections.reset(number);
        resets.iter().for_each(|reset| self.inject(now, reset));
        count
    }

    /// Whether the packet in `slot` belongs to a connection that was reset: it is answered, and its slot is free again.
    #[cold]
    fn is_reset(&mut self, now: Time, port: Port, slot: Slot, header: u8, bytes: usize) -> bool {
        let data = self.meter.pool.bytes(slot);
        let data = data.get(..bytes).unwrap_or(data);
        let Some(connections) = &mut self.connections else { return false };
        let Arrival::Answered(answer) = connections.arrive(port, header, data) else { return false };
        self.meter.measures[port.index()].reset += 1;
        self.settle(slot);
        if let Some(reset) = answer {
            self.inject(now, &reset);
        }
        true
    }

    /// Releases a packet that was made here, if there is a slot for it.
    fn inject(&mut self, now: Time, reset: &Reset) {
        let Some(slot) = self.meter.pool.take_slot() else { return };
        let buffer = self.meter.pool.bytes_mut(slot);
        let Some(place) = buffer.get_mut(..reset.bytes.len()) else {
            self.meter.pool.free_slot(slot);
            return;
        };
        place.copy_from_slice(&reset.bytes);
        let bytes = reset.bytes.len() as u32 - u32::from(reset.header);
        let (port, header) = (reset.port, reset.header);
        let release = Release { port, slot, bytes, header, is_unsummed: false, due: now };
        self.meter.releases.push_back(release);
    }

    /// Counts a packet from `port` in `slot` as malformed at `now`; the slot is free again.
    #[cold]
    pub fn refuse(&mut self, now: Time, port: Port, slot: Slot) {
        self.advance(now);
        self.meter.measures[port.index()].malformed += 1;
        self.settle(slot);
    }

    /// Runs all events that are due by `now`. A time before that of the previous call has no effect.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        let now = now.max(self.path.now());
        self.run_inspections(now);
        if let Err(fault) = self.path.poll(now, &mut any(&mut self.meter)) {
            self.fault = Some(fault);
        }
    }

    /// Shows the path to the tap at each of the tap's own times up to `now`.
    #[inline]
    fn run_inspections(&mut self, now: Time) {
        let mut next = self.meter.tap.next_inspection();
        while next <= now && next != Time::NEVER {
            if let Err(fault) = self.path.poll(next.max(self.path.now()), &mut any(&mut self.meter)) {
                self.fault = Some(fault);
            }
            self.meter.tap.inspect(next, &self.path);
            let after = self.meter.tap.next_inspection();
            if after <= next {
                return;
            }
            next = after;
        }
    }

    /// Time of the next necessary call of [`Emulator::advance`]: never late, perhaps early; [`Time::NEVER`] if no event is pending.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.path.next_deadline()
    }

    /// Returns the next packet to be written to a device, in the order of their release. The host then holds the packet's slot.
    #[inline]
    pub fn next_release(&mut self) -> Option<Release> {
        let release = self.meter.releases.pop_front()?;
        self.held += 1;
        Some(release)
    }

    /// Release time of the packet that [`Emulator::next_release`] returns next; [`Time::NEVER`] if there is none.
    #[inline]
    pub fn first_due(&self) -> Time {
        self.meter.releases.front().map_or(Time::NEVER, |release| release.due)
    }

    /// Number of packets that wait to be written.
    #[inline]
    pub fn releases(&self) -> usize {
        self.meter.releases.len()
    }

    /// Bytes of the released IP packet.
    #[inline]
    pub fn bytes(&self, release: &Release) -> &[u8] {
        let start = usize::from(release.header);
        self.meter.pool.bytes(release.slot).get(start..start + release.bytes as usize).unwrap_or(&[])
    }

    /// Completes the checksum of a packet that is about to be written to a device without offload.
    #[cold]
    pub fn complete_checksum(&mut self, release: &Release) {
        let range = usize::from(release.header)..usize::from(release.header) + release.bytes as usize;
        let data = self.meter.pool.bytes_mut(release.slot).get_mut(range);
        frame::complete_checksum(data.unwrap_or(&mut []));
    }

    /// The bytes to write: the IP packet with the link-layer header that it arrived with.
    #[inline]
    pub fn frame(&self, release: &Release) -> &[u8] {
        let end = usize::from(release.header) + release.bytes as usize;
        self.meter.pool.bytes(release.slot).get(..end).unwrap_or(&[])
    }

    /// Gives back `slot`: its packet was written or lost, or none was read into it.
    #[inline]
    pub fn settle(&mut self, slot: Slot) {
        if self.meter.pool.free_slot(slot) {
            self.held -= 1;
        }
    }

    /// Measurements of the packets that come from `port`.
    pub fn measures(&self, port: Port) -> &PortMeasures {
        &self.meter.measures[port.index()]
    }

    /// Packets that came from `port` and were dropped on the path for `reason`.
    pub fn drops(&self, port: Port, reason: DropReason) -> Count {
        self.direction(port)
            .filter_map(|node| self.path.counters(node))
            .map(|node| node.dropped(reason))
            .sum()
    }

    /// Packets that came from `port` and were dropped on the path, by reason.
    pub fn drops_by_reason(&self, port: Port) -> ByReason<DropReason> {
        let mut sum = ByReason::default();
        let nodes = self.direction(port).filter_map(|node| self.path.counters(node));
        nodes.for_each(|node| sum.add_all(&node.dropped));
        sum
    }

    /// Packets that came from `port` and were marked on the path.
    pub fn marks(&self, port: Port) -> Count {
        self.direction(port).filter_map(|node| self.path.counters(node)).map(|node| node.marked_total()).sum()
    }

    /// Bytes sent and bytes offered (capacity) by the link of packets from `port`, up to `now`.
    pub fn link_usage(&self, port: Port, now: Time) -> LinkUsage {
        let links = self.meter.nodes.links(&self.path, port);
        links.filter_map(|link| self.path.link_usage(link, now)).fold(LinkUsage::default(), |sum, usage| {
            LinkUsage {
                sent_bytes: sum.sent_bytes + usage.sent_bytes,
                // A link without a rate limit reports the maximum of the type as capacity.
                offered_bytes: sum.offered_bytes.saturating_add(usage.offered_bytes),
            }
        })
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// The nodes of the path.
    pub fn nodes(&self) -> &PathNodes {
        &self.meter.nodes
    }
    /// The pool of packet slots.
    pub fn pool(&self) -> &Pool {
        &self.meter.pool
    }
    /// The recorder.
    pub fn recorder(&mut self) -> &mut R {
        &mut self.meter.recorder
    }
    /// The tap.
    pub fn tap(&mut self) -> &mut T {
        &mut self.meter.tap
    }
    /// Ends the emulation and returns recorder and tap to the caller.
    pub fn into_parts(self) -> (R, T) {
        (self.meter.recorder, self.meter.tap)
    }

    /// Packets on the path, in both directions.
    pub fn inside(&self) -> u64 {
        self.path.nodes().map(|node| self.path.inside(node).packets).sum()
    }

    /// Checks that no packet and no slot was lost or duplicated.
    ///
    /// # Errors
    /// The counts that do not match, as an [`EmulatorError`].
    pub fn audit(&self) -> Result<(), EmulatorError> {
        self.fault.map_or(Ok(()), |fault| Err(EmulatorError::Call(fault)))?;
        self.path.audit().map_err(EmulatorError::Path)?;
        let (in_use, inside) = (self.meter.pool.in_use() as u64, self.inside());
        let (releases, held) = (self.releases() as u64, self.held);
        if in_use == inside + releases + held {
            return Ok(());
        }
        Err(EmulatorError::Slots { in_use, inside, releases, held })
    }

    /// The nodes between `port` and the exit on the other side.
    fn direction(&self, port: Port) -> impl Iterator<Item = NodeId> {
        let is_of = move |role: &Role| role.source == port;
        self.path
            .nodes()
            .zip(&self.meter.nodes.roles)
            .filter(move |(_, role)| is_of(role))
            .map(|(node, _)| node)
    }
}
