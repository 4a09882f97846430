//! Real programs over paths in real time: a scenario's cases, their flows made by iperf3, irtt or this program (`qdelay run --clock
//! real`); and a command behind a link ([`link`]).
//!
//! ```text
//! outside: iperf3 and irtt clients, UDP senders -> [bottleneck, link, delay] -> inside: their servers, UDP receivers
//! ```
//!
//! Each case gets two private namespaces and an emulator of its own between them: data goes down. A TCP flow is an iperf3
//! client outside that sends to a server inside, with the kernel's own congestion control; a UDP flow is sent by this program
//! at exactly the times at which the simulator's source sends, or by irtt if it is call-like. Measurements are taken on the
//! emulator's path, at the path's own times, by the simulator's own [`qdelay_sim::Measurement`].
//!
//! | module | what |
//! | --- | --- |
//! | `support` | the parts of a scenario that real programs cannot run; the generator of each flow |
//! | `path` | the scenario's path for the emulator |
//! | `ports`, `bypass` | assignment of packets to flows; control connections bypass the path |
//! | `programs`, `irtt`, `datagrams` | iperf3 and irtt, and our own sender and receiver |
//! | `carrier` | the data thread |
//! | `measure`, `stream` | from the emulator's events to an outcome; bytes of a TCP flow that have arrived |

#![forbid(unsafe_code)]

mod bypass;
mod carrier;
mod datagrams;
mod irtt;
pub mod link;
mod measure;
mod path;
mod ports;
mod programs;
mod stream;
mod support;

pub use support::check;

use carrier::{Carrier, CarrierResult};
use datagrams::{Receiver, Sender};
use measure::Echo;
use programs::Programs;
use qdelay_core::{Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::link_setup::{self, LinkSetup, Outside};
use qdelay_emu::netns::Namespace;
use qdelay_emu::packet_steering::PacketSteering;
use qdelay_emu::snapshot::StallFigures;
use qdelay_record::PacketFile;
use qdelay_sim::Scenario;
use qdelay_study::InputError;
use qdelay_study::engine::{self, EngineError, Progress, Ran, Recorded, Runner};
use qdelay_study::results::{Audit, Entity, Irtt, Stall, Stalls, round};
use qdelay_study::scenario::Case;
use qdelay_terminal::progress::Bar;
use rustix::event::{Timespec, poll};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use support::Generator;

/// The longest packet of the link, in bytes: Ethernet's.
const MTU: u16 = 1500;
/// Time to spin before each release: an idle virtual processor was seen to wake up as late as 380 us. Spinning takes 40% of a
/// processor if a trace has an opportunity every millisecond.
const SPIN: Span = Span::from_micros(400);
/// The same if several cases run at once, which spinning would delay.
const SHORT_SPIN: Span = Span::from_micros(50);
/// Interval of checks for failures, and of progress updates.
const LOOK: Span = Span::from_millis(100);

/// Runs cases in real time, one after another.
pub struct RealTime {
    /// Whether to request real-time priority.
    pub realtime: bool,
    /// How long the data thread spins before each release, with real-time priority.
    spin: Option<Span>,
    /// Whether receive packet steering may be set up: one case at a time, on several processors.
    steers: bool,
    /// Progress of the cases.
    pub bar: Bar,
    hear: Option<Hear>,
    without_irtt: Once,
}

/// Results of a case, and further results for comparisons with the simulator.
pub struct RealRun {
    /// Measures and verdict.
    pub ran: Ran,
    /// Arrival of the first whole segment of each TCP flow at the bottleneck.
    pub begun: Vec<Option<Time>>,
}

/// A function that is called during a run with the time and the end of the run.
type Hear = Box<dyn Fn(Time, Time) + Send + Sync>;

impl RealTime {
    /// Runs one case at a time; shows progress on standard error if that is a terminal.
    pub fn new(realtime: bool) -> RealTime {
        RealTime::with_jobs(realtime, 1)
    }
    /// The same with `jobs` cases at once, which share the processors: no emulator has a processor of its own, and none spins
    /// for long.
    pub fn with_jobs(realtime: bool, jobs: usize) -> RealTime {
        let spin = if jobs == 1 { SPIN } else { SHORT_SPIN };
        RealTime {
            realtime,
            spin: realtime.then_some(spin),
            steers: realtime && jobs == 1,
            bar: Bar::default(),
            hear: None,
            without_irtt: Once::new(),
        }
    }
    /// For a machine whose time stands still while its one processor is idle: releases have priority, and nothing spins.
    pub fn of_virtual_time() -> RealTime {
        RealTime { spin: Some(Span::ZERO), steers: false, ..RealTime::new(true) }
    }
    /// The same; `hear` is called in each second of a run.
    #[must_use]
    pub fn hearing(self, hear: impl Fn(Time, Time) + Send + Sync + 'static) -> RealTime {
        RealTime { hear: Some(Box::new(hear)), ..self }
    }
}

impl Progress for RealTime {
    fn begins(&self, study: &str, cases: u64, there: u64) {
        self.bar.begins(study, cases, there);
        // A single case takes long enough to show progress.
        self.bar.show();
    }
    fn case_done(&self) {
        self.bar.case_done();
    }
}

impl Runner for RealTime {
    fn clock(&self) -> Option<&'static str> {
        Some("real")
    }

    fn check(&self, case: &Case) -> Result<(), InputError> {
        let kernel = support::kernel_controls(&case.scenario);
        check(&case.scenario, &kernel)
            .and_then(|()| support::check_programs(&case.scenario))
            .map_err(|message| InputError::new(place(case), message))
    }

    fn record(
        &self,
        case: &Case,
        labels: BTreeMap<String, String>,
        packets: Option<&Path>,
    ) -> Result<Recorded, EngineError> {
        engine::recorded(case, labels, packets, |packets| Ok(self.run_case(case, packets)?.ran))
    }
}

