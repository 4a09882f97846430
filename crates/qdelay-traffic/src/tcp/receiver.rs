//! The receiving half of a TCP endpoint: reassembly, acknowledgements, the receive window.
//!
//! RFC 9293, RFC 7323 (timestamps), RFC 3168 (ECN echo); `out_of_order.rs` has the SACK blocks. The time of an
//! acknowledgement follows Linux: at once in quick-ack mode, for every second full segment after that, within the delay
//! otherwise, and compressed while segments are missing.

use super::out_of_order::OutOfOrder;
use super::timer;
use crate::profile::Profile;
use crate::segment::{Segment, expand, flag};
use qdelay_core::{Ecn, Span, Time};

/// Number of duplicate acknowledgements sent before compression begins (Linux `TCP_FASTRETRANS_THRESH`).
const UNCOMPRESSED_DUPLICATES: u32 = 3;
/// Delay of the compression timer (Linux `tcp_comp_sack_slack_ns`: hrtimers use up their slack).
const COMPRESSION_SLACK: Span = Span::from_micros(100);
/// Most acknowledgements held back by compression (Linux `tcp_comp_sack_nr`).
const COMPRESSED_LIMIT: u32 = 44;
/// Largest window that a header can express, bytes: 65535 scaled by 2^14 (RFC 7323 section 2.3).
const LARGEST_WINDOW: u64 = 65_535 << 14;

/// The receiving half.
#[derive(Clone, Debug)]
pub struct Receiver {
    profile: Profile,
    /// Next sequence number expected.
    next: u64,
    /// Value of `next` at the last acknowledgement.
    acked: u64,
    /// Data received above `next`, with its SACK blocks.
    beyond: OutOfOrder,
    /// Timestamp to echo.
    echo: u32,
    quick: u32,
    started: bool,
    last_arrival: Time,
    /// Longest delay of an acknowledgement, adapted to the arrivals.
    delay: Span,
    delayed_until: Option<Time>,
    compressed_until: Option<Time>,
    compressed: u32,
    duplicates_since: (u64, u32),
    must_ack: bool,
    congestion: bool,
    fin_at: Option<u64>,
    buffer: u64,
    slow_start_window: u64,
    right_edge: u64,
    /// Autotuning: `next` and time at the start of the current measurement of a round trip.
    tuning: (u64, Time),
    /// Bytes that arrived in the previous round trip.
    arrived_before: u64,
    round_trip: Span,
    /// Round trip of this side's own segments, which in a one-way transfer is that of the handshake (Linux `srtt_us`).
    handshake: Span,
    last_echoed: u32,
    /// Segments received whose bytes had all arrived before.
    duplicates: u64,
}

/// Initial receive window, bytes: half the buffer in Linux, at most 64 kB elsewhere.
fn initial_window(profile: &Profile) -> u64 {
    if profile.eager_acks { profile.receive_buffer / 2 } else { profile.receive_buffer.min(65_535) }
}

/// Window of a receive buffer, bytes: the buffer less the bookkeeping of segments (Linux `scaling_ratio`: a full segment occupies about
/// 2288 bytes), but at most what a header can express.
pub fn window_of(buffer: u64) -> u64 {
    (buffer / 256 * 162).min(LARGEST_WINDOW)
}

/// Action of the endpoint on an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No acknowledgement now; a timer may be running.
    Wait,
    /// Send an acknowledgement now.
    Acknowledge,
}

impl Receiver {
    /// A receiver whose peer's first data byte will be `irs` + 1.
    pub fn new(profile: Profile, irs: u64) -> Receiver {
        let mut receiver = Receiver {
            next: irs + 1,
            acked: irs + 1,
            beyond: OutOfOrder::default(),
            echo: 0,
            quick: 0,
            started: false,
            last_arrival: Time::ZERO,
            delay: profile.delayed_ack,
            delayed_until: None,
            compressed_until: None,
            compressed: 0,
            duplicates_since: (0, 0),
            must_ack: false,
            congestion: false,
            fin_at: None,
            buffer: profile.receive_buffer,
            slow_start_window: initial_window(&profile),
            right_edge: irs + 1,
            tuning: (irs + 1, Time::ZERO),
            arrived_before: 0,
            round_trip: Span::ZERO,
            handshake: Span::ZERO,
            last_echoed: 0,
            duplicates: 0,
            profile,
        };
        receiver.update_window();
        // At most the first window, because the first round trip cannot deliver more (Linux `tcp_init_buffer_space`).
        let first_window = receiver.right_edge - receiver.next;
        receiver.arrived_before = first_window.min(10 * u64::from(profile.mss));
        receiver
    }

