//! Real programs over paths in real time: a scenario's cases, with flows of iperf3, irtt or this program (`qdelay run --clock
//! real`); and a command behind a link ([`link`]).
//!
//! ```text
//! outside: iperf3 and irtt clients, UDP senders -> [bottleneck, link, delay] -> inside: their servers, UDP receivers
//! ```
//!
//! Each case gets two private namespaces and an emulator of its own between them: data of downloads goes down, data of uploads up. A
//! TCP flow is an iperf3 client outside and a server inside, with the kernel's own congestion control; either of them sends. This
//! program sends UDP flows at exactly the times at which the simulator's source sends; irtt sends call-like flows. Measurements are
//! taken on the emulator's path, at the path's own times, by the simulator's own [`qdelay_sim::Measurement`].
//!
//! | module | what |
//! | --- | --- |
//! | `support` | checks that real programs can run a scenario; the generator of each flow |
//! | `path` | the scenario's path for the emulator |
//! | `ports`, `bypass` | assignment of packets to flows; control connections bypass the path |
//! | `programs`, `irtt`, `datagrams` | iperf3 and irtt, and our own sender and receiver |
//! | `external` | a program of the user: a player, a browser, a call |
//! | `carrier`, `requests` | the data thread; requests of others to it |
//! | `linux` | the kernel's own queue as the bottleneck |
//! | `audit` | the audit of a run as result files have it |
//! | `measure`, `stream` | outcome from the emulator's events; bytes of a TCP flow received in order |

#![forbid(unsafe_code)]

mod audit;
mod bypass;
mod carrier;
mod datagrams;
mod external;
mod irtt;
pub mod link;
mod linux;
mod measure;
mod path;
mod ports;
mod programs;
mod requests;
mod stream;
mod support;
mod windows;

pub use external::ExternalPrograms;
pub use requests::CaseRequests;
pub use support::check;

/// Checks that the kernel's own queue can be the bottleneck of `scenario`.
///
/// # Errors
/// A part that the kernel does not support, and what was expected.
pub fn check_kernel(scenario: &Scenario) -> Result<(), String> {
    linux::express(scenario).map(|_| ())
}

use carrier::{Begin, Carrier, Rows};
use datagrams::{Places, Receiver, Sender};
use linux::{Capture, Network, Replayed};
use measure::{Echo, MeasuringTap, NO_FLOW};
use programs::{ProgramReports, Programs};
use qdelay_core::{Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::link_setup::{self, LinkSetup, Outside};
use qdelay_emu::netns::Namespace;
use qdelay_emu::packet_steering::PacketSteering;
use qdelay_record::PacketFile;
use qdelay_sim::Scenario;
use qdelay_study::InputError;
use qdelay_study::engine::{self, CaseOutcome, EngineError, Progress, Recorded, Runner};
use qdelay_study::results::{Audit, Irtt, ProgramReport};
use qdelay_study::scenario::Case;
use qdelay_terminal::progress::Bar;
use rustix::event::{Timespec, poll};
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Once};
use std::thread;
use support::Generator;

/// MTU of the link in bytes: Ethernet's.
const MTU: u16 = 1500;
/// Time to spin before each release. Wake-ups of an idle virtual processor took up to 380 us. Spinning takes 40% of a processor if a
/// trace has an opportunity every millisecond.
const SPIN: Span = Span::from_micros(400);
/// Time to spin before each release if several cases run at once, which spinning would delay.
const SHORT_SPIN: Span = Span::from_micros(50);
/// Interval of checks while waiting for a program.
const PAUSE: Span = Span::from_millis(10);
/// Interval of checks for failures, and of progress updates.
const CHECK_INTERVAL: Span = Span::from_millis(100);
/// Time that a capture continues after the end of the run, in which queued packets leave.
const AFTER: Span = Span::from_millis(250);

/// Runner of cases in real time, one after another.
pub struct RealTime {
    /// Requests real-time priority.
    pub realtime: bool,
    /// Time that the data thread spins before each release, with real-time priority.
    spin: Option<Span>,
    /// Permits receive packet steering: for one case at a time, on several processors.
    steers: bool,
    bottleneck: Bottleneck,
    programs: ExternalPrograms,
    requests: Option<CaseRequests>,
    /// Progress of the cases.
    pub bar: Bar,
    hook: Option<ProgressHook>,
    without_irtt: Once,
}

/// Results of a case, and further results for comparisons with the simulator.
pub struct RealRun {
    /// Measures and verdict.
    pub ran: CaseOutcome,
    /// Further observations, see [`Observed`].
    pub observed: Observed,
}

