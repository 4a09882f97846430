//! `qdelay gateway`: a link between two network interfaces, in real time.
//!
//! | module | what |
//! | --- | --- |
//! | `keys`, `document`, `config` | the configuration: its keys, TOML with lines, the resulting settings |
//! | `side` | an interface, which may be removed and return |
//! | `privileges`, `notify`, `signals` | running as a service |
//! | `reload` | reloading the configuration |
//! | `http`, `exposition` | `/metrics` |
//! | `verdict` | the results at the end |
//!
//! Everything that needs privileges is opened first, while there is a single thread; then the privileges are dropped, and
//! further threads are started. The main thread is the data thread and does nothing else. Other threads request copies of its
//! counts, and changes of its settings, from it.

#![forbid(unsafe_code)]

pub mod config;
mod document;
mod exposition;
mod http;
pub mod keys;
mod notify;
mod privileges;
mod reload;
mod side;
mod signals;
mod verdict;

use config::{Config, file};
use keys::Interface;
use notify::Notify;
use privileges::User;
use qdelay_config::Setting;
use qdelay_core::component::Registry;
use qdelay_core::{Span, Time};
use qdelay_emu::alarm::Alarm;
use qdelay_emu::clock::RealClock;
use qdelay_emu::control::{Control, Controlled, Inbox, LoopAction, control};
use qdelay_emu::device::HEADER_MAX;
use qdelay_emu::device::offload::Keeper;
use qdelay_emu::drive::Driver;
use qdelay_emu::emulator::Emulator;
use qdelay_emu::metrics::Metrics;
use qdelay_emu::pool::Pool;
use qdelay_emu::snapshot::Snapshot;
use qdelay_emu::wait::{Permission, WaitOptions, Waiter};
use qdelay_record::{PacketFile, Recorder};
use qdelay_study::engine::cannot_write;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::live::adjust::{Adjuster, Files};
use qdelay_terminal::live::control::client::Client;
use qdelay_terminal::live::control::{Reload, Socket, SocketOptions};
use qdelay_terminal::live::logs::{LogKind, LogOptions, LogResults, Logs, mahimahi_files};
use qdelay_terminal::output;
use qdelay_terminal::output::eprintln_line;
use reload::Reloader;
use side::Side;
use signals::Signals;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// Place named in errors that do not concern the configuration.
const PLACE: &str = "qdelay gateway";
/// Number of slots that are allocated before the first packet.
const RESERVED: u32 = 4096;

/// Options of the command.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the configuration, a TOML file.
    pub config: PathBuf,
    /// Only checks that the configuration is valid.
    pub check: bool,
    /// Requests real-time priority, like `realtime = true` in the configuration.
    pub realtime: bool,
    /// Time to spin before each release; overrides `spin` of the configuration.
    pub spin: Option<Span>,
    /// Additional components that the configuration may name.
    pub registry: Registry,
}

/// Makes the gateway with this control socket reload its configuration.
///
/// # Errors
/// No process serves the socket; the configuration is invalid.
pub fn reload(socket: &Path) -> Result<(), Failure> {
    let answer = Client::connect(socket)?.ask("reload")?;
    let message = answer.get("message").and_then(|message| message.as_str()).unwrap_or("reloaded");
    output::print(&format!("{}\n", one_line(message)))
}

/// Forwards packets until a signal or the control socket ends it; or only checks the configuration.
///
/// # Errors
/// An invalid configuration, interfaces that cannot be opened, no permission, a failed audit.
pub fn run(options: &Options) -> Result<(), Failure> {
    let path = &options.config;
    let config = Config::read(path, &options.registry)?;
    if options.check {
        return output::print(&format!("{}: valid: {}\n", path.display(), config.summary()));
    }
    let given = config.wait();
    let wait =
        WaitOptions { realtime: given.realtime || options.realtime, spin: options.spin.or(given.spin) };
    let (service, sides, mut waiter, inbox) = open(path, &config, wait)?;
    let has_locked_memory = waiter.granted().memory.is_granted();
    drop_privileges(&config, service.user.as_ref(), has_locked_memory)?;
    let logs = logs(&config)?;
    match file(&config.tables.log.packets) {
        None => carry(&config, service, sides, &mut waiter, inbox, logs, ()).map(drop),
        Some(file) => {
            let failure = |error| config.failure(&config.tables.log.packets, cannot_write(file, &error));
            let recorder = PacketFile::create(file).map_err(failure)?;
            let recorder = carry(&config, service, sides, &mut waiter, inbox, logs, recorder)?;
            recorder.close().map_err(|error| Failure::Check(cannot_write(file, &error).to_string()))
        }
    }
}

