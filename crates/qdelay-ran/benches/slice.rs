//! Cost of a decision of EQP: microseconds a TTI, by queues, RBs and size of a group.
//!
//! `cargo bench -p qdelay-ran --bench slice`. Endless queues of packets of 200 or 1500 bytes, 20 of them
//! known, in four slices; 29 channels from 16 to 88 bytes an RB. All have data in each TTI. `whole` is the
//! mean number of packets that are sent whole. The environment variable `QDELAY_BENCH_TTIS` gives the number
//! of decisions of a line. Arguments after `--` select the numbers of queues and, as words, the packet sizes
//! (`-- 64 1000 mixed`).
//!
//! The benchmark prints and sets no bound: figures of a shared machine vary by a factor of two.

use qdelay_core::Random;
use qdelay_ran::slice::{Eqp, Head, Queues, RbgCapacity, Share, SliceSetting, Slices, Tti};
use std::hint::black_box;

const PACKETS: usize = 20;
const CHANNELS: usize = 29;
const SLICES: usize = 4;

/// Endless queues: each is a place in one long list of packet sizes.
struct Backlog {
    /// Cumulative sums of the sizes.
    sums: Vec<u32>,
    /// Position of each queue's head, and the sum of the bytes before it.
    heads: Vec<(u32, u32)>,
    channels: Vec<u8>,
}

impl Queues for Backlog {
    fn count(&self) -> usize {
        self.heads.len()
    }
    fn drb(&self, queue: usize) -> usize {
        queue
    }
    fn channel(&self, queue: usize) -> usize {
        self.channels[queue].into()
    }
    fn head(&self, queue: usize) -> Head<'_> {
        let (head, sent) = self.heads[queue];
        let first = head as usize + 1;
        Head { ends: &self.sums[first..first + PACKETS], sent }
    }
    fn backlog_bytes(&self, queue: usize) -> u64 {
        self.head(queue).bytes(PACKETS).into()
    }
}

fn line(sizes: &'static str, queues: usize, rbs: u32, rbg_rbs: u32, ttis: u64) {
    let mut random = Random::derive(1, "bench", "slice");
    let mut sums = vec![0_u32];
    for _ in 0..(1 << 14) + PACKETS {
        let small = match sizes {
            "mixed" => random.below(2) == 0,
            sizes => sizes == "small",
        };
        sums.push(sums.last().unwrap() + if small { 200 } else { 1500 });
    }
    let head = |random: &mut Random, sums: &[u32]| {
        let head = random.below(1 << 14) as u32;
        (head, sums[head as usize])
    };
    let mut backlog = Backlog {
        heads: (0..queues).map(|_| head(&mut random, &sums)).collect(),
        channels: (0..queues).map(|_| random.below(CHANNELS as u64) as u8).collect(),
        sums,
    };
    let groups = (rbs / rbg_rbs) as u16;
    let per_rb = |mcs: usize| 16 + 72 * mcs as u32 / (CHANNELS as u32 - 1);
    let channels: Vec<RbgCapacity> = (0..CHANNELS)
        .map(|mcs| RbgCapacity::new(groups, |groups| u32::from(groups) * rbg_rbs * per_rb(mcs)))
        .collect();
    let drbs: Vec<Vec<usize>> =
        (0..SLICES).map(|slice| (0..queues).filter(|queue| queue % SLICES == slice).collect()).collect();
    let share = Share::from_percent(100 / SLICES as u32).unwrap();
    let settings: Vec<_> = drbs.iter().map(|drbs| SliceSetting { share, drbs }).collect();
    let slices = Slices::new(&settings, queues).unwrap();
    let mut eqp = Eqp::new(slices, 4 * rbs, rbg_rbs).unwrap();
    let (mut nanos, mut whole) = (Vec::new(), 0);
    for number in 0..ttis {
        let tti = Tti { rbs, first: number as usize };
        #[allow(clippy::disallowed_methods)]
        let start = std::time::Instant::now();
        let grants = black_box(eqp.decide(tti, &channels, &backlog).unwrap());
        nanos.push(start.elapsed().as_nanos() as u64);
        for grant in grants {
            whole += grant.packets;
            let (head, gone) = &mut backlog.heads[grant.queue];
            let channel = &channels[usize::from(backlog.channels[grant.queue])];
            let sent = channel.bytes_in(grant.groups).min(backlog.sums[*head as usize + PACKETS] - *gone);
            *head += grant.packets as u32;
            *gone += sent;
            if *head >= 1 << 14 {
                let behind = *gone - backlog.sums[*head as usize];
                *head -= 1 << 14;
                *gone = backlog.sums[*head as usize] + behind.min(199);
            }
        }
    }
    nanos.sort_unstable();
    let at = |part: f64| nanos[((nanos.len() - 1) as f64 * part) as usize] as f64 / 1000.0;
    let mean = nanos.iter().sum::<u64>() as f64 / ttis as f64 / 1000.0;
    println!(
        "{sizes:6} {queues:6} {rbs:5} {rbg_rbs:4} {mean:9.1} {:9.1} {:9.1} {:9.1} {:7.1}",
        at(0.5),
        at(0.99),
        at(1.0),
        whole as f64 / ttis as f64
    );
}

fn main() {
    let ttis = std::env::var("QDELAY_BENCH_TTIS").ok().and_then(|text| text.parse().ok()).unwrap_or(2000);
    let named: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let (counts, kinds): (Vec<&str>, Vec<&str>) =
        named.iter().map(String::as_str).partition(|word| word.parse::<usize>().is_ok());
    let is_asked = |named: &[&str], word: &str| named.is_empty() || named.contains(&word);
    println!("sizes  queues   RBs  RBG   mean us    median       p99      most   whole");
    for sizes in ["mixed", "small", "large"].into_iter().filter(|sizes| is_asked(&kinds, sizes)) {
        for queues in [16, 64, 256, 1000, 10_000] {
            if !is_asked(&counts, &queues.to_string()) {
                continue;
            }
            for (rbs, rbg_rbs) in [(25, 2), (100, 4), (275, 16), (275, 1)] {
                line(sizes, queues, rbs, rbg_rbs, ttis);
            }
        }
    }
}
