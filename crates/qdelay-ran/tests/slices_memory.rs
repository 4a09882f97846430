//! EQP over many TTIs, in which a law remembers prices and queues: each decision equals that of a law without
//! memory, and that of the oracles.

use crate::slicing::oracle::{self, Best};
use crate::slicing::{Case, OneQueue, Size};
use qdelay_core::Random;
use qdelay_ran::slice::{Eqp, Head, Queues};
use qdelay_testing::for_each_seed;

/// A case that changes, and the versions that its host reports.
struct Host {
    case: Case,
    /// For each queue: a number that no other state of the queue has had, and true if the host reports it.
    versions: Vec<(u64, bool)>,
    last: u64,
}

impl Queues for Host {
    fn count(&self) -> usize {
        self.case.count()
    }
    fn drb(&self, queue: usize) -> usize {
        self.case.drb(queue)
    }
    fn channel(&self, queue: usize) -> usize {
        self.case.channel(queue)
    }
    fn head(&self, queue: usize) -> Head<'_> {
        self.case.head(queue)
    }
    fn backlog_bytes(&self, queue: usize) -> u64 {
        self.case.backlog_bytes(queue)
    }
    fn version(&self, queue: usize) -> Option<u64> {
        let (version, is_told) = self.versions[queue];
        is_told.then_some(version)
    }
}

/// Fills a queue with these packets, sent up to `sent`.
fn fill(queue: &mut OneQueue, sizes: &[u32], sent: u32) {
    let sums = sizes.iter().scan(0_u32, |sum, &bytes| {
        *sum += bytes;
        Some(*sum)
    });
    queue.prefix_bytes = sums.collect();
    queue.ends = queue.prefix_bytes.iter().map(|&bytes| sent.wrapping_add(bytes)).collect();
    queue.sent = sent;
    queue.backlog_bytes = u64::from(queue.prefix_bytes.last().copied().unwrap_or(0));
}

fn sizes(queue: &OneQueue) -> Vec<u32> {
    let before = std::iter::once(0).chain(queue.prefix_bytes.iter().copied());
    queue.prefix_bytes.iter().zip(before).map(|(&end, start)| end - start).collect()
}

impl Host {
    fn new(case: Case, random: &mut Random) -> Host {
        let tells = random.below(4);
        let versions = (0..case.queues.len() as u64).map(|queue| (queue, tells > 0)).collect();
        Host { last: case.queues.len() as u64, versions, case }
    }
    fn changed(&mut self, queue: usize) {
        self.last += 1;
        self.versions[queue].0 = self.last;
    }
    fn packet(random: &mut Random) -> u32 {
        [40, 200, 200, 600, 1500][random.below(5) as usize]
    }

    /// Sends packets from a queue, and `bytes` of the next one.
    fn send(&mut self, queue: usize, packets: usize, bytes: u32) {
        let mut left = sizes(&self.case.queues[queue]);
        let whole: u32 = left.drain(..packets).sum();
        if let Some(first) = left.first_mut() {
            *first -= (bytes - whole.min(bytes)).min(*first - 1);
        }
        let sent = self.case.queues[queue].sent.wrapping_add(bytes);
        fill(&mut self.case.queues[queue], &left, sent);
        self.changed(queue);
    }

    /// Changes queues between two TTIs.
    fn pass(&mut self, random: &mut Random, packets: usize) {
        self.case.first += 1;
        let count = self.case.queues.len();
        for queue in 0..count {
            match random.below(30) {
                // A packet arrives at the tail: this changes the known packets at the head.
                0..=5 if self.case.queues[queue].ends.len() < packets => {
                    let mut sizes = sizes(&self.case.queues[queue]);
                    sizes.push(Host::packet(random));
                    let sent = self.case.queues[queue].sent;
                    fill(&mut self.case.queues[queue], &sizes, sent);
                    self.changed(queue);
                }
                6 => {
                    self.case.queues[queue].channel = random.below(self.case.tables.len() as u64) as usize;
                    self.changed(queue);
                }
                7 => {
                    self.case.queues[queue].drb = random.below(self.case.slice_of_drb.len() as u64) as usize;
                    self.changed(queue);
                }
                8 => {
                    fill(&mut self.case.queues[queue], &[], 7);
                    self.changed(queue);
                }
                9 => self.versions[queue].1 = random.below(4) > 0,
                // Only the backlog changes, so there is no new version.
                10 => self.case.queues[queue].backlog_bytes += random.below(5000),
                _ => {}
            }
        }
        match random.below(12) {
            0 => {
                let table = random.below(self.case.tables.len() as u64) as usize;
                let percent = 50 + random.below(100) as u32;
                let mut most = 0;
                for bytes in &mut self.case.tables[table] {
                    most = (*bytes * percent / 100).max(most);
                    *bytes = most;
                }
                for queue in 0..count {
                    if self.case.queues[queue].channel == table {
                        self.changed(queue);
                    }
                }
            }
            1 if count > 1 => {
                let queue = random.below(count as u64) as usize;
                self.case.queues.remove(queue);
                self.versions.remove(queue);
            }
            2 => {
                let like = random.below(count as u64) as usize;
                let at = random.below(count as u64 + 1) as usize;
                self.case.queues.insert(at, self.case.queues[like].clone());
                self.versions.insert(at, (0, random.below(4) > 0));
                self.changed(at);
            }
            3 => {
                // One queue leaves and another comes.
                let (from, to) = (random.below(count as u64) as usize, random.below(count as u64) as usize);
                self.case.queues.swap(from, to);
                self.versions.swap(from, to);
            }
            _ => {}
        }
    }
}

