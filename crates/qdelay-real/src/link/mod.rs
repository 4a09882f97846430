//! A command behind a link in real time: `qdelay link`.
//!
//! | module | what |
//! | --- | --- |
//! | `scenario`, `rules` | the path of a scenario's case as the link, and rules that assign packets to QoS flows of its cell |
//! | `services`, `server` | ports forwarded between the machine and the command; the server at the outer end |
//! | `command_env` | environment variables with the ends of the links |
//! | `outcome`, [`json`] | the results, and their text |
//! | `figures` | measurement of the link's traffic |
//! | `folder` | records and figures in one folder |

mod command_env;
mod figures;
mod folder;
pub mod json;
mod outcome;
mod rules;
pub mod scenario;
mod server;
mod services;

pub use folder::Out;
pub use outcome::{DrainResult, Outcome};
pub use services::{Forward, ServicePort};

use figures::MeasuredLink;
use folder::{Ended, Records};
use outcome::{direction_figures, link_use};
use qdelay_core::component::Registry;
use qdelay_core::{Rate, Span, Time};
use qdelay_emu::alarm::Alarm;
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::control::{Inbox, LoopAction, control};
use qdelay_emu::device::tun::OffloadMode;
use qdelay_emu::device::{Device, Port};
use qdelay_emu::dns::Configuration;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::{Emulator, Tap};
use qdelay_emu::link_setup::{self, Addresses, Beyond, LinkSetup, Outside, Refusal, SetupError};
use qdelay_emu::metrics::{HasMetrics, Metrics};
use qdelay_emu::netns::command::{Running, exit_code};
use qdelay_emu::netns::user;
use qdelay_emu::packet_steering::PacketSteering;
use qdelay_emu::plan_kind::PlanKind;
use qdelay_emu::pool::Pool;
use qdelay_emu::relay::Relay;
use qdelay_emu::snapshot::LinkSettings;
use qdelay_emu::wait::{PRIORITY, Permission, WaitOptions, Waiter};
use qdelay_record::{PacketFile, Recorder};
use qdelay_study::cost::Stopwatch;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::live::Panel;
use qdelay_terminal::live::adjust::{Adjuster, Files};
use qdelay_terminal::live::control_options::{ControlOptions, HttpListener};
use qdelay_terminal::live::logs::{self, LogOptions, LogResults, Logs};
use qdelay_terminal::output::eprintln_line;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use server::Server;
use services::Forwards;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::io;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::process::Command;

/// Place named in errors that do not concern a file or option.
const PLACE: &str = "qdelay link";
/// Number of slots that are allocated before the first packet.
const RESERVED: u32 = 4096;
/// Environment variable of the command: the links around it.
const STACK: &str = "QDELAY_LINK";
/// Time without packets on the path after which the link is idle: longer than a kernel delays an acknowledgement (40 ms), and than
/// local programs take to answer.
const QUIET: Span = Span::from_millis(50);
/// Time that a command may take to end after a stop by the control socket, in seconds.
const GRACE_SECONDS: f64 = 2.0;

/// A link and the command behind it.
#[derive(Clone, Debug)]
pub struct Link {
    /// The path.
    pub plan: PlanKind,
    /// The settings as the user wrote them, for the live view and the control socket.
    pub settings: LinkSettings,
    /// Program and arguments; the user's shell if empty.
    pub command: Vec<OsString>,
    /// MTU in bytes.
    pub mtu: u16,
    /// Maximum number of packets held, both directions together.
    pub hold: u32,
    /// Lets the command reach hosts beyond this machine ([`link_setup::nat`]).
    pub nat: bool,
    /// Super-packets on the devices, which are split and joined: on, off or automatic.
    pub offload: OffloadMode,
    /// Rate at which packets of either side arrive: those of a super-packet one after another at this rate; `None`: without delay,
    /// the packets of a super-packet as a burst.
    pub access: Option<Rate>,
    /// Options for waiting.
    pub wait: WaitOptions,
    /// Maximum time for delivering packets in flight after the command has ended.
    pub drain: Span,
    /// Shows the live view at the foot of the terminal.
    pub live: bool,
    /// Places at which requests are accepted.
    pub control: ControlOptions,
    /// Components that changes may name in addition to the built-in ones.
    pub registry: Registry,
    /// Folders with traces that changes may name.
    pub traces: Vec<PathBuf>,
    /// Path of a Parquet file with a row for every packet.
    pub packets: Option<PathBuf>,
    /// Paths of mahimahi's logs, down and up.
    pub logs: [Option<PathBuf>; 2],
    /// Path of the packet capture.
    pub pcap: Option<PathBuf>,
    /// Folder of all records and of the figures, in place of the paths of records.
    pub out: Option<Out>,
    /// Permits replacing existing files.
    pub force: bool,
    /// Shell line of a server at the outer end.
    pub serve: Option<String>,
    /// Ports of the machine that lead to the command.
    pub forward: Vec<Forward>,
    /// Ports of the machine's loopback device that the command reaches.
    pub loopback: Vec<ServicePort>,
}