    /// Next sequence number expected; everything below was handed to the application.
    pub fn next(&self) -> u64 {
        self.next
    }
    /// Whether the peer's FIN and everything before it has arrived.
    pub fn is_finished(&self) -> bool {
        self.fin_at.is_some_and(|at| self.next > at)
    }
    /// Segments received whose bytes had all arrived before.
    pub fn duplicates(&self) -> u64 {
        self.duplicates
    }
    /// Sets the round trip of the handshake.
    pub fn set_round_trip(&mut self, rtt: Span) {
        self.round_trip = rtt;
        self.handshake = rtt;
    }

    /// Processes a segment without data, whose timestamp is the next to echo.
    pub fn on_bare_segment(&mut self, segment: &Segment) {
        self.note_timestamp(expand(segment.seq, self.next), segment);
    }

    /// Sets the timestamp to echo: that of the last segment that advanced the acknowledgement; it never decreases (RFC 7323 section 4.3).
    fn note_timestamp(&mut self, start: u64, segment: &Segment) {
        let newer = segment.ts_value.wrapping_sub(self.echo) as i32 >= 0;
        if start <= self.acked && newer {
            self.echo = segment.ts_value;
        }
    }

    /// Whether an acknowledgement now would carry SACK blocks, which data segments do not.
    pub fn has_blocks(&self) -> bool {
        self.beyond.has_blocks()
    }

    /// Measures the round trip by the timestamp that a full segment echoes (Linux `tcp_rcv_rtt_measure_ts`).
    fn measure_round_trip(&mut self, now: Time, segment: &Segment) {
        if u32::from(segment.len) < self.profile.mss || segment.ts_echo == self.last_echoed {
            return;
        }
        self.last_echoed = segment.ts_echo;
        let micros = ((now.as_nanos() / 1000) as u32).wrapping_sub(segment.ts_echo);
        let sample = Span::from_micros(u64::from(micros));
        // A shorter sample is adopted at once (Linux `tcp_rcv_rtt_update`).
        if self.round_trip.is_zero() || sample < self.round_trip {
            self.round_trip = sample;
        } else {
            self.round_trip = self.round_trip - self.round_trip / 8 + sample / 8;
        }
    }

    /// Time at which [`Receiver::on_deadline`] is due.
    pub fn next_deadline(&self) -> Time {
        let never = Time::NEVER;
        self.delayed_until.unwrap_or(never).min(self.compressed_until.unwrap_or(never))
    }

    /// Requests the held-back acknowledgement if it is due.
    pub fn on_deadline(&mut self, now: Time) -> Answer {
        let due = self.next_deadline() <= now;
        if due { Answer::Acknowledge } else { Answer::Wait }
    }

    /// Processes a segment with data or FIN. If a held-back acknowledgement must leave before this segment is reported, `release` sends it
    /// ([`Receiver::fill`]).
    pub fn on_data(
        &mut self,
        now: Time,
        segment: &Segment,
        ecn: Ecn,
        release: impl FnOnce(&mut Receiver),
    ) -> Answer {
        let start = expand(segment.seq, self.next);
        let mut end = start + u64::from(segment.len);
        if segment.has(flag::FIN) {
            self.fin_at = Some(end);
            end += 1;
        }
        self.note_congestion(segment, ecn);
        self.note_arrival(now);
        self.note_timestamp(start, segment);
        self.measure_round_trip(now, segment);
        if end <= self.next {
            if self.profile.sack {
                self.beyond.report_duplicate(start, end);
            }
            self.duplicates += 1;
            self.quick = self.profile.quick_acks;
            return self.acknowledge_now();
        }
        if start > self.next && !self.profile.sack {
            let (_, is_duplicate) = self.beyond.store_unreported(start, end);
            self.duplicates += u64::from(is_duplicate);
            self.update_window();
            return self.acknowledge_now();
        }
        if start > self.next {
            self.grow_window();
            let (whole, is_duplicate) = self.beyond.store(start, end);
            self.duplicates += u64::from(is_duplicate);
            if self.compressed > 0 && !self.beyond.is_reported_later(start, end) {
                release(self);
            }
            self.beyond.store_block(whole);
            self.update_window();
            return self.answer(now);
        }
        let had_gap = !self.beyond.is_empty();
        self.next = end;
        if had_gap {
            self.next = self.beyond.absorb(self.next);
            // The segment that closes the last gap is acknowledged at once.
            self.must_ack |= self.beyond.is_empty();
        }
        self.tune_buffer(now);
        self.update_window();
        // A burst's last segment is acknowledged at once if the application has read everything (Linux `tcp_cleanup_rbuf`,
        // `ICSK_ACK_PUSHED`).
        let pushed = self.profile.eager_acks && segment.has(flag::PSH) && self.beyond.is_empty();
        if self.is_finished() || pushed {
            return self.acknowledge_now();
        }
        self.answer(now)
    }

