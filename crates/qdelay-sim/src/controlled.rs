//! The two ends of a flow whose rate TFRC controls, and the reports that are on their way between them.

use crate::contents::Contents;
use crate::outcome::AudioOutcome;
use qdelay_core::{Ecn, Random, Span, Time};
use qdelay_traffic::audio::{self, AudioConfig, AudioHeader, AudioReport, AudioTimes, Colour};
use qdelay_traffic::tfrc::{self, DataHeader, RateControl, TfrcConfig};

/// Reports that may be on their way: one or two come in a round trip. An older one is nobody's news.
const REPORTS: usize = 256;

/// A flow's ends.
pub struct Controlled {
    ends: Both,
    /// The latest reports: number `n` at `n % REPORTS`.
    reports: Vec<AudioReport>,
    reported: u64,
    /// Of a call: what it was until the end of the warm-up.
    at_warmup: AudioTimes,
}

#[allow(clippy::large_enum_variant, reason = "one per flow")]
enum Both {
    /// `numbers` are how many packets each lane has had: there is one for each codepoint.
    Tfrc {
        sender: tfrc::Sender,
        receiver: tfrc::Receiver,
        ecn: Ecn,
        numbers: [u32; 2],
    },
    Audio {
        source: audio::Source,
        listener: audio::Listener,
    },
}

/// A data packet as it leaves.
pub struct Outgoing {
    pub contents: Contents,
    pub bytes: u32,
    pub ecn: Ecn,
    /// Whether it has the flow's other codepoint.
    pub is_other: bool,
}

impl Controlled {
    pub fn tfrc(config: &TfrcConfig, start: Time) -> Controlled {
        let ecn = if config.ecn { Ecn::Ect0 } else { Ecn::NotEct };
        let sender = tfrc::Sender::new(config, start, 0);
        let receiver = tfrc::Receiver::new(config.receiver);
        Controlled::new(Both::Tfrc { sender, receiver, ecn, numbers: [0; 2] })
    }

    /// `is_free`: it has two codepoints to choose from.
    pub fn audio(config: AudioConfig, start: Time, is_free: bool, random: Random) -> Controlled {
        let source = audio::Source::new(config, start, is_free, random);
        Controlled::new(Both::Audio { source, listener: audio::Listener::new(config) })
    }

    fn new(ends: Both) -> Controlled {
        let reports = vec![AudioReport::default(); REPORTS];
        Controlled { ends, reports, reported: 0, at_warmup: AudioTimes::default() }
    }

    /// When either end has something to do.
    pub fn next_deadline(&self) -> Time {
        let sender = match &self.ends {
            Both::Tfrc { sender, .. } => sender.next_deadline(),
            Both::Audio { source, .. } => source.next_deadline(),
        };
        sender.min(self.receiver_deadline())
    }
    /// When the far end has.
    pub fn receiver_deadline(&self) -> Time {
        match &self.ends {
            Both::Tfrc { receiver, .. } => receiver.next_deadline(),
            Both::Audio { listener, .. } => listener.next_deadline(),
        }
    }
    /// Data packets sent.
    pub fn sent(&self) -> u64 {
        match &self.ends {
            Both::Tfrc { sender, .. } => sender.sent(),
            Both::Audio { source, .. } => source.sent(),
        }
    }
    /// The sender's view of the network.
    pub fn control(&self) -> &RateControl {
        match &self.ends {
            Both::Tfrc { sender, .. } => sender.control(),
            Both::Audio { source, .. } => source.control(),
        }
    }
    /// IP bytes of a report.
    pub fn report_bytes(&self) -> u32 {
        match &self.ends {
            Both::Tfrc { .. } => tfrc::REPORT_BYTES,
            Both::Audio { .. } => audio::REPORT_BYTES,
        }
    }