fn cannot(error: impl std::fmt::Display) -> Failure {
    Failure::input(PLACE, error)
}

/// An error for lack of rights, with the command that needs none.
fn without_rights(error: impl std::fmt::Display) -> Failure {
    cannot(format!("{error}; or use 'qdelay proxy', which needs no namespaces and no network device"))
}

/// Server, relays and refusals at the outer end. Dropped in this order.
struct Services {
    server: Option<Server>,
    relays: Vec<Relay>,
    /// Refusal of packets to other hosts.
    refusal: Option<Refusal>,
}

impl Link {
    /// Runs the command. Call it before any thread is started.
    ///
    /// # Errors
    /// Files that exist or cannot be created, no permission for network namespaces, a command that cannot be started, a failed
    /// audit.
    pub fn run(mut self) -> Result<Outcome, Failure> {
        // Existing files are refused before anything is changed.
        let logged = self.logs.iter().flatten().cloned();
        let recorded = [&self.packets, &self.pcap].into_iter().flatten().cloned();
        logged.chain(recorded).try_for_each(|path| logs::refuse_existing(&path, self.force))?;
        let records = self.out.as_ref().map(|out| Records::begin(&out.path, self.force)).transpose()?;
        if let Some(records) = &records {
            self.packets = Some(records.packets());
            self.pcap = Some(records.capture());
            self.logs = logs::mahimahi_files(&records.log_prefix()).map(Some);
        }
        let mut outcome = self.run_recorded()?;
        let Some((records, out)) = records.zip(self.out.as_ref()) else { return Ok(outcome) };
        outcome.rename_files(|message| records.named(message));
        if !outcome.has_packets {
            records.remove_packets();
        }
        if let Some(measured) = outcome.measured.take() {
            let ended = Ended { out, link: &self, outcome: &outcome, measured: &measured };
            if let Err(error) = records.finish(&ended) {
                outcome.broke(error.to_string());
            }
        }
        Ok(outcome)
    }

    /// Runs the command, with the records that have paths, and with `out` the figures of its traffic.
    fn run_recorded(&self) -> Result<Outcome, Failure> {
        // The address is one of this machine's namespace, which an ordinary user is about to leave.
        let http = self.control.listen()?;
        let private = !user::is_administrator();
        if private && self.nat {
            let message = "needs root or CAP_NET_ADMIN and CAP_SYS_ADMIN, because it changes forwarding and nftables of the \
                           machine; run as root, or without --nat, which gives a private network";
            return Err(Failure::input("--nat", message));
        }
        // In a user namespace sockets of the machine can still be used, and those below port 1024 no longer be opened.
        let forwards = Forwards::open(&self.forward)?;
        if private {
            user::enter().map_err(without_rights)?;
        }
        let setup = link_setup::Options {
            mtu: u32::from(self.mtu),
            outside: if private { Outside::Private } else { Outside::Here },
            nat: self.nat,
            offload: self.offload,
            ..link_setup::Options::default()
        };
        let setup = LinkSetup::new(&setup).map_err(|error| match error {
            SetupError::Nat(error) => Failure::input("--nat", error),
            SetupError::Tun(error) if error.is_of_permission() => without_rights(error),
            SetupError::Namespace(error) => without_rights(error),
            error => cannot(error),
        })?;
        for note in &setup.notes {
            eprintln_line(note);
        }
        if private {
            eprintln_line(
                "without root the link connects to a private network: hosts outside cannot be reached",
            );
        }
        let services = self.start_services(&setup, forwards, private)?;
        let Some(path) = &self.packets else {
            return self.carry(setup, services, (), http).map(|((), outcome)| outcome);
        };
        let file = logs::create(path, self.force).and_then(PacketFile::new);
        let file = file.map_err(|error| logs::cannot_create(path, &error))?;
        let (file, mut outcome) = self.carry(setup, services, file, http)?;
        if let Err(error) = file.close() {
            let all = outcome.directions.iter().map(|figures| figures.packets_arrived).sum::<u64>();
            outcome.broke(format!(
                "{}: cannot be written: {error}; none of its {all} records can be read, because the file has no footer",
                path.display()
            ));
            outcome.has_packets = false;
        }
        Ok(outcome)
    }