    /// Echoes a congestion mark until the sender signals a reduction by CWR (RFC 3168 section 6.1.3).
    fn note_congestion(&mut self, segment: &Segment, ecn: Ecn) {
        if !self.profile.ecn {
            return;
        }
        if segment.has(flag::CWR) {
            self.congestion = false;
        }
        if ecn == Ecn::Ce {
            self.congestion = true;
            self.quick = self.quick.max(2);
        }
    }

    /// Adapts the delay to the spacing of arrivals (Linux `tcp_event_data_recv`).
    fn note_arrival(&mut self, now: Time) {
        let least = self.profile.delayed_ack;
        if !self.started {
            self.started = true;
            self.quick = self.profile.quick_acks;
            self.delay = least;
        } else {
            let gap = now.since(self.last_arrival);
            if gap <= least / 2 {
                self.delay = self.delay / 2 + least / 2;
            } else if gap < self.delay {
                self.delay = self.delay / 2 + gap;
            }
        }
        self.last_arrival = now;
    }

    fn acknowledge_now(&mut self) -> Answer {
        self.must_ack = true;
        Answer::Acknowledge
    }

    fn answer(&mut self, now: Time) -> Answer {
        let held = self.next - self.acked;
        let full = u64::from(self.profile.ack_every.saturating_sub(1)) * u64::from(self.profile.mss);
        if held > full || self.quick > 0 || self.must_ack {
            return self.acknowledge_now();
        }
        if self.beyond.is_empty() {
            self.delay_ack(now);
            return Answer::Wait;
        }
        self.compress(now)
    }

    fn delay_ack(&mut self, now: Time) {
        let wanted =
            timer::deadline(now, self.delay.max(self.profile.delayed_ack.min(self.delay)), self.profile.tick);
        self.delayed_until = Some(self.delayed_until.map_or(wanted, |at| at.min(wanted)));
    }

    /// Answers an arrival while segments are missing: the first three are acknowledged at once, later ones at most every twentieth of a round trip.
    fn compress(&mut self, now: Time) -> Answer {
        if self.profile.sack_compression.is_zero() || self.compressed >= COMPRESSED_LIMIT {
            return self.acknowledge_now();
        }
        if self.duplicates_since.0 != self.next {
            self.duplicates_since = (self.next, 0);
        }
        if self.duplicates_since.1 < UNCOMPRESSED_DUPLICATES {
            self.duplicates_since.1 += 1;
            return self.acknowledge_now();
        }
        self.compressed += 1;
        if self.compressed_until.is_none() {
            let twentieth = self.round_trip.min(self.handshake) / 20;
            self.compressed_until =
                Some(now + twentieth.min(self.profile.sack_compression) + COMPRESSION_SLACK);
        }
        Answer::Wait
    }

    /// Slow start of the receive window (Linux `tcp_grow_window`): while the window grows, every segment is acknowledged at once.
    fn grow_window(&mut self) {
        let grown = (self.slow_start_window + 2 * u64::from(self.profile.mss)).min(self.capacity());
        if grown > self.slow_start_window {
            self.slow_start_window = grown;
            self.quick |= u32::from(self.profile.eager_acks);
        }
    }

    fn capacity(&self) -> u64 {
        window_of(self.buffer)
    }

    /// Dynamic right-sizing of the buffer (Linux `tcp_rcv_space_adjust`): room for twice the bytes of the last round trip; and slow start of the
    /// window (`tcp_grow_window`).
    fn tune_buffer(&mut self, now: Time) {
        self.grow_window();
        if self.buffer >= self.profile.receive_buffer_max {
            return;
        }
        if now.since(self.tuning.1) < self.round_trip || self.round_trip.is_zero() {
            return;
        }
        let arrived = self.next - self.tuning.0;
        if arrived <= self.arrived_before {
            self.tuning = (self.next, now);
            return;
        }
        let before = core::mem::replace(&mut self.arrived_before, arrived).max(1);
        let mut window = 2 * arrived + 16 * u64::from(self.profile.mss);
        // Room for the growth of a sender in slow start until this window arrives.
        window += 2 * (window * arrived.saturating_sub(before) / before);
        self.buffer = self.buffer.max(2 * window).min(self.profile.receive_buffer_max);
        self.tuning = (self.next, now);
    }

