//! Programs of the user as applications: a player, a browser or a call, in place of `dash`, `web`, or a call with video.
//!
//! The same command is started at both ends of the path, before the run. The program prints `ready` in a line of its own, begins when
//! its standard input has a line (`start`), and ends when its standard input ends. The program inside then prints its measurements, a
//! line of JSON: an object whose `stream`, `web` or `video` becomes the flow's result. All packets that belong to no other flow belong
//! to this one, so a case has at most one such flow.

mod end;
mod output;

use super::ports;
use end::{End, READY};
use qdelay_core::Time;
use qdelay_emu::netns::Namespace;
use qdelay_sim::results::{StreamFigures, VideoFigures, WebFigures};
use qdelay_sim::{FlowSpec, Scenario};
use qdelay_study::files::Scratch;
use qdelay_traffic::connection::ConnectionConfig;
use qdelay_traffic::tcp::TcpConfig;
use qdelay_traffic::transport::TransportConfig;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write;
use std::net::Ipv4Addr;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Maximum time for a program to become ready, and to end. A browser on a busy machine takes long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Commands of the user, by the names of transports.
#[derive(Clone, Debug, Default)]
pub struct ExternalPrograms(Vec<(String, String)>);

impl ExternalPrograms {
    /// Parses texts `TRANSPORT=COMMAND`; the shell runs each command.
    ///
    /// # Errors
    /// A text is not of this form, no program can replace the transport, or a transport is given twice.
    pub fn parse(texts: &[String]) -> Result<ExternalPrograms, String> {
        let mut all: Vec<(String, String)> = Vec::new();
        for text in texts {
            let Some((name, command)) =
                text.split_once('=').filter(|(_, command)| !command.trim().is_empty())
            else {
                return Err(format!(
                    "'{text}': expected TRANSPORT=COMMAND, such as 'dash=node demos/dash/flow.mjs'"
                ));
            };
            if !NAMES.contains(&name) {
                return Err(format!(
                    "'{name}': a program cannot replace this transport; expected {}",
                    NAMES.join(", ")
                ));
            }
            if all.iter().any(|(other, _)| other == name) {
                return Err(format!("'{name}': given twice; expected one command"));
            }
            all.push((name.to_string(), command.to_string()));
        }
        Ok(ExternalPrograms(all))
    }

    /// The command for a flow, if there is one.
    pub(crate) fn command_for(&self, flow: &FlowSpec) -> Option<&str> {
        let name = flow.typed.split(':').next().unwrap_or_default();
        let is_one = matches!(
            flow.transport,
            TransportConfig::Stream(_) | TransportConfig::Web(_) | TransportConfig::Video(_)
        );
        let found = self.0.iter().find(|(known, _)| is_one && known == name);
        found.map(|(_, command)| command.as_str())
    }
}

/// Transports that a program can replace.
const NAMES: [&str; 4] = ["dash", "web", "webrtc", "scream"];

/// Configuration of the kernel TCP connection that carries the application; `None` if the flow does not use kernel TCP.
pub fn carried_by(flow: &FlowSpec) -> Option<&TcpConfig> {
    let connection = match &flow.transport {
        TransportConfig::Stream(stream) => &stream.connection,
        TransportConfig::Web(web) => &web.connection,
        _ => return None,
    };
    match connection {
        ConnectionConfig::Tcp(tcp) => Some(tcp),
        ConnectionConfig::Own(_) => None,
    }
}

/// Checks that programs can replace the flows of a scenario that `is_external` selects.
///
/// # Errors
/// The reason why not, and what was expected.
pub fn check(scenario: &Scenario, is_external: impl Fn(&FlowSpec) -> bool) -> Result<(), String> {
    let all: Vec<&FlowSpec> = scenario.flows.iter().filter(|flow| is_external(flow)).collect();
    if let [first, second, ..] = all[..] {
        return Err(format!(
            "'{}' and '{}' are both programs of the user, whose packets cannot be told apart; expected one such flow",
            first.name, second.name
        ));
    }
    for flow in all {
        let refuse = |message: &str| Err(format!("flow '{}': '{}': {message}", flow.name, flow.typed));
        if flow.is_upload {
            return refuse("programs of the user only send down; remove direction");
        }
        if matches!(flow.transport, TransportConfig::Stream(_) | TransportConfig::Web(_))
            && carried_by(flow).is_none()
        {
            return refuse("this transport does not use kernel TCP; expected TCP in over");
        }
        if flow.dscp != 0 {
            return refuse("programs of the user choose the codepoint of their packets; remove dscp");
        }
    }
    Ok(())
}

/// Measurements of a program.
#[derive(Clone, Debug, Default)]
pub struct ExternalReport {
    pub stream: Option<StreamFigures>,
    pub web: Option<WebFigures>,
    pub video: Option<VideoFigures>,
    /// The whole line as JSON.
    pub json: Value,
}

impl ExternalReport {
    /// Parses the last line that a program has printed.
    fn parse(text: &str) -> Result<ExternalReport, String> {
        let expected = "expected a line of JSON with its measurements, such as {\"stream\": {...}}";
        let line = text.lines().rfind(|line| !line.trim().is_empty() && line.trim() != READY);
        let Some(line) = line else { return Err(format!("it printed nothing at its end; {expected}")) };
        let json: Value = serde_json::from_str(line)
            .map_err(|error| format!("its last line is not JSON ({error}); {expected}"))?;
        if !json.is_object() {
            return Err(format!("its last line is not a JSON object; {expected}"));
        }
        Ok(ExternalReport {
            stream: part(&json, "stream")?,
            web: part(&json, "web")?,
            video: part(&json, "video")?,
            json,
        })
    }
}