    /// Starts the relays of ports, the server, and the refusal of packets to other hosts.
    fn start_services(
        &self,
        setup: &LinkSetup,
        forwards: Forwards,
        private: bool,
    ) -> Result<Services, Failure> {
        let reachable =
            if private { "without root only the private network" } else { "without --nat only this machine" };
        let source = setup.addresses.inside;
        // Programs ask it without being told to.
        let text = std::fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let resolvers = Configuration::parse(&text).servers;
        let refusal = setup.refuse_beyond(move |beyond| {
            eprintln_line(&match beyond {
                Beyond::Refused(address) => {
                    let is_resolver = resolvers.iter().any(|resolver| resolver.ip() == address);
                    let what = if is_resolver { ", this machine's name server," } else { "" };
                    format!("{reachable} is reachable: {address}{what} was refused")
                }
                Beyond::Forwarded(address) => format!(
                    "this machine forwards packets to {address} (net.ipv4.ip_forward) with the source {source}: answers may not \
                     arrive without --nat"
                ),
            });
        });
        let mut relays = services::serve_loopback(setup, &self.loopback)?;
        relays.extend(forwards.start(setup)?);
        let server = self.serve.as_deref().map(|line| Server::start(line, setup)).transpose()?;
        Ok(Services { server, relays, refusal })
    }