    /// Runs the near end; the data packet that leaves now. `draw` says whether one has the flow's other codepoint whose source
    /// does not choose.
    pub fn poll(&mut self, now: Time, draw: impl FnOnce() -> bool) -> Option<Outgoing> {
        match &mut self.ends {
            Both::Tfrc { sender, ecn, numbers, .. } => {
                let plain = sender.poll(now)?;
                let is_other = draw();
                let lane = u8::from(is_other);
                let number = &mut numbers[usize::from(lane)];
                let data = DataHeader { lane, lane_seq: *number, ..plain };
                *number = number.wrapping_add(1);
                let contents = Contents::of_data(&AudioHeader { data, ..AudioHeader::default() });
                Some(Outgoing { contents, bytes: sender.bytes(), ecn: *ecn, is_other })
            }
            Both::Audio { source, .. } => {
                let packet = source.poll(now)?;
                let contents = Contents::of_data(&packet.header);
                let is_other = Colour::of_lane(packet.header.data.lane) == Colour::Blue;
                Some(Outgoing { contents, bytes: packet.bytes, ecn: Ecn::NotEct, is_other })
            }
        }
    }

    /// Runs the far end; the number of the report that leaves now.
    pub fn poll_receiver(&mut self, now: Time) -> Option<u64> {
        let report = match &mut self.ends {
            Both::Tfrc { receiver, .. } => plain(receiver.on_deadline(now)),
            Both::Audio { listener, .. } => listener.on_deadline(now),
        };
        self.keep(report)
    }

    /// A data packet has come; the number of the report that leaves now.
    pub fn on_data(&mut self, now: Time, contents: &Contents, bytes: u32, marked: bool) -> Option<u64> {
        let header = contents.data();
        let report = match &mut self.ends {
            Both::Tfrc { receiver, .. } => plain(receiver.on_data(now, &header.data, bytes, marked)),
            Both::Audio { listener, .. } => listener.on_data(now, &header, bytes, marked),
        };
        self.keep(report)
    }

    /// A report has come.
    pub fn on_report(&mut self, now: Time, number: u64) {
        // One that was forgotten on its way is as good as lost.
        if number >= self.reported || self.reported - number > REPORTS as u64 {
            return;
        }
        let report = self.reports[(number % REPORTS as u64) as usize];
        match &mut self.ends {
            Both::Tfrc { sender, .. } => sender.on_report(now, &report.report),
            Both::Audio { source, .. } => source.on_report(now, &report),
        }
    }

    fn keep(&mut self, report: Option<AudioReport>) -> Option<u64> {
        let number = self.reported;
        self.reports[(number % REPORTS as u64) as usize] = report?;
        self.reported += 1;
        Some(number)
    }

    pub fn end_warmup(&mut self, now: Time) {
        if let Both::Audio { source, .. } = &self.ends {
            self.at_warmup = source.times(now);
        }
    }

    /// Of a call: what it was since the warm-up, until `end`.
    pub fn audio_outcome(&self, end: Time) -> Option<AudioOutcome> {
        let Both::Audio { source, .. } = &self.ends else { return None };
        let (times, before) = (source.times(end), self.at_warmup);
        let since = |now: Span, then: Span| now.saturating_sub(then).as_secs_f64();
        let green = since(times.on[Colour::Green.index()], before.on[Colour::Green.index()]);
        let blue = since(times.on[Colour::Blue.index()], before.on[Colour::Blue.index()]);
        let off = since(times.off, before.off);
        let all = green + blue + off;
        (all > 0.0).then(|| AudioOutcome {
            green_share: green / all,
            blue_share: blue / all,
            off_share: off / all,
            changes: times.changes - before.changes,
            hang_ups: times.hang_ups - before.hang_ups,
            codec_mbps: (times.codec_bits - before.codec_bits) / all / 1e6,
        })
    }
}

fn plain(report: Option<tfrc::Report>) -> Option<AudioReport> {
    report.map(|report| AudioReport { report, ..AudioReport::default() })
}