fn logs(config: &Config) -> Result<Logs, Failure> {
    let wanted = LogOptions {
        command: PLACE,
        mahimahi: file(&config.tables.log.mahimahi)
            .map(mahimahi_files)
            .map_or([None, None], |files| files.map(Some)),
        capture: file(&config.tables.log.pcap),
        // A restarted service replaces its logs.
        force: true,
        typed: config.written(),
    };
    Logs::open(&wanted, &(&config.plan).into(), |kind, error| {
        let key = match kind {
            LogKind::Mahimahi => &config.tables.log.mahimahi,
            LogKind::Capture => &config.tables.log.pcap,
        };
        config.failure(key, error)
    })
}

/// State of the threads beside the data thread.
struct Service {
    metrics: Option<TcpListener>,
    control: Option<Socket>,
    reloader: Arc<Reloader>,
    line: Control,
    user: Option<User>,
}

/// Opens everything that may need privileges. All changes end with this process, except disabled offloads, which a small process
/// restores after `kill -9`.
fn open(
    path: &Path,
    config: &Config,
    wait: WaitOptions,
) -> Result<(Service, [Side; 2], Waiter, Inbox<Alarm>), Failure> {
    let user = config.user().map(User::find).transpose();
    let user = user.map_err(|message| config.failure(&config.tables.gateway.user, message))?;
    if user.is_some() && !privileges::is_root() {
        let message =
            "only root can become another user; expected to be started by root, or without this key";
        return Err(config.failure(&config.tables.gateway.user, message));
    }
    let failed = |what: &str, error: std::io::Error| Failure::input(PLACE, format!("{what}: {error}"));
    let metrics = config.listen().map(|address| {
        TcpListener::bind(address).map_err(|error| {
            let message = format!(
                "cannot listen at {address}: {error}; expected a free port at an address of this machine"
            );
            config.failure(&config.tables.metrics.listen, message)
        })
    });
    let metrics = metrics.transpose()?;
    let socket = config.control().map(|wanted| {
        Socket::open(&SocketOptions { path: wanted.path, mode: wanted.mode, group: wanted.group }).map_err(
            |failure| match failure {
                Failure::Input { place, message } => {
                    config.failure(&config.tables.control.socket, format!("{place}: {message}"))
                }
                other => other,
            },
        )
    });
    let socket = socket.transpose()?;
    let [inside, outside] = config.interfaces();
    let gateway = &config.tables.gateway;
    let side =
        |key: &Setting<Option<Interface>>| Side::open(key.text()).map_err(|error| config.failure(key, error));
    // The keeper is started while there is a single thread, before privileges are dropped, which it needs to restore offloads after
    // `kill -9`, and before sockets are opened, whose memory it would share.
    let keeper = Keeper::start([inside, outside]).map(Rc::new);
    let mut sides = [side(&gateway.inside)?, side(&gateway.outside)?];
    match &keeper {
        Ok(keeper) => sides.iter_mut().enumerate().for_each(|(number, side)| side.keep(keeper, number)),
        Err(error) => eprintln_line(&format!("offloads would stay disabled after kill -9: {error}")),
    }
    for (name, side) in [inside, outside].into_iter().zip(&sides) {
        report_interface(name, side, config.mtu());
    }
    let no_alarm = |error| failed("creating an event descriptor", error);
    let alarm = Alarm::new().map_err(no_alarm)?;
    let waiter = Waiter::new(wait, [alarm.descriptor().map_err(no_alarm)?]);
    let (line, inbox) = control(config.settings(), alarm);
    let granted = waiter.granted();
    for (what, grant) in [("real-time priority", &granted.priority), ("locked memory", &granted.memory)] {
        if let Permission::Refused(why) = grant {
            eprintln_line(&format!("{what} is refused: {why}"));
        }
    }
    let notify = Notify::from_environment();
    let reloader = Arc::new(Reloader::new(path.to_path_buf(), config.clone(), line.clone(), notify));
    Ok((Service { metrics, control: socket, reloader, line, user }, sides, waiter, inbox))
}

/// Reports changes to an interface, and an MTU that does not match.
fn report_interface(name: &str, side: &Side, mtu: u16) {
    let name = one_line(name);
    let [off, on] = side.offloads();
    if !off.is_empty() {
        eprintln_line(&format!("{name}: offloads disabled until the gateway ends: {off}"));
    }
    if !on.is_empty() {
        eprintln_line(&format!("{name}: offloads that cannot be disabled: {on}"));
    }
    if let Some(its) = side.mtu()
        && its != u32::from(mtu)
    {
        eprintln_line(&format!(
            "{name} has an MTU of {its}, and gateway.mtu is {mtu}: packets with sizes between the two are lost"
        ));
    }
}

/// Drops privileges. If no user is configured, root stays root, but keeps only the capabilities to open its interfaces again.
fn drop_privileges(config: &Config, user: Option<&User>, has_locked_memory: bool) -> Result<(), Failure> {
    privileges::drop_to(user, has_locked_memory)
        .map_err(|(what, error)| config.failure(&config.tables.gateway.user, format!("{what}: {error}")))?;
    match user {
        Some(user) => eprintln_line(&format!("now runs as {user}")),
        None if privileges::is_root() => eprintln_line(
            "runs as root, with the capabilities to open its interfaces again and no others; gateway.user names a user to run as",
        ),
        None => {}
    }
    Ok(())
}