    /// Starts the command, and forwards its packets until it ends.
    fn carry<R: Recorder>(
        &self,
        setup: LinkSetup,
        services: Services,
        recorder: R,
        http: Option<HttpListener>,
    ) -> Result<(R, Outcome), Failure> {
        let (down, up) = (&self.settings.down, &self.settings.up);
        let wanted = LogOptions {
            command: PLACE,
            mahimahi: self.logs.clone(),
            capture: self.pcap.as_deref(),
            force: self.force,
            typed: [[&down.link, &down.qdisc], [&up.link, &up.qdisc]],
        };
        let logs = Logs::open(&wanted, &self.plan, |_, error| error.into())?;
        let is_controlled = self.control.given().is_some();
        let is_watched = self.live || is_controlled;
        let metrics = is_watched.then(|| Metrics::new(&self.plan)).transpose().map_err(cannot)?;
        let mut http = http;
        if let Some(http) = &mut http {
            http.listen_also(|address| setup.namespace.run(move || TcpListener::bind(address)))?;
        }
        let places = self.control.open(http)?;
        let mut pool = Pool::new(self.mtu, self.hold);
        pool.reserve(RESERVED);
        let measured =
            self.out.as_ref().map(|_| MeasuredLink::new(&self.plan)).transpose().map_err(cannot)?;
        let measuring = measured.as_ref().map(MeasuredLink::tap);
        let tap = ((logs, measuring), metrics);
        let emulator = Emulator::tapped(&self.plan, pool, recorder, tap).map_err(cannot)?;
        let steering = if self.wait.realtime {
            PacketSteering::choose().filter(|steering| steering.apply(&setup))
        } else {
            None
        };
        let LinkSetup { inside, outside, addresses, relay, namespace, outside_namespace, nat, .. } = setup;
        let mut command = self.command(&addresses, nat.is_some());
        places.set_environment(&mut command);
        let shown = command.get_program().to_string_lossy().into_owned();
        // The driver exists before the command, so that kernel drops of its first packets are counted.
        let limits = self.plan.lateness_limits();
        let mut driver = Driver::new(RealClock::start(), [inside, outside], emulator, limits);
        driver.set_access_rate(self.access);
        let offload = driver.devices()[0].offload();
        let (line, inbox) = control(self.settings.clone(), Alarm::new().map_err(cannot)?);
        let adjuster = Adjuster::new(line.clone(), self.registry.clone(), Files::OfUser(self.traces.clone()));
        if is_controlled {
            driver.emulator().follow_connections();
        }
        let servers = places.serve(&line, &adjuster).map_err(cannot)?;
        let panel = self.live.then(|| Panel::start(line)).transpose().map_err(cannot)?;
        // The inbox is dropped before the live view: from then on, requests of the live view fail instead of waiting.
        let mut inbox = inbox;
        // Packets sent when the devices were set up are processed first.
        driver.begin();
        driver.turn([true; 2]).map_err(cannot)?;
        let mut child = namespace.spawn_foreground(command).map_err(|error| {
            let message = format!("cannot be started: {error}; expected a command that runs");
            Failure::input(one_line(&shown), message)
        })?;
        // Pinning follows the start of the command, which would inherit it. Without pinning, releases are later, which the audit shows.
        let _ = steering.map(|steering| steering.pin_thread());
        let mut waiter =
            Waiter::new(self.wait, alarm(&child).into_iter().chain(inbox.wake().descriptor().ok()));
        let realtime = waiter.granted().priority.is_granted();
        if let Permission::Refused(why) = &waiter.granted().priority {
            eprintln_line(&format!(
                "--realtime: real-time priority was refused ({why}): root or CAP_SYS_NICE has the right, or a limit of at least \
                 {PRIORITY} for it (RLIMIT_RTPRIO, ulimit -r)"
            ));
        }
        driver.resume();
        let carried = drive(&mut driver, &mut waiter, &mut inbox, &mut child);
        // A server may end with its last client, so it is judged before the drain.
        let failed_server = services.server.as_ref().and_then(Server::failure);
        // Rates refer to the time in which the command ran.
        let ended = driver.catch_up();
        if let Some(measuring) = &mut driver.emulator().tap().0.1 {
            measuring.end_rates_at(ended);
        }
        let used = [Port::Outside, Port::Inside].map(|port| link_use(driver.emulator(), port, ended));
        let drained = carried.and_then(|()| drain(&mut driver, &mut waiter, &mut inbox, self.drain));
        // All that has happened on the path is measured, and nothing more.
        let end = driver.emulator().path().now();
        if let Some(measuring) = &mut driver.emulator().tap().0.1 {
            measuring.end_at(end);
        }
        driver.emulator().advance(end);
        let changes = inbox.changes().to_vec();
        drop(inbox);
        drop((panel, servers));
        let (emulator, devices, mut audit) = driver.finish();
        let status = child.wait();
        let Services { server, relays, refusal } = services;
        if let Some(server) = server {
            server.end();
        }
        // The order matters: first programs still running inside, then the relays, NAT, and the devices.
        drop((child, relays, refusal, namespace, relay, nat, outside_namespace, devices));
        let drained = drained.map_err(|error| Failure::Check(format!("the link failed: {error}")))?;
        let status =
            status.map_err(|error| Failure::Check(format!("waiting for the command failed: {error}")))?;
        emulator.audit().map_err(|error| {
            Failure::Check(format!("the audit failed: {error}; expected every packet to be accounted for"))
        })?;
        // Packets from outside go down.
        let [down, up] = used;
        let directions = [(Port::Outside, down), (Port::Inside, up)]
            .map(|(port, used)| direction_figures(&emulator, port, used));
        let (recorder, ((logs, measuring), _)) = emulator.into_parts();
        let LogResults { lost, broken } = logs.close(Time::ZERO + audit.facts().duration);
        audit.log_lost = lost;
        let mut outcome = Outcome {
            status: exit_code(status),
            facts: audit.facts(),
            offload,
            duration: ended.since(Time::ZERO),
            drained,
            broken: Vec::new(),
            has_packets: true,
            realtime,
            measured: measuring.map(figures::outcome),
            changes,
            server: failed_server,
            directions,
        };
        broken.into_iter().for_each(|broken| outcome.broke(broken));
        Ok((recorder, outcome))
    }

