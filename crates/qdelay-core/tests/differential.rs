//! Each discipline against its slow model over random arrivals and random, varying service: the same packets dropped
//! and marked at the same calls, in the same order and for the same reason; the same returned; the same backlog and
//! head after every call. A failure names its seed, which `QDELAY_SEED` replays.

use crate::drive::{Subject, compare, within, workload};
use crate::models::bode::Bode;
use crate::models::codel::{Codel, CodelMahimahi, CodelThesis};
use crate::models::drr::{By, Drr};
use crate::models::fifo::{HeadDrop, TailDrop};
use crate::models::fq_codel::{FqCodel, Law};
use crate::models::linux::{CodelLinux, PieLinux};
use crate::models::pie::{Pie, PieMahimahi, Rate};
use crate::models::priority::{Class, Priority};
use crate::models::red::Red;
use crate::models::sfq::Sfq;
use crate::models::{MS, Model, Ns, Room};
use qdelay_core::Random;
use qdelay_core::qdisc::COMPONENTS;
use qdelay_testing::{for_each_seed, least};
use std::collections::VecDeque;

/// Number of random sequences for each discipline; all of them together take half a minute of one core.
const SEQUENCES: u64 = 3_000;

/// Limits, some of them short enough to be reached.
fn room(random: &mut Random) -> (Room, String) {
    let packets = match random.below(3) {
        0 => 1000,
        1 => within(random, 1, 20),
        _ => within(random, 20, 300),
    };
    let bytes = match random.below(4) {
        0 => within(random, 1500, 60_000),
        _ => 0,
    };
    let mut text = format!("limit={packets}");
    if bytes > 0 {
        text += &format!(":limit_bytes={bytes}b");
    }
    (Room { packets: packets as usize, bytes }, text)
}

/// Nanoseconds as the grammar writes them: whole microseconds.
fn us(span: Ns) -> String {
    assert!(span.is_multiple_of(1_000));
    format!("{}us", span / 1_000)
}

fn span(random: &mut Random, low: Ns, high: Ns, unit: Ns) -> Ns {
    within(random, low / unit, high / unit) * unit
}

/// The unit of all times of a workload: 1 ns, or the coarse one given, in which ties and exact bounds are frequent.
#[derive(Clone, Copy)]
struct Grid {
    fine: Ns,
    coarse: Ns,
}

/// Times for laws that count nanoseconds.
const EXACT: Grid = Grid { fine: 1, coarse: MS };
/// Times for mahimahi, which reads a clock of whole milliseconds, and whose links offer service at whole
/// milliseconds.
const MILLISECONDS: Grid = Grid { fine: MS, coarse: MS };
/// Times for Linux's CoDel, which rounds the clock, at arrival and at departure, to 1024 ns; the
/// implementation rounds the difference.
const CODEL_TIME: Grid = Grid { fine: 1 << 10, coarse: 1 << 20 };

/// The text to build a discipline from, and the model to judge it by.
type Case = (String, Box<dyn Model>);

/// Runs `SEQUENCES` random cases of one discipline, and fresh ones.
fn judge(name: &str, grid: Grid, mut case: impl FnMut(&mut Random) -> Case) -> u64 {
    let mut decisions = 0;
    for_each_seed(SEQUENCES, |seed| {
        let mut random = Random::derive(seed, name, "differential");
        let (text, mut model) = case(&mut random);
        let unit = if random.below(2) == 0 { grid.coarse } else { grid.fine };
        let calls = workload(&mut random, unit);
        let mut subject = Subject::new(&text, seed);
        decisions += compare(&format!("seed {seed}: {text}"), &mut subject, model.as_mut(), &calls);
    });
    decisions
}

/// The disciplines that are judged here, in `dsd.rs` those with colours, and in `pdu_sets.rs` that of PDU sets.
const JUDGED: [&str; 13] = [
    "taildrop",
    "headdrop",
    "bode",
    "codel",
    "pie",
    "fq_codel",
    "drr",
    "sfq",
    "red",
    "priority",
    "dsd",
    "fcfs_green",
    "pdu_sets",
];

