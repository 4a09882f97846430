//! Flows of real programs: each flow has a server inside and a client outside, which is started and stopped with the flow. TCP
//! flows use iperf3, call-like flows irtt.

use super::external::{External, ExternalPrograms, ExternalReport};
use super::support::Generator;
use super::windows::{KernelSample, samples};
use super::{irtt, pause, ports};
use qdelay_core::{Span, Time};
use qdelay_emu::netns::Namespace;
use qdelay_emu::netns::command::Running;
use qdelay_sim::{FlowSpec, Scenario};
use qdelay_study::results::Irtt;
use qdelay_traffic::control::Controller;
use qdelay_traffic::transport::TransportConfig;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Number of pauses that give irtt time to read the last packets.
const IRTT_PAUSES: usize = 5;
/// Maximum number of pauses while waiting for a program.
const PAUSES: usize = 500;
/// Maximum run length for reports of iperf3 every 0.1 s; longer runs use 1 s.
const FINE: Span = Span::from_secs(100);
/// Additional time beyond the run for a client that sends until it is stopped.
const ENDLESS: Span = Span::from_secs(3600);

/// State of a flow's sender, kernel TCP or QUIC, as reported by its program.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct KernelTcpState {
    /// Congestion window at the end in segments.
    pub window_segments: u32,
    /// Smoothed round-trip time at the end in ms.
    pub srtt_ms: f64,
    /// Mean smoothed round-trip time over the intervals after the warm-up in ms.
    pub srtt_mean_ms: f64,
    /// Retransmitted packets with data, if the program counts retransmissions and the path cannot.
    pub retransmits: Option<u64>,
}

/// Reports of all programs of a case.
#[derive(Clone, Debug, Default)]
pub struct ProgramReports {
    /// Final TCP state by flow.
    pub iperf3: Vec<KernelTcpState>,
    /// TCP state over time by flow; empty for flows of programs other than iperf3.
    pub windows: Vec<Vec<KernelSample>>,
    /// irtt's results, each with the number of its flow.
    pub irtt: Vec<(usize, Irtt)>,
    /// Report of the user's program, with the number of its flow.
    pub external: Option<(usize, ExternalReport)>,
}

/// The programs of a case.
pub struct Programs {
    /// Program of each flow of the scenario, `None` for flows generated here.
    flows: Vec<Option<Program>>,
    external: Option<External>,
    warmup: Span,
    _servers: Vec<Running>,
}

struct Program {
    name: String,
    generator: Generator,
    start: Time,
    stop: Time,
    state: State,
}

enum State {
    /// A shell that becomes the program when its standard input ends. The shell is started before the run, because starting
    /// another process from this large one would keep the emulator from its memory meanwhile.
    Waiting(Box<Running>, File),
    Running(Box<Running>, File),
    /// The program is stopped; with its output if it ever ran.
    Ended(Option<(Box<Running>, File)>),
}

impl Programs {
    /// Starts the servers and waits until they listen; prepares the clients, in `outer`. `ends` are the addresses outside and inside.
    ///
    /// # Errors
    /// A program cannot be run.
    pub fn listen(
        scenario: &Scenario,
        generators: &[Generator],
        external: &ExternalPrograms,
        [inner, outer]: [&Namespace; 2],
        ends: (Ipv4Addr, Ipv4Addr),
    ) -> Result<Programs, String> {
        let mut servers = Vec::new();
        let mut flows = Vec::new();
        for (index, (flow, generator)) in scenario.flows.iter().zip(generators).enumerate() {
            let program = program(scenario, index, flow, *generator, ends, [inner, outer])?;
            if let Some(program) = &program {
                let (mut command, port, place) = server(program, index, flow, [inner, outer], ends)?;
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                let started = place
                    .spawn(command)
                    .map_err(|error| format!("{} cannot be started: {error}", program.command()))?;
                servers.push((started, program.generator, port));
            }
            flows.push(program);
        }
        // All servers start at once, and are awaited afterwards.
        for (server, generator, port) in &mut servers {
            wait_for(server, *generator, *port)?;
        }
        let servers = servers.into_iter().map(|(server, ..)| server).collect();
        let mut all = Programs { flows, external: None, warmup: scenario.warmup, _servers: servers };
        for (index, flow) in scenario.flows.iter().enumerate() {
            if let Some(command) = external.command_for(flow) {
                all.external = Some(External::begin(scenario, index, command, [inner, outer], ends)?);
            }
        }
        Ok(all)
    }

    /// Time at which the next program has to be started or stopped.
    pub fn next(&self) -> Time {
        let next = |program: &Program| match program.state {
            State::Waiting(..) => program.start,
            State::Running(..) => program.stop,
            State::Ended(_) => Time::NEVER,
        };
        let external = self.external.iter().map(External::next);
        self.flows.iter().flatten().map(next).chain(external).min().unwrap_or(Time::NEVER)
    }

