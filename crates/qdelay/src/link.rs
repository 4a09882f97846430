//! `qdelay link`: a command behind a link, in real time.

use crate::cli::Link;
use crate::link_outcome::{Drained, Figures, Outcome, Used, end};
use crate::link_scenario;
use qdelay_core::component::Arguments;
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_core::{Span, Time};
use qdelay_emu::any_plan::AnyPlan;
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::control::{Inbox, Wish, control};
use qdelay_emu::device::{Device, Port};
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, Tap};
use qdelay_emu::link_setup::{self, LinkSetup, Outside};
use qdelay_emu::metrics::{HasMetrics, Metrics};
use qdelay_emu::netns::command::{Running, exit_code};
use qdelay_emu::netns::user;
use qdelay_emu::plan::{Direction, Plan};
use qdelay_emu::pool::Pool;
use qdelay_emu::snapshot::{Setting, Settings};
use qdelay_emu::steering::Steering;
use qdelay_emu::wait::{WaitOptions, Waiter};
use qdelay_live::Panel;
use qdelay_live::control::{Socket, SocketOptions};
use qdelay_live::logs::{self, Closed, Logs, Wanted};
use qdelay_record::{PacketFile, Recorder};
use qdelay_study::cost::Stopwatch;
use qdelay_study::lists::component_list;
use qdelay_study::traces::Library;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output::eprintln_line;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

/// Slots that are made before the first packet comes.
const RESERVED: u32 = 4096;
/// What a command finds in its environment: the address of the other end, and the links it is behind.
const OUTSIDE: &str = "QDELAY_OUTSIDE";
const OUTSIDE_V6: &str = "QDELAY_OUTSIDE6";
const STACK: &str = "QDELAY_LINK";
/// Nothing is under way once the path was empty for so long: longer than a kernel holds an acknowledgement back (40 ms), and a
/// program beside it its answer.
const QUIET: Span = Span::from_millis(50);
/// How long a command may take to end when the control socket says so, in seconds.
const GRACE_SECONDS: f64 = 2.0;

/// Runs the command. It must be called before any thread is started.
///
/// # Errors
/// Bad input, no permission for a network of its own, a failed audit; and the command's own exit status.
pub fn run(options: &Link) -> Result<(), Failure> {
    let (options, plan) = match &options.scenario {
        Some(scenario) => link_scenario::read(options, scenario)?,
        None => (options.clone(), plan(options, &Library::of(None, &options.traces))?.into()),
    };
    let options = &options;
    let limits = plan.lateness_limits();
    options.json.as_deref().map_or(Ok(()), has_place)?;
    let logged = options.log.as_deref().map(logs::mahimahi_files).into_iter().flatten();
    let recorded = [&options.packets, &options.pcap].into_iter().flatten().cloned();
    logged.chain(recorded).try_for_each(|path| logs::refuse_existing(&path, options.force))?;
    let private = !user::is_administrator();
    if private {
        user::enter().map_err(|error| Failure::input("qdelay link", error))?;
    }
    let setup = link_setup::Options {
        mtu: u32::from(options.mtu),
        outside: if private { Outside::Private } else { Outside::Here },
        ..link_setup::Options::default()
    };
    let setup = LinkSetup::new(&setup).map_err(|error| Failure::input("qdelay link", error))?;
    for note in &setup.notes {
        eprintln_line(note);
    }
    if private {
        eprintln_line(
            "without root the link leads to a private network: nothing outside is reached through it",
        );
    }
    let mut pool = Pool::new(options.mtu, options.hold as u32);
    pool.reserve(RESERVED);
    match &options.packets {
        None => carry(options, setup, plan, pool, limits, ()).map(|((), outcome)| outcome),
        Some(path) => {
            let file = logs::create(path, options.force).and_then(PacketFile::new);
            let file = file.map_err(|error| logs::cannot_create(path, &error))?;
            let (file, mut outcome) = carry(options, setup, plan, pool, limits, file)?;
            if let Err(error) = file.close() {
                let all = outcome.directions.iter().map(|figures| figures.packets_arrived).sum::<u64>();
                outcome.broken.push(format!(
                    "{}: cannot be written: {error}; none of its {all} records can be read, for want of the file's end",
                    path.display()
                ));
            }
            Ok(outcome)
        }
    }
    .and_then(|mut outcome| {
        let verdict = &mut outcome.facts.verdict;
        verdict.trustworthy &= outcome.broken.is_empty();
        verdict.reasons.extend_from_slice(&outcome.broken);
        end(options, &outcome)
    })
}

/// A file that is written at the end, so that a wrong name is told before the command is started and not after it.
fn has_place(path: &Path) -> Result<(), Failure> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match path.metadata() {
        Ok(found) if !found.is_file() => {
            Err(Failure::input(path.display(), "is no regular file; expected the name of a file"))
        }
        _ if !folder.is_dir() => {
            Err(Failure::input(path.display(), "the folder does not exist; expected one that does"))
        }
        _ => Ok(()),
    }
}

