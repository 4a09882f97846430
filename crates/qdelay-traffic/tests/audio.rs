//! Tests of an adaptive call over a path with a different delay and loss per colour.

use qdelay_core::{Random, Span, Time};
use qdelay_traffic::audio::{AudioConfig, AudioHeader, AudioReport, Colour, Listener, Source, Utility};
use qdelay_traffic::tfrc::DataHeader;
use std::collections::BTreeMap;

fn ms(n: u64) -> Span {
    Span::from_millis(n)
}

/// Delay and loss of a colour on the path.
#[derive(Clone, Copy)]
struct Service {
    delay: Span,
    loss: f64,
}

struct Call {
    now: Time,
    source: Source,
    listener: Listener,
    random: Random,
    /// Packets in flight by arrival time and sending order.
    data: BTreeMap<(Time, u64), (AudioHeader, u32)>,
    reports: BTreeMap<(Time, u64), AudioReport>,
    sent: [u64; 2],
    bytes: u64,
    largest: u32,
    order: u64,
}

impl Call {
    fn new(config: AudioConfig, is_free: bool, seed: u64) -> Call {
        Call {
            now: Time::ZERO,
            source: Source::new(config, Time::ZERO + ms(7), is_free, Random::derive(seed, "audio", "source")),
            listener: Listener::new(config),
            random: Random::derive(seed, "audio", "path"),
            data: BTreeMap::new(),
            reports: BTreeMap::new(),
            sent: [0; 2],
            bytes: 0,
            largest: 0,
            order: 0,
        }
    }

    /// Runs the call; reports take 50 ms and are not lost.
    fn run(&mut self, seconds: u64, ways: [Service; 2]) {
        let end = Time::ZERO + Span::from_secs(seconds);
        loop {
            let data = self.data.first_key_value().map_or(Time::NEVER, |entry| entry.0.0);
            let report = self.reports.first_key_value().map_or(Time::NEVER, |entry| entry.0.0);
            let (far, near) = (self.listener.next_deadline(), self.source.next_deadline());
            let now = data.min(report).min(far).min(near);
            if now >= end {
                self.now = end;
                return;
            }
            assert!(now >= self.now);
            self.now = now;
            self.order += 1;
            let mut answer = None;
            if data == now {
                let (_, (header, bytes)) = self.data.pop_first().unwrap();
                answer = self.listener.on_data(now, &header, bytes, false);
            } else if report == now {
                let (_, report) = self.reports.pop_first().unwrap();
                self.source.on_report(now, &report);
            } else if far == now {
                answer = self.listener.on_deadline(now);
            } else if let Some(packet) = self.source.poll(now) {
                let colour = Colour::of_lane(packet.header.data.lane);
                self.sent[colour.index()] += 1;
                self.bytes += u64::from(packet.bytes);
                self.largest = self.largest.max(packet.bytes);
                let way = ways[colour.index()];
                if self.random.unit() >= way.loss {
                    self.data.insert((now + way.delay, self.order), (packet.header, packet.bytes));
                }
            }
            if let Some(report) = answer {
                self.reports.insert((now + ms(50), self.order), report);
            }
        }
    }
}

const fn way(delay_ms: u64, loss: f64) -> Service {
    Service { delay: Span::from_millis(delay_ms), loss }
}

/// Both colours have the rate: green, for its smaller delay, with one packet in twenty as a probe; 200 bytes each 20 ms.
#[test]
fn green_is_chosen_if_both_colours_have_the_rate() {
    let mut call = Call::new(AudioConfig::default(), true, 1);
    call.run(120, [way(60, 0.0), way(120, 0.0)]);
    let times = call.source.times(call.now);
    assert_eq!((times.changes, times.hang_ups, times.off), (0, 0, Span::ZERO));
    assert_eq!(times.on, [ms(120_000 - 7), Span::ZERO]);
    let share = call.sent[1] as f64 / (call.sent[0] + call.sent[1]) as f64;
    assert!((share - 0.05).abs() < 0.01, "{share}");
    assert_eq!(call.largest, 200);
    // All packets except those that the first round trip does not allow.
    assert!(call.bytes > 200 * 50 * 119 && call.bytes <= 200 * 50 * 120, "{}", call.bytes);
    assert!((times.codec_bits / 120.0 / 64e3 - 1.0).abs() < 0.01);
}

