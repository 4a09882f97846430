//! `qdelay-dev bench eqp`: cost per TTI of a decision of the elastic quantum partition.
//!
//! Queues of 20 packets that never empty, of 200 or 1500 bytes (mixed) or of 200 only (small), in four slices of a quarter each;
//! channels of 16 to 88 bytes a resource block; all queues have data in each TTI, and the quantum limit is four TTIs. Queues report
//! a version that changes when packets leave, unless `--untold` is given. Time is the CPU
//! time of the thread for one call, including about 0.3 us for reading the clock, so that other load on the machine matters
//! little.
//!
//! Work is a repeatable count of a decision's computation ([`qdelay_ran::slice::Work`]): about its instructions, in thousands.
//!
//! The judged figure is p99 with 275 resource blocks, in groups of 1 and of 16: at most half of a TTI of 125 us for up to 64 queues, a TTI
//! of 1 ms
//! for up to 10,000. With `--long`, p99 covers a million decisions, and each line is printed when it is measured.

use crate::bench::options::BenchEqp;
use qdelay_core::Random;
use qdelay_ran::slice::{Eqp, Head, Queues, RbgCapacity, Share, SliceError, SliceSetting, Slices, Tti};
use qdelay_study::cost;
use qdelay_study::results::{SCHEMA_VERSION, pretty, round};
use qdelay_terminal::error::Failure;
use qdelay_terminal::output;
use qdelay_terminal::output::eprintln_line;
use qdelay_terminal::text_table::{self, Column};
use serde::Serialize;

const PACKETS: usize = 20;
const CHANNELS: u32 = 29;
const SLICES: usize = 4;
/// Number of packets in the circular list that all queues share.
const ROUND: usize = 1 << 14;
/// Numbers of resource blocks of a TTI, and of a group.
const SIZES: [(u32, u32); 5] = [(25, 2), (100, 4), (275, 16), (275, 4), (275, 1)];
/// Bound of p99 for at most this many queues, on the largest carrier.
const TARGETS_US: [(usize, f64); 2] = [(64, 62.5), (10_000, 1000.0)];
/// Smallest number of decisions of a row, unless the user asks for fewer.
const LEAST_TTIS: u64 = 1000;
/// Number of decisions of a judged size with `--long`.
const LONG_TTIS: u64 = 1_000_000;

#[derive(Serialize)]
struct Report {
    schema_version: u32,
    ttis: u64,
    decisions: Vec<Line>,
}

/// Sizes of the queued packets.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Sizes {
    /// Packets of 200 and 1500 bytes.
    Mixed,
    /// Packets of 200 bytes, of which the most leave whole in a TTI.
    Small,
}

/// One size of the problem.
#[derive(Serialize)]
struct Line {
    sizes: Sizes,
    queues: usize,
    rbs: u32,
    rbg_rbs: u32,
    ttis: u64,
    mean_us: f64,
    p50_us: f64,
    p99_us: f64,
    max_us: f64,
    /// Work of a decision, in thousands of units.
    mean_work: f64,
    p99_work: f64,
    max_work: f64,
    /// Number of packets that leave whole in a TTI.
    packets: f64,
    /// Bound of p99; `None` without one.
    target_us: Option<f64>,
    pass: Option<bool>,
}

/// Queues that never empty: each is a position in one long list of packets.
struct Backlog {
    /// End of each packet in the byte stream.
    ends: Vec<u32>,
    /// Packet at the head, and position up to which the stream is sent.
    heads: Vec<(usize, u32)>,
    channels: Vec<usize>,
    /// Queues report versions.
    tells: bool,
}

impl Queues for Backlog {
    fn count(&self) -> usize {
        self.heads.len()
    }
    fn drb(&self, queue: usize) -> usize {
        queue
    }
    fn channel(&self, queue: usize) -> usize {
        self.channels[queue]
    }
    fn head(&self, queue: usize) -> Head<'_> {
        let (head, sent) = self.heads[queue];
        Head { ends: &self.ends[head..head + PACKETS], sent }
    }
    fn backlog_bytes(&self, queue: usize) -> u64 {
        self.head(queue).bytes(PACKETS).into()
    }
    fn version(&self, queue: usize) -> Option<u64> {
        // The position of the head and the sent bytes are the only state that changes.
        let (head, sent) = self.heads[queue];
        self.tells.then_some((head as u64) << 32 | u64::from(sent))
    }
}