    /// Writes acknowledgement number, window, echo and SACK blocks into `segment`; the acknowledgement counts as sent.
    pub fn fill(&mut self, segment: &mut Segment) {
        self.fill_header(segment);
        self.beyond.write_option(segment);
        self.quick = self.quick.saturating_sub(1);
        self.sent();
    }

    /// Writes the fields that every segment carries: acknowledgement number, window, echo, flags.
    #[inline]
    pub fn fill_header(&self, segment: &mut Segment) {
        segment.ack = self.next as u32;
        segment.window = (self.right_edge - self.next).min(u64::from(u32::MAX)) as u32;
        segment.ts_echo = self.echo;
        segment.flags |= flag::ACK;
        if self.congestion {
            segment.flags |= flag::ECE;
        }
    }

    /// Records that an acknowledgement has left, alone or with data.
    pub fn sent(&mut self) {
        self.acked = self.next;
        self.must_ack = false;
        self.delayed_until = None;
        self.compressed_until = None;
        self.compressed = 0;
    }

    /// Updates the offered window after an arrival. The application reads at once, so only data above a gap takes room. The right edge
    /// never moves back (RFC 9293 section 3.8.6).
    #[inline]
    fn update_window(&mut self) {
        let room = self.capacity().saturating_sub(self.beyond.bytes()).min(self.slow_start_window);
        self.right_edge = self.right_edge.max(self.next + room);
        debug_assert!(
            self.acked <= self.next && self.next <= self.right_edge,
            "the window has its edges reversed"
        );
    }

