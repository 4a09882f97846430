//! TCP flows: for each an iperf3 server inside, and a client outside that is started and stopped when the flow is.

use super::ports;
use qdelay_core::{Span, Time};
use qdelay_emu::netns::Namespace;
use qdelay_emu::netns::command::Running;
use qdelay_sim::{FlowSpec, Scenario};
use qdelay_traffic::control::ControllerConfig;
use qdelay_traffic::transport::TransportConfig;
use rustix::event::{Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::Signal;
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};

/// How often a program is looked at while it is waited for, and how many times.
const PAUSE: Timespec = Timespec { tv_sec: 0, tv_nsec: 10_000_000 };
const PAUSES: usize = 500;
/// Runs that are longer get an interval of a second.
const FINE: Span = Span::from_secs(100);

/// What only the kernel knows of a flow, as iperf3 tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Told {
    /// Congestion window at the end, segments.
    pub window_segments: u32,
    /// Smoothed round trip at the end.
    pub srtt_ms: f64,
    /// Its mean over the intervals after the warm-up.
    pub srtt_mean_ms: f64,
}

/// The programs of a case.
pub struct Programs {
    /// One for each flow of the scenario, `None` for those of UDP.
    flows: Vec<Option<Program>>,
    warmup: Span,
    _servers: Vec<Running>,
}

struct Program {
    name: String,
    start: Time,
    stop: Time,
    arguments: Vec<String>,
    state: State,
}

enum State {
    Waiting,
    Running(Box<Running>, File),
    /// It was stopped, if it ever ran; what it has printed.
    Ended(Option<(Box<Running>, File)>),
}

impl Programs {
    /// Starts the servers and waits until they listen. `ends` are the addresses outside and inside.
    ///
    /// # Errors
    /// iperf3 does not run.
    pub fn listen(
        scenario: &Scenario,
        inner: &Namespace,
        ends: (Ipv4Addr, Ipv4Addr),
    ) -> Result<Programs, String> {
        let mut servers = Vec::new();
        let mut flows = Vec::new();
        for (index, flow) in scenario.flows.iter().enumerate() {
            let program = program(scenario, index, flow, ends.1);
            if program.is_some() {
                let (port, address) = (ports::receiver(index).to_string(), ends.1.to_string());
                let mut server = Command::new("iperf3");
                server.args([
                    "--server",
                    "--one-off",
                    "--interval",
                    "0",
                    "--port",
                    &port,
                    "--bind",
                    &address,
                ]);
                server.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                servers
                    .push(inner.spawn(server).map_err(|error| format!("iperf3 cannot be started: {error}"))?);
            }
            flows.push(program);
        }
        for (server, index) in
            servers.iter_mut().zip(flows.iter().enumerate().filter(|(_, flow)| flow.is_some()))
        {
            wait_for(server, ports::receiver(index.0))?;
        }
        Ok(Programs { flows, warmup: scenario.warmup, _servers: servers })
    }

    /// When the next one is to be started or stopped.
    pub fn next(&self) -> Time {
        let next = |program: &Program| match program.state {
            State::Waiting => program.start,
            State::Running(..) => program.stop,
            State::Ended(_) => Time::NEVER,
        };
        self.flows.iter().flatten().map(next).min().unwrap_or(Time::NEVER)
    }

    /// Starts and stops what is to be started and stopped by `now`.
    ///
    /// # Errors
    /// A program that has ended by itself, and why.
    pub fn advance(&mut self, now: Time, outer: &Namespace) -> Result<(), String> {
        self.flows.iter_mut().flatten().try_for_each(|program| {
            program
                .advance(now, outer)
                .map_err(|message| format!("flow '{}': iperf3: {message}", program.name))
        })
    }

    /// Stops all, and returns what they tell, by flow.
    pub fn end(&mut self) -> Vec<Told> {
        let warmup = self.warmup;
        for program in self.flows.iter_mut().flatten() {
            program.stop();
        }
        let tell =
            |program: &mut Option<Program>| program.as_mut().map(|p| p.tell(warmup)).unwrap_or_default();
        self.flows.iter_mut().map(tell).collect()
    }
}

impl Program {
    fn advance(&mut self, now: Time, outer: &Namespace) -> Result<(), String> {
        if matches!(self.state, State::Waiting) && now >= self.start {
            let refused = |error: io::Error| format!("cannot be started: {error}");
            let output =
                File::from(memfd_create("iperf3", MemfdFlags::CLOEXEC).map_err(|e| refused(e.into()))?);
            let mut command = Command::new("iperf3");
            command.args(&self.arguments).stdin(Stdio::null()).stderr(Stdio::null());
            command.stdout(output.try_clone().map_err(refused)?);
            self.state = State::Running(Box::new(outer.spawn(command).map_err(refused)?), output);
        }
        let State::Running(running, output) = &mut self.state else { return Ok(()) };
        if matches!(running.try_wait(), Ok(None)) {
            if now >= self.stop {
                self.stop();
            }
            return Ok(());
        }
        let error = read(output).get("error").and_then(Value::as_str).map(str::to_string);
        Err(error.unwrap_or_else(|| "ended before the flow was to end".to_string()))
    }

