//! Results of a link with a command behind it: measurements, verdict and exit status.

use qdelay_core::{Span, Time};
use qdelay_emu::audit::AuditFacts;
use qdelay_emu::control::Changed;
use qdelay_emu::device::Port;
use qdelay_emu::emulator::{Emulator, Tap};
use qdelay_emu::figures::{DirectionFigures, LinkUse};
use qdelay_emu::gso::Offload;
use qdelay_record::Recorder;

/// Results of the link.
#[derive(Debug)]
pub struct Outcome {
    /// The command's exit status.
    pub status: u8,
    /// Figures of the audit, with its verdict.
    pub facts: AuditFacts,
    /// Super-packets that the devices supported; `None` without offload.
    pub offload: Option<Offload>,
    /// Time that the command ran.
    pub duration: Span,
    /// Delivery of the packets in flight at the end of the command.
    pub drained: DrainResult,
    /// Messages about records that could not be written to their end: file, error, and the number of records in the file.
    pub broken: Vec<String>,
    /// True if the packets, where they were recorded, can be read.
    pub(super) has_packets: bool,
    /// True if real-time priority was granted.
    pub(super) realtime: bool,
    /// Figures of both directions as flows; `None` without a folder of records.
    pub(super) measured: Option<qdelay_sim::Outcome>,
    /// Changes to the link while it ran.
    pub changes: Vec<Changed>,
    /// Message about a server of `--serve` that ended with an error before the command.
    pub server: Option<String>,
    /// Figures of both directions: down, up.
    pub directions: [DirectionFigures; 2],
}

impl Outcome {
    /// Adds a message about a file that could not be written to its end. The run then counts as not
    /// trustworthy.
    pub(super) fn broke(&mut self, why: String) {
        let verdict = &mut self.facts.verdict;
        verdict.trustworthy = false;
        verdict.reasons.push(why.clone());
        self.broken.push(why);
    }

    /// Changes the names of files in messages.
    pub(super) fn rename_files(&mut self, name: impl Fn(&str) -> String) {
        for message in self.broken.iter_mut().chain(&mut self.facts.verdict.reasons) {
            *message = name(message);
        }
    }
}

/// Delivery of packets in flight after the command had ended.
#[derive(Clone, Copy, Debug, Default)]
pub struct DrainResult {
    /// Time that the link continued after the end of the command.
    pub time: Span,
    /// Packets that were still on the path when the link ended, and are lost.
    pub cut: u64,
}

/// The use of the link of packets from `port` up to `end`.
pub(super) fn link_use<R: Recorder, T: Tap>(emulator: &Emulator<R, T>, port: Port, end: Time) -> LinkUse {
    LinkUse::new(emulator.measures(port), emulator.link_usage(port, end), end.since(Time::ZERO))
}

/// The figures of packets from `port`.
pub(super) fn direction_figures<R: Recorder, T: Tap>(
    emulator: &Emulator<R, T>,
    port: Port,
    used: LinkUse,
) -> DirectionFigures {
    DirectionFigures::new(
        emulator.measures(port),
        &emulator.drops_by_reason(port),
        emulator.marks(port),
        used,
    )
}