    /// Starts and stops the programs that are due by `now`.
    ///
    /// # Errors
    /// A program has ended by itself; with its error.
    pub fn advance(&mut self, now: Time) -> Result<(), String> {
        self.external.as_mut().map_or(Ok(()), |external| external.advance(now))?;
        self.flows.iter_mut().flatten().try_for_each(|program| {
            program
                .advance(now)
                .map_err(|message| format!("flow '{}': {}: {message}", program.name, program.command()))
        })
    }

    /// Stops all programs, and returns their reports.
    ///
    /// # Errors
    /// The user's program fails, or its report is invalid.
    pub fn end(&mut self) -> Result<ProgramReports, String> {
        let warmup = self.warmup;
        let external = match self.external.take() {
            Some(external) => Some((external.index, external.end()?)),
            None => None,
        };
        if self.flows.iter().flatten().any(|program| program.generator == Generator::Irtt) {
            // The pauses let the programs read the packets delivered last.
            (0..IRTT_PAUSES).for_each(|_| pause());
        }
        self.flows.iter_mut().flatten().for_each(Program::stop);
        let mut all = ProgramReports { external, ..ProgramReports::default() };
        for (index, program) in self.flows.iter_mut().enumerate() {
            let printed = program.as_mut().map_or(Value::Null, Program::printed);
            let iperf3 = program.as_ref().filter(|program| program.generator == Generator::Iperf3);
            all.windows.push(iperf3.map_or_else(Vec::new, |program| samples(&printed, program.start)));
            all.iperf3.push(match program {
                // iperf3's times are relative to its start.
                Some(program) if program.generator == Generator::Iperf3 => {
                    parse_iperf3(&printed, warmup.saturating_sub(program.start.since(Time::ZERO)))
                }
                Some(Program { generator: Generator::Subcommand(_), .. }) => parse_own_report(&printed),
                _ => KernelTcpState::default(),
            });
            if let Some(program) = program.as_ref().filter(|program| program.generator == Generator::Irtt) {
                all.irtt.extend(irtt::parse(&program.name, &printed).map(|irtt| (index, irtt)));
            }
        }
        Ok(all)
    }
}

impl Program {
    fn advance(&mut self, now: Time) -> Result<(), String> {
        if let State::Waiting(..) = self.state
            && now >= self.start
            && let State::Waiting(mut running, output) =
                std::mem::replace(&mut self.state, State::Ended(None))
        {
            // Closing its input starts the program.
            drop(running.child().stdin.take());
            self.state = State::Running(running, output);
        }
        let State::Running(running, output) = &mut self.state else { return Ok(()) };
        let ended = running.try_wait();
        if matches!(ended, Ok(None)) {
            // irtt was given its duration at its start, and then waits for replies.
            if now >= self.stop && self.generator != Generator::Irtt {
                self.stop();
            }
            return Ok(());
        }
        if self.generator == Generator::Irtt
            && now >= self.stop
            && ended.is_ok_and(|s| s.is_some_and(|s| s.success()))
        {
            self.stop();
            return Ok(());
        }
        let error = read(output).get("error").and_then(Value::as_str).map(str::to_string);
        Err(error.unwrap_or_else(|| "ended before the end of the flow".to_string()))
    }

    /// Interrupts the program, which then prints its measurements.
    fn stop(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Running(running, output) => {
                let _ = running.signal(Signal::INT);
                State::Ended(Some((running, output)))
            }
            State::Waiting(..) => State::Ended(None),
            ended @ State::Ended(_) => ended,
        };
    }

    /// The program's output as JSON, once it has ended.
    fn printed(&mut self) -> Value {
        let State::Ended(Some((running, output))) = &mut self.state else { return Value::Null };
        for _ in 0..PAUSES {
            if !matches!(running.try_wait(), Ok(None)) {
                break;
            }
            pause();
        }
        read(output)
    }

    fn command(&self) -> &'static str {
        self.generator.name()
    }
}