fn plan(options: &Link, library: &Library) -> Result<Plan, Failure> {
    let direction =
        |option: &str, text: &str, qdisc_option: &str, qdisc: &str| -> Result<Direction, Failure> {
            let link =
                library.link_or_trace(text, !options.once).map_err(|error| Failure::input(option, error))?;
            let qdisc = one(qdisc_option, qdisc)?;
            let qdisc = AnyQdisc::build(&qdisc).map_err(|error| Failure::input(qdisc_option, error))?;
            Ok(Direction { qdisc, link, delay: options.delay, jitter: options.jitter, loss: options.loss })
        };
    Ok(Plan {
        down: direction("--down", &options.down, "--qdisc", &options.qdisc)?,
        up: direction("--up", &options.up, "--up-qdisc", &options.up_qdisc)?,
        seed: options.seed,
    })
}

fn one(option: &str, text: &str) -> Result<Arguments, Failure> {
    match component_list(option, &[text.to_string()], qdisc::COMPONENTS)?.as_slice() {
        [only] => Ok(only.clone()),
        _ => Err(Failure::input(option, format!("'{text}' is several; expected one"))),
    }
}

/// Starts the command, and carries its packets until it ends.
fn carry<R: Recorder>(
    options: &Link,
    setup: LinkSetup,
    plan: AnyPlan,
    pool: Pool,
    limits: [Span; 2],
    recorder: R,
) -> Result<(R, Outcome), Failure> {
    let cannot = |error: &dyn std::fmt::Display| Failure::input("qdelay link", error);
    let wanted = Wanted {
        command: "qdelay link",
        mahimahi: options.log.as_deref(),
        capture: options.pcap.as_deref(),
        force: options.force,
        typed: [[&options.down, &options.qdisc], [&options.up, &options.up_qdisc]],
    };
    let logs = Logs::open(&wanted, &plan, |_, error| error.into())?;
    let is_watched = options.live || options.control.is_some();
    let metrics = is_watched.then(|| Metrics::new(&plan)).transpose().map_err(|error| cannot(&error))?;
    let socket =
        options.control.as_deref().map(|path| Socket::open(&SocketOptions::private(path))).transpose()?;
    let emulator = Emulator::tapped(plan, pool, recorder, (logs, metrics)).map_err(|error| cannot(&error))?;
    let steering =
        if options.realtime { Steering::plan().filter(|steering| steering.steer(&setup)) } else { None };
    let LinkSetup { inside, outside, addresses, relay, namespace, outside_namespace, .. } = setup;
    let command = command(options, &addresses);
    let shown = command.get_program().to_string_lossy().into_owned();
    // Before the command: what it sends at once, and the kernel drops, counts too.
    let mut driver = Driver::new(RealClock::start(), [inside, outside], emulator, limits);
    let (line, inbox) = control(settings(options)).map_err(|error| cannot(&error))?;
    let server =
        socket.map(|socket| socket.serve(line.clone(), None)).transpose().map_err(|error| cannot(&error))?;
    let panel = options.live.then(|| Panel::start(line)).transpose().map_err(|error| cannot(&error))?;
    // What waits for an answer gets none from here on; whoever looks on is dropped after it.
    let mut inbox = inbox;
    // What the devices' own start has sent goes first.
    driver.begin();
    driver.turn([true; 2]).map_err(|error| cannot(&error))?;
    let mut child = namespace.spawn_foreground(command).map_err(|error| {
        Failure::input(one_line(&shown), format!("cannot be started: {error}; expected a command that runs"))
    })?;
    // After the command, which would inherit it. Where it is refused, releases are later, which is seen.
    let _ = steering.map(|steering| steering.stay());
    let wait = WaitOptions { realtime: options.realtime, spin: options.spin };
    let mut waiter = Waiter::new(wait, alarm(&child).into_iter().chain(inbox.alarm().ok()));
    driver.begin();
    let carried = drive(&mut driver, &mut waiter, &mut inbox, &mut child);
    // Rates are of the time in which the command ran.
    let ended = driver.clock().now();
    let used = [Port::Outside, Port::Inside].map(|port| Used::by(driver.emulator(), port, ended));
    let drained = carried.and_then(|()| drain(&mut driver, &mut waiter, &mut inbox, options.drain));
    drop(inbox);
    drop((panel, server));
    let (emulator, devices, mut audit) = driver.finish();
    let status = child.wait();
    // In this order: what still runs inside, the relay, then the devices.
    drop((child, namespace, relay, outside_namespace, devices));
    let drained = drained.map_err(|error| Failure::Check(format!("the link broke off: {error}")))?;
    let status = status.map_err(|error| Failure::Check(format!("the command was lost: {error}")))?;
    emulator.audit().map_err(|error| {
        Failure::Check(format!("the audit failed: {error}; expected every packet to be accounted for"))
    })?;
    // What comes from outside goes down.
    let [down, up] = used;
    let directions =
        [(Port::Outside, down), (Port::Inside, up)].map(|(port, used)| Figures::of(&emulator, port, used));
    let (recorder, (logs, _)) = emulator.into_parts();
    let Closed { lost, broken } = logs.close(Time::ZERO + audit.facts().duration);
    audit.log_lost = lost;
    let facts = audit.facts();
    let duration = ended.since(Time::ZERO);
    Ok((recorder, Outcome { status: exit_code(status), facts, duration, drained, broken, directions }))
}