/// Runs `ttis` TTIs of queues of up to `packets` packets.
fn run(seed: u64, name: &str, size: &Size, (ttis, packets): (u64, usize), due: Option<Due>) {
    let mut random = Random::derive(seed, "slices-memory", name);
    let mut case = Case::random(&mut random, size);
    if seed.is_multiple_of(3) {
        case.lengthen(&mut random, packets);
    }
    let rbs = case.rbs;
    let mut host = Host::new(case, &mut random);
    let mut law = host.case.eqp();
    for tti in 0..ttis {
        if random.below(6) == 0 {
            // Control takes a part of some TTIs.
            host.case.rbs = rbs - random.below(u64::from(rbs) / 2 + 1) as u32;
        }
        if random.below(10) == 0 {
            law.set_quanta(&host.case.quanta).unwrap();
        }
        let mut before = host.case.clone();
        before.quanta = law.quanta().to_vec();
        let channels = host.case.channels();
        let grants = law.decide(host.case.tti(), &channels, &host).unwrap().to_vec();
        compare(&before, &law, &grants, &channels, due);
        host.pass(&mut random, packets);
        if host.case.queues.len() == before.queues.len() && tti % 4 != 3 {
            for grant in grants {
                // The queue may have changed since the decision.
                if host.case.queues[grant.queue].prefix_bytes == before.queues[grant.queue].prefix_bytes {
                    let bytes = channels[before.queues[grant.queue].channel].bytes_in(grant.groups);
                    host.send(grant.queue, grant.packets, bytes);
                }
            }
        }
    }
}

type Due = fn(&Case, &oracle::Bounds) -> Best;

fn compare(
    case: &Case,
    law: &Eqp,
    grants: &[qdelay_ran::slice::Grant],
    channels: &[qdelay_ran::slice::RbgCapacity],
    due: Option<Due>,
) {
    let mut new = case.eqp();
    let decided = new.decide(case.tti(), channels, case).unwrap();
    assert_eq!(grants, decided, "{case:?}");
    let chosen = |law: &Eqp| {
        let mut whole: Vec<_> =
            law.whole().iter().map(|whole| (whole.queue, whole.packets, whole.groups)).collect();
        whole.sort_unstable();
        whole
    };
    assert_eq!(chosen(law), chosen(&new), "{case:?}");
    assert_eq!((law.quanta(), law.unused_rbs()), (new.quanta(), new.unused_rbs()));
    if let Some(due) = due {
        let bounds = oracle::bounds(case);
        let chosen: Vec<(usize, usize)> = chosen(law).iter().map(|whole| (whole.0, whole.1)).collect();
        let value =
            oracle::value(case, &bounds, &chosen).expect("a choice that keeps capacity, limit and order");
        assert_eq!(Best::new(case, value, &chosen), due(case, &bounds), "{case:?}");
    }
}

#[test]
fn small_cases_match_exhaustive_search() {
    for_each_seed(3_000, |seed| run(seed, "small", &Size::SMALL, (12, 4), Some(oracle::exhaustive)));
}

#[test]
fn crowds_match_the_textbook() {
    for_each_seed(60, |seed| run(seed, "crowds", &Size::CROWD, (20, 8), Some(oracle::textbook)));
}

#[test]
fn multitudes_match_a_law_without_memory() {
    for_each_seed(30, |seed| run(seed, "multitudes", &Size::MULTITUDE, (40, 8), None));
}

#[test]
fn multitudes_match_the_textbook() {
    for_each_seed(12, |seed| run(seed, "oracle", &Size::MULTITUDE, (6, 8), Some(oracle::textbook)));
}

#[test]
fn long_queues_match_a_law_without_memory() {
    for_each_seed(30, |seed| run(seed, "long", &Size::DEEP, (40, 20), None));
}
