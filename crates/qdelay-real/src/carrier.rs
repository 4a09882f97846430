//! Data thread, which forwards packets between the devices until the end of the run.

use super::bypass;
use super::measure::{MeasuringTap, NO_FLOW};
use super::requests::CaseTap;
use qdelay_core::{Span, Time};
use qdelay_emu::alarm::Alarm;
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::control::{Changed, Inbox, LoopAction};
use qdelay_emu::device::tun::Tun;
use qdelay_emu::drive::Driver;
use qdelay_emu::dumbbell::DumbbellPlan;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::metrics::Metrics;
use qdelay_emu::packet_steering::PacketSteering;
use qdelay_emu::pool::Pool;
use qdelay_emu::wait::{WaitOptions, Waiter};
use qdelay_path::stack::Topology;
use qdelay_record::{PacketFile, PacketRecord, Recorder};
use qdelay_sim::Scenario;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Maximum number of packets held, in both directions: 150 MB.
const HOLD: u32 = 100_000;
/// Number of slots that are allocated before the first packet.
const RESERVED: u32 = 4096;

/// Function that returns the clock of the run once the run has started; `None` if the run is cancelled.
pub type Begin<'a> = &'a dyn Fn() -> Option<RealClock>;

/// A run of the data thread.
pub struct Carrier<'a> {
    pub scenario: &'a Scenario,
    pub plan: DumbbellPlan,
    /// The roles of the path's nodes.
    pub topology: Topology,
    /// Devices inside and outside.
    pub devices: [Tun; 2],
    pub mtu: u16,
    pub realtime: bool,
    /// Time to spin before each release, with real-time priority.
    pub spin: Option<Span>,
    /// Receive packet steering, if other processors receive the packets.
    pub steering: Option<PacketSteering>,
    /// Number of the flow that is a program of the user.
    pub external: Option<usize>,
    /// Requests of other threads, if there may be any.
    pub inbox: Option<Inbox<Alarm>>,
}

/// Results of the run.
pub struct CarrierResult<'a> {
    pub gauge: MeasuringTap<'a>,
    pub facts: AuditFacts,
    /// True if real-time priority was granted.
    pub realtime: bool,
    /// Changes of the path by hand.
    pub changes: Vec<Changed>,
}

impl<'a> Carrier<'a> {
    /// Completes slow preparations, waits for `begin`, and forwards packets until the end of the run, or until `stop` is set; blocks
    /// the calling thread.
    ///
    /// # Errors
    /// A device was removed, the audit failed, or a request has stopped the run.
    pub fn run(
        self,
        begin: Begin<'_>,
        packets: Option<&mut PacketFile>,
        stop: &AtomicBool,
    ) -> Result<CarrierResult<'a>, String> {
        let flow = Arc::new(AtomicU32::new(NO_FLOW));
        match packets {
            None => self.carry(begin, (), flow, stop),
            Some(file) => {
                let end = Time::ZERO + self.scenario.duration;
                let rows = Rows { file, flow: Arc::clone(&flow), end };
                self.carry(begin, rows, flow, stop)
            }
        }
    }

    fn carry<R: Recorder>(
        self,
        begin: Begin<'_>,
        recorder: R,
        flow: Arc<AtomicU32>,
        stop: &AtomicBool,
    ) -> Result<CarrierResult<'a>, String> {
        let failed = |error: io::Error| format!("the link failed: {error}");
        let limits = self.plan.lateness_limits();
        let mut pool = Pool::new(self.mtu, HOLD);
        pool.reserve(RESERVED);
        let gauge = MeasuringTap::new(self.scenario, &self.topology, flow).with_external(self.external);
        let metrics = self.inbox.as_ref().map(|_| Metrics::new(self.plan.clone())).transpose();
        let metrics = metrics.map_err(|error| error.to_string())?;
        let tap: CaseTap<'a> = (gauge, metrics);
        let emulator = Emulator::tapped(self.plan, pool, recorder, tap).map_err(|error| error.to_string())?;
        let devices = bypass::join(self.devices).map_err(failed)?;
        if let Some(steering) = &self.steering {
            // An unpinned thread releases packets later, which the audit shows.
            let _ = steering.pin_thread();
        }
        let mut waiter = Waiter::new(WaitOptions { realtime: self.realtime, spin: self.spin }, None);
        let realtime = waiter.granted().priority.is_granted();
        let Some(clock) = begin() else { return Err("the link failed: the run did not begin".to_string()) };
        // The alarm is set after the clock was started, so that it does not expire before the end.
        let timer = alarm(self.scenario.duration).map_err(failed)?;
        let mut inbox = self.inbox;
        let asked = inbox.as_ref().map(|inbox| inbox.wake().descriptor()).transpose().map_err(failed)?;
        waiter.set_alarms([timer].into_iter().chain(asked));
        let mut driver = Driver::new(clock, devices, emulator, limits);
        if inbox.is_some() {
            driver.emulator().follow_connections();
        }
        driver.begin();
        let end = Time::ZERO + self.scenario.duration;
        loop {
            driver.run(&mut waiter, || stop.load(Ordering::Relaxed)).map_err(failed)?;
            // The alarm of a request ends the wait too.
            let is_over = driver.clock().now() >= end || stop.load(Ordering::Relaxed);
            let Some(inbox) = inbox.as_mut().filter(|_| !is_over) else { break };
            if inbox.serve(&mut driver) == LoopAction::Stop {
                return Err("stopped by a request before its end; it has no results".to_string());
            }
        }
        let changes = inbox.map(|inbox| inbox.changes().to_vec()).unwrap_or_default();
        // The first turn runs the events that are due already.
        driver.turn([false; 2]).map_err(failed)?;
        let (emulator, devices, audit) = driver.finish();
        drop(devices);
        emulator.audit().map_err(|error| {
            format!("the audit failed: {error}; expected every packet to be accounted for")
        })?;
        let (_, (gauge, _)) = emulator.into_parts();
        Ok(CarrierResult { gauge, facts: audit.facts(), realtime, changes })
    }
}

/// Creates a descriptor that becomes readable after `after`.
fn alarm(after: Span) -> io::Result<OwnedFd> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK)?;
    let nanos = after.as_nanos().max(1);
    let value = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
    let once = Itimerspec { it_interval: Timespec::default(), it_value: value };
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &once)?;
    Ok(timer)
}

/// Recorder that replaces flow hashes in records by flow numbers, which the tap has just determined.
pub struct Rows<'a> {
    pub file: &'a mut PacketFile,
    pub flow: Arc<AtomicU32>,
    pub end: Time,
}

impl Recorder for Rows<'_> {
    fn packet(&mut self, record: &PacketRecord) {
        let flow = self.flow.load(Ordering::Relaxed);
        if record.ended <= self.end && flow != NO_FLOW {
            self.file.packet(&PacketRecord { flow, ..*record });
        }
    }
}