    /// Interrupted, it prints what it has measured.
    fn stop(&mut self) {
        self.state = match std::mem::replace(&mut self.state, State::Ended(None)) {
            State::Running(running, output) => {
                let _ = running.signal(Signal::INT);
                State::Ended(Some((running, output)))
            }
            State::Waiting => State::Ended(None),
            ended @ State::Ended(_) => ended,
        };
    }

    fn tell(&mut self, warmup: Span) -> Told {
        let State::Ended(Some((running, output))) = &mut self.state else { return Told::default() };
        for _ in 0..PAUSES {
            if !matches!(running.try_wait(), Ok(None)) {
                break;
            }
            pause();
        }
        // iperf3's times are since its start.
        told(&read(output), warmup.saturating_sub(self.start.since(Time::ZERO)))
    }
}

/// What to run for a flow; `None` for one of UDP.
fn program(scenario: &Scenario, index: usize, flow: &FlowSpec, inside: Ipv4Addr) -> Option<Program> {
    let TransportConfig::Tcp { controller, .. } = flow.transport else { return None };
    let controller = match controller {
        ControllerConfig::Bbr(_) => "bbr",
        ControllerConfig::Reno => "reno",
        _ => "cubic",
    };
    let interval = if scenario.duration <= FINE { "0.1" } else { "1" };
    let mut arguments: Vec<String> =
        ["--json", "--congestion", controller, "--interval", interval].map(String::from).into();
    let mut add = |option: &str, value: String| arguments.extend([option.to_string(), value]);
    add("--client", inside.to_string());
    add("--port", ports::receiver(index).to_string());
    add("--cport", ports::sender(index).to_string());
    add("--tos", (flow.dscp << 2).to_string());
    // Until it is stopped.
    add("--time", "0".to_string());
    Some(Program {
        name: flow.name.clone(),
        start: Time::ZERO + flow.start,
        stop: flow.stop.map_or(Time::NEVER, |stop| Time::ZERO + stop),
        arguments,
        state: State::Waiting,
    })
}

/// Until the server listens.
fn wait_for(server: &mut Running, port: u16) -> Result<(), String> {
    // In the server's own namespace: a local address, and the state LISTEN.
    let path = format!("/proc/{}/net/tcp", server.id());
    let is_there = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let local = words.nth(1).and_then(|local| local.split_once(':')).map(|(_, port)| port.to_string());
        local.and_then(|hex| u16::from_str_radix(&hex, 16).ok()) == Some(port) && words.nth(1) == Some("0A")
    };
    for _ in 0..PAUSES {
        if std::fs::read_to_string(&path).is_ok_and(|table| table.lines().any(is_there)) {
            return Ok(());
        }
        if !matches!(server.try_wait(), Ok(None)) {
            return Err("an iperf3 server ended at once; expected it to listen".to_string());
        }
        pause();
    }
    Err("an iperf3 server does not listen; expected it to within seconds".to_string())
}

fn pause() {
    let _ = poll(&mut [], Some(&PAUSE));
}

/// What was printed, as JSON; null where it is none.
fn read(output: &mut File) -> Value {
    let mut text = String::new();
    let whole = output.rewind().and_then(|()| output.read_to_string(&mut text));
    whole.ok().and_then(|_| serde_json::from_str(&text).ok()).unwrap_or(Value::Null)
}

/// From what iperf3 has printed; intervals that end within `warmup` are left out of the mean.
fn told(printed: &Value, warmup: Span) -> Told {
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
    Told {
        window_segments: window.unwrap_or(0.0).round() as u32,
        srtt_ms: last.and_then(srtt_ms).unwrap_or(0.0),
        srtt_mean_ms: after.iter().sum::<f64>() / after.len().max(1) as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_iperf3_tells() {
        let stream =
            |end: f64, rtt: u32| json!({ "streams": [{ "end": end, "rtt": rtt, "snd_cwnd": 14480 }] });
        let printed = json!({
            "start": { "tcp_mss_default": 1448 },
            "intervals": [stream(1.0, 90_000), stream(2.0, 20_000), stream(3.0, 40_000)],
        });
        let expected = Told { window_segments: 10, srtt_ms: 40.0, srtt_mean_ms: 30.0 };
        assert_eq!(told(&printed, Span::from_secs(1)), expected);
        assert_eq!(told(&Value::Null, Span::ZERO), Told::default());
    }
}
