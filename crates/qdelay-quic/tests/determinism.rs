//! The same seed gives the same packets, with any TLS keys and beside other threads.

use crate::common::{Harm, Pair};
use qdelay_core::{Span, Time};

const END: Time = Time::from_nanos(10_000_000_000);
const HARM: Harm = Harm { lost: 0.01, doubled: 0.01, late: Span::from_millis(5), marked: 0.0 };

fn packets(text: &str, seed: u64) -> Vec<(Time, bool, u32)> {
    let mut pair = Pair::new(text, seed, Span::from_millis(20), HARM);
    pair.run(END);
    assert_eq!(pair.ends.ended(), None);
    pair.link.log
}

/// Index of the first packet in which two runs differ; `None` if they are equal.
fn differs(one: &[(Time, bool, u32)], other: &[(Time, bool, u32)]) -> Option<usize> {
    let first = one.iter().zip(other).position(|(one, other)| one != other);
    first.or_else(|| (one.len() != other.len()).then(|| one.len().min(other.len())))
}

/// TLS takes keys from the operating system: each run has other keys, but the same packets.
#[test]
fn packets_follow_from_the_seed() {
    for control in ["cubic", "newreno", "bbr"] {
        let first = packets(&format!("quic:{control}"), 1);
        assert!(first.len() > 1_000 && first[first.len() - 1].0 > END - Span::from_secs(1), "{control}");
        for _ in 0..4 {
            assert_eq!(differs(&packets(&format!("quic:{control}"), 1), &first), None, "{control}");
            assert_eq!(
                differs(&packets(&format!("quic:{control}:crypto=tls"), 1), &first),
                None,
                "{control} with TLS"
            );
        }
        assert!(
            differs(&packets(&format!("quic:{control}"), 2), &first).is_some(),
            "{control} with another seed"
        );
    }
}

#[test]
fn flows_on_other_threads_change_nothing() {
    let text = "quic:bbr:streams=3:datagrams=500kbit";
    let alone = packets(text, 5);
    let together: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| packets(text, 5))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(together.iter().all(|packets| *packets == alone));
}