#[test]
fn every_discipline_has_a_model() {
    crate::models::assert_all_have_models(COMPONENTS, &JUDGED, "qdisc");
}

fn tail_drop_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    (format!("taildrop:{text}"), Box::new(TailDrop { room, queue: VecDeque::new() }))
}

fn head_drop_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    (format!("headdrop:{text}"), Box::new(HeadDrop { room, queue: VecDeque::new() }))
}

fn bode_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    let target = span(random, MS, 100 * MS, MS);
    let min_keep = if random.below(2) == 0 { 2 } else { within(random, 0, 10) };
    let min_keep = min_keep.min(room.packets as u64 - 1);
    let min_keep_bytes = if random.below(2) == 0 { 0 } else { within(random, 1, 5000) };
    let min_keep_bytes = if room.bytes > 0 { min_keep_bytes.min(room.bytes - 1) } else { min_keep_bytes };
    let model = Bode { room, target, min_keep: min_keep as usize, min_keep_bytes, queue: VecDeque::new() };
    let target = us(target);
    (
        format!("bode:{text}:target={target}:min_keep={min_keep}:min_keep_bytes={min_keep_bytes}"),
        Box::new(model),
    )
}

#[test]
fn tail_drop() {
    judge("taildrop", EXACT, tail_drop_case);
}

#[test]
fn head_drop() {
    judge("headdrop", EXACT, head_drop_case);
}

#[test]
fn bode() {
    let decisions = judge("bode", EXACT, bode_case);
    assert!(decisions > least(10_000), "{decisions}");
}

/// Target and interval from the data-centre end to slow links.
fn codel_times(random: &mut Random, unit: Ns) -> (Ns, Ns) {
    match random.below(4) {
        // Times so short that 16 intervals between episodes come up to the millisecond.
        0 => (MS, within(random, 1, 4) * MS),
        1 => (5 * MS, 100 * MS),
        2 => (10 * MS, 50 * MS),
        _ => {
            let target = span(random, MS, 30 * MS, unit);
            (target, span(random, target, 300 * MS, unit))
        }
    }
}

fn codel_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    let (target, interval, mtu, ecn, ce, rest) = codel_arguments(random);
    let mut model = Codel::new(room, target, interval, mtu, ecn);
    model.ce_threshold = ce;
    (format!("codel:{text}:{rest}"), Box::new(model))
}

#[test]
fn codel_rfc_8289() {
    let decisions = judge("codel", EXACT, codel_case);
    assert!(decisions > least(10_000), "{decisions}");
}

#[test]
fn codel_linux() {
    let decisions = judge("codel-linux", CODEL_TIME, |random| {
        let (model_room, text) = room(random);
        let (target, interval, mtu, ecn, ce, rest) = codel_arguments(random);
        let model = CodelLinux::new(model_room, target, interval, mtu, ecn, ce);
        (format!("codel:variant=linux:{text}:{rest}"), Box::new(model))
    });
    assert!(decisions > least(10_000), "{decisions}");
}

/// Target, interval, MTU, ECN, `ce_threshold`, and all of them as text.
fn codel_arguments(random: &mut Random) -> (Ns, Ns, u64, bool, Option<Ns>, String) {
    let (target, interval) = codel_times(random, 1_000);
    let mtu = if random.below(2) == 0 { 1500 } else { within(random, 1, 6000) };
    let ecn = random.below(2) == 0;
    let ce = (random.below(4) == 0).then(|| span(random, 0, 50 * MS, 1_000));
    let switch = if ecn { "on" } else { "off" };
    let mut text = format!("target={}:interval={}:mtu={mtu}b:ecn={switch}", us(target), us(interval));
    if let Some(ce) = ce {
        text += &format!(":ce_threshold={}", us(ce));
    }
    (target, interval, mtu, ecn, ce, text)
}

