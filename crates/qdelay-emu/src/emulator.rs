//! A link of two directions, with packets' bytes, told the time by whoever holds the clock.
//!
//! Sans-IO: it opens no device and asks no clock. The host
//!
//! 1. takes a slot ([`Emulator::take`]), reads a packet into it and hands it over ([`Emulator::arrive`]);
//! 2. lets time pass ([`Emulator::advance`]), at [`Emulator::next_deadline`] or later: what is due happens at its own time on
//!    the path, so that no decision depends on how late the host comes;
//! 3. writes what comes out ([`Emulator::next_release`]) to its device and gives the slot back ([`Emulator::settle`]).
//!
//! Every slot in use belongs to a packet inside the path, to a release, or to the host; [`Emulator::audit`] holds it to that.
//! Nothing is allocated for a packet once pool and queues have grown.

mod event;
mod meter;

pub use event::{Event, EventKind, EventLog, Logged, Tap};

use crate::any_plan::AnyPlan;
use crate::device::{Port, Received};
use crate::frame::{self, Malformed};
use crate::plan::{Places, Plan, Role};
use crate::pool::{Pool, Slot};
use meter::{Meter, handle};
use qdelay_core::{DropReason, Time};
use qdelay_path::stack::StackError;
use qdelay_path::{
    AuditError, BuildError, BuildProblem, ByReason, Count, LinkUsage, NodeId, Path, PathError,
};
use qdelay_record::{DelayHistogram, Recorder};
use std::fmt;

/// A packet that the path has let go, to be written to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// The device it goes to.
    pub port: Port,
    /// Where its bytes are. Given back by [`Emulator::settle`].
    pub slot: Slot,
    /// IP bytes.
    pub bytes: u32,
    /// Bytes of the link layer in front of them.
    pub header: u8,
    /// When the path let it go: its own time, however late the host looks.
    pub due: Time,
}

/// What is measured of the packets that come from one port.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    /// Came to the queue.
    pub arrived: Count,
    /// Left the link.
    pub departed: Count,
    /// Came out of the path.
    pub delivered: Count,
    /// Read from the device, but no IP packets: they never entered the path.
    pub malformed: u64,
    /// From arrival to when the queue let it go.
    pub sojourn: DelayHistogram,
    /// From arrival to when the link had sent it.
    pub queue_delay: DelayHistogram,
}

/// Packets or their memory were lost or made up: a defect of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EmulatorError {
    /// The counts on the path do not add up.
    Path(AuditError),
    /// The path refused a call.
    Call(PathError),
    /// Slots in use are not those of packets inside, of releases and of the host.
    Slots {
        /// Slots in use.
        in_use: u64,
        /// Packets inside the path.
        inside: u64,
        /// Releases that were not taken yet.
        releases: u64,
        /// Slots that the host has.
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
                "{in_use} slots are in use, but {inside} packets are on the path, {releases} wait to be written and {held} \
                 slots are the host's"
            ),
        }
    }
}
impl std::error::Error for EmulatorError {}

/// What a replacement has changed, by the port the packets come from: [`Port::Outside`] is down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// The discipline of the queue.
    pub queue: [bool; 2],
    /// The link.
    pub link: [bool; 2],
    /// Delay, jitter or loss.
    pub delay: [bool; 2],
}

impl Replaced {
    /// Whether anything has changed.
    pub fn is_any(&self) -> bool {
        [self.queue, self.link, self.delay].into_iter().flatten().any(|changed| changed)
    }
}

/// See the module. `recorder` hears of each packet as it ends, where packets that go down are written as
/// [`Data`](qdelay_record::Direction::Data) and those that go up as
/// [`Acknowledgement`](qdelay_record::Direction::Acknowledgement); `tap` hears of each event with the packet's bytes.
pub struct Emulator<R = (), T = ()> {
    path: Path,
    meter: Meter<R, T>,
    /// What runs, as it was asked for.
    plan: AnyPlan,
    sequence: u32,
    held: u64,
    fault: Option<PathError>,
}

impl<R: Recorder> Emulator<R> {
    /// The link of `plan`, with the packets' bytes in `pool`.
    ///
    /// # Errors
    /// The path cannot be built as asked.
    pub fn new(plan: impl Into<AnyPlan>, pool: Pool, recorder: R) -> Result<Self, StackError> {
        Emulator::tapped(plan, pool, recorder, ())
    }
}

