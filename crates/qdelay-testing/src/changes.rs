//! Distance between the logged times of changes to a path and the packets that show them, in nanoseconds. Knows packets by their times alone.

/// Largest distance between a packet and the time in which its setting was in force: 0 if each packet shows the setting of its own time.
/// `first` is the setting before the changes, which are pairs of time and setting in the order of time; packets are pairs of the time at
/// which they met the setting, and the setting that they show. At the time of a change either setting is right.
pub fn largest_distance(
    first: usize,
    changes: &[(u64, usize)],
    packets: impl IntoIterator<Item = (u64, usize)>,
) -> u64 {
    packets.into_iter().map(|(time, shown)| distance(first, changes, time, shown)).max().unwrap_or(0)
}

fn distance(first: usize, changes: &[(u64, usize)], time: u64, shown: usize) -> u64 {
    let begins = std::iter::once((0, first)).chain(changes.iter().copied());
    let ends = changes.iter().map(|(end, _)| *end).chain([u64::MAX]);
    let periods = begins.zip(ends).filter(|((_, setting), _)| *setting == shown);
    let distances = periods.map(|((begin, _), end)| begin.saturating_sub(time).max(time.saturating_sub(end)));
    distances.min().unwrap_or(u64::MAX)
}

/// The delay that each packet shows, as its place in `delays`: packets are pairs of the times at which they met the delay and left it, in
/// the order in which they met it. A delay keeps the order, so a packet may wait for the one before it.
///
/// # Panics
/// A packet shows none of the delays.
pub fn shown_delays(packets: &[(u64, u64)], delays: &[u64]) -> Vec<(u64, usize)> {
    let mut before = 0;
    let shown = |&(met, left): &(u64, u64)| {
        let own = delays.iter().position(|delay| met + delay == left);
        let waited = || delays.iter().position(|delay| met + delay < left).filter(|_| left == before);
        let place = own.or_else(waited);
        before = left;
        (met, place.unwrap_or_else(|| panic!("a packet met the delay at {met} ns and left at {left} ns")))
    };
    packets.iter().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_on_the_wrong_side_have_a_distance() {
        let changes = [(100, 1), (200, 0)];
        let of = |packet| largest_distance(0, &changes, [packet]);
        assert_eq!([(50, 0), (100, 0), (100, 1), (150, 1), (200, 1), (200, 0), (900, 0)].map(of), [0; 7]);
        assert_eq!([(90, 1), (130, 0), (190, 0), (230, 1), (50, 2)].map(of), [10, 30, 10, 30, u64::MAX]);
        assert_eq!(largest_distance(0, &changes, [(50, 0), (130, 0)]), 30);
        assert_eq!(largest_distance(3, &[], [(50, 3)]), 0);
    }

    #[test]
    fn packets_may_wait_for_those_before_them() {
        let packets = [(0, 50), (10, 60), (20, 60), (59, 60), (61, 61), (70, 120)];
        assert_eq!(shown_delays(&packets, &[0, 50]), [(0, 1), (10, 1), (20, 0), (59, 0), (61, 0), (70, 1)]);
        assert!(std::panic::catch_unwind(|| shown_delays(&[(0, 7)], &[0, 50])).is_err());
    }
}
