//! Comparison of the recorded queue with ours.

use super::play::Played;
use super::recording::Recording;
use qdelay_core::Time;
use qdelay_study::results::round;
use serde::Serialize;

/// Agreement of two queues.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Agreement {
    /// Number of arrivals.
    pub packets: u64,
    /// Number of departures.
    pub departures: u64,
    /// Number of departures at which ours released the same packet.
    pub equal: u64,
    /// Number of departures in the longest run of equal ones.
    pub longest: u64,
    /// Number of runs of departures that differ.
    pub stretches: u64,
    /// Packets dropped by the recorded queue, by ours, and by both.
    pub drops: [u64; 3],
    /// First decision that differs.
    pub first: Option<String>,
}

impl Agreement {
    pub fn between(recording: &Recording, ours: &Played) -> Agreement {
        let mut agreement = Agreement {
            packets: recording.packets.len() as u64,
            departures: recording.departures.len() as u64,
            first: first(recording, ours).map(|(_, text)| text),
            ..Agreement::default()
        };
        let (mut run, mut differs) = (0, false);
        for (expected, gave) in recording.departures.iter().zip(&ours.gave) {
            let is_equal = *gave == Some(*expected);
            agreement.equal += u64::from(is_equal);
            agreement.stretches += u64::from(!is_equal && !differs);
            differs = !is_equal;
            run = if is_equal { run + 1 } else { 0 };
            agreement.longest = agreement.longest.max(run);
        }
        for (row, dropped) in recording.packets.iter().zip(&ours.dropped) {
            let both = [row.is_dropped(), dropped.is_some(), row.is_dropped() && dropped.is_some()];
            for (count, is_one) in agreement.drops.iter_mut().zip(both) {
                *count += u64::from(is_one);
            }
        }
        agreement
    }

    /// Share of equal departures, 0 to 1.
    pub fn share(&self) -> f64 {
        round(self.equal as f64 / self.departures.max(1) as f64)
    }

    pub fn is_whole(&self) -> bool {
        let [theirs, ours, both] = self.drops;
        self.equal == self.departures && theirs == both && ours == both
    }
}

/// First difference: time, and the decision of each queue.
fn first(recording: &Recording, ours: &Played) -> Option<(Time, String)> {
    let departures = recording.departures.iter().zip(&ours.gave);
    let departure = departures.enumerate().find(|(_, (expected, gave))| **gave != Some(**expected));
    let departure = departure.map(|(number, (expected, gave))| {
        let now = recording.left_at(*expected);
        let what = |place: usize| format!("packet {place} after {:.4} ms", recording.sojourn_ms(place, now));
        let gave = gave.map_or("none".to_string(), what);
        (now, format!("departure {number}: expected {}, ours gave {gave}", what(*expected)))
    });
    let fates =
        recording.packets.iter().zip(&ours.dropped).enumerate().filter_map(|(place, (row, dropped))| {
            let (now, what) = match (row.is_dropped(), dropped) {
                (true, None) => (row.ended, "only the recorded queue"),
                (false, Some(at)) => (*at, "only ours"),
                _ => return None,
            };
            let sojourn = recording.sojourn_ms(place, now);
            Some((now, format!("packet {place}, dropped by {what} after {sojourn:.4} ms")))
        });
    let fate = fates.min_by_key(|(now, _)| *now);
    // A drop precedes the departure of the same time.
    let (now, text) = fate.into_iter().chain(departure).min_by_key(|(now, _)| *now)?;
    Some((now, format!("{:.6} s: {text}", now.as_secs_f64())))
}

#[cfg(test)]
mod tests {
    use super::super::play::{Shift, play};
    use super::super::recording::made::{dropped, packet};
    use super::*;
    use qdelay_core::Span;
    use qdelay_core::qdisc::AnyQdisc;

    fn agreement(rows: Vec<super::super::recording::Recorded>, qdisc: &str) -> Agreement {
        let recording = Recording::new(rows);
        let played = play(&recording, AnyQdisc::parse(qdisc).unwrap(), Shift::default());
        Agreement::between(&recording, &played)
    }

    #[test]
    fn equal_decisions() {
        // In a queue of two packets, the third finds it full, and the fourth has room again.
        let rows = vec![
            packet(0, 10, Some(20)),
            packet(0, 11, Some(30)),
            packet(0, 12, None),
            packet(0, 25, Some(40)),
        ];
        let agreement = agreement(rows, "taildrop:limit=2");
        assert_eq!((agreement.packets, agreement.departures, agreement.equal), (4, 3, 3));
        assert_eq!((agreement.drops, agreement.longest, agreement.stretches), ([1, 1, 1], 3, 0));
        assert!(agreement.is_whole() && agreement.first.is_none());
    }

    #[test]
    fn one_other_decision_and_what_follows_from_it() {
        // The kernel dropped the second packet; ours sends it, and is late by one packet from then on.
        let rows = vec![
            packet(0, 10, Some(20)),
            dropped(0, 11, 30),
            packet(0, 12, Some(30)),
            packet(0, 13, Some(40)),
            packet(0, 14, Some(50)),
        ];
        let agreement = agreement(rows, "taildrop");
        assert_eq!(
            (agreement.departures, agreement.equal, agreement.longest, agreement.stretches),
            (4, 1, 1, 1)
        );
        assert_eq!(agreement.drops, [1, 0, 0]);
        assert_eq!(
            agreement.first.as_deref(),
            Some("0.000030 s: packet 1, dropped by only the recorded queue after 0.0190 ms")
        );
    }

    #[test]
    fn a_shift_moves_an_arrival_behind_a_departure() {
        // The third packet comes just before the first leaves; the queue of two was full then.
        let rows = vec![packet(0, 10, Some(20)), packet(0, 11, Some(30)), packet(0, 19, Some(40))];
        let recording = Recording::new(rows);
        let at = |micros: u64| {
            let shift = Shift { arrivals: Span::from_micros(micros), ..Shift::default() };
            Agreement::between(
                &recording,
                &play(&recording, AnyQdisc::parse("taildrop:limit=2").unwrap(), shift),
            )
        };
        assert_eq!((at(0).equal, at(0).drops), (2, [0, 1, 0]));
        assert!(at(2).is_whole());
    }
}