impl RealTime {
    /// Runs `case`, and passes every packet to `packets`.
    ///
    /// # Errors
    /// No namespaces, a program that cannot be run, or a failed audit.
    pub fn run_case(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<RealRun, EngineError> {
        let scenario = &case.scenario;
        let refuse = |message: String| EngineError::Input(InputError::new(place(case), message));
        let options = link_setup::Options {
            mtu: u32::from(MTU),
            outside: Outside::Private,
            resolver: false,
            ..Default::default()
        };
        let setup = LinkSetup::new(&options).map_err(|error| refuse(error.to_string()))?;
        let steering = self.steers.then(PacketSteering::choose).flatten();
        let steering = steering.filter(|steering| steering.apply(&setup));
        let LinkSetup { inside, outside, addresses, namespace, outside_namespace, .. } = setup;
        let Some(outer) = outside_namespace else { return Err(refuse("no namespace outside".to_string())) };
        set_kernel(&outer, scenario);
        let ends = (addresses.outside, addresses.inside);
        let generators = self.generators(scenario);
        let mut programs =
            Programs::listen(scenario, &generators, [&namespace, &outer], ends).map_err(refuse)?;
        let receiver = Receiver::open(scenario, &generators, &namespace, ends.1).map_err(refuse)?;
        let sender = Sender::open(scenario, &generators, &outer, ends).map_err(refuse)?;
        let plan = path::plan(scenario);
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
        };
        let stop = AtomicBool::new(false);
        let (ready, is_ready) = channel();
        let (start, started) = channel();
        let (carried, received, failed) = thread::scope(|scope| {
            let carried = scope.spawn(|| {
                let begin = || {
                    // Both fail only if the other thread has ended.
                    let _ = ready.send(());
                    started.recv().ok()
                };
                let carried = carrier.run(&begin, packets, &stop);
                drop((ready, started));
                carried
            });
            // Fails if the data thread does.
            let _ = is_ready.recv();
            // A common start time of the path and the senders.
            let clock = RealClock::start();
            let _ = start.send(clock);
            let stop = &stop;
            let received = scope.spawn(move || receiver.run(stop));
            let sent = scope.spawn(move || sender.run(clock, stop));
            let failed = self.play(clock, scenario, &mut programs, &|| carried.is_finished());
            // The data thread ends by itself unless a program failed.
            if failed.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            let carried = carried.join();
            stop.store(true, Ordering::Relaxed);
            (carried, (received.join().unwrap_or(0), sent.join().is_ok()), failed)
        });
        let Ok(carried) = carried else {
            return Err(EngineError::Audit(format!("{}: the emulator failed", place(case))));
        };
        if let Some(message) = failed {
            return Err(refuse(message));
        }
        let carried = carried.map_err(|message| EngineError::Audit(format!("{}: {message}", place(case))))?;
        let told = programs.end();
        drop((programs, namespace, outer));
        let audit = audit(scenario, &generators, &carried, received.0, &told.irtt);
        let begun = carried.gauge.begun();
        let outcome = carried.gauge.finish(&told.iperf3);
        Ok(RealRun { ran: Ran { outcome, audit: Some(audit) }, begun })
    }

