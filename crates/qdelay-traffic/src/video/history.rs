//! Record of sent packets: for matching feedback, and for retransmissions.

use super::feedback::Report;
use super::gcc::PacketResult;
use super::wire::VideoPacket;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Number of video packets kept for retransmission (libwebrtc's packet history).
const KEPT: usize = 1024;
/// Age at which a packet without feedback is removed.
const FORGOTTEN: Span = Span::from_secs(10);

#[derive(Clone, Copy, Debug)]
struct Sent {
    at: Time,
    bytes: u32,
    probe: u32,
    /// Whether feedback has reported the packet as arrived or lost.
    is_told: bool,
    has_come: bool,
}

/// Sent packets of a flow.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// Number of the first packet in `sent`.
    first: u64,
    sent: VecDeque<Sent>,
    /// One past the highest number reported.
    told: u64,
    /// Bytes in flight: sent and not reported.
    in_flight: u64,
    /// Latest video packets, with the time of their last transmission.
    video: VecDeque<(VideoPacket, Time)>,
    results: Vec<PacketResult>,
}

impl History {
    /// Records that `packet` leaves; returns its number in the flow.
    pub fn add(&mut self, now: Time, packet: &VideoPacket, probe: u32) -> u64 {
        while let Some(first) = self.sent.front()
            && (first.is_told || now.since(first.at) > FORGOTTEN)
        {
            if !first.is_told {
                self.in_flight -= u64::from(first.bytes);
            }
            self.sent.pop_front();
            self.first += 1;
        }
        let bytes = packet.bytes();
        self.sent.push_back(Sent { at: now, bytes, probe, is_told: false, has_come: false });
        self.in_flight += u64::from(bytes);
        if packet.is_resent {
            if let Some(kept) = self.find(packet.seq) {
                kept.1 = now;
            }
        } else if !packet.is_padding {
            if self.video.len() == KEPT {
                self.video.pop_front();
            }
            self.video.push_back((*packet, now));
        }
        self.first + self.sent.len() as u64 - 1
    }

    fn find(&mut self, seq: u32) -> Option<&mut (VideoPacket, Time)> {
        let first = self.video.front()?.0.seq;
        self.video.get_mut(seq.checked_sub(first)? as usize)
    }

    /// Video packet `seq` for a retransmission at `now`; `None` if it was sent within the last round trip, or is no longer kept.
    pub fn again(&mut self, now: Time, seq: u32, rtt: Span) -> Option<VideoPacket> {
        let kept = self.find(seq)?;
        if now.since(kept.1) < rtt {
            return None;
        }
        kept.1 = now;
        Some(VideoPacket { is_resent: true, ..kept.0 })
    }

    /// Bytes in flight: sent and not reported.
    pub fn in_flight(&self) -> u64 {
        self.in_flight
    }
    /// Packets sent.
    pub fn count(&self) -> u64 {
        self.first + self.sent.len() as u64
    }

    /// Matches a report with the sent packets; returns the newly reported ones in the order of sending. A packet that has not arrived, with a
    /// number below a reported one, is lost; if it arrives later, it is reported again as arrived.
    pub fn match_report(&mut self, report: &Report) -> &[PacketResult] {
        self.results.clear();
        let Some(&(last, _)) = report.arrivals.last() else { return &self.results };
        let first = report.arrivals[0].0.min(self.told);
        let mut arrivals = report.arrivals.iter().peekable();
        for number in first..=last {
            let arrived = arrivals.next_if(|arrival| arrival.0 == number).map(|arrival| arrival.1);
            let Some(sent) =
                number.checked_sub(self.first).and_then(|index| self.sent.get_mut(index as usize))
            else {
                continue;
            };
            // A duplicate of an arrived packet, or a packet already reported as lost, is skipped.
            if if arrived.is_some() { sent.has_come } else { sent.is_told } {
                continue;
            }
            sent.has_come = arrived.is_some();
            if !core::mem::replace(&mut sent.is_told, true) {
                self.in_flight -= u64::from(sent.bytes);
            }
            self.results.push(PacketResult {
                number,
                sent: sent.at,
                arrived,
                bytes: sent.bytes,
                probe: sent.probe,
            });
        }
        self.told = self.told.max(last + 1);
        &self.results
    }

    /// Packets of the last report.
    pub fn results(&self) -> &[PacketResult] {
        &self.results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_losses_until_the_packet_arrives() {
        let at = |millis| Time::ZERO + Span::from_millis(millis);
        let mut history = History::default();
        for n in 0..6 {
            let packet = VideoPacket { seq: n, payload: 942, ..VideoPacket::default() };
            assert_eq!(history.add(at(u64::from(n)), &packet, 0), u64::from(n));
        }
        assert_eq!(history.in_flight(), 6000);
        let told = |numbers: &[u64]| Report {
            arrivals: numbers.iter().map(|&n| (n, at(100 + n))).collect(),
            ..Report::default()
        };
        let results = history.match_report(&told(&[0, 2]));
        let come: Vec<bool> = results.iter().map(|result| result.arrived.is_some()).collect();
        assert_eq!(come, [true, false, true]);
        assert_eq!(history.in_flight(), 3000);
        // A late packet is reported again, as arrived; the others are not.
        let results = history.match_report(&told(&[1, 3, 5]));
        let numbers: Vec<u64> = results.iter().map(|result| result.number).collect();
        assert_eq!(numbers, [1, 3, 4, 5]);
        assert_eq!(history.in_flight(), 0);
        // Retransmitted once, but not again within a round trip.
        assert_eq!(
            history.again(at(200), 4, at(50).since(Time::ZERO)).map(|packet| packet.is_resent),
            Some(true)
        );
        assert_eq!(history.again(at(220), 4, at(50).since(Time::ZERO)), None);
        assert_eq!(history.again(at(220), 9, Span::ZERO), None);
    }
}