impl Backlog {
    fn new(sizes: Sizes, queues: usize, tells: bool, random: &mut Random) -> Backlog {
        let mut end = 0;
        let ends: Vec<u32> = (0..ROUND + 2 * PACKETS)
            .map(|_| {
                let is_small = random.below(2) == 0 || sizes == Sizes::Small;
                end += if is_small { 200 } else { 1500 };
                end
            })
            .collect();
        let heads = (0..queues)
            .map(|_| {
                let head = 1 + random.below(ROUND as u64 - 1) as usize;
                (head, ends[head - 1])
            })
            .collect();
        let channels = (0..queues).map(|_| random.below(CHANNELS.into()) as usize).collect();
        Backlog { ends, heads, channels, tells }
    }

    /// Removes `packets` packets and `bytes` bytes from the head of a queue.
    fn take(&mut self, queue: usize, packets: usize, bytes: u32) {
        let (head, sent) = &mut self.heads[queue];
        *sent += bytes;
        *head += packets;
        if *head > ROUND {
            // The list wraps around; the number of whole packets stays the same.
            *head -= ROUND;
            *sent = self.ends[*head - 1];
        }
    }
}

/// Runs the command.
///
/// # Errors
/// A report that cannot be written, or a target that is missed.
pub fn run(options: &BenchEqp) -> Result<(), Failure> {
    let failed = |error: SliceError| Failure::input("bench eqp", error);
    let mut decisions = Vec::new();
    for sizes in [Sizes::Mixed, Sizes::Small] {
        for &queues in &options.queues {
            // The number of decisions falls with the number of queues, so that each row takes similar time.
            let few = (options.ttis * 64 / queues.max(1) as u64).max(LEAST_TTIS).min(options.ttis);
            for (rbs, rbg_rbs) in SIZES {
                let is_long = options.long && target_us(queues, rbs, rbg_rbs).is_some();
                let ttis = if is_long { LONG_TTIS } else { few };
                let line = line((sizes, !options.untold), queues, (rbs, rbg_rbs), ttis).map_err(failed)?;
                if options.long {
                    eprintln_line(&format!(
                        "{queues} queues, {rbs} resource blocks, {rbg_rbs} a group, {ttis} decisions: p99 {:.1} us, most {:.1} us; work p99 {:.0}, most {:.0}",
                        line.p99_us, line.max_us, line.p99_work, line.max_work
                    ));
                }
                decisions.push(line);
            }
        }
    }
    let report = Report { schema_version: SCHEMA_VERSION, ttis: options.ttis, decisions };
    output::print(&if options.json { pretty(&report) } else { text(&report) })?;
    let missed = report.decisions.iter().filter(|line| line.pass == Some(false)).count();
    match missed {
        0 => Ok(()),
        _ => Err(Failure::Check(format!("bench eqp: {missed} targets are missed"))),
    }
}

/// Required p99 of a decision.
fn target_us(queues: usize, rbs: u32, rbg_rbs: u32) -> Option<f64> {
    let is_judged = rbs == 275 && (rbg_rbs == 16 || rbg_rbs == 1);
    let target = TARGETS_US.iter().find(|&&(most, _)| queues <= most);
    target.filter(|_| is_judged).map(|&(_, target_us)| target_us)
}