/// Carries what is still under way in either direction, and what its receivers answer, for at most `longest`: the last bytes of a
/// command that has ended, and the end of its connections. Its kernel is still there, and its programs in the background.
fn drain<C, D, R, T>(
    driver: &mut Driver<C, D, R, T>,
    waiter: &mut Waiter,
    inbox: &mut Inbox,
    longest: Span,
) -> io::Result<Drained>
where
    C: Clock,
    D: Device,
    R: Recorder,
    T: Tap + HasMetrics,
{
    // The command's end would wake it for ever.
    waiter.set_alarms(inbox.alarm().ok());
    let begin = driver.clock().now();
    loop {
        let time = driver.clock().now().since(begin);
        // What the command sent last may still be in its device.
        if driver.is_idle(QUIET)? {
            return Ok(Drained { time, cut: 0 });
        }
        if time >= longest || inbox.serve(driver) == Wish::Stop {
            return Ok(Drained { time, cut: driver.emulator().inside() });
        }
        driver.run(waiter, || true)?;
    }
}

/// Carries packets until the command has ended, and serves who asks for figures or for the end.
fn drive<C, D, R, T>(
    driver: &mut Driver<C, D, R, T>,
    waiter: &mut Waiter,
    inbox: &mut Inbox,
    child: &mut Running,
) -> io::Result<()>
where
    C: Clock,
    D: Device,
    R: Recorder,
    T: Tap + HasMetrics,
{
    let mut stopping: Option<Stopwatch> = None;
    loop {
        let is_overdue = || stopping.is_some_and(|since| since.seconds() > GRACE_SECONDS);
        driver.run(waiter, || !matches!(child.try_wait(), Ok(None)) || is_overdue())?;
        if !matches!(child.try_wait(), Ok(None)) {
            return Ok(());
        }
        if is_overdue() {
            let _ = child.signal(Signal::KILL);
        }
        if inbox.serve(driver) == Wish::Stop && stopping.is_none() {
            // A shell ends at the first, everything else at either.
            let _ = child.signal(Signal::HUP);
            let _ = child.signal(Signal::TERM);
            stopping = Some(Stopwatch::start());
        }
    }
}

/// What runs, as it was typed.
fn settings(options: &Link) -> Settings {
    let setting = |link: &String, qdisc: &String| Setting {
        link: link.clone(),
        qdisc: qdisc.clone(),
        delay_ms: options.delay.as_millis_f64(),
        jitter_ms: options.jitter.as_millis_f64(),
        loss: options.loss,
    };
    Settings { down: setting(&options.down, &options.qdisc), up: setting(&options.up, &options.up_qdisc) }
}

/// Readable when the command has ended; without it the loop asks now and then.
fn alarm(child: &Running) -> Option<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

fn command(options: &Link, addresses: &link_setup::Addresses) -> Command {
    let shell = || std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or("/bin/sh".into());
    let (program, arguments): (OsString, &[OsString]) = match options.command.split_first() {
        Some((program, arguments)) => (program.clone(), arguments),
        None => (shell(), &[]),
    };
    let mut command = Command::new(program);
    command.args(arguments);
    command.env(OUTSIDE, addresses.outside.to_string());
    match addresses.ipv6 {
        Some((_, outside)) => command.env(OUTSIDE_V6, outside.to_string()),
        None => command.env_remove(OUTSIDE_V6),
    };
    let stack = stack(options, std::env::var_os(STACK).as_deref());
    if options.command.is_empty() {
        // Shells set their prompt when they start; bash runs this before it shows it for the first time.
        let prompt = format!("[{}] ", stack.replace(['\'', '\\', '$', '`', '!'], ""));
        command.env("PROMPT_COMMAND", format!("PS1='{prompt}'\"$PS1\"; unset PROMPT_COMMAND"));
        command.env("PS1", format!("{prompt}$ "));
    }
    command.env(STACK, stack);
    command
}

/// The links a command is behind, the nearest last.
fn stack(options: &Link, outer: Option<&OsStr>) -> String {
    let mut stack = outer.map(|outer| outer.to_string_lossy().into_owned() + " > ").unwrap_or_default();
    let _ = write!(stack, "down {} {}", options.down, options.qdisc);
    if options.up != "infinite" {
        let _ = write!(stack, ", up {} {}", options.up, options.up_qdisc);
    }
    if !options.delay.is_zero() {
        let _ = write!(stack, ", {}", options.delay);
    }
    one_line(&stack)
}
