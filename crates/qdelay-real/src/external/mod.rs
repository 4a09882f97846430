//! Applications that are programs of the user: a player, a browser, a call, in place of `dash`, `web`, or a call with video.
//!
//! The same command is started at both ends of the path, before the run. It says `ready` in a line of its own, begins when a line comes on its
//! standard input (`start`), and ends when that input ends. The one inside then prints what it measured, a line of JSON: an object of which
//! `stream`, `web` or `video` becomes the flow's. All packets that are of no other flow are this one's, so there is at most one in a case.

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

/// How long a program may take until it is ready, and to end. A browser on a starved machine takes long.
const PATIENCE: Duration = Duration::from_secs(120);

/// Commands of the user by the names of transports.
#[derive(Clone, Debug, Default)]
pub struct ExternalPrograms(Vec<(String, String)>);

impl ExternalPrograms {
    /// Reads `TRANSPORT=COMMAND` of each; the command is the shell's.
    ///
    /// # Errors
    /// A text that is none, a transport that no program can be, or one twice.
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
                    "'{name}': no program can be this transport; expected {}",
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

    /// The command for a flow.
    pub(crate) fn of(&self, flow: &FlowSpec) -> Option<&str> {
        let name = flow.typed.split(':').next().unwrap_or_default();
        let is_one = matches!(
            flow.transport,
            TransportConfig::Stream(_) | TransportConfig::Web(_) | TransportConfig::Video(_)
        );
        let found = self.0.iter().find(|(known, _)| is_one && known == name);
        found.map(|(_, command)| command.as_str())
    }
}

/// Transports that a program can be.
const NAMES: [&str; 4] = ["dash", "web", "webrtc", "scream"];

/// The connection of the kernel that carries the application; `None` where it is none.
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

/// Whether programs can be these flows of a scenario: `is_external` says which are to be.
///
/// # Errors
/// Why not, and what was expected.
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
            return refuse("programs of the user send down only; remove direction");
        }
        if matches!(flow.transport, TransportConfig::Stream(_) | TransportConfig::Web(_))
            && carried_by(flow).is_none()
        {
            return refuse("over this transport there is no kernel's connection; expected TCP in over");
        }
        if flow.dscp != 0 {
            return refuse(
                "the packets of programs of the user have the codepoint that these give them; remove dscp",
            );
        }
    }
    Ok(())
}

/// What a program has measured.
#[derive(Clone, Debug, Default)]
pub struct ExternalReport {
    pub stream: Option<StreamFigures>,
    pub web: Option<WebFigures>,
    pub video: Option<VideoFigures>,
    /// The whole line.
    pub told: Value,
}

impl ExternalReport {
    /// Reads the last line that a program has printed.
    fn parse(text: &str) -> Result<ExternalReport, String> {
        let expected = "expected a line of JSON with what it measured, such as {\"stream\": {...}}";
        let line = text.lines().rfind(|line| !line.trim().is_empty() && line.trim() != READY);
        let Some(line) = line else { return Err(format!("it printed nothing at its end; {expected}")) };
        let told: Value = serde_json::from_str(line)
            .map_err(|error| format!("its last line is no JSON ({error}); {expected}"))?;
        if !told.is_object() {
            return Err(format!("its last line is no object; {expected}"));
        }
        Ok(ExternalReport {
            stream: part(&told, "stream")?,
            web: part(&told, "web")?,
            video: part(&told, "video")?,
            told,
        })
    }
}

fn part<T: DeserializeOwned>(told: &Value, name: &str) -> Result<Option<T>, String> {
    let Some(figures) = told.get(name) else { return Ok(None) };
    let read = T::deserialize(figures);
    read.map(Some).map_err(|error| format!("its '{name}': {error}; expected the fields of docs/results.md"))
}

/// A flow that is a program.
pub struct External {
    pub index: usize,
    name: String,
    start: Time,
    stop: Time,
    is_started: bool,
    /// Inside, where the data goes; and outside.
    ends: [End; 2],
    /// Where both meet beside the path.
    _meeting: Scratch,
}

impl External {
    /// Starts the command at both ends, and waits until they are ready. `ends` are the addresses outside and inside.
    ///
    /// # Errors
    /// It cannot be started, ends, or is not ready in time.
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
            .map_err(|error| refused(format!("has no folder in that of temporary files: {error}")))?;
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

    /// When it is to be started or stopped.
    pub fn next(&self) -> Time {
        if self.is_started { self.stop } else { self.start }
    }

    /// Starts and stops it when that is due.
    ///
    /// # Errors
    /// It has ended by itself.
    pub fn advance(&mut self, now: Time) -> Result<(), String> {
        if !self.is_started && now >= self.start {
            self.is_started = true;
            for end in &mut self.ends {
                // Whoever has ended is found below.
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

    /// Ends it, and reads what it has measured.
    ///
    /// # Errors
    /// It does not end, fails, or prints something else.
    pub fn end(mut self) -> Result<ExternalReport, String> {
        let told = self.ends[0].finish(PATIENCE).and_then(|text| {
            ExternalReport::parse(&text).map_err(|message| format!("has ended, but {message}"))
        });
        told.map_err(|message| format!("flow '{}': its program {message}", self.name))
    }
}

/// Bytes of headers of a packet of the application's data: IPv4 with TCP and its time stamps, or with UDP.
pub fn headers(flow: &FlowSpec) -> u32 {
    if carried_by(flow).is_some() { 52 } else { 28 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_programs() {
        let parse = |texts: &[&str]| {
            ExternalPrograms::parse(&texts.iter().map(|text| text.to_string()).collect::<Vec<_>>())
        };
        assert_eq!(parse(&["dash=a b=c", "web=d"]).unwrap().0[0], ("dash".to_string(), "a b=c".to_string()));
        for (texts, message) in [
            (&["dash"][..], "expected TRANSPORT=COMMAND"),
            (&["dash= "], "expected TRANSPORT=COMMAND"),
            (&["cubic=x"], "'cubic': no program can be this transport; expected dash, web, webrtc, scream"),
            (&["web=a", "web=b"], "given twice"),
        ] {
            let error = parse(texts).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