    /// The command with its environment variables.
    fn command(&self, addresses: &Addresses, has_nat: bool) -> Command {
        let shell =
            || std::env::var_os("SHELL").filter(|shell| !shell.is_empty()).unwrap_or("/bin/sh".into());
        let (program, arguments): (OsString, &[OsString]) = match self.command.split_first() {
            Some((program, arguments)) => (program.clone(), arguments),
            None => (shell(), &[]),
        };
        let mut command = Command::new(program);
        command.args(arguments);
        command_env::set(&mut command, addresses, has_nat);
        let stack = self.stack(std::env::var_os(STACK).as_deref());
        if self.command.is_empty() {
            // Shells set their prompt at the start, so bash runs this before the first prompt.
            let prompt = format!("[{}] ", stack.replace(['\'', '\\', '$', '`', '!'], ""));
            command.env("PROMPT_COMMAND", format!("PS1='{prompt}'\"$PS1\"; unset PROMPT_COMMAND"));
            command.env("PS1", format!("{prompt}$ "));
        }
        command.env(STACK, stack);
        command
    }

    /// Description of the links around a command, the nearest last.
    fn stack(&self, outer: Option<&OsStr>) -> String {
        let mut stack = outer.map(|outer| outer.to_string_lossy().into_owned() + " > ").unwrap_or_default();
        let LinkSettings { down, up, .. } = &self.settings;
        let _ = write!(stack, "down {} {}", down.link, down.qdisc);
        if up.link != "infinite" {
            let _ = write!(stack, ", up {} {}", up.link, up.qdisc);
        }
        let delay = self.plan.delay();
        if !delay.is_zero() {
            let _ = write!(stack, ", {delay}");
        }
        one_line(&stack)
    }
}

/// Delivers packets in flight in both directions, and the answers of their receivers, for at most `longest`: the last bytes of
/// a command that has ended, and the end of its connections. The command's kernel and background programs still run.
fn drain<C, D, R, T>(
    driver: &mut Driver<C, D, R, T>,
    waiter: &mut Waiter,
    inbox: &mut Inbox<Alarm>,
    longest: Span,
) -> io::Result<DrainResult>
where
    C: Clock,
    D: Device,
    R: Recorder,
    T: Tap + HasMetrics,
{
    // The alarm of the command's end would stay readable, and end every wait at once.
    waiter.set_alarms(inbox.wake().descriptor().ok());
    let begin = driver.clock().now();
    loop {
        let time = driver.clock().now().since(begin);
        // The last packets of the command may still be in its device.
        if driver.is_idle(QUIET)? {
            return Ok(DrainResult { time, cut: 0 });
        }
        if time >= longest || inbox.serve(driver) == LoopAction::Stop {
            return Ok(DrainResult { time, cut: driver.inside() });
        }
        driver.run(waiter, || true)?;
    }
}

/// Forwards packets until the command has ended, and serves requests for samples or for a stop.
fn drive<C, D, R, T>(
    driver: &mut Driver<C, D, R, T>,
    waiter: &mut Waiter,
    inbox: &mut Inbox<Alarm>,
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
        if inbox.serve(driver) == LoopAction::Stop && stopping.is_none() {
            // Shells end at SIGHUP, other programs at either signal.
            let _ = child.signal(Signal::HUP);
            let _ = child.signal(Signal::TERM);
            stopping = Some(Stopwatch::start());
        }
    }
}

/// Creates a descriptor that becomes readable when the command has ended; without one the loop polls for the end.
fn alarm(child: &Running) -> Option<OwnedFd> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}