fn part<T: DeserializeOwned>(json: &Value, name: &str) -> Result<Option<T>, String> {
    let Some(figures) = json.get(name) else { return Ok(None) };
    let read = T::deserialize(figures);
    read.map(Some).map_err(|error| format!("its '{name}': {error}; expected the fields of docs/results.md"))
}

/// A flow that is a program of the user.
pub struct External {
    pub index: usize,
    name: String,
    start: Time,
    stop: Time,
    is_started: bool,
    /// The programs inside, where the data goes, and outside.
    ends: [End; 2],
    /// Folder that both programs share, beside the path.
    _meeting: Scratch,
}

impl External {
    /// Starts the command at both ends, and waits until both are ready. `ends` are the addresses outside and inside.
    ///
    /// # Errors
    /// The command cannot be started, ends, or is not ready in time.
    pub fn begin(
        scenario: &Scenario,
        index: usize,
        command: &str,
        [inner, outer]: [&Namespace; 2],
        ends: (Ipv4Addr, Ipv4Addr),
    ) -> Result<External, String> {
        let flow = &scenario.flows[index];
        let refused = |message: String| format!("flow '{}': its program {message}", flow.name);
        let meeting = Scratch::new("qdelay-meeting")
            .map_err(|error| refused(format!("has no temporary folder: {error}")))?;
        let stop = flow.stop.unwrap_or(scenario.duration).min(scenario.duration);
        let start = |place: &'static str, namespace: &Namespace| {
            let mut shell = Command::new("sh");
            shell.args(["-c", command]).process_group(0);
            shell.env("QDELAY_END", place).env("QDELAY_TRANSPORT", &flow.typed);
            shell.env("QDELAY_OUTSIDE", ends.0.to_string()).env("QDELAY_INSIDE", ends.1.to_string());
            shell.env("QDELAY_PORT", ports::sender(index).to_string()).env("QDELAY_MEETING", meeting.path());
            shell.env("QDELAY_SECONDS", stop.saturating_sub(flow.start).as_secs_f64().to_string());
            shell.env("QDELAY_SEED", scenario.seed.to_string());
            End::start(place, shell, |shell| namespace.spawn(shell))
        };
        let ends = [start("inside", inner).map_err(refused)?, start("outside", outer).map_err(refused)?];
        // Both programs start before either is awaited, because they may have to meet first.
        let mut external = External {
            index,
            name: flow.name.clone(),
            start: Time::ZERO + flow.start,
            stop: Time::ZERO + stop,
            is_started: false,
            ends,
            _meeting: meeting,
        };
        let name = external.name.clone();
        for end in &mut external.ends {
            end.wait_until_ready(PATIENCE)
                .map_err(|message| format!("flow '{name}': its program {message}"))?;
        }
        Ok(external)
    }

    /// Time at which the program has to be started or stopped next.
    pub fn next(&self) -> Time {
        if self.is_started { self.stop } else { self.start }
    }

    /// Starts or stops the program if that is due.
    ///
    /// # Errors
    /// The program has ended by itself.
    pub fn advance(&mut self, now: Time) -> Result<(), String> {
        if !self.is_started && now >= self.start {
            self.is_started = true;
            for end in &mut self.ends {
                // A write to a program that has ended fails, which is detected below.
                let _ = end.running.child().stdin.as_mut().map(|input| input.write_all(b"start\n"));
            }
        }
        if self.is_started && now >= self.stop {
            self.stop = Time::NEVER;
            drop(self.ends[0].running.child().stdin.take());
            return Ok(());
        }
        for end in &mut self.ends {
            if self.stop != Time::NEVER && !matches!(end.running.try_wait(), Ok(None)) {
                return Err(format!("flow '{}': its program {}", self.name, end.ended()));
            }
        }
        Ok(())
    }

    /// Ends the programs, and reads their measurements.
    ///
    /// # Errors
    /// A program does not end, fails, or prints something else.
    pub fn end(mut self) -> Result<ExternalReport, String> {
        let json = self.ends[0].finish(PATIENCE).and_then(|text| {
            ExternalReport::parse(&text).map_err(|message| format!("has ended, but {message}"))
        });
        json.map_err(|message| format!("flow '{}': its program {message}", self.name))
    }
}

/// Header bytes of a packet of the application's data: IPv4 with TCP and its time stamps, or with UDP.
pub fn headers(flow: &FlowSpec) -> u32 {
    if carried_by(flow).is_some() { 52 } else { 28 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_texts_are_parsed_or_refused() {
        let parse = |texts: &[&str]| {
            ExternalPrograms::parse(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&["dash=a b=c", "web=d"]).unwrap().0[0], ("dash".to_string(), "a b=c".to_string()));
        for (texts, message) in [
            (&["dash"][..], "expected TRANSPORT=COMMAND"),
            (&["dash= "], "expected TRANSPORT=COMMAND"),
            (
                &["cubic=x"],
                "'cubic': a program cannot replace this transport; expected dash, web, webrtc, scream",
            ),
            (&["web=a", "web=b"], "given twice"),
        ] {
            let error = parse(texts).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
