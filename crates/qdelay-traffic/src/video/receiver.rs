//! The receiver of a call, which assembles frames, decodes them in order, requests missing packets, and reports arrivals.
//!
//! A frame is decoded when it is complete and the frame before was decoded; a key frame is decoded when it is complete. If a packet was given up,
//! or no frame was decoded for 3 s, the receiver requests a key frame, and repeats the request each 200 ms until a key frame is complete.
//!
//! Source: RFC 4585 section 6.3.1 (picture loss indication); times are libwebrtc's.

use super::feedback::{Recorder, Report};
use super::frames::Ledger;
use super::nack::{Arrived, Nack};
use super::wire::VideoPacket;
use alloc::collections::VecDeque;
use qdelay_core::{Span, Time};

/// Time without a decoded frame after which a key frame is requested.
const PATIENCE: Span = Span::from_secs(3);
/// Interval between requests for a key frame.
const KEY_APART: Span = Span::from_millis(200);
/// Time without packets after which no key frame is requested.
const SILENCE: Span = Span::from_secs(1);
/// Most frames assembled at the same time.
const FRAMES: u32 = 1 << 12;
/// Assumed round trip before the first sample (libwebrtc).
const RTT: Span = Span::from_millis(100);

#[derive(Clone, Copy, Debug, Default)]
struct Partial {
    count: u16,
    come: u16,
    is_key: bool,
    /// Lowest sequence number of the frame's packets received so far.
    seq: u32,
}

impl Partial {
    fn is_complete(&self) -> bool {
        self.count > 0 && self.come == self.count
    }
}

/// The state of a receiver.
#[derive(Clone, Debug)]
pub struct Receiver {
    recorder: Recorder,
    nack: Nack,
    /// Frames from the next one to decode on.
    frames: VecDeque<Partial>,
    next: u32,
    /// Whether the frame before the next one was not decoded.
    is_broken: bool,
    decoded: Time,
    heard: Time,
    key_due: Time,
    key_requests: u64,
    rtt: Span,
}

impl Receiver {
    /// A receiver with feedback each `interval`. `asks`: missing packets are requested; otherwise a key frame is requested at once.
    pub fn new(interval: Span, asks: bool, start: Time) -> Receiver {
        Receiver {
            recorder: Recorder::new(interval),
            nack: Nack::new(asks),
            frames: VecDeque::new(),
            next: 0,
            is_broken: false,
            decoded: start,
            heard: start,
            key_due: start,
            key_requests: 0,
            rtt: RTT,
        }
    }

    /// Number of key frames requested.
    pub fn key_requests(&self) -> u64 {
        self.key_requests
    }

    /// Processes packet `number` of the flow.
    pub fn on_packet(
        &mut self,
        now: Time,
        packet: &VideoPacket,
        number: u64,
        is_marked: bool,
        ledger: &mut Ledger,
    ) {
        self.heard = now;
        self.recorder.add(now, number, is_marked);
        if !packet.rtt.is_zero() {
            self.rtt = packet.rtt;
        }
        if packet.is_padding || self.nack.add(now, packet.seq) == Arrived::Old {
            return;
        }
        self.is_broken |= self.nack.take_given_up();
        let Some(index) = packet.frame.checked_sub(self.next).filter(|&index| index < FRAMES) else { return };
        while self.frames.len() <= index as usize {
            self.frames.push_back(Partial { seq: u32::MAX, ..Partial::default() });
        }
        let frame = &mut self.frames[index as usize];
        (frame.count, frame.is_key) = (packet.count, packet.is_key);
        (frame.come, frame.seq) = (frame.come + 1, frame.seq.min(packet.seq));
        if frame.is_complete() {
            ledger.complete(packet.frame, now);
            self.decode(now, ledger);
        }
    }

    fn decode(&mut self, now: Time, ledger: &mut Ledger) {
        // A key frame behind an undecodable frame can be decoded.
        let is_next =
            self.frames.front().is_some_and(|next| next.is_complete() && (next.is_key || !self.is_broken));
        if !is_next {
            let Some(index) = self.frames.iter().position(|frame| frame.is_key && frame.is_complete()) else {
                return;
            };
            self.nack.forget(self.frames[index].seq);
            self.frames.drain(..index);
            self.next += index as u32;
        }
        while let Some(frame) = self.frames.front()
            && frame.is_complete()
            && (frame.is_key || !self.is_broken)
        {
            self.is_broken = false;
            ledger.decoded(self.next, now);
            self.frames.pop_front();
            (self.next, self.decoded) = (self.next + 1, now);
        }
    }