#[test]
fn codel_thesis() {
    let decisions = judge("codel-thesis", EXACT, |random| {
        let (room, text) = room(random);
        let (target, interval) = codel_times(random, 1_000);
        let model = CodelThesis::new(room, target, interval);
        let (target, interval) = (us(target), us(interval));
        (format!("codel:variant=thesis:{text}:target={target}:interval={interval}"), Box::new(model))
    });
    assert!(decisions > least(10_000), "{decisions}");
}

#[test]
fn codel_mahimahi() {
    let decisions = judge("codel-mahimahi", MILLISECONDS, |random| {
        let (room, text) = room(random);
        let (target, interval) = codel_times(random, MS);
        let model = CodelMahimahi::new(room, target, interval, 1500, 0);
        let (target, interval) = (us(target), us(interval));
        (format!("codel:variant=mahimahi:{text}:target={target}:interval={interval}"), Box::new(model))
    });
    assert!(decisions > least(1_000), "{decisions}");
}

/// Target, update period, burst allowance, weights in sixteenths, MTU, and all of them as text.
fn pie_arguments(random: &mut Random) -> (Ns, Ns, Ns, u64, u64, u64, String) {
    let either = |random: &mut Random, usual: Ns, low: Ns, high: Ns| {
        if random.below(2) == 0 { usual } else { span(random, low, high, 1_000) }
    };
    // Half of a target in even milliseconds is a delay that occurs.
    let target = match random.below(3) {
        0 => 2 * MS * within(random, 1, 20),
        _ => either(random, 15 * MS, MS, 50 * MS),
    };
    let tupdate = either(random, 15 * MS, MS, 50 * MS);
    let max_burst = either(random, 150 * MS, 0, 300 * MS);
    let (alpha, beta) =
        if random.below(2) == 0 { (2, 20) } else { (within(random, 1, 32), within(random, 1, 64)) };
    let mtu = if random.below(2) == 0 { 1500 } else { within(random, 100, 3000) };
    let text = format!(
        "target={}:tupdate={}:max_burst={}:alpha={}:beta={}:mtu={mtu}b",
        us(target),
        us(tupdate),
        us(max_burst),
        alpha as f64 / 16.0,
        beta as f64 / 16.0,
    );
    (target, tupdate, max_burst, alpha, beta, mtu, text)
}

fn switch(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

fn pie_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    let (target, tupdate, max_burst, alpha, beta, mtu, rest) = pie_arguments(random);
    let mut model = Pie::new(room, target, tupdate);
    (model.alpha, model.beta) = (alpha as f64 / 16.0, beta as f64 / 16.0);
    model.max_burst = max_burst;
    model.mean_packet = mtu;
    model.zero_when_empty = true;
    let ecn = random.below(2) == 0;
    let threshold = if random.below(2) == 0 { 0.1 } else { within(random, 0, 100) as f64 / 100.0 };
    model.mark_below = ecn.then_some(threshold);
    model.derandomize = random.below(3) > 0;
    // Appendix B and Linux differ for packets larger than the mean, so there are none.
    model.bytemode = mtu >= 1500 && random.below(3) == 0;
    let estimator = if random.below(2) == 0 { "timestamp" } else { "rate" };
    model.rate = (estimator == "rate").then(Rate::default);
    let ecn = if ecn { format!("on:ecn_threshold={threshold}") } else { "off".to_string() };
    let (derandomize, bytemode) = (switch(model.derandomize), switch(model.bytemode));
    let text = format!(
        "pie:{text}:{rest}:ecn={ecn}:derandomize={derandomize}:bytemode={bytemode}:estimator={estimator}"
    );
    (text, Box::new(model))
}

#[test]
fn pie_rfc_8033() {
    let decisions = judge("pie", EXACT, pie_case);
    assert!(decisions > least(10_000), "{decisions}");
}