/// Green loses too much for the least rate; blue does not.
#[test]
fn blue_is_chosen_if_only_blue_has_the_least_rate() {
    let mut call = Call::new(AudioConfig::default(), true, 2);
    call.run(200, [way(60, 0.4), way(120, 0.01)]);
    let times = call.source.times(call.now);
    assert_eq!(call.source.colour(), Some(Colour::Blue));
    assert!(times.on[1] > Span::from_secs(150), "{times:?}");
    assert!(times.changes <= 3, "{times:?}");
    // Then the loss of green ends.
    call.run(400, [way(60, 0.0), way(120, 0.01)]);
    assert_eq!(call.source.colour(), Some(Colour::Green));
}

/// Without the rate in either colour the source hangs up, and calls again after longer and longer pauses.
#[test]
fn the_source_hangs_up_if_neither_colour_has_the_rate() {
    let mut call = Call::new(AudioConfig::default(), true, 3);
    call.run(600, [way(60, 0.5), way(120, 0.4)]);
    let times = call.source.times(call.now);
    assert!(times.off > Span::from_secs(450), "{times:?}");
    assert!((4..=12).contains(&times.hang_ups), "{times:?}");
    // The call resumes when the path has the rate again.
    call.run(1200, [way(60, 0.0), way(120, 0.0)]);
    assert_eq!(call.source.colour(), Some(Colour::Green));
    let later = call.source.times(call.now);
    assert!(later.on[0].saturating_sub(times.on[0]) > Span::from_secs(400), "{later:?}");
}

/// With one codepoint the source can only send green or hang up.
#[test]
fn a_flow_with_one_codepoint_never_sends_blue() {
    let mut call = Call::new(AudioConfig::default(), false, 4);
    call.run(100, [way(60, 0.01), way(120, 0.0)]);
    assert_eq!(call.sent[1], 0);
    assert_eq!(call.source.colour(), Some(Colour::Green));
    let mut call = Call::new(AudioConfig::default(), false, 5);
    call.run(100, [way(60, 0.6), way(120, 0.0)]);
    assert!(call.source.times(call.now).hang_ups > 0);
    assert_eq!(call.sent[1], 0);
}

/// A delay of at least `patience` has no utility at any rate.
#[test]
fn a_delay_above_patience_ends_the_call() {
    let utility = Utility { patience: ms(100), ..AudioConfig::default().utility };
    let config = AudioConfig { utility, ..AudioConfig::default() };
    let mut call = Call::new(config, true, 6);
    call.run(60, [way(120, 0.0), way(90, 0.0)]);
    assert_eq!(call.source.colour(), Some(Colour::Blue));
    let mut call = Call::new(config, true, 7);
    call.run(60, [way(120, 0.0), way(130, 0.0)]);
    assert!(call.source.times(call.now).hang_ups > 0);
}

#[test]
fn a_codec_of_one_rate_sends_while_the_path_has_that_rate() {
    let usual = AudioConfig::default().utility;
    let utility = Utility { least: usual.most, ..usual };
    let mut call = Call::new(AudioConfig { utility, correction: 0.0, ..AudioConfig::default() }, true, 8);
    call.run(100, [way(60, 0.0), way(120, 0.0)]);
    let times = call.source.times(call.now);
    assert_eq!((times.hang_ups, times.changes), (0, 0));
}

#[test]
fn packets_of_an_earlier_call_are_ignored() {
    let mut listener = Listener::new(AudioConfig::default());
    let data = |lane_seq| DataHeader { lane_seq, ..DataHeader::default() };
    let header = |call, number| AudioHeader { call, data: data(number) };
    let now = Time::ZERO + ms(100);
    assert!(listener.on_data(now, &header(1, 0), 200, false).is_some());
    let report = listener.on_data(now, &header(2, 0), 200, false).unwrap();
    assert_eq!((report.call, report.colours[0].expected, report.colours[0].received), (2, 1, 1));
    assert_eq!(listener.on_data(now, &header(1, 5), 200, false), None);
    let report = listener.on_data(now, &header(2, 3), 200, false).unwrap();
    assert_eq!((report.colours[0].expected, report.colours[0].received), (4, 2));
}
