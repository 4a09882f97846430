//! `qdelay run --clock real`: cases in real time, their flows made by real programs.
//!
//! ```text
//! outside: iperf3 clients, UDP senders -> [bottleneck, link, delay] -> inside: iperf3 servers, UDP receivers
//! ```
//!
//! Each case gets two private namespaces and an emulator of its own between them: data goes down. A TCP flow is an iperf3
//! client outside that sends to a server inside, with the kernel's own congestion control; a UDP flow is sent by this program
//! at the very times at which the simulator's source sends. What is measured is what the emulator's path does, at the path's
//! own times, by the simulator's own [`qdelay_sim::Figures`].
//!
//! | module | what |
//! | --- | --- |
//! | `support` | what of a scenario cannot be real |
//! | `ports`, `bypass` | which packets are of which flow; iperf3's talk with itself goes around the path |
//! | `programs`, `datagrams` | iperf3, and our own sender and receiver |
//! | `carrier` | the thread that carries the packets |
//! | `measure`, `stream` | from the emulator's events to an outcome; what of a TCP flow's bytes has arrived |

mod bypass;
mod carrier;
mod datagrams;
mod measure;
mod ports;
mod programs;
mod stream;
mod support;

use carrier::{Carried, Carrier};
use datagrams::{Receiver, Sender};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use programs::Programs;
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Rate, Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::link_setup::{self, LinkSetup, Outside};
use qdelay_emu::netns::Namespace;
use qdelay_emu::plan::{Direction, Plan};
use qdelay_experiment::InputError;
use qdelay_experiment::engine::{EngineError, Progress, Ran, Runner};
use qdelay_experiment::results::{Audit, round};
use qdelay_experiment::scenario::Case;
use qdelay_path::{AnyLink, Line};
use qdelay_record::PacketFile;
use qdelay_sim::Scenario;
use rustix::event::{Timespec, poll};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// The longest packet of the link, in bytes: Ethernet's.
const MTU: u16 = 1500;
/// How often it is looked whether all is well, and the progress shown.
const LOOK: Span = Span::from_millis(100);

/// Runs cases in real time, one after another.
pub struct RealTime {
    /// Whether to ask for real-time priority.
    pub realtime: bool,
    bar: ProgressBar,
}

impl RealTime {
    /// Says how far it is on standard error, where that is a terminal.
    pub fn new(realtime: bool) -> RealTime {
        RealTime { realtime, bar: ProgressBar::hidden() }
    }
    /// Takes the progress away.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Progress for RealTime {
    fn begins(&self, cases: u64, there: u64) {
        self.bar.set_length(cases);
        self.bar.set_position(there);
        self.bar.set_draw_target(ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} cases, {msg}") {
            self.bar.set_style(style);
        }
        self.bar.tick();
    }
    fn case_done(&self) {
        self.bar.inc(1);
    }
}

impl Runner for RealTime {
    fn clock(&self) -> Option<&'static str> {
        Some("real")
    }

    fn check(&self, case: &Case) -> Result<(), InputError> {
        support::check(&case.scenario).map_err(|message| InputError::new(place(case), message))
    }

    fn run(&self, case: &Case, packets: Option<&mut PacketFile>) -> Result<Ran, EngineError> {
        let scenario = &case.scenario;
        let refuse = |message: String| EngineError::Input(InputError::new(place(case), message));
        let options = link_setup::Options {
            mtu: u32::from(MTU),
            outside: Outside::Private,
            resolver: false,
            ..Default::default()
        };
        let setup = LinkSetup::new(&options).map_err(|error| refuse(error.to_string()))?;
        let LinkSetup { inside, outside, addresses, namespace, outside_namespace, .. } = setup;
        let Some(outer) = outside_namespace else { return Err(refuse("no namespace outside".to_string())) };
        set_kernel(&outer, scenario);
        let ends = (addresses.outside, addresses.inside);
        let mut programs = Programs::listen(scenario, &namespace, ends).map_err(refuse)?;
        let receiver = Receiver::open(scenario, &namespace, ends.1).map_err(refuse)?;
        let sender = Sender::open(scenario, &outer, ends).map_err(refuse)?;
        let plan = plan(scenario).map_err(refuse)?;
        let carrier =
            Carrier { scenario, plan, devices: [inside, outside], mtu: MTU, realtime: self.realtime };
        let stop = AtomicBool::new(false);
        // One beginning for the path and for whoever sends over it.
        let clock = RealClock::start();
        let (carried, received, failed) = thread::scope(|scope| {
            let carried = scope.spawn(|| carrier.run(clock, packets, &stop));
            let received = scope.spawn(|| receiver.run(&stop));
            let sent = scope.spawn(|| sender.run(clock, &stop));
            let failed = self.play(clock, scenario, &mut programs, &outer, &|| carried.is_finished());
            // The carrier ends by itself unless something failed.
            if failed.is_some() {
                stop.store(true, Ordering::Relaxed);
            }
            let carried = carried.join();
            stop.store(true, Ordering::Relaxed);
            (carried, (received.join().unwrap_or(0), sent.join().is_ok()), failed)
        });
        let Ok(carried) = carried else {
            return Err(EngineError::Audit(format!("{}: the emulator broke off", place(case))));
        };
        if let Some(message) = failed {
            return Err(refuse(message));
        }
        let carried = carried.map_err(|message| EngineError::Audit(format!("{}: {message}", place(case))))?;
        let told = programs.end();
        drop((programs, namespace, outer));
        let audit = audit(&carried, received.0);
        let outcome = carried.measured.finish(scenario, &told, carried.ends);
        Ok(Ran { outcome, audit: Some(audit) })
    }
}