#[test]
fn pie_linux() {
    let decisions = judge("pie-linux", EXACT, |random| {
        let (room, text) = room(random);
        let (target, tupdate, max_burst, alpha, beta, mtu, rest) = pie_arguments(random);
        let hz = [100, 250, 1000][random.below(3) as usize];
        let mut model = PieLinux::new(room, target, tupdate, max_burst, hz);
        (model.alpha, model.beta, model.mtu) = (alpha, beta, mtu);
        // A kernel's timer has run long before; its phase is set to that of the implementation.
        model.set_timer();
        model.ecn = random.below(2) == 0;
        model.bytemode = random.below(3) == 0;
        let (ecn, bytemode) = (switch(model.ecn), switch(model.bytemode));
        (format!("pie:variant=linux:hz={hz}:{text}:{rest}:ecn={ecn}:bytemode={bytemode}"), Box::new(model))
    });
    assert!(decisions > least(10_000), "{decisions}");
}

#[test]
fn pie_mahimahi() {
    let decisions = judge("pie-mahimahi", MILLISECONDS, |random| {
        let (room, text) = room(random);
        let target = span(random, 2 * MS, 60 * MS, MS);
        let max_burst = span(random, MS, 200 * MS, MS);
        let mut model = PieMahimahi::new(room, target, max_burst);
        // The implementation counts IP bytes: no TUN header, and 1500 where mahimahi has 1504.
        (model.packet_size, model.overhead) = (1500, 0);
        let (target, max_burst) = (us(target), us(max_burst));
        (format!("pie:variant=mahimahi:{text}:target={target}:max_burst={max_burst}"), Box::new(model))
    });
    assert!(decisions > least(1_000), "{decisions}");
}

/// Few buckets, in which flows collide, or many.
fn buckets(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => within(random, 1, 4),
        1 => within(random, 5, 20),
        2 => 1024,
        _ => 65536,
    }
}

/// A full packet with its Ethernet header, or a size near it.
fn quantum(random: &mut Random, low: u64) -> u64 {
    if random.below(2) == 0 { 1514 } else { within(random, low, 5000) }
}

/// Bytes that Linux counts in addition to an IP packet on Ethernet, none, or a random number.
fn overhead(random: &mut Random) -> u64 {
    match random.below(4) {
        0 => 0,
        1 => within(random, 1, 200),
        _ => 14,
    }
}

/// All arguments of `fq_codel` except CoDel's own.
fn fq_codel_arguments(random: &mut Random, law: Box<dyn Fn() -> Law>) -> (FqCodel, String) {
    let mut model = FqCodel::new(law);
    model.flows = buckets(random);
    model.quantum = quantum(random, 256) as i64;
    model.overhead = overhead(random) as i64;
    if random.below(2) == 0 {
        model.limit = within(random, 1, 300) as usize;
    }
    model.memory = match random.below(4) {
        0 => within(random, 1500, 100_000),
        1 => 0,
        _ => 32_000_000,
    };
    if random.below(2) == 0 {
        model.drop_batch = within(random, 1, 100) as u32;
    }
    let FqCodel { flows, quantum, overhead, limit, memory, drop_batch, .. } = &model;
    let text = format!(
        "flows={flows}:quantum={quantum}b:overhead={overhead}b:limit={limit}:memory={memory}b:drop_batch={drop_batch}"
    );
    (model, text)
}

fn fq_codel_case(random: &mut Random) -> Case {
    let (target, interval, mtu, ecn, ce, rest) = codel_arguments(random);
    let unlimited = Room { packets: usize::MAX, bytes: 0 };
    let law = move || {
        let mut codel = Codel::new(unlimited, target, interval, mtu, ecn);
        codel.ce_threshold = ce;
        Law::Rfc(codel)
    };
    let (model, text) = fq_codel_arguments(random, Box::new(law));
    (format!("fq_codel:{text}:{rest}"), Box::new(model))
}

#[test]
fn fq_codel_rfc_8290() {
    let decisions = judge("fq_codel", EXACT, fq_codel_case);
    assert!(decisions > least(10_000), "{decisions}");
}