/// Prepares the program that runs outside for a flow; `None` for a flow generated here.
fn program(
    scenario: &Scenario,
    index: usize,
    flow: &FlowSpec,
    generator: Generator,
    ends: (Ipv4Addr, Ipv4Addr),
    [inner, outer]: [&Namespace; 2],
) -> Result<Option<Program>, String> {
    let arguments = match generator {
        Generator::Iperf3 => iperf3(scenario, index, flow, ends.1),
        Generator::Irtt => irtt(scenario, index, flow, ends),
        Generator::Subcommand(name) => Some(sender(scenario, index, flow, name, ends)),
        Generator::Own | Generator::External => None,
    };
    let Some(arguments) = arguments else { return Ok(None) };
    let name = generator.name();
    let refused = |error: io::Error| format!("flow '{}': {name}: cannot be started: {error}", flow.name);
    let output =
        File::from(memfd_create("qdelay", MemfdFlags::CLOEXEC).map_err(|error| refused(error.into()))?);
    let mut command = Command::new("sh");
    command.args(["-c", "read -r end; exec \"$@\" </dev/null", "sh"]);
    match generator {
        Generator::Subcommand(_) => command.arg(this_program().map_err(refused)?),
        _ => command.arg(name),
    };
    command.args(arguments);
    command.stdin(Stdio::piped()).stderr(Stdio::null()).stdout(output.try_clone().map_err(refused)?);
    // Clients of iperf3 and irtt run outside in either direction of the data.
    let is_inside = matches!(generator, Generator::Subcommand(_)) && flow.is_upload;
    let waiting = if is_inside { inner } else { outer }.spawn(command).map_err(refused)?;
    Ok(Some(Program {
        name: flow.name.clone(),
        generator,
        start: Time::ZERO + flow.start,
        stop: flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
        state: State::Waiting(Box::new(waiting), output),
    }))
}

fn iperf3(scenario: &Scenario, index: usize, flow: &FlowSpec, inside: Ipv4Addr) -> Option<Vec<String>> {
    let TransportConfig::Tcp(tcp) = &flow.transport else { return None };
    let controller = tcp.controller.in_kernel()?;
    let interval = if scenario.duration <= FINE { "0.1" } else { "1" };
    let mut arguments: Vec<String> =
        ["--json", "--congestion", controller, "--interval", interval].map(String::from).into();
    let mut add = |option: &str, value: String| arguments.extend([option.to_string(), value]);
    add("--client", inside.to_string());
    add("--port", ports::receiver(index).to_string());
    add("--cport", ports::sender(index).to_string());
    add("--tos", (flow.dscp << 2).to_string());
    // A time of 0 makes iperf3 run until it is stopped.
    add("--time", "0".to_string());
    if flow.is_upload {
        // The server inside sends, with the congestion control and codepoint that the client requests.
        arguments.push("--reverse".to_string());
    }
    Some(arguments)
}

fn irtt(
    scenario: &Scenario,
    index: usize,
    flow: &FlowSpec,
    ends: (Ipv4Addr, Ipv4Addr),
) -> Option<Vec<String>> {
    let (bytes, gap) = irtt::gap(flow)?;
    let whole = flow.stop.unwrap_or(scenario.duration + ENDLESS).saturating_sub(flow.start);
    let mut arguments = vec!["client".to_string(), "-Q".to_string()];
    let mut add = |option: &str, value: String| arguments.extend([option.to_string(), value]);
    add("-o", "-".to_string());
    add("-i", format!("{}ns", gap.as_nanos()));
    add("-l", bytes.to_string());
    add("-d", format!("{}ns", whole.as_nanos()));
    arguments.push(format!("--dscp={}", flow.dscp << 2));
    arguments.push(format!("--local={}:{}", ends.0, ports::sender(index)));
    arguments.push(format!("{}:{}", ends.1, ports::receiver(index)));
    Some(arguments)
}

/// Addresses and ports of the sender and the receiver of a flow.
fn sockets(index: usize, flow: &FlowSpec, ends: (Ipv4Addr, Ipv4Addr)) -> [SocketAddr; 2] {
    let outside = SocketAddr::from((ends.0, ports::sender(index)));
    let inside = SocketAddr::from((ends.1, ports::receiver(index)));
    if flow.is_upload { [inside, outside] } else { [outside, inside] }
}

/// Command-line arguments of this program as the sender of a flow.
fn sender(
    scenario: &Scenario,
    index: usize,
    flow: &FlowSpec,
    name: &str,
    ends: (Ipv4Addr, Ipv4Addr),
) -> Vec<String> {
    let [from, to] = sockets(index, flow, ends);
    let warmup = scenario.warmup.saturating_sub(flow.start);
    let words = [name, "send", &to.to_string(), "--from", &from.to_string(), "--transport", &flow.typed];
    let mut arguments: Vec<String> = words.map(String::from).into();
    let mut add = |option: &str, value: String| arguments.extend([option.to_string(), value]);
    add("--dscp", flow.dscp.to_string());
    add("--seed", scenario.seed.to_string());
    add("--warmup", format!("{}ns", warmup.as_nanos()));
    arguments
}

fn this_program() -> io::Result<PathBuf> {
    std::env::current_exe()
}

