//! Each discipline against its slow model over random arrivals and random, varying service: the same packets dropped
//! and marked at the same calls, in the same order and for the same reason; the same returned; the same backlog and
//! head after every call. A failure names its seed.

mod drive;
mod models;

use drive::{Subject, compare, within, workload};
use models::bode::Bode;
use models::codel::{Codel, CodelMahimahi};
use models::fifo::{HeadDrop, TailDrop};
use models::linux::{CodelLinux, PieLinux};
use models::pie::{Pie, PieMahimahi, Rate};
use models::{MS, Model, Ns, Room};
use qdelay_core::Random;
use std::collections::VecDeque;

/// Random sequences for each discipline; all of them together take a few seconds.
const SEQUENCES: u64 = 3_000;

/// Limits now and then short enough to matter.
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

/// For laws that count nanoseconds.
const EXACT: Grid = Grid { fine: 1, coarse: MS };
/// mahimahi reads a clock of whole milliseconds, and its links offer service at whole milliseconds.
const MILLISECONDS: Grid = Grid { fine: MS, coarse: MS };
/// Linux's CoDel rounds the clock, at arrival and at departure, to 1024 ns; the implementation rounds the difference.
const CODEL_TIME: Grid = Grid { fine: 1 << 10, coarse: 1 << 20 };

/// Runs `SEQUENCES` random cases of one discipline; `case` makes the text to build and the model to judge it by.
fn judge(name: &str, grid: Grid, mut case: impl FnMut(&mut Random) -> (String, Box<dyn Model>)) -> u64 {
    let mut decisions = 0;
    for seed in 0..SEQUENCES {
        let mut random = Random::derive(seed, name, "differential");
        let (text, mut model) = case(&mut random);
        let unit = if random.below(2) == 0 { grid.coarse } else { grid.fine };
        let calls = workload(&mut random, unit);
        let mut subject = Subject::new(&text, seed);
        decisions += compare(&format!("seed {seed}: {text}"), &mut subject, model.as_mut(), &calls);
    }
    decisions
}

#[test]
fn tail_drop() {
    judge("taildrop", EXACT, |random| {
        let (room, text) = room(random);
        (format!("taildrop:{text}"), Box::new(TailDrop { room, queue: VecDeque::new() }))
    });
}

#[test]
fn head_drop() {
    judge("headdrop", EXACT, |random| {
        let (room, text) = room(random);
        (format!("headdrop:{text}"), Box::new(HeadDrop { room, queue: VecDeque::new() }))
    });
}

#[test]
fn bode() {
    let decisions = judge("bode", EXACT, |random| {
        let (room, text) = room(random);
        let target = span(random, MS, 100 * MS, MS);
        let min_keep = if random.below(2) == 0 { 2 } else { within(random, 0, 10) };
        let min_keep = min_keep.min(room.packets as u64 - 1);
        let min_keep_bytes = if random.below(2) == 0 { 0 } else { within(random, 1, 5000) };
        let min_keep_bytes = if room.bytes > 0 { min_keep_bytes.min(room.bytes - 1) } else { min_keep_bytes };
        let model =
            Bode { room, target, min_keep: min_keep as usize, min_keep_bytes, queue: VecDeque::new() };
        let target = us(target);
        (
            format!("bode:{text}:target={target}:min_keep={min_keep}:min_keep_bytes={min_keep_bytes}"),
            Box::new(model),
        )
    });
    assert!(decisions > 10_000, "{decisions}");
}

/// Target and interval from the data-centre end to slow links.
fn codel_times(random: &mut Random, unit: Ns) -> (Ns, Ns) {
    match random.below(4) {
        // So short that 16 intervals between episodes come up to the millisecond.
        0 => (MS, within(random, 1, 4) * MS),
        1 => (5 * MS, 100 * MS),
        2 => (10 * MS, 50 * MS),
        _ => {
            let target = span(random, MS, 30 * MS, unit);
            (target, span(random, target, 300 * MS, unit))
        }
    }
}

#[test]
fn codel_rfc_8289() {
    let decisions = judge("codel", EXACT, |random| {
        let (model_room, text) = room(random);
        let (target, interval, mtu, ecn, ce, rest) = codel_arguments(random);
        let mut model = Codel::new(model_room, target, interval, mtu, ecn);
        model.ce_threshold = ce;
        (format!("codel:{text}:{rest}"), Box::new(model))
    });
    assert!(decisions > 10_000, "{decisions}");
}

#[test]
fn codel_linux() {
    let decisions = judge("codel-linux", CODEL_TIME, |random| {
        let (model_room, text) = room(random);
        let (target, interval, mtu, ecn, ce, rest) = codel_arguments(random);
        let model = CodelLinux::new(model_room, target, interval, mtu, ecn, ce);
        (format!("codel:variant=linux:{text}:{rest}"), Box::new(model))
    });
    assert!(decisions > 10_000, "{decisions}");
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
fn codel_mahimahi() {
    let decisions = judge("codel-mahimahi", MILLISECONDS, |random| {
        let (room, text) = room(random);
        let (target, interval) = codel_times(random, MS);
        let model = CodelMahimahi::new(room, target, interval, 1500, 0);
        let (target, interval) = (us(target), us(interval));
        (format!("codel:variant=mahimahi:{text}:target={target}:interval={interval}"), Box::new(model))
    });
    assert!(decisions > 1_000, "{decisions}");
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

#[test]
fn pie_rfc_8033() {
    let decisions = judge("pie", EXACT, |random| {
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
        // A packet larger than the mean is where appendix B and Linux part; there are none.
        model.bytemode = mtu >= 1500 && random.below(3) == 0;
        let estimator = if random.below(2) == 0 { "timestamp" } else { "rate" };
        model.rate = (estimator == "rate").then(Rate::default);
        let ecn = if ecn { format!("on:ecn_threshold={threshold}") } else { "off".to_string() };
        let (derandomize, bytemode) = (switch(model.derandomize), switch(model.bytemode));
        let text = format!(
            "pie:{text}:{rest}:ecn={ecn}:derandomize={derandomize}:bytemode={bytemode}:estimator={estimator}"
        );
        (text, Box::new(model))
    });
    assert!(decisions > 10_000, "{decisions}");
}

#[test]
fn pie_linux() {
    let decisions = judge("pie-linux", EXACT, |random| {
        let (room, text) = room(random);
        let (target, tupdate, max_burst, alpha, beta, mtu, rest) = pie_arguments(random);
        let mut model = PieLinux::new(room, target, tupdate, max_burst);
        (model.alpha, model.beta, model.mtu) = (alpha, beta, mtu);
        // A kernel's timer has run long since; the phase the implementation has chosen.
        model.next_tick = model.tupdate;
        model.ecn = random.below(2) == 0;
        model.bytemode = random.below(3) == 0;
        let (ecn, bytemode) = (switch(model.ecn), switch(model.bytemode));
        (format!("pie:variant=linux:{text}:{rest}:ecn={ecn}:bytemode={bytemode}"), Box::new(model))
    });
    assert!(decisions > 10_000, "{decisions}");
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
    assert!(decisions > 1_000, "{decisions}");
}