/// Observations of a run in addition to its measures.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Time at which the first packet of each TCP flow's connection arrived at the bottleneck.
    pub opened: Vec<Option<Time>>,
    /// Time at which the first data of each TCP flow, and the first datagram of any other, arrived at the bottleneck.
    pub begun: Vec<Option<Time>>,
    /// The kernel's counters at its own queue, by their names in `tc`.
    pub counters: BTreeMap<String, u64>,
}

/// Bottleneck of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bottleneck {
    /// The scenario's own path.
    #[default]
    Qdelay,
    /// HTB and a queue discipline of the kernel.
    Linux,
}

/// Flows that have ended, with their results.
struct Played<T> {
    /// Result of the thread that carried or observed their packets.
    carried: T,
    /// Number of received datagrams of our own senders.
    received: u64,
    reports: ProgramReports,
    generators: Vec<Generator>,
}

/// Function that is called during a run with the current time and the end of the run.
type ProgressHook = Box<dyn Fn(Time, Time) + Send + Sync>;

impl RealTime {
    /// Creates a runner of one case at a time; shows progress on standard error if that is a terminal.
    pub fn new(realtime: bool) -> RealTime {
        RealTime::with_jobs(realtime, 1)
    }
    /// Creates a runner of `jobs` cases at once, which share the processors: no emulator has a processor of its own, and none spins
    /// for long.
    pub fn with_jobs(realtime: bool, jobs: usize) -> RealTime {
        let spin = if jobs == 1 { SPIN } else { SHORT_SPIN };
        RealTime {
            realtime,
            spin: realtime.then_some(spin),
            steers: realtime && jobs == 1,
            bottleneck: Bottleneck::default(),
            programs: ExternalPrograms::default(),
            requests: None,
            bar: Bar::default(),
            hook: None,
            without_irtt: Once::new(),
        }
    }
    /// Creates a runner for a machine whose time stands still while its one processor is idle: releases have priority, without spinning.
    pub fn for_virtual_time() -> RealTime {
        RealTime { spin: Some(Span::ZERO), steers: false, ..RealTime::new(true) }
    }
    /// Sets another bottleneck.
    #[must_use]
    pub fn over(self, bottleneck: Bottleneck) -> RealTime {
        RealTime { bottleneck, ..self }
    }
    /// Sets programs of the user for some flows.
    #[must_use]
    pub fn with_programs(self, programs: ExternalPrograms) -> RealTime {
        RealTime { programs, ..self }
    }
    /// Accepts requests to the case.
    #[must_use]
    pub fn with_requests(self, requests: Option<CaseRequests>) -> RealTime {
        RealTime { requests, ..self }
    }
    /// Whether requests are accepted, and no case has run that could serve them.
    pub fn has_unused_requests(&self) -> bool {
        self.requests.as_ref().is_some_and(CaseRequests::is_unused)
    }
    /// Sets a function to be called in each second of a run.
    #[must_use]
    pub fn on_progress(self, hook: impl Fn(Time, Time) + Send + Sync + 'static) -> RealTime {
        RealTime { hook: Some(Box::new(hook)), ..self }
    }
}

impl Progress for RealTime {
    fn begins(&self, study: &str, cases: u64, there: u64) {
        self.bar.begins(study, cases, there);
        // The progress of a single case is worth showing, because a case takes long.
        self.bar.show();
    }
    fn case_done(&self) {
        self.bar.case_done();
    }
    fn warns(&self, line: &str) {
        self.bar.warns(line);
    }
}

impl Runner for RealTime {
    fn clock(&self) -> Option<&'static str> {
        Some("real")
    }

    fn check(&self, case: &Case) -> Result<(), InputError> {
        let kernel = support::kernel_controls(&case.scenario);
        support::check_with(&case.scenario, &kernel, &self.programs)
            .and_then(|()| support::check_programs(&case.scenario))
            .map_err(|message| InputError::new(place(case), message))
    }

    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        Ok(self.record_observed(case, labels, packets)?.0)
    }
}