impl<R: Recorder, T: Tap> Emulator<R, T> {
    /// As [`Emulator::new`], with a tap.
    ///
    /// # Errors
    /// The path cannot be built as asked.
    pub fn tapped(plan: impl Into<AnyPlan>, pool: Pool, recorder: R, tap: T) -> Result<Self, StackError> {
        let plan = plan.into();
        let (path, places) = plan.build()?;
        let has_stages = plan.as_link().is_none();
        let meter = Meter::new(pool, places, has_stages, recorder, tap);
        Ok(Emulator { path, meter, plan, sequence: 0, held: 0, fault: None })
    }

    /// What runs, as it was asked for.
    pub fn plan(&self) -> &AnyPlan {
        &self.plan
    }

    /// Replaces what differs between `plan` and what runs, at `now`, after all that is due by then; the rest goes on as if
    /// nothing had been. No packet is lost by it and none overtakes: see [`Path::replace_queue`], [`Path::replace_link`] and
    /// [`Path::replace_delay`]. Where the seed differs, queues and delays are replaced too, for the sake of their random
    /// streams. A time before that of the call before is taken for that one.
    ///
    /// # Errors
    /// A loss that is no probability, or what runs is no link of two directions; nothing has changed.
    pub fn replace(&mut self, now: Time, plan: Plan) -> Result<Replaced, BuildError> {
        plan.check()?;
        let now = now.max(self.path.now());
        let AnyPlan::Link(runs) = &mut self.plan else {
            let node = self.path.name(self.meter.places.link[Port::Outside.index()]).to_string();
            return Err(BuildError { node, problem: BuildProblem::Fixed });
        };
        let has_other_seed = plan.seed != runs.seed;
        self.path.set_seed(plan.seed);
        let before = std::mem::replace(&mut **runs, plan.clone());
        let mut replaced = Replaced::default();
        // Down is declared first, and so replaced first.
        let halves = [(Port::Outside, plan.down, before.down), (Port::Inside, plan.up, before.up)];
        for (port, new, old) in halves {
            let index = port.index();
            replaced.queue[index] = has_other_seed || !new.has_queue_of(&old);
            replaced.link[index] = new.link != old.link;
            replaced.delay[index] = has_other_seed || new.delay_spec() != old.delay_spec();
            let Places { delay, link, queue, .. } = &self.meter.places;
            let [delay, link, queue] = [delay, link, queue].map(|nodes| nodes[index]);
            if replaced.delay[index] {
                let spec = new.delay_spec();
                let done = self.path.replace_delay(now, delay, spec, &mut self.meter);
                self.note(done);
            }
            if replaced.link[index] {
                let done = self.path.replace_link(now, link, new.link, &mut self.meter);
                self.note(done);
            }
            if replaced.queue[index] {
                let done = self.path.replace_queue(now, queue, new.qdisc, &mut self.meter);
                self.note(done);
            }
        }
        Ok(replaced)
    }

    fn note(&mut self, done: Result<(), PathError>) {
        if let Err(fault) = done {
            self.fault = Some(fault);
        }
    }

    /// A slot to read a packet into; `None` while all are in use.
    #[inline]
    pub fn take(&mut self) -> Option<Slot> {
        let slot = self.meter.pool.take()?;
        self.held += 1;
        Some(slot)
    }

    /// The whole slot, to be written to.
    #[inline]
    pub fn buffer(&mut self, slot: Slot) -> &mut [u8] {
        self.meter.pool.bytes_mut(slot)
    }

    /// Hands over the packet in `slot`, which came from `port` at `now`: a [`Received`] of a kind that is meant to be IP, or a
    /// number of IP bytes. All that is due by then happens first. A time before that of the call before is taken for that one.
    ///
    /// # Errors
    /// It is no IP packet. It is counted, and its slot is free again.
    #[inline]
    pub fn arrive(
        &mut self,
        now: Time,
        port: Port,
        slot: Slot,
        received: impl Into<Received>,
    ) -> Result<(), Malformed> {
        let Received { bytes, header, .. } = received.into();
        let data = self.meter.pool.bytes(slot);
        let data = data.get(..bytes).unwrap_or(data);
        let parsed = frame::parse(data.get(usize::from(header)..).unwrap_or(&[]));
        let now = now.max(self.path.now());
        let frame = match parsed {
            Ok(frame) => frame,
            Err(malformed) => {
                self.advance(now);
                self.meter.measures[port.index()].malformed += 1;
                self.settle(slot);
                return Err(malformed);
            }
        };
        self.meter.pool.set_header(slot, header);
        let mut packet = frame.packet(handle(self.sequence, slot));
        if let AnyPlan::Dumbbell(plan) = &self.plan {
            packet.class = plan.classes.of(&frame);
        }
        self.meter.begin(now, &packet);
        self.let_look(now);
        self.sequence = self.sequence.wrapping_add(1);
        let entry = self.meter.places.entry[port.index()];
        self.held -= 1;
        if let Err(fault) = self.path.ingress(now, entry, packet, &mut self.meter) {
            self.fault = Some(fault);
            self.meter.pool.give(slot);
        }
        Ok(())
    }

