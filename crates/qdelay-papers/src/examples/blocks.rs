//! Resource blocks that a slice may get (5G QoS thesis, section 4.4).

use qdelay_ran::slice::{Eqp, Head, Queues, RbgCapacity, Share, SliceSetting, Slices, Tti};

/// Bytes that a resource block carries at MCS 28, as section 4.4 has them.
const BLOCK_BYTES: u32 = 88;

/// Two bearers in two slices, of which one at a time has packets of a group each without end.
struct Busy {
    which: usize,
    ends: Vec<u32>,
}

impl Queues for Busy {
    fn count(&self) -> usize {
        2
    }
    fn drb(&self, queue: usize) -> usize {
        queue
    }
    fn channel(&self, _: usize) -> usize {
        0
    }
    fn head(&self, queue: usize) -> Head<'_> {
        Head { ends: if queue == self.which { &self.ends } else { &[] }, sent: 0 }
    }
    fn backlog_bytes(&self, queue: usize) -> u64 {
        if queue == self.which { 1_000_000 } else { 0 }
    }
}

/// Section 4.4: 24 resource blocks in a TTI of 1 ms, two slices of 50%, a limit of 100. A slice that was idle for a second and then
/// has packets without end, while the other has none: by how much what it gets in a second exceeds the share, over the share.
pub(super) fn deviation() -> Vec<(String, f64)> {
    const TTIS: u32 = 1000;
    const SHARE: u32 = 12;
    let Ok(share) = Share::from_percent(50) else { return Vec::new() };
    let settings = [SliceSetting { share, drbs: &[0] }, SliceSetting { share, drbs: &[1] }];
    let Ok(slices) = Slices::new(&settings, 2) else { return Vec::new() };
    let Ok(mut law) = Eqp::new(slices, 100, 2) else { return Vec::new() };
    let channels = [RbgCapacity::new(12, |groups| u32::from(groups) * 2 * BLOCK_BYTES)];
    let mut queues = Busy { which: 1, ends: (1..=12).map(|packet| packet * 2 * BLOCK_BYTES).collect() };
    let mut got = 0;
    for tti in 0..2 * TTIS {
        queues.which = usize::from(tti < TTIS);
        let grants = law.decide(Tti { rbs: 2 * SHARE, first: 0 }, &channels, &queues).unwrap_or_default();
        if tti >= TTIS {
            got += grants
                .iter()
                .filter(|grant| grant.queue == 0)
                .map(|grant| u32::from(grant.groups) * 2)
                .sum::<u32>();
        }
    }
    let agreed = f64::from(SHARE * TTIS);
    vec![("over_a_second".to_string(), f64::from(got) / agreed - 1.0)]
}