    /// The generator of each flow; prints a note once if irtt is missing.
    fn generators(&self, scenario: &Scenario) -> Vec<Generator> {
        let (generators, is_missing) = support::generators(scenario);
        if is_missing {
            let note = "irtt is not installed: this program sends flows that are like calls by itself";
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
        let mut next_heard = Time::ZERO;
        loop {
            let now = clock.now();
            if now >= end || is_over() {
                return None;
            }
            if let Some(hear) = &self.hear
                && now >= next_heard
            {
                next_heard = now + Span::from_secs(1);
                hear(now, end);
            }
            if let Err(message) = programs.advance(now) {
                return Some(message);
            }
            let seconds = |span: Span| span.as_nanos() / 1_000_000_000;
            self.bar.set_message(&format!(
                "{} s of {} s",
                seconds(now.since(Time::ZERO)),
                seconds(scenario.duration)
            ));
            sleep_until(&mut clock, end.min(programs.next()).min(now + LOOK));
        }
    }
}

fn place(case: &Case) -> String {
    format!("case {}", case.id)
}

/// Sleeps until `time`, or a little less if a signal comes.
fn sleep_until(clock: &mut RealClock, time: Time) {
    let now = clock.now();
    if time > now {
        let left = time.since(now).as_nanos();
        let left = Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
        let _ = poll(&mut [], Some(&left));
    }
}

/// Kernel settings of the senders' namespace. Settings that cannot be changed are left as they are.
fn set_kernel(outer: &Namespace, scenario: &Scenario) {
    // Flows are independent of each other, as in the simulator.
    let mut settings = vec![("tcp_no_metrics_save", "1")];
    // A socket is created with the machine's default congestion control, and iperf3 changes it after connecting. If the default
    // is BBR, the pacing that BBR enabled stays on (Linux, `sk_pacing_status`), and Cubic would be paced as it usually is not.
    // Scenarios that request this get it.
    settings.push(("tcp_congestion_control", if support::wants_pacing(scenario) { "bbr" } else { "reno" }));
    if support::wants_ecn(scenario) {
        settings.push(("tcp_ecn", "1"));
    }
    if scenario.flows.iter().any(|flow| flow.stop.is_some_and(|stop| stop < scenario.duration)) {
        // Data written before a program is stopped is still sent: the limit keeps it small.
        settings.push(("tcp_notsent_lowat", "65536"));
    }
    outer.run(move || {
        for (name, value) in settings {
            let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value);
        }
    });
}

/// The emulator's audit, with checks of the receivers' counts and of irtt's results.
fn audit(
    scenario: &Scenario,
    generators: &[Generator],
    carried: &CarrierResult<'_>,
    received: u64,
    told: &[(usize, Irtt)],
) -> Audit {
    let facts = &carried.facts;
    let mut reasons = facts.verdict.reasons.clone();
    let is_own = |flow: usize| generators.get(flow).is_none_or(|generator| *generator == Generator::Own);
    let echoes: Vec<Echo> = carried.gauge.echoes().collect();
    let delivered = echoes.iter().enumerate().filter(|(flow, _)| is_own(*flow));
    let unseen = delivered.map(|(_, echo)| echo.there).sum::<u64>().saturating_sub(received);
    if unseen > 0 {
        reasons.push(format!("{unseen} datagrams were lost between the link and their receiver"));
    }
    for (flow, irtt) in told {
        let echo = echoes.get(*flow).copied().unwrap_or_default();
        reasons.extend(irtt::contradictions(irtt, echo, scenario.base_rtt));
    }
    Audit {
        trustworthy: reasons.is_empty(),
        reasons,
        lateness_ms: facts.lateness.rounded(),
        late_limits_ms: facts.limits.map(|limit| round(limit.as_millis_f64())),
        releases_late: facts.late,
        stalls: stalls(StallFigures::from(&facts.stalls)),
        lost_outside: facts.lost + unseen,
        malformed: facts.malformed,
        cpu_seconds: round(facts.cpu.as_secs_f64()),
        steal_seconds: facts.steal.map(|steal| round(steal.as_secs_f64())),
        realtime: carried.realtime,
        irtt: told.iter().map(|(_, irtt)| irtt.clone()).collect(),
    }
}

/// Converts to the types of results. The devices of a case have no time stamps, so none can be implausible.
fn stalls(figures: StallFigures) -> Stalls {
    let StallFigures {
        count, total_ms, longest_gap_ms, packets_read, packets_unseen, dropped, longest, ..
    } = figures;
    let longest = longest
        .iter()
        .map(|interval| Stall { begin_s: interval.begin_s, length_ms: interval.length_ms })
        .collect();
    Stalls { count, total_ms, longest_gap_ms, packets_read, packets_unseen, dropped, longest }
}