impl RealTime {
    /// Runs a case as [`Runner::record`] does, and returns further observations.
    ///
    /// # Errors
    /// The errors of [`Runner::record`].
    pub fn record_observed(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<(Recorded, Observed), EngineError> {
        let mut observed = Observed::default();
        let recorded = engine::recorded(case, labels, packets, |packets| {
            let run = self.run_case(case, packets)?;
            observed = run.observed;
            Ok(run.ran)
        })?;
        Ok((recorded, observed))
    }

    /// Runs `case`, and passes every packet to `packets`.
    ///
    /// # Errors
    /// No namespaces, a program that cannot be run, or a failed audit.
    pub fn run_case(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<RealRun, EngineError> {
        match self.bottleneck {
            Bottleneck::Qdelay => self.run_over_path(case, packets),
            Bottleneck::Linux => self.run_over_kernel(case, packets),
        }
    }

    /// Runs a case over the scenario's own path, between two devices.
    fn run_over_path(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<RealRun, EngineError> {
        let scenario = &case.scenario;
        let refuse = |message: String| EngineError::Input(InputError::new(place(case), message));
        let options = link_setup::Options {
            mtu: u32::from(MTU),
            outside: Outside::Private,
            resolver: false,
            names: false,
            ..Default::default()
        };
        let setup = LinkSetup::new(&options).map_err(|error| refuse(error.to_string()))?;
        let steering = self.steers.then(PacketSteering::choose).flatten();
        let steering = steering.filter(|steering| steering.apply(&setup));
        let LinkSetup { inside, outside, addresses, namespace, outside_namespace, .. } = setup;
        let Some(outer) = outside_namespace else { return Err(refuse("no namespace outside".to_string())) };
        let ends = (addresses.outside, addresses.inside);
        let inbox = self.requests.as_ref().and_then(CaseRequests::take_inbox);
        let mut plan = path::plan(scenario);
        plan.is_changeable = inbox.is_some();
        let topology = plan.topology().map_err(|error| refuse(error.to_string()))?;
        let carrier = Carrier {
            scenario,
            plan,
            topology,
            devices: [inside, outside],
            mtu: MTU,
            realtime: self.realtime,
            spin: self.spin,
            steering,
            external: scenario.flows.iter().position(|flow| self.programs.command_for(flow).is_some()),
            inbox,
        };
        let carry = |begin: Begin<'_>, stop: &AtomicBool| carrier.run(begin, packets, stop);
        let Played { carried, received, reports, generators } =
            self.play_flows(case, [&namespace, &outer], ends, carry)?;
        // The namespaces end with their programs, before the results are compared.
        drop((namespace, outer));
        let facts = &carried.facts;
        let receivers = ReceiverResults { received, irtt: &reports.irtt };
        let (mut reasons, unseen) = contradictions(scenario, &generators, &carried.gauge, receivers);
        // Reasons of the audit come first, because lateness may explain the others.
        reasons.splice(0..0, facts.verdict.reasons.iter().cloned());
        let audit = Audit {
            trustworthy: reasons.is_empty(),
            reasons,
            lost_outside: facts.lost + unseen,
            irtt: reports.irtt.iter().map(|(_, irtt)| irtt.clone()).collect(),
            programs: self.program_reports(scenario, &reports),
            changes: requests::changes(&carried.changes),
            ..audit::of_facts(facts, carried.realtime)
        };
        let observed = Observed {
            opened: carried.gauge.opened(),
            begun: carried.gauge.begun(),
            counters: BTreeMap::new(),
        };
        let outcome = carried.gauge.finish(&reports);
        Ok(RealRun { ran: CaseOutcome { outcome, audit: Some(audit) }, observed })
    }

    /// Runs a case over the kernel's own queue.
    fn run_over_kernel(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<RealRun, EngineError> {
        let scenario = &case.scenario;
        let refuse = |message: String| EngineError::Input(InputError::new(place(case), message));
        let fault = |message: String| EngineError::Audit(format!("{}: {message}", place(case)));
        let kernel = linux::express(scenario).map_err(refuse)?;
        let numbers = scenario.flows.len() + usize::from(scenario.probe.is_some());
        let network = Network::new(&kernel, numbers).map_err(refuse)?;
        let ends = (&network.inside, &network.outside);
        // Packets queued at the end leave during this time, and are then counted as delivered by the kernel.
        let end = Time::ZERO + scenario.duration + AFTER;
        let capture =
            |begin: Begin<'_>, stop: &AtomicBool| Capture::run(&network, begin, &|now| now >= end, stop);
        let Played { carried: (capture, counters), received, reports, generators } =
            self.play_flows(case, [ends.0, ends.1], linux::ENDS, capture)?;
        let flow = Arc::new(AtomicU32::new(NO_FLOW));
        let queued = counters.get("qlen").copied().unwrap_or(0);
        let replayed = match packets {
            None => linux::replay(scenario, &kernel, &capture, queued, (), flow),
            Some(file) => {
                let rows = Rows { file, flow: Arc::clone(&flow), end: Time::ZERO + scenario.duration };
                linux::replay(scenario, &kernel, &capture, queued, rows, flow)
            }
        };
        let Replayed { gauge, dropped, mut reasons } = replayed.map_err(fault)?;
        reasons.extend(network.contradiction(&counters, [dropped, capture.left.len() as u64]));
        let receivers = ReceiverResults { received, irtt: &reports.irtt };
        let (more, unseen) = contradictions(scenario, &generators, &gauge, receivers);
        reasons.extend(more);
        let audit = Audit {
            trustworthy: reasons.is_empty(),
            reasons,
            lost_outside: capture.lost + unseen,
            realtime: self.realtime,
            irtt: reports.irtt.iter().map(|(_, irtt)| irtt.clone()).collect(),
            ..Audit::default()
        };
        let observed = Observed { opened: gauge.opened(), begun: gauge.begun(), counters };
        let outcome = gauge.finish(&reports);
        Ok(RealRun { ran: CaseOutcome { outcome, audit: Some(audit) }, observed })
    }

    /// Runs the flows of `case` between two namespaces, inside and outside, whose addresses are `ends` (outside and inside). `carry`
    /// carries or observes their packets on a thread of its own: it calls its first argument when it is ready, and ends by itself, or
    /// when its second argument is set.
    fn play_flows<T: Send>(
        &self,
        case: &Case,
        [namespace, outer]: [&Namespace; 2],
        ends: (Ipv4Addr, Ipv4Addr),
        carry: impl FnOnce(Begin<'_>, &AtomicBool) -> Result<T, String> + Send,
    ) -> Result<Played<T>, EngineError> {
        let scenario = &case.scenario;
        let refuse = |message: String| EngineError::Input(InputError::new(place(case), message));
        // Senders of downloads are outside, those of uploads inside.
        [outer, namespace].into_iter().for_each(|place| set_kernel(place, scenario));
        let generators = self.generators(scenario);
        let mut programs = Programs::listen(scenario, &generators, &self.programs, [namespace, outer], ends)
            .map_err(refuse)?;
        let places = Places { inside: namespace, outside: outer, ends };
        let receiver = Receiver::open(scenario, &generators, &places).map_err(refuse)?;
        let sender = Sender::open(scenario, &generators, &places).map_err(refuse)?;
        let stop = AtomicBool::new(false);
        let (ready, is_ready) = channel();
        let (start, started) = channel();
        let (carried, received, failed) = thread::scope(|scope| {
            let stop = &stop;
            let thread = || thread::Builder::new();
            let carry = move || {
                let begin = || {
                    // The calls fail only if the other thread has ended.
                    let _ = ready.send(());
                    started.recv().ok()
                };
                let carried = carry(&begin, stop);
                drop((ready, started));
                carried
            };
            let carried = thread().spawn_scoped(scope, carry)?;
            // The call fails if the data thread does.
            let _ = is_ready.recv();
            // The path and the senders have a common start time.
            let clock = RealClock::start();
            let _ = start.send(clock);
            // If one thread cannot be started, the others have to end, because the scope waits for them.
            let refused = |error: io::Error| {
                stop.store(true, Ordering::Relaxed);
                error
            };
            let received = thread().spawn_scoped(scope, move || receiver.run(stop)).map_err(refused)?;
            let sent = thread().spawn_scoped(scope, move || sender.run(clock, stop)).map_err(refused)?;
            let failed = self.play(clock, scenario, &mut programs, &|| carried.is_finished());
            // The data thread ends by itself unless a program failed.
            if failed.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            let carried = carried.join();
            stop.store(true, Ordering::Relaxed);
            let received = received.join().unwrap_or(0);
            // A sender that failed has sent too little, which the receiver's count shows.
            let _ = sent.join();
            Ok((carried, received, failed))
        })
        .map_err(|error: io::Error| {
            refuse(format!("no thread can be started: {error}; expected room for three more (ulimit -u, or a container's limit)"))
        })?;
        let Ok(carried) = carried else {
            return Err(EngineError::Audit(format!("{}: the emulator failed", place(case))));
        };
        if let Some(message) = failed {
            return Err(refuse(message));
        }
        let carried = carried.map_err(|message| EngineError::Audit(format!("{}: {message}", place(case))))?;
        let reports = programs.end().map_err(refuse)?;
        Ok(Played { carried, received, reports, generators })
    }

    /// Reports of the user's program.
    fn program_reports(&self, scenario: &Scenario, reports: &ProgramReports) -> Vec<ProgramReport> {
        let programs = reports.external.iter().filter_map(|(index, report)| {
            let flow = scenario.flows.get(*index)?;
            let command = self.programs.command_for(flow)?.to_string();
            Some(ProgramReport { flow: flow.name.clone(), command, report: report.json.clone() })
        });
        programs.collect()
    }

    /// The generator of each flow; prints a note once if irtt is missing.
    fn generators(&self, scenario: &Scenario) -> Vec<Generator> {
        let (generators, is_missing) = support::generators(scenario, &self.programs);
        if is_missing {
            let note = "irtt is not installed: this program sends the call-like flows itself";
            self.without_irtt.call_once(|| self.bar.suspend(|| qdelay_terminal::output::eprintln_line(note)));
        }
        generators
    }

    /// Starts and stops programs until the end of the run; returns an error if one fails.
    fn play(
        &self,
        mut clock: RealClock,
        scenario: &Scenario,
        programs: &mut Programs,
        is_over: &dyn Fn() -> bool,
    ) -> Option<String> {
        let end = Time::ZERO + scenario.duration;
        let mut next_hook = Time::ZERO;
        loop {
            let now = clock.now();
            if now >= end || is_over() {
                return None;
            }
            if let Some(hook) = &self.hook
                && now >= next_hook
            {
                next_hook = now + Span::from_secs(1);
                hook(now, end);
            }
            if let Err(message) = programs.advance(now) {
                return Some(message);
            }
            // Whole seconds, so that the message changes once per second.
            let seconds = |span: Span| span.as_nanos() / 1_000_000_000;
            self.bar.set_message(&format!(
                "{} s of {} s",
                seconds(now.since(Time::ZERO)),
                seconds(scenario.duration)
            ));
            sleep_until(&mut clock, end.min(programs.next()).min(now + CHECK_INTERVAL));
        }
    }
}

fn place(case: &Case) -> String {
    format!("case {}", case.id)
}

/// Sleeps until `time`, or less if a signal arrives.
fn sleep_until(clock: &mut RealClock, time: Time) {
    let now = clock.now();
    if time > now {
        sleep(time.since(now));
    }
}

/// Sleeps for `span`, or a little less if a signal comes.
fn sleep(span: Span) {
    let nanos = span.as_nanos();
    let wait = Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 };
    let _ = poll(&mut [], Some(&wait));
}

/// Waits between checks of a program.
fn pause() {
    let _ = poll(&mut [], Some(&Timespec { tv_sec: 0, tv_nsec: PAUSE.as_nanos() as i64 }));
}

/// Kernel settings of a namespace with senders. Settings that cannot be changed are left as they are.
fn set_kernel(place: &Namespace, scenario: &Scenario) {
    // Cached metrics would make flows depend on earlier ones; in the simulator they are independent.
    let mut settings = vec![("tcp_no_metrics_save", "1")];
    // A socket is created with the machine's default congestion control, and iperf3 changes it after connecting. If the default
    // is BBR, the pacing that BBR enabled stays on (Linux, `sk_pacing_status`), and Cubic would be paced, which is unusual.
    // Scenarios that request pacing get it this way.
    settings.push(("tcp_congestion_control", support::default_control(scenario)));
    if support::wants_ecn(scenario) {
        settings.push(("tcp_ecn", "1"));
    }
    if scenario.flows.iter().any(|flow| flow.stop.is_some_and(|stop| stop < scenario.duration)) {
        // Data written before a program is stopped is still sent: the limit keeps its amount small.
        settings.push(("tcp_notsent_lowat", "65536"));
    }
    place.run(move || {
        for (name, value) in settings {
            let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value);
        }
    });
}

/// Results of the receivers.
struct ReceiverResults<'a> {
    /// Number of received datagrams of our own senders.
    received: u64,
    irtt: &'a [(usize, Irtt)],
}

/// Contradictions between the receivers and the measures, and the number of datagrams lost behind the path.
fn contradictions(
    scenario: &Scenario,
    generators: &[Generator],
    gauge: &MeasuringTap<'_>,
    receivers: ReceiverResults<'_>,
) -> (Vec<String>, u64) {
    let mut reasons = Vec::new();
    let is_own = |flow: usize| generators.get(flow).is_none_or(|generator| *generator == Generator::Own);
    let echoes: Vec<Echo> = gauge.echoes().collect();
    let delivered = echoes.iter().enumerate().filter(|(flow, _)| is_own(*flow));
    let unseen = delivered.map(|(_, echo)| echo.there).sum::<u64>().saturating_sub(receivers.received);
    if unseen > 0 {
        reasons.push(format!("{unseen} datagrams were lost between the link and their receiver"));
    }
    for (flow, irtt) in receivers.irtt {
        let echo = echoes.get(*flow).copied().unwrap_or_default();
        reasons.extend(irtt::contradictions(irtt, echo, scenario.base_rtt));
    }
    (reasons, unseen)
}