#[test]
fn fq_codel_linux() {
    let decisions = judge("fq_codel-linux", CODEL_TIME, |random| {
        let (target, interval, mtu, ecn, ce, rest) = codel_arguments(random);
        let unlimited = Room { packets: usize::MAX, bytes: 0 };
        let law = move || Law::Linux(CodelLinux::new(unlimited, target, interval, mtu, ecn, ce));
        let (model, text) = fq_codel_arguments(random, Box::new(law));
        (format!("fq_codel:variant=linux:{text}:{rest}"), Box::new(model))
    });
    assert!(decisions > least(10_000), "{decisions}");
}

fn drr_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    let (by, name) = [(By::Flow, "flow"), (By::Dscp, "dscp"), (By::Class, "class")][random.below(3) as usize];
    let mut model = Drr::new(by, room);
    // A small quantum makes many rounds, here and in the model's slow search for the head.
    model.quantum = if random.below(10) == 0 { within(random, 30, 256) } else { quantum(random, 256) };
    model.overhead = overhead(random);
    let mut text = format!("drr:{text}:by={name}:quantum={}b:overhead={}b", model.quantum, model.overhead);
    if by == By::Flow {
        model.flows = buckets(random);
        text += &format!(":flows={}", model.flows);
    }
    (text, Box::new(model))
}

#[test]
fn drr() {
    let decisions = judge("drr", EXACT, drr_case);
    assert!(decisions > least(10_000), "{decisions}");
}

fn sfq_case(random: &mut Random) -> Case {
    let (model, text) = sfq_arguments(random);
    (text, Box::new(model))
}

fn sfq_arguments(random: &mut Random) -> (Sfq, String) {
    let limit = if random.below(2) == 0 { 127 } else { within(random, 1, 300) };
    let mut model = Sfq::new(limit as usize);
    model.flows = buckets(random);
    if random.below(2) == 0 {
        model.depth = within(random, 1, 60) as usize;
    }
    model.quantum = quantum(random, 256) as i64;
    model.overhead = overhead(random) as i64;
    model.headdrop = random.below(2) == 0;
    model.perturb = match random.below(3) {
        0 => 0,
        1 => span(random, MS, 50 * MS, MS),
        _ => span(random, MS, 1000 * MS, 1_000),
    };
    let Sfq { flows, depth, quantum, overhead, .. } = &model;
    let (headdrop, perturb) = (switch(model.headdrop), us(model.perturb));
    let text = format!(
        "sfq:limit={limit}:flows={flows}:depth={depth}:quantum={quantum}b:overhead={overhead}b\
         :headdrop={headdrop}:perturb={perturb}"
    );
    (model, text)
}

#[test]
fn sfq() {
    let decisions = judge("sfq", EXACT, sfq_case);
    assert!(decisions > least(10_000), "{decisions}");
}

/// A host that reads the timer late finds it due once, after any number of periods.
#[test]
fn sfq_polled_late_matches_its_model() {
    judge("sfq-late", EXACT, |random| {
        let (mut model, text) = sfq_arguments(random);
        model.late = true;
        (text, Box::new(model))
    });
}

fn red_case(random: &mut Random) -> Case {
    let (room, text) = room(random);
    let in_bytes = random.below(2) == 0;
    let mtu = if random.below(2) == 0 { 1500 } else { within(random, 100, 3000) };
    let unit = if in_bytes { mtu as f64 } else { 1.0 };
    let (mut min, mut max) = (5.0 * unit, 15.0 * unit);
    let mut text = format!("red:{text}:mode={}:mtu={mtu}b", if in_bytes { "bytes" } else { "packets" });
    if random.below(2) == 0 {
        min = unit * (0.5 + 20.0 * random.unit());
        max = min + unit * (0.5 + 30.0 * random.unit());
        text += &format!(":min={min}:max={max}");
    }
    let mut model = Red::new(room, min, max);
    (model.in_bytes, model.mean_packet) = (in_bytes, mtu);
    if random.below(2) == 0 {
        model.max_p = within(random, 1, 1000) as f64 / 1000.0;
    }
    model.weight = match random.below(4) {
        0 => 0.002,
        1 => 1.0,
        _ => within(random, 1, 500) as f64 / 1000.0,
    };
    (model.gentle, model.ecn) = (random.below(3) > 0, random.below(2) == 0);
    model.wait = random.below(3) > 0;
    let rate = if random.below(2) == 0 { 10_000_000 } else { within(random, 10, 10_000) * 1_000 };
    model.rate = rate as f64;
    let (gentle, ecn, wait) = (switch(model.gentle), switch(model.ecn), switch(model.wait));
    text += &format!(":probability={}:weight={}:gentle={gentle}:ecn={ecn}", model.max_p, model.weight);
    model.once = model.wait && random.below(2) == 0;
    let draw = if model.once { "drop" } else { "arrival" };
    text += &format!(":wait={wait}:draw={draw}:rate={rate}bit");
    (text, Box::new(model))
}