fn line(
    (sizes, tells): (Sizes, bool),
    queues: usize,
    (rbs, rbg_rbs): (u32, u32),
    ttis: u64,
) -> Result<Line, SliceError> {
    let mut random = Random::derive(1, "bench", "eqp");
    let mut backlog = Backlog::new(sizes, queues, tells, &mut random);
    let channel = |mcs: u32| {
        let rb_bytes = 16 + 72 * mcs / (CHANNELS - 1);
        RbgCapacity::new((rbs / rbg_rbs) as u16, |groups| u32::from(groups) * rbg_rbs * rb_bytes)
    };
    let channels: Vec<RbgCapacity> = (0..CHANNELS).map(channel).collect();
    // Every slice needs at least one bearer.
    let drbs = queues.max(SLICES);
    let of_slice: Vec<Vec<usize>> =
        (0..SLICES).map(|slice| (0..drbs).filter(|drb| drb % SLICES == slice).collect()).collect();
    let share = Share::from_percent(100 / SLICES as u32)?;
    let settings: Vec<SliceSetting<'_>> = of_slice.iter().map(|drbs| SliceSetting { share, drbs }).collect();
    let mut eqp = Eqp::new(Slices::new(&settings, drbs)?, 4 * rbs, rbg_rbs)?;

    let mut times = Vec::with_capacity(ttis as usize);
    let mut works = Vec::with_capacity(ttis as usize);
    let mut packets = 0;
    for number in 0..ttis {
        let before = cost::thread_cpu_seconds();
        let grants = eqp.decide(Tti { rbs, first: number as usize }, &channels, &backlog)?;
        times.push((cost::thread_cpu_seconds() - before) * 1e6);
        for grant in grants {
            let bytes = channels[backlog.channels[grant.queue]].bytes_in(grant.groups);
            let all = backlog.head(grant.queue).bytes(PACKETS);
            packets += grant.packets;
            backlog.take(grant.queue, grant.packets, bytes.min(all));
        }
        works.push(eqp.work().total() as f64 / 1e3);
    }
    times.sort_by(f64::total_cmp);
    works.sort_by(f64::total_cmp);
    let place = |part: f64| ((ttis - 1) as f64 * part) as usize;
    let at = |part: f64| round(times[place(part)]);
    let mean = |all: &[f64]| round(all.iter().sum::<f64>() / ttis as f64);
    let target_us = target_us(queues, rbs, rbg_rbs);
    Ok(Line {
        sizes,
        queues,
        rbs,
        rbg_rbs,
        ttis,
        mean_us: mean(&times),
        p50_us: at(0.5),
        p99_us: at(0.99),
        max_us: at(1.0),
        mean_work: mean(&works),
        p99_work: round(works[place(0.99)]),
        max_work: round(works[place(1.0)]),
        packets: round(packets as f64 / ttis as f64),
        target_us,
        pass: target_us.map(|target_us| at(0.99) < target_us),
    })
}

/// Table of all sizes; judged rows show the bound and whether p99 keeps it.
fn text(report: &Report) -> String {
    let names = [
        "packets",
        "queues",
        "RBs",
        "RBG",
        "decisions",
        "mean us",
        "p50 us",
        "p99 us",
        "max us",
        "work",
        "p99",
        "max",
        "whole",
    ];
    let columns: Vec<Column> =
        names.into_iter().map(Column::right).chain([Column::right("p99 below"), Column::left("")]).collect();
    let rows: Vec<Vec<String>> = (report.decisions.iter())
        .map(|line| {
            let sizes = match line.sizes {
                Sizes::Mixed => "mixed",
                Sizes::Small => "small",
            };
            let numbers = [line.queues as u64, line.rbs.into(), line.rbg_rbs.into(), line.ttis];
            let us = [line.mean_us, line.p50_us, line.p99_us, line.max_us];
            let work = [line.mean_work, line.p99_work, line.max_work];
            let verdict = match line.pass {
                None => "",
                Some(true) => "pass",
                Some(false) => "miss",
            };
            (std::iter::once(sizes.to_string()).chain(numbers.map(|number| number.to_string())))
                .chain(us.map(|us| format!("{us:.1}")))
                .chain(work.map(|work| format!("{work:.0}")))
                .chain([format!("{:.1}", line.packets)])
                .chain([line.target_us.map_or(String::new(), |us| format!("{us}")), verdict.to_string()])
                .collect()
        })
        .collect();
    format!(
        "A decision of EQP, in CPU time. 20 packets in each queue, of 200 or 1500 bytes (mixed) or of 200 (small). Work is about thousands of instructions.\n\n{}\n",
        text_table::table(&columns, rows)
    )
}
