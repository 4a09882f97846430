//! Program of the user at one end of the path: a process that reports its readiness and its results by its output, and is started and
//! stopped by its input.

use super::output::{Output, Outputs};
use crate::{PAUSE, pause};
use qdelay_emu::netns::command::Running;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time that a program may take to end after its input has ended, before it is killed.
const FAREWELL: Duration = Duration::from_secs(10);
/// Line that a program prints when it is ready.
pub const READY: &str = "ready";

/// The program at one end. Its process group ends with this value.
pub struct End {
    place: &'static str,
    pub running: Running,
    outputs: Outputs,
}

impl End {
    /// Starts `command` by `spawn`; `place` names the end in messages.
    pub fn start(
        place: &'static str,
        mut command: Command,
        spawn: impl FnOnce(Command) -> io::Result<Running>,
    ) -> Result<End, String> {
        let refused = |error: io::Error| format!("cannot be started {place}: {error}");
        let open = || {
            let [output, complaints] = [Output::new()?, Output::new()?];
            command.stdin(Stdio::piped()).stdout(output.for_program()?).stderr(complaints.for_program()?);
            let outputs = Outputs::watch([output, complaints])?;
            Ok((outputs, spawn(command)?))
        };
        let (outputs, running) = open().map_err(refused)?;
        Ok(End { place, running, outputs })
    }

    /// Waits until the program says that it is ready.
    pub fn wait_until_ready(&mut self, patience: Duration) -> Result<(), String> {
        for _ in 0..patience.as_millis() / u128::from(PAUSE.as_nanos() / 1_000_000) {
            if self.outputs.with(|[output, _]| output.is_ready()) {
                return Ok(());
            }
            if !matches!(self.running.try_wait(), Ok(None)) {
                return Err(self.ended());
            }
            pause();
        }
        let (text, before) = self.outputs.with(|[output, _]| output.text());
        let printed = match before + text.len() as u64 {
            0 => "nothing".to_string(),
            bytes => format!("{bytes} bytes without it"),
        };
        Err(format!(
            "was not ready {} after {patience:?}, and printed {printed}; expected a line '{READY}'",
            self.place
        ))
    }

    /// Closes the program's input, waits for its end, and returns its output.
    pub fn finish(&mut self, patience: Duration) -> Result<String, String> {
        drop(self.running.child().stdin.take());
        for _ in 0..patience.as_millis() / u128::from(PAUSE.as_nanos() / 1_000_000) {
            match self.running.try_wait() {
                Ok(None) => pause(),
                Ok(Some(status)) if status.success() => {
                    return Ok(self.outputs.with(|[output, _]| output.text().0));
                }
                _ => return Err(self.ended()),
            }
        }
        Err(format!("did not end {} within {patience:?} of the end of its input", self.place))
    }

    /// Describes the end of the program, with its last line on standard error.
    pub fn ended(&mut self) -> String {
        let status = match self.running.try_wait() {
            Ok(Some(status)) => status.to_string(),
            _ => "an error".to_string(),
        };
        let (complaints, _) = self.outputs.with(|[_, complaints]| complaints.text());
        let last = complaints.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it printed nothing");
        format!("failed {} ({status}): {}", self.place, last.trim())
    }

    /// Returns true if the program ends within `patience`.
    fn has_ended(&mut self, patience: Duration) -> bool {
        for _ in 0..patience.as_millis() / u128::from(PAUSE.as_nanos() / 1_000_000) {
            if !matches!(self.running.try_wait(), Ok(None)) {
                return true;
            }
            pause();
        }
        false
    }

    fn kill(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.running.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for End {
    fn drop(&mut self) {
        drop(self.running.child().stdin.take());
        // The program gets time to clean up.
        if self.has_ended(FAREWELL) {
            return;
        }
        self.kill(Signal::TERM);
        if !self.has_ended(FAREWELL) {
            self.kill(Signal::KILL);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ExternalReport;
    use super::*;
    use qdelay_emu::netns::command;
    use std::io::Write;
    use std::os::unix::process::CommandExt;

    const PATIENCE: Duration = Duration::from_secs(120);

    const SHORT: Duration = Duration::from_millis(300);
    const FIGURES: &str = r#"{"chunks": 4, "bitrate_mbps": 1.5, "startup_ms": 200, "stalls": 1, "stalled_s": 0.5, "switches": 2,
        "played_s": 16, "qoe": 3.5, "qoe_per_chunk": 0.875}"#;

    fn program(script: &str) -> End {
        let mut shell = Command::new("sh");
        shell.args(["-c", script]).process_group(0);
        End::start("inside", shell, command::spawn).unwrap()
    }

    #[test]
    fn a_program_that_follows_the_protocol_reports() {
        let figures = FIGURES.replace('\n', "");
        let script = format!(
            "echo ready; read -r word; cat >/dev/null; echo \"$word\" >&2; echo '{{\"stream\": {figures}, \"of\": \"me\"}}'"
        );
        let mut end = program(&script);
        end.wait_until_ready(PATIENCE).unwrap();
        end.running.child().stdin.as_mut().unwrap().write_all(b"start\n").unwrap();
        let report = ExternalReport::parse(&end.finish(PATIENCE).unwrap()).unwrap();
        let stream = report.stream.unwrap();
        assert_eq!((stream.chunks, stream.startup_ms, stream.qoe_per_chunk), (4.0, 200.0, 0.875));
        assert!(report.web.is_none() && report.video.is_none());
        assert_eq!(report.json["of"], "me");
        assert_eq!(end.outputs.with(|[_, complaints]| complaints.text()), ("start\n".to_string(), 0));
    }

    #[test]
    fn a_program_that_is_not_ready_is_an_error() {
        let cases = [
            ("sleep 2", "was not ready inside after 300ms, and printed nothing"),
            ("sleep 0; exec yes ready?", "bytes without it; expected a line 'ready'"),
            ("echo no such film >&2; exit 3", "no such film"),
            ("exit 0", "it printed nothing"),
        ];
        for (script, message) in cases {
            // Programs that end by themselves get more time than they need.
            let patience = if script.starts_with("sleep") { SHORT } else { PATIENCE };
            let error = program(script).wait_until_ready(patience).unwrap_err();
            assert!(error.contains(message) && !error.contains('\n'), "{script}: {error}");
        }
    }

    #[test]
    fn a_program_without_a_valid_report_is_an_error() {
        let cases = [
            ("echo ready", "it printed nothing"),
            ("echo ready; echo done", "its last line is not JSON"),
            ("echo ready; echo 5", "its last line is not a JSON object"),
            ("echo ready; echo '{\"stream\": {\"chunks\": 3}}'", "its 'stream': missing field"),
            ("echo ready; echo '{\"video\": 3}'", "its 'video': invalid type"),
            ("echo ready; echo the browser ended >&2; exit 1", "the browser ended"),
            ("echo ready; cat >/dev/null; sleep 2", "did not end inside within 300ms"),
        ];
        for (script, message) in cases {
            let patience = if script.ends_with("sleep 2") { SHORT } else { PATIENCE };
            let error =
                program(script).finish(patience).and_then(|text| ExternalReport::parse(&text)).unwrap_err();
            assert!(error.contains(message) && !error.contains('\n'), "{script}: {error}");
        }
    }
}