    /// Time at which [`Receiver::poll`] is due.
    pub fn next_deadline(&self) -> Time {
        self.recorder.next_deadline().min(self.nack.next_deadline()).min(self.key_deadline())
    }

    /// Time of the next request for a key frame; [`Time::NEVER`] if none is needed or no packets arrive.
    fn key_deadline(&self) -> Time {
        let due = match (self.is_broken, self.frames.is_empty()) {
            (true, _) => self.key_due,
            (false, false) => self.key_due.max(self.decoded + PATIENCE),
            (false, true) => Time::NEVER,
        };
        if due == Time::NEVER || due.since(self.heard) > SILENCE { Time::NEVER } else { due }
    }

    /// Puts the feedback and requests that are due into `report`.
    pub fn poll(&mut self, now: Time, report: &mut Report) {
        report.clear();
        self.recorder.poll(now, report);
        if now >= self.nack.next_deadline() {
            self.nack.poll(now, self.rtt, &mut report.missing);
            self.is_broken |= self.nack.take_given_up();
        }
        if now >= self.key_deadline() {
            report.wants_key = true;
            self.key_requests += 1;
            self.key_due = now + KEY_APART.max(self.rtt);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time_ms(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    /// Runs frames of two packets each 33 ms. The packets `lost` do not arrive; frame `key` is a key frame.
    fn run(asks: bool, lost: &[u32], key: u32) -> (Receiver, Ledger) {
        let (mut receiver, mut ledger) =
            (Receiver::new(Span::from_millis(50), asks, time_ms(0)), Ledger::default());
        for frame in 0..10 {
            ledger.captured(time_ms(33 * u64::from(frame)), 2000, 0, 1e6);
            for packet in 0..2 {
                let seq = 2 * frame + packet;
                let is_key = frame == 0 || frame == key;
                let packet =
                    VideoPacket { seq, frame, count: 2, payload: 1000, is_key, ..VideoPacket::default() };
                if !lost.contains(&seq) {
                    receiver.on_packet(
                        time_ms(33 * u64::from(frame) + 10),
                        &packet,
                        u64::from(seq),
                        false,
                        &mut ledger,
                    );
                }
            }
        }
        (receiver, ledger)
    }

    #[test]
    fn a_lost_packet_stops_decoding_until_a_key_frame() {
        let decoded = |(_, ledger): (Receiver, Ledger)| {
            ledger.frames().iter().filter(|frame| frame.decoded != Time::NEVER).count()
        };
        assert_eq!(decoded(run(true, &[], 99)), 10);
        assert_eq!(decoded(run(true, &[7], 99)), 3);
        // Decoding resumes with the key frame.
        assert_eq!(decoded(run(true, &[7], 6)), 3 + 4);
        assert_eq!(decoded(run(false, &[7], 6)), 3 + 4);
    }

    #[test]
    fn a_gap_causes_a_request_for_packets_or_for_a_key_frame() {
        let mut report = Report::default();
        let (mut receiver, mut ledger) = run(true, &[7], 99);
        receiver.poll(time_ms(350), &mut report);
        assert_eq!((report.missing.as_slice(), report.wants_key), (&[7][..], false));
        let again = VideoPacket { seq: 7, frame: 3, count: 2, is_resent: true, ..VideoPacket::default() };
        receiver.on_packet(time_ms(360), &again, 20, false, &mut ledger);
        assert!(ledger.frames().iter().all(|frame| frame.decoded <= time_ms(360)));
        let (mut receiver, _) = run(false, &[7], 99);
        receiver.poll(time_ms(350), &mut report);
        assert_eq!((report.missing.len(), report.wants_key, receiver.key_requests()), (0, true, 1));
        receiver.poll(time_ms(400), &mut report);
        assert!(!report.wants_key);
        receiver.poll(time_ms(550), &mut report);
        assert!(report.wants_key);
    }
}