    /// Lets everything happen that is due by `now`. A time before that of the call before changes nothing.
    #[inline]
    pub fn advance(&mut self, now: Time) {
        let now = now.max(self.path.now());
        self.let_look(now);
        if let Err(fault) = self.path.poll(now, &mut self.meter) {
            self.fault = Some(fault);
        }
    }

    /// Lets the tap look at the path at each of its own times by `now`.
    #[inline]
    fn let_look(&mut self, now: Time) {
        let mut next = self.meter.tap.next_look();
        while next <= now && next != Time::NEVER {
            if let Err(fault) = self.path.poll(next.max(self.path.now()), &mut self.meter) {
                self.fault = Some(fault);
            }
            self.meter.tap.look(next, &self.path);
            let after = self.meter.tap.next_look();
            if after <= next {
                return;
            }
            next = after;
        }
    }

    /// When [`Emulator::advance`] should be called next: never late, perhaps early; [`Time::NEVER`] while nothing will happen.
    #[inline]
    pub fn next_deadline(&self) -> Time {
        self.path.next_deadline()
    }

    /// The next packet to be written to a device, in the order in which the path let them go. The host has its slot now.
    #[inline]
    pub fn next_release(&mut self) -> Option<Release> {
        let release = self.meter.releases.pop_front()?;
        self.held += 1;
        Some(release)
    }

    /// Packets that wait to be written.
    #[inline]
    pub fn releases(&self) -> usize {
        self.meter.releases.len()
    }

    /// The IP packet.
    #[inline]
    pub fn bytes(&self, release: &Release) -> &[u8] {
        let start = usize::from(release.header);
        self.meter.pool.bytes(release.slot).get(start..start + release.bytes as usize).unwrap_or(&[])
    }

    /// The bytes to write: the IP packet with the header of the link layer that it came with.
    #[inline]
    pub fn frame(&self, release: &Release) -> &[u8] {
        let end = usize::from(release.header) + release.bytes as usize;
        self.meter.pool.bytes(release.slot).get(..end).unwrap_or(&[])
    }

    /// The host is done with `slot`: its packet was written or lost, or none was read into it.
    #[inline]
    pub fn settle(&mut self, slot: Slot) {
        if self.meter.pool.give(slot) {
            self.held -= 1;
        }
    }

    /// What was measured of the packets that come from `port`.
    pub fn measures(&self, port: Port) -> &Measures {
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

    /// What the link of packets that come from `port` has sent and could have sent up to `now`.
    pub fn link_usage(&self, port: Port, now: Time) -> LinkUsage {
        let links = self.meter.places.links(&self.path, port);
        links.filter_map(|link| self.path.link_usage(link, now)).fold(LinkUsage::default(), |sum, usage| {
            LinkUsage {
                sent_bytes: sum.sent_bytes + usage.sent_bytes,
                // One without a bound offers as much as a number holds.
                offered_bytes: sum.offered_bytes.saturating_add(usage.offered_bytes),
            }
        })
    }

    /// The path, to look at.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Where things are on the path.
    pub fn places(&self) -> &Places {
        &self.meter.places
    }
    /// The memory of the packets, to look at.
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
    /// Ends the emulation: recorder and tap are the host's again.
    pub fn into_parts(self) -> (R, T) {
        (self.meter.recorder, self.meter.tap)
    }

    /// Packets on the path, in both directions.
    pub fn inside(&self) -> u64 {
        self.path.nodes().map(|node| self.path.inside(node).packets).sum()
    }

    /// Checks that no packet and no slot was lost or made up.
    ///
    /// # Errors
    /// What does not add up.
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
            .zip(&self.meter.places.roles)
            .filter(move |(_, role)| is_of(role))
            .map(|(node, _)| node)
    }
}