    /// Sets the first timestamp to echo, that of the peer's SYN.
    pub fn set_echo(&mut self, value: u32) {
        self.echo = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn segment(seq: u64, len: u16) -> Segment {
        Segment { seq: seq as u32, len, ts_value: seq as u32, flags: flag::ACK, ..Segment::default() }
    }

    fn receiver(quick_acks: u32) -> Receiver {
        Receiver::new(Profile { quick_acks, eager_acks: false, ..Profile::linux() }, 0)
    }

    fn arrive(r: &mut Receiver, ms: u64, seq: u64, len: u16) -> Option<Segment> {
        let now = Time::ZERO + Span::from_millis(ms);
        (r.on_data(now, &segment(seq, len), Ecn::NotEct, |_| ()) == Answer::Acknowledge).then(|| {
            let mut ack = Segment::default();
            r.fill(&mut ack);
            ack
        })
    }

    #[test]
    fn every_second_full_segment_is_acknowledged() {
        let mut r = receiver(0);
        assert!(arrive(&mut r, 1, 1, 1448).is_none());
        assert_eq!(arrive(&mut r, 2, 1449, 1448).unwrap().ack, 2897);
        assert!(arrive(&mut r, 3, 2897, 1448).is_none());
        let at = r.next_deadline();
        assert!(at >= Time::ZERO + Span::from_millis(43) && at <= Time::ZERO + Span::from_millis(52));
        assert_eq!(r.on_deadline(at), Answer::Acknowledge);
    }

    #[test]
    fn the_first_segments_are_acknowledged_at_once() {
        let mut r = receiver(16);
        let acks = (0..40).filter(|i| arrive(&mut r, *i, 1 + i * 1448, 1448).is_some()).count();
        assert_eq!(acks, 16 + 12);
    }

    #[test]
    fn segments_are_acknowledged_at_once_while_the_window_grows_and_after_a_push() {
        let linux =
            Profile { quick_acks: 0, receive_buffer: 8192, receive_buffer_max: 8192, ..Profile::linux() };
        let mut r = Receiver::new(linux, 0);
        // The window grows from 4096 to 5022 bytes in one step.
        let acks: Vec<bool> = (0..4).map(|i| arrive(&mut r, i, 1 + i * 1448, 1448).is_some()).collect();
        assert_eq!(acks, [true, false, true, false]);
        let push = Segment { flags: flag::ACK | flag::PSH, ..segment(5793, 1448) };
        r.sent();
        assert_eq!(r.on_data(Time::ZERO, &push, Ecn::NotEct, |_| ()), Answer::Acknowledge);
    }

    #[test]
    fn blocks_are_most_recent_first_and_vanish_when_filled() {
        let mut r = receiver(0);
        arrive(&mut r, 1, 1, 100);
        let ack = arrive(&mut r, 2, 201, 100).unwrap();
        assert_eq!((ack.ack, ack.sack_blocks()), (101, &[(201, 301)][..]));
        let ack = arrive(&mut r, 3, 401, 100).unwrap();
        assert_eq!(ack.sack_blocks(), &[(401, 501), (201, 301)]);
        let ack = arrive(&mut r, 4, 301, 100).unwrap();
        assert_eq!(ack.sack_blocks(), &[(201, 501)]);
        let ack = arrive(&mut r, 5, 101, 100).unwrap();
        assert_eq!((ack.ack, ack.sack_blocks()), (501, &[][..]), "at once, as the last gap is closed");
    }

    #[test]
    fn a_duplicate_is_reported_and_acknowledged_at_once() {
        let mut r = receiver(16);
        arrive(&mut r, 1, 1, 100);
        let ack = arrive(&mut r, 2, 1, 100).unwrap();
        assert_eq!((ack.ack, ack.sack_blocks()), (101, &[(1, 101)][..]));
    }

    #[test]
    fn compression_begins_after_three_duplicates() {
        let mut r = receiver(0);
        r.set_round_trip(Span::from_millis(40));
        arrive(&mut r, 1, 1, 100);
        let acks: Vec<bool> = (0..6).map(|i| arrive(&mut r, 2, 1001 + i * 100, 100).is_some()).collect();
        assert_eq!(acks, [true, true, true, false, false, false]);
        assert_eq!(r.next_deadline(), Time::ZERO + Span::from_micros(3100));
    }

    /// A held-back acknowledgement leaves before one of its blocks would become the third or a later one: every range is reported, for any order
    /// of arrivals.
    #[test]
    fn sack_compression_reports_every_range() {
        let mut random = qdelay_core::Random::derive(1, "receiver", "sack");
        for _ in 0..200 {
            let mut r = receiver(0);
            r.set_round_trip(Span::from_millis(40));
            arrive(&mut r, 1, 1, 100);
            let (mut reported, mut arrived) = (Vec::new(), Vec::new());
            for _ in 0..60 {
                // Ranges around five holes, in any order.
                let seq = 1001 + 400 * random.below(20);
                arrived.push(seq);
                let mut acks = Vec::new();
                let collect = |r: &mut Receiver, acks: &mut Vec<Segment>| {
                    let mut ack = Segment::default();
                    r.fill(&mut ack);
                    acks.push(ack);
                };
                let now = Time::ZERO + Span::from_millis(2);
                let answer = r.on_data(now, &segment(seq, 200), Ecn::NotEct, |r| collect(r, &mut acks));
                if answer == Answer::Acknowledge {
                    collect(&mut r, &mut acks);
                }
                reported.extend(acks.iter().flat_map(|ack| ack.sack_blocks().to_vec()));
            }
            let mut last = Segment::default();
            r.fill(&mut last);
            reported.extend(last.sack_blocks().iter().copied());
            for seq in arrived {
                let start = seq as u32;
                assert!(reported.iter().any(|block| block.0 <= start && start + 200 <= block.1), "{seq}");
            }
        }
    }

    #[test]
    fn jumbo_receive_window_grows_from_the_first_round_trip_on() {
        let mut r = Receiver::new(Profile { mss: 8948, ..Profile::linux() }, 0);
        r.set_round_trip(Span::from_millis(40));
        let window = |r: &Receiver| {
            let mut segment = Segment::default();
            r.fill_header(&mut segment);
            segment.window
        };
        let first = window(&r);
        for round in 0..4 {
            let (start, room) = (r.next(), u64::from(window(&r)));
            for seq in (start..start + room - 8948).step_by(8948) {
                arrive(&mut r, 40 * (round + 1), seq, 8948);
            }
        }
        assert!(window(&r) > 2 * first, "{first} {}", window(&r));
    }

    #[test]
    fn the_window_is_at_most_a_gibibyte() {
        let profile =
            Profile { receive_buffer: u64::MAX / 4, receive_buffer_max: u64::MAX / 4, ..Profile::linux() };
        let mut segment = Segment::default();
        Receiver::new(profile, 0).fill_header(&mut segment);
        assert_eq!(segment.window, 65_535 << 14);
    }

    #[test]
    fn a_fin_is_acknowledged_at_once_and_takes_a_number() {
        let mut r = receiver(0);
        let mut fin = segment(1, 100);
        fin.flags |= flag::FIN;
        assert_eq!(r.on_data(Time::ZERO, &fin, Ecn::NotEct, |_| ()), Answer::Acknowledge);
        assert!(r.is_finished() && r.next() == 102);
    }
}