impl RealTime {
    /// Starts and stops programs until the end of the run; says what went wrong.
    fn play(
        &self,
        mut clock: RealClock,
        scenario: &Scenario,
        programs: &mut Programs,
        outer: &Namespace,
        is_over: &dyn Fn() -> bool,
    ) -> Option<String> {
        let end = Time::ZERO + scenario.duration;
        loop {
            let now = clock.now();
            if now >= end || is_over() {
                return None;
            }
            if let Err(message) = programs.advance(now, outer) {
                return Some(message);
            }
            let seconds = |span: Span| span.as_nanos() / 1_000_000_000;
            self.bar.set_message(format!(
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

/// The scenario's path: what the simulator builds, in both directions.
fn plan(scenario: &Scenario) -> Result<Plan, String> {
    let half = scenario.base_rtt / 2;
    let (limit, link) = match &scenario.uplink {
        Some(uplink) => (uplink.limit, uplink.link.0.clone()),
        None => (u64::from(u32::MAX), AnyLink::from(Line::new(Rate::INFINITE, 0))),
    };
    let tail_drop = Arguments::parse(qdisc::COMPONENTS, &format!("taildrop:limit={limit}"));
    let build = |arguments: &Arguments| AnyQdisc::build(arguments).map_err(|error| error.to_string());
    Ok(Plan {
        down: Direction {
            qdisc: build(&scenario.qdisc)?,
            link: scenario.link.0.clone(),
            delay: half,
            jitter: scenario.jitter,
            loss: 0.0,
        },
        up: Direction {
            qdisc: build(&tail_drop.map_err(|error| error.to_string())?)?,
            link,
            delay: scenario.base_rtt.saturating_sub(half),
            jitter: Span::ZERO,
            loss: 0.0,
        },
        seed: scenario.seed,
    })
}

/// Settings of the senders' own namespace. What cannot be set stays as it is.
fn set_kernel(outer: &Namespace, scenario: &Scenario) {
    // Flows know nothing of each other, as in the simulator.
    let mut settings = vec![("tcp_no_metrics_save", "1")];
    if support::wants_ecn(scenario) {
        settings.push(("tcp_ecn", "1"));
    }
    if scenario.flows.iter().any(|flow| flow.stop.is_some_and(|stop| stop < scenario.duration)) {
        // What a program has written before it is stopped is sent all the same: little of it.
        settings.push(("tcp_notsent_lowat", "65536"));
    }
    outer.run(move || {
        for (name, value) in settings {
            let _ = std::fs::write(format!("/proc/sys/net/ipv4/{name}"), value);
        }
    });
}

/// What the emulator says of itself, and whether the receivers got all that it delivered.
fn audit(carried: &Carried, received: u64) -> Audit {
    let facts = &carried.facts;
    let mut reasons = facts.verdict.reasons.clone();
    let unseen = carried.datagrams.saturating_sub(received);
    if unseen > 0 {
        reasons.push(format!("{unseen} datagrams were lost between the link and their receiver"));
    }
    Audit {
        trustworthy: reasons.is_empty(),
        reasons,
        lateness_ms: (&facts.lateness).into(),
        late_limits_ms: facts.limits.map(|limit| round(limit.as_millis_f64())),
        releases_late: facts.late,
        lost_outside: facts.lost + unseen,
        malformed: facts.malformed,
        cpu_seconds: round(facts.cpu.as_secs_f64()),
        steal_seconds: facts.steal.map(|steal| round(steal.as_secs_f64())),
        realtime: carried.realtime,
    }
}