/// The server of a flow, its port, and its end: inside, except for uploads of this program.
fn server<'a>(
    program: &Program,
    index: usize,
    flow: &FlowSpec,
    [inner, outer]: [&'a Namespace; 2],
    ends: (Ipv4Addr, Ipv4Addr),
) -> Result<(Command, u16, &'a Namespace), String> {
    let (inside, port) = (ends.1, ports::receiver(index));
    let mut command = Command::new(program.command());
    match program.generator {
        // irtt's server refuses packets at shorter intervals than agreed.
        Generator::Irtt => command.args(["server", "-i", "1ms", "-b", &format!("{inside}:{port}")]),
        Generator::Subcommand(name) => {
            let path = this_program().map_err(|error| format!("{name} cannot be started: {error}"))?;
            command = Command::new(path);
            let [_, at] = sockets(index, flow, ends);
            command.args([name, "receive", &at.to_string(), "--transport", &flow.typed]);
            command.args(["--dscp", &flow.dscp.to_string()]);
            return Ok((command, at.port(), if flow.is_upload { outer } else { inner }));
        }
        _ => command.args(["--server", "--one-off", "--interval", "0"]).args([
            "--port",
            &port.to_string(),
            "--bind",
            &inside.to_string(),
        ]),
    };
    Ok((command, port, inner))
}

/// Waits until the server listens.
fn wait_for(server: &mut Running, generator: Generator, port: u16) -> Result<(), String> {
    // `/proc/net` of the server's namespace shows local address and state: LISTEN, or unconnected for UDP.
    let name = generator.name();
    let (table, state) = if generator == Generator::Iperf3 { ("tcp", "0A") } else { ("udp", "07") };
    let path = format!("/proc/{}/net/{table}", server.id());
    let is_there = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let local = words.nth(1).and_then(|local| local.split_once(':')).map(|(_, port)| port.to_string());
        local.and_then(|hex| u16::from_str_radix(&hex, 16).ok()) == Some(port) && words.nth(1) == Some(state)
    };
    for _ in 0..PAUSES {
        if std::fs::read_to_string(&path).is_ok_and(|table| table.lines().any(is_there)) {
            return Ok(());
        }
        if !matches!(server.try_wait(), Ok(None)) {
            return Err(format!("the {name} server ended at once; expected it to listen"));
        }
        pause();
    }
    Err(format!("the {name} server does not listen; expected it to within seconds"))
}

/// The output as JSON; null if it is not JSON.
fn read(output: &mut File) -> Value {
    let mut text = String::new();
    let whole = output.rewind().and_then(|()| output.read_to_string(&mut text));
    whole.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
}

/// Parses iperf3's output; the mean excludes intervals that end within `warmup`.
fn parse_iperf3(printed: &Value, warmup: Span) -> KernelTcpState {
    let intervals = printed["intervals"].as_array().map(Vec::as_slice).unwrap_or_default();
    let streams: Vec<&Value> = intervals.iter().map(|interval| &interval["streams"][0]).collect();
    let srtt_ms = |stream: &Value| stream["rtt"].as_f64().filter(|us| *us > 0.0).map(|us| us / 1e3);
    let segment = printed["start"]["tcp_mss_default"].as_f64().filter(|bytes| *bytes > 0.0);
    let last = streams.last().copied();
    let window =
        last.and_then(|stream| stream["snd_cwnd"].as_f64()).zip(segment).map(|(window, mss)| window / mss);
    let is_after = |stream: &Value| stream["end"].as_f64().is_some_and(|end| end > warmup.as_secs_f64());
    let after: Vec<f64> =
        streams.iter().filter(|stream| is_after(stream)).filter_map(|stream| srtt_ms(stream)).collect();
    KernelTcpState {
        window_segments: window.unwrap_or(0.0).round() as u32,
        srtt_ms: last.and_then(srtt_ms).unwrap_or(0.0),
        srtt_mean_ms: after.iter().sum::<f64>() / after.len().max(1) as f64,
        retransmits: None,
    }
}

/// Parses the output of a sender that is a subcommand of this program.
fn parse_own_report(printed: &Value) -> KernelTcpState {
    let number = |key: &str| printed[key].as_f64().unwrap_or(0.0);
    KernelTcpState {
        window_segments: number("final_cwnd") as u32,
        srtt_ms: number("final_srtt_ms"),
        srtt_mean_ms: number("srtt_mean_ms"),
        retransmits: printed["retransmits"].as_u64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn iperf3_output_is_parsed_without_the_warm_up() {
        let stream =
            |end: f64, rtt: u32| json!({ "streams": [{ "end": end, "rtt": rtt, "snd_cwnd": 14480 }] });
        let printed = json!({
            "start": { "tcp_mss_default": 1448 },
            "intervals": [stream(1.0, 90_000), stream(2.0, 20_000), stream(3.0, 40_000)],
        });
        let expected =
            KernelTcpState { window_segments: 10, srtt_ms: 40.0, srtt_mean_ms: 30.0, retransmits: None };
        assert_eq!(parse_iperf3(&printed, Span::from_secs(1)), expected);
        assert_eq!(parse_iperf3(&Value::Null, Span::ZERO), KernelTcpState::default());
    }
}
