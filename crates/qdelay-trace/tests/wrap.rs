//! A schedule's iteration compared with a direct model of mahimahi's `LinkQueue`, which shares no code with
//! it: opportunity `i` of a round falls at the round's base plus `t_i`; after the last one the base moves on
//! by the last `t`, or, without repetition, the link has ended.

use proptest::prelude::*;
use qdelay_trace::mahimahi;

struct LinkQueue {
    schedule: Vec<u64>,
    next_delivery: usize,
    base_timestamp: u64,
    repeat: bool,
    ended: bool,
}

impl LinkQueue {
    fn use_an_opportunity(&mut self) -> Option<u64> {
        if self.ended {
            return None;
        }
        let time = self.schedule[self.next_delivery] + self.base_timestamp;
        self.next_delivery = (self.next_delivery + 1) % self.schedule.len();
        if self.next_delivery == 0 {
            if self.repeat {
                self.base_timestamp += self.schedule[self.schedule.len() - 1];
            } else {
                self.ended = true;
            }
        }
        Some(time)
    }
}

/// Times in order, with several in a millisecond, gaps beyond 16 bits and first times of 0.
fn times() -> impl Strategy<Value = Vec<u64>> {
    let gap = prop_oneof![4 => Just(0_u64), 4 => 1..20_u64, 1 => 60_000..140_000_u64];
    prop::collection::vec(gap, 1..60).prop_map(|gaps| {
        let mut at = 0;
        let mut times: Vec<u64> = gaps.iter().map(|gap| (at += gap, at).1).collect();
        if at == 0 {
            times.push(1);
        }
        times
    })
}

proptest! {
    #[test]
    fn opportunities_fall_at_the_times_of_mahimahi(schedule in times(), repeat: bool) {
        let text: String = schedule.iter().map(|ms| format!("{ms}\n")).collect();
        let parsed = mahimahi::parse(text.as_bytes()).unwrap();
        let mut reference = LinkQueue { schedule, next_delivery: 0, base_timestamp: 0, repeat, ended: false };
        let mut taken = 0;
        for item in parsed.cursor(repeat) {
            for _ in 0..item.count {
                prop_assert_eq!(reference.use_an_opportunity(), Some(item.ms));
            }
            taken += item.count;
            if taken > 500 {
                return Ok(());
            }
        }
        prop_assert!(!repeat);
        prop_assert_eq!(reference.use_an_opportunity(), None);
    }
}