/// Forwards packets until the gateway is stopped.
fn carry<R: Recorder>(
    config: &Config,
    service: Service,
    sides: [Side; 2],
    waiter: &mut Waiter,
    mut inbox: Inbox<Alarm>,
    logs: Logs,
    recorder: R,
) -> Result<R, Failure> {
    let plan = config.plan.clone();
    let limits = plan.lateness_limits();
    let mut pool = Pool::new(config.mtu() + HEADER_MAX, config.tables.gateway.hold.get());
    pool.reserve(RESERVED);
    let impossible = |error| Failure::input(PLACE, error);
    let metrics = Metrics::new(&plan).map_err(impossible)?;
    let emulator = Emulator::tapped(plan, pool, recorder, (logs, metrics)).map_err(impossible)?;
    let mut driver = Driver::new(RealClock::start(), sides, emulator, limits);
    if service.control.is_some() {
        driver.emulator().follow_connections();
    }
    let mtu = config.mtu();
    driver.at_oversized(move || {
        eprintln_line(&format!(
            "a packet longer than gateway.mtu ({mtu} bytes) was lost, and others like it will be: it cannot be split into packets; \
             expected the MTU of all senders to be gateway.mtu, and no segmentation offload of other transports than TCP and UDP \
             (docs/gateway.md)"
        ));
    });
    let reloader = Arc::clone(&service.reloader);
    // The handlers follow the opening of files: a file that is a pipe waits for its reader, and until here a signal ends that wait.
    let signals = Signals::install()
        .map_err(|error| Failure::input(PLACE, format!("installing signal handlers: {error}")))?;
    let server = serve(service, signals, config.registry.clone())?;
    eprintln_line(&format!("carries packets; {}", config.summary()));
    reloader.notify().ready(&config.summary());
    driver.begin();
    let carried = loop {
        match driver.run(waiter, || false) {
            Ok(()) if inbox.serve(&mut driver) == LoopAction::Stop => break Ok(()),
            Ok(()) => {}
            Err(error) => break Err(error),
        }
    };
    reloader.notify().stopping();
    // Dropping the inbox answers pending requests with an error, including a reload, which this thread would otherwise wait for below.
    drop(inbox);
    drop(server);
    let (settings, reloads) = reloader.running();
    let last = driver.sample(Arc::new(settings), reloads);
    let (emulator, mut sides, mut audit) = driver.finish();
    for side in &mut sides {
        if let Err(error) = side.restore() {
            eprintln_line(&error);
        }
    }
    drop(sides);
    let end = Time::ZERO + audit.facts().duration;
    let audited = emulator.audit();
    let (recorder, (logs, _)) = emulator.into_parts();
    let LogResults { lost, broken } = logs.close(end);
    audit.log_lost = lost;
    output::eprint(&verdict::text(&Snapshot::between(None, &last), &audit.facts()));
    carried.map_err(|error| Failure::Check(format!("the link failed: {error}")))?;
    audited.map_err(|error| {
        Failure::Check(format!("the audit failed: {error}; expected every packet to be accounted for"))
    })?;
    match broken.is_empty() {
        true => Ok(recorder),
        false => Err(Failure::Check(broken.join("; "))),
    }
}

/// Starts the threads beside the data thread. The control socket is served until the returned server is dropped.
fn serve(
    service: Service,
    signals: Signals,
    registry: Registry,
) -> Result<Option<qdelay_terminal::live::control::Server>, Failure> {
    let Service { metrics, control, reloader, line, .. } = service;
    let failed = |error| Failure::input(PLACE, format!("starting a thread: {error}"));
    // Reloads by signal and by control socket print the same line.
    let told = move |reloader: &Reloader| {
        let result = reloader.reload();
        match &result {
            Ok(message) | Err(message) => eprintln_line(&one_line(message)),
        }
        result
    };
    if let Some(listener) = metrics {
        let line = line.clone();
        let page = move || line.sample().map_err(|gone| gone.to_string()).and_then(exposition::text);
        http::serve(listener, exposition::CONTENT_TYPE, Arc::new(page)).map_err(failed)?;
    }
    let stop = line.clone();
    let by_signal = Arc::clone(&reloader);
    signals
        .serve(
            move || {
                let _ = stop.stop();
            },
            move || {
                let _ = told(&by_signal);
            },
        )
        .map_err(failed)?;
    let reload: Reload = Arc::new(move || told(&reloader));
    let adjuster = Adjuster::new(line.clone(), registry, Files::Shipped).announcing();
    control.map(|socket| socket.serve(line, Some(reload), Some(adjuster)).map_err(failed)).transpose()
}