#[test]
fn red() {
    let decisions = judge("red", EXACT, red_case);
    assert!(decisions > least(10_000), "{decisions}");
}

/// Names of codepoints.
const NAMES: [(&str, u8); 26] = [
    ("be", 0),
    ("le", 1),
    ("cs0", 0),
    ("cs1", 8),
    ("cs2", 16),
    ("cs3", 24),
    ("cs4", 32),
    ("cs5", 40),
    ("cs6", 48),
    ("cs7", 56),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("va", 44),
    ("nqb", 45),
    ("ef", 46),
    ("63", 63),
];

/// One codepoint, by name or number, or a range of up to eight.
fn codepoints(random: &mut Random) -> (Vec<u8>, String) {
    match random.below(4) {
        0 => {
            let first = random.below(64);
            let last = (first + random.below(8)).min(63);
            ((first as u8..=last as u8).collect(), format!("{first}-{last}"))
        }
        1 => {
            let codepoint = random.below(64);
            (vec![codepoint as u8], codepoint.to_string())
        }
        _ => {
            let (name, codepoint) = NAMES[random.below(NAMES.len() as u64) as usize];
            (vec![codepoint], name.to_string())
        }
    }
}

/// Classes of any disciplines, some of them priority again; `depth` more levels may follow.
fn priority_case(random: &mut Random, depth: u32) -> Case {
    let classes = within(random, 1, 4);
    let rest = random.below(classes);
    let mut taken = Vec::new();
    let mut texts = Vec::new();
    let mut model = Priority(Vec::new());
    for class in 0..classes {
        let (mut named, mut words) = (Vec::new(), Vec::new());
        while class != rest && (named.is_empty() || random.below(3) > 0) {
            let (codepoints, word) = codepoints(random);
            if codepoints.iter().all(|c| !taken.contains(c)) {
                taken.extend(&codepoints);
                named.extend(codepoints);
                words.push(word);
            }
        }
        let words = if class == rest { "rest".to_string() } else { words.join("/") };
        let (text, inner) = match random.below(12) {
            0 => ("taildrop".to_string(), Box::new(TailDrop { room: ROOM, queue: VecDeque::new() }) as _),
            1 => tail_drop_case(random),
            2 => head_drop_case(random),
            3 => bode_case(random),
            4 => codel_case(random),
            5 => pie_case(random),
            6 => fq_codel_case(random),
            7 => drr_case(random),
            8 => sfq_case(random),
            9 => red_case(random),
            _ if depth > 0 => priority_case(random, depth - 1),
            _ => tail_drop_case(random),
        };
        let text = if text.contains(':') { format!("[{text}]") } else { text };
        texts.push(format!("{words}@{text}"));
        model.0.push(Class { codepoints: named, inner });
    }
    (format!("priority:{}", texts.join("+")), Box::new(model))
}

/// Limits of a discipline without a given limit.
const ROOM: Room = Room { packets: 1000, bytes: 0 };

#[test]
fn priority() {
    let decisions = judge("priority", EXACT, |random| priority_case(random, 2));
    assert!(decisions > least(10_000), "{decisions}");
}
