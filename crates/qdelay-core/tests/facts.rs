//! Facts stated by the RFCs and the papers about disciplines of one queue, measured from outside.

use crate::drive::{Subject, drain, packet};
use crate::models::{Fate, MS, Ns};
use qdelay_core::qdisc::{AnyQdisc, COMPONENTS, Qdisc};
use qdelay_core::{Random, Rate};

const SECOND: Ns = 1_000 * MS;

/// A link that takes one packet every `gap`, fed by a source that sends one every `gap / load` on average.
struct Line {
    subject: Subject,
    random: Random,
    now: Ns,
    next_arrival: Ns,
    next_service: Ns,
    sent: u64,
    arrivals: Vec<Ns>,
    fates: Vec<(Ns, Fate)>,
    sojourns: Vec<(Ns, Ns)>,
    bytes: u32,
    capable: bool,
}

impl Line {
    fn new(text: &str, seed: u64) -> Line {
        Line {
            subject: Subject::new(text, seed),
            random: Random::derive(seed, "line", "arrivals"),
            now: 0,
            next_arrival: 0,
            next_service: 0,
            sent: 0,
            arrivals: Vec::new(),
            fates: Vec::new(),
            sojourns: Vec::new(),
            bytes: 1500,
            capable: false,
        }
    }

    /// Runs until `until`: service every `gap`, arrivals at `load` times that rate, Poisson or evenly spaced.
    fn run(&mut self, until: Ns, gap: Ns, load: f64, poisson: bool) {
        self.next_arrival = self.next_arrival.max(self.now);
        while self.next_arrival.min(self.next_service) < until {
            self.now = self.next_arrival.min(self.next_service);
            self.subject.poll_until(self.now);
            if self.next_arrival <= self.next_service {
                self.subject.enqueue(self.now, packet(self.sent, self.bytes, self.capable, 0));
                self.arrivals.push(self.now);
                self.sent += 1;
                let spread = if poisson { self.random.exponential() } else { 1.0 };
                self.next_arrival += (gap as f64 / load * spread) as Ns;
            } else {
                if let Some(p) = self.subject.dequeue(self.now) {
                    self.sojourns.push((self.now, self.now - p.arrival.as_nanos()));
                }
                self.next_service += gap;
            }
            let now = self.now;
            self.fates.extend(self.subject.ear.0.drain(..).map(|f| (now, f)));
        }
        self.now = until;
        self.subject.poll_until(until);
    }

    /// Continues service without arrivals.
    fn quiet(&mut self, until: Ns, gap: Ns) {
        self.next_arrival = until;
        self.run(until, gap, 1.0, false);
    }

    fn mean_sojourn_ms(&self, from: Ns) -> f64 {
        let all: Vec<f64> =
            self.sojourns.iter().filter(|(at, _)| *at >= from).map(|(_, s)| *s as f64 / 1e6).collect();
        all.iter().sum::<f64>() / all.len() as f64
    }

    fn drops(&self) -> Vec<Ns> {
        self.fates
            .iter()
            .filter(|(_, f)| matches!(f, Fate::Drop("codel", _) | Fate::Drop("pie", _)))
            .map(|(at, _)| *at)
            .collect()
    }

    fn marks(&self) -> Vec<Ns> {
        let is_mark = |f: &Fate| matches!(f, Fate::Mark("codel", _) | Fate::Mark("pie", _));
        self.fates.iter().filter(|(_, f)| is_mark(f)).map(|(at, _)| *at).collect()
    }
}

/// RFC 8289 section 5.5: under an unresponsive overload, drop k follows drop k-1 by interval / sqrt(k - 1),
/// at the first service opportunity from then on; the wait for the opportunity does not accumulate.
#[test]
fn codel_spaces_its_drops_by_the_control_law() {
    let mut line = Line::new("codel:target=5ms:interval=100ms:limit=100000", 1);
    let gap = MS / 10;
    line.run(5 * SECOND, gap, 1.5, false);
    let drops = line.drops();
    let above = line.sojourns.iter().find(|(_, s)| *s >= 5 * MS).expect("an overload passes the target").0;
    assert!(drops[0] >= above + 100 * MS && drops[0] < above + 100 * MS + gap, "{above} {}", drops[0]);
    let mut due = drops[0] as f64;
    for (k, at) in drops.iter().enumerate().skip(1) {
        due += 100e6 / (k as f64).sqrt();
        let late = *at as f64 - due;
        // A nanosecond each for the rounding of the law.
        assert!(late >= -(k as f64) && late <= gap as f64 + k as f64, "drop {k}: {late} ns after it was due");
    }
    // Sum of 1 / sqrt(k) is about 2 sqrt(n): n is about (t / (2 interval))^2.
    let expected = ((5e9 - drops[0] as f64) / 200e6).powi(2);
    assert!((drops.len() as f64 / expected - 1.0).abs() < 0.1, "{} drops, {expected} expected", drops.len());
}

/// The same law with marks loses no packet.
#[test]
fn codel_marks_capable_packets_in_place_of_dropping_them() {
    let mut line = Line::new("codel:target=5ms:interval=100ms:limit=100000:ecn=on", 1);
    line.capable = true;
    let gap = MS / 10;
    line.run(3 * SECOND, gap, 1.5, false);
    let marks = line.marks();
    assert!(line.drops().is_empty() && marks.len() > 100);
    let mut due = marks[0] as f64;
    for (k, at) in marks.iter().enumerate().skip(1) {
        due += 100e6 / (k as f64).sqrt();
        let late = *at as f64 - due;
        assert!(late >= -(k as f64) && late <= gap as f64 + k as f64, "mark {k}: {late} ns after it was due");
    }
}

/// A standing queue below target, and a queue that empties once an interval, have no drops.
#[test]
fn codel_leaves_good_queues_alone() {
    let mut line = Line::new("codel:target=5ms:interval=100ms", 1);
    line.run(10 * SECOND, MS, 0.95, true);
    let worst = line.sojourns.iter().map(|(_, s)| *s).max().unwrap_or(0);
    assert!(worst > 10 * MS, "the load is bursty enough to pass the target: {worst}");
    let dips = line.drops();
    // Bursts of 40 packets every 80 ms: up to 40 ms of sojourn, empty in between.
    let mut line = Line::new("codel:target=5ms:interval=100ms", 1);
    for k in 0..100 {
        line.run(k * 80 * MS + MS, MS, 40.0, false);
        line.quiet((k + 1) * 80 * MS, MS);
    }
    assert!(line.drops().is_empty());
    // An M/D/1 queue at load 0.95 has a standing queue now and then: some of its busy periods outlast an
    // interval.
    assert!(dips.len() < 500, "{}", dips.len());
}

/// RFC 8289 section 5.3: a queue with at most an MTU left behind the head has no drops, at any speed of the
/// link.
#[test]
fn codel_never_starves_a_slow_link() {
    let mut line = Line::new("codel:target=5ms:interval=100ms", 1);
    for k in 0..50 {
        // Two packets at once, served one a second.
        line.subject.enqueue(k * 2 * SECOND, packet(2 * k, 1500, false, 0));
        line.subject.enqueue(k * 2 * SECOND, packet(2 * k + 1, 1500, false, 0));
        for n in 1..=2 {
            assert!(line.subject.dequeue((2 * k + n) * SECOND - MS).is_some());
        }
    }
    assert!(line.subject.ear.0.is_empty());
}

/// RFC 8289 section 5.5: the next episode resumes the drop rate of the last one if it is less than 16 intervals after
/// it, and starts afresh otherwise. Seen in the time from its first to its second drop.
#[test]
fn codel_resumes_a_recent_episode() {
    let spacing = |pause: Ns| {
        let mut line = Line::new("codel:target=5ms:interval=100ms:limit=100000", 1);
        let gap = MS / 10;
        line.run(SECOND, gap, 1.2, false);
        let first = line.drops().len();
        // The 4 s suffice to drain the backlog of 1 s; the rest is idle.
        line.quiet(SECOND + SECOND / 2 + pause, gap);
        let done = line.drops().len();
        line.run(line.now + SECOND, gap, 1.2, false);
        let drops = line.drops();
        (first, done, drops[done + 1] - drops[done])
    };
    let (first, done, soon) = spacing(0);
    assert!(first > 10 && done >= first);
    // Entered with count = drops of the last episode - 1 (its lastcount was 1).
    let expected = 100e6 / ((done - 1) as f64).sqrt();
    assert!((soon as f64 - expected).abs() < 0.2e6, "{soon} after {done} drops, {expected} expected");
    let (_, _, late) = spacing(2 * SECOND);
    assert!((late as f64 - 100e6).abs() < 0.2e6, "{late}");
}

/// RFC 8033 section 4.4: from an idle start the first 150 ms of a burst pass at any load.
#[test]
fn pie_lets_the_first_150_ms_of_a_burst_through() {
    for load in [1.5, 3.0, 10.0] {
        let first = |burst: &str| {
            let mut line = Line::new(&format!("pie:limit=100000:max_burst={burst}"), 3);
            line.run(5 * SECOND, MS, load, true);
            line.drops()[0]
        };
        let (with, without) = (first("150ms"), first("0ms"));
        assert!(with >= 150 * MS, "load {load}: first drop at {with}");
        assert!(without <= with, "load {load}: {without} without an allowance, {with} with");
    }
    // Without the allowance the first drop under a strong overload is earlier.
    let mut line = Line::new("pie:limit=100000:max_burst=0ms", 3);
    line.run(SECOND, MS, 10.0, true);
    assert!(line.drops()[0] < 150 * MS, "{}", line.drops()[0]);
}

/// RFC 8033 section 4.2: the integral term holds the mean delay at the reference, at any load.
#[test]
fn pie_holds_its_reference_under_overload() {
    for (target, load) in [(15.0, 1.1), (15.0, 1.5), (15.0, 2.5), (40.0, 1.5)] {
        let mut line = Line::new(&format!("pie:target={target}ms:limit=100000"), 5);
        line.run(60 * SECOND, MS, load, true);
        let mean = line.mean_sojourn_ms(20 * SECOND);
        assert!(
            (mean / target - 1.0).abs() < 0.1,
            "load {load}: mean {mean} ms at a reference of {target} ms"
        );
        // The dropped share is the excess of the load over the capacity.
        let late = line.drops().iter().filter(|at| **at >= 20 * SECOND).count() as f64;
        let offered = line.arrivals.iter().filter(|at| **at >= 20 * SECOND).count() as f64;
        let excess = 1.0 - 1.0 / load;
        assert!(
            (late / offered - excess).abs() < 0.02,
            "load {load}: {} dropped, {excess} too many",
            late / offered
        );
    }
}

/// RFC 8033 section 4.1: a lightly loaded queue has no drops.
#[test]
fn pie_leaves_light_load_alone() {
    let mut line = Line::new("pie", 5);
    line.run(60 * SECOND, MS, 0.7, true);
    assert!(line.drops().is_empty());
    let mut line = Line::new("pie", 5);
    line.run(10 * SECOND, MS, 2.0, true);
    let busy = line.drops().len();
    assert!(busy > 1000);
    // The decay of section 4.2: soon after the overload the probability is near zero.
    line.quiet(10 * SECOND + SECOND, MS);
    line.run(20 * SECOND, MS, 0.5, true);
    let then = line.drops().len();
    line.run(30 * SECOND, MS, 0.7, true);
    assert_eq!(line.drops().len(), then);
}

/// RFC 8033 section 5.1: capable packets are marked while the drop probability is below 10%, dropped above.
#[test]
fn pie_marks_and_then_drops() {
    let mut line = Line::new("pie:ecn=on:limit=100000", 5);
    line.capable = true;
    line.run(20 * SECOND, MS, 1.5, true);
    let (marks, drops) = (line.marks(), line.drops());
    assert!(marks[0] < drops[0], "{} {}", marks[0], drops[0]);
    // The load needs a third dropped: after the beginning the probability stays above 10%.
    assert!(marks.iter().all(|at| *at < 10 * SECOND) && drops.len() > 1000);
    let mut line = Line::new("pie:ecn=off:limit=100000", 5);
    line.capable = true;
    line.run(20 * SECOND, MS, 1.5, true);
    assert!(line.marks().is_empty());
}

/// BoDe V-C: packets older than the bound are dropped, but the last three are served.
#[test]
fn bode_serves_the_last_three() {
    let mut subject = Subject::new("bode:target=20ms", 1);
    for id in 0..10 {
        subject.enqueue(0, packet(id, 1500, false, 0));
    }
    assert_eq!(subject.dequeue(20 * MS).map(|p| p.handle), Some(0), "exactly at the bound is in time");
    assert_eq!(subject.dequeue(20 * MS + 1).map(|p| p.handle), Some(7));
    assert_eq!(subject.ear.0, (1..7).map(|id| Fate::Drop("sojourn_bound", id)).collect::<Vec<_>>());
    assert_eq!(subject.dequeue(SECOND).map(|p| p.handle), Some(8));
    assert_eq!(subject.dequeue(2 * SECOND).map(|p| p.handle), Some(9));
    assert_eq!(subject.dequeue(2 * SECOND), None);
    assert_eq!(subject.qdisc.backlog().packets, 0);
}

/// A RED queue whose average is its length (weight 1), which a test holds at a chosen length.
struct Held {
    subject: Subject,
    sent: u64,
}

impl Held {
    fn new(text: &str, seed: u64, length: u64) -> Held {
        let mut held = Held { subject: Subject::new(&format!("red:weight=1:{text}"), seed), sent: 0 };
        while held.subject.qdisc.backlog().packets < length {
            held.arrive();
        }
        held
    }
    /// One arrival (each microsecond); returns its drop or mark, or `None` if it was just queued.
    fn arrive(&mut self) -> Option<Fate> {
        self.sent += 1;
        self.subject.enqueue(self.sent * 1_000, packet(self.sent, 1500, true, 0));
        self.subject.ear.0.pop()
    }
    fn serve(&mut self) {
        self.subject.dequeue(self.sent * 1_000);
    }
    /// Returns true if an arrival is dropped or marked; the queue has the same length afterwards.
    fn signals(&mut self) -> bool {
        let fate = self.arrive();
        if fate.is_none_or(Fate::is_mark) {
            self.serve();
        }
        fate.is_some()
    }
    /// Number of arrivals up to and including the next drop or mark.
    fn gap(&mut self) -> usize {
        (1..).find(|_| self.signals()).expect("there is a next one")
    }
    fn share(&mut self) -> f64 {
        (0..50_000).filter(|_| self.signals()).count() as f64 / 50_000.0
    }
}

/// The chi-square statistic of `counts` against equal shares.
fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|count| (f64::from(*count) - expected).powi(2) / expected).sum()
}

/// Floyd and Jacobson 1993, section 7, method 2: at a constant average, with p_a = p_b / (1 - count p_b), the
/// number of arrivals up to the next mark is uniform on 1..=1/p_b. In figure 2 of the paper this holds from
/// the time the average enters the range (count is -1 there, and 0 for the first arrival); after a mark count
/// is 0, and 1 for the next arrival, which leaves 1..=1/p_b - 1.
#[test]
fn red_spreads_its_drops_uniformly() {
    // A length of 1 is half-way between 0.5 and 1.5: p_b = 0.125 / 2 = 1/16.
    for ecn in ["off", "on"] {
        let mut held = Held::new(&format!("min=0.5:max=1.5:probability=0.125:ecn={ecn}"), 11, 1);
        held.gap();
        let mut counts = [0; 15];
        for _ in 0..30_000 {
            counts[held.gap() - 1] += 1;
        }
        // 14 degrees of freedom: beyond 36.1 once in a thousand times.
        assert!(chi_square(&counts) < 36.1, "{counts:?}");

        let mut counts = [0; 16];
        for _ in 0..30_000 {
            // The average falls below the range, and rises into it again.
            held.serve();
            assert_eq!(held.arrive(), None);
            counts[held.gap() - 1] += 1;
        }
        assert!(chi_square(&counts) < 37.7, "{counts:?}");
    }
}

/// Section 7, method 1: independent arrivals, geometric gaps with a mean of 1/p_b.
#[test]
fn red_without_wait_drops_each_arrival_for_itself() {
    let mut held = Held::new("min=0.5:max=1.5:probability=0.125:wait=off", 11, 1);
    let n = 30_000;
    let gaps: Vec<f64> = (0..n).map(|_| held.gap() as f64).collect();
    let mean = gaps.iter().sum::<f64>() / f64::from(n);
    // The standard deviation of a gap is about 15.5, of this mean 0.09.
    assert!((mean - 16.0).abs() < 0.3, "{mean}");
    let long = gaps.iter().filter(|gap| **gap > 32.0).count() as f64 / f64::from(n);
    assert!((long - (1.0_f64 - 1.0 / 16.0).powi(32)).abs() < 0.01, "{long}");
}

/// Floyd and Jacobson 1993, figure 2, and Floyd's note on `gentle` (2000): nothing is dropped below min; the
/// probability rises from 0 there to max_p at max; gentle goes on to 1 at twice max, where forced drops
/// begin.
#[test]
fn red_drops_the_share_given_by_its_average() {
    let share = |gentle: &str, length| {
        let text = format!("min=10:max=20:probability=0.2:wait=off:gentle={gentle}");
        // The growing queue passes through the range; packets dropped there are sent again.
        Held::new(&text, 5, length).share()
    };
    for gentle in ["on", "off"] {
        assert_eq!(share(gentle, 9), 0.0);
        assert_eq!(share(gentle, 10), 0.0, "the slope begins at 0");
        for (length, expected) in [(11, 0.02), (15, 0.1), (19, 0.18)] {
            let share = share(gentle, length);
            assert!((share - expected).abs() < 0.008, "{length}: {share}, {expected} expected");
        }
    }
    assert_eq!(share("off", 20), 1.0);
    for (length, expected) in [(20, 0.2), (30, 0.6), (39, 0.96)] {
        let share = share("on", length);
        assert!((share - expected).abs() < 0.01, "{length}: {share}, {expected} expected");
    }
    assert_eq!(share("on", 40), 1.0);
}

/// RFC 3168 section 7: marks replace the drops within the range, not those at an average beyond it.
#[test]
fn red_does_not_mark_where_it_must_drop() {
    let mut held = Held::new("min=2:max=4:probability=1:gentle=off:ecn=on", 5, 4);
    assert!(matches!(held.arrive(), Some(Fate::Drop("red_forced", _))));
    held.serve();
    assert!((0..20).any(|_| {
        let fate = held.arrive();
        held.serve();
        assert!(fate.is_none_or(|fate| matches!(fate, Fate::Mark("red", _))));
        fate.is_some()
    }));
}

/// In bytes, a packet of half the mean size is dropped half as often (Floyd and Jacobson 1993, section 8).
#[test]
fn red_in_bytes_spares_small_packets() {
    let share = |bytes: u32| {
        let mut subject =
            Subject::new("red:mode=bytes:weight=1:wait=off:min=500:max=2500:probability=0.4", 5);
        let mut dropped = 0;
        for step in 0..40_000u64 {
            if subject.qdisc.backlog().packets == 0 {
                // With 1500 bytes queued a fifth of the arrivals of this size are dropped.
                subject.enqueue(step * 1_000, packet(0, 1500, false, 0));
            }
            subject.enqueue(step * 1_000 + 500, packet(1, bytes, false, 0));
            dropped += subject.ear.0.drain(..).count();
            drain(&mut subject, step * 1_000 + 500);
        }
        dropped as f64 / 40_000.0
    };
    for (bytes, expected) in [(1500, 0.2), (750, 0.1), (150, 0.02)] {
        let share = share(bytes);
        assert!((share - expected).abs() < 0.008, "{bytes}: {share}, {expected} expected");
    }
}

/// Sends a burst of packets, none of which is served; returns the index of the first packet that finds the
/// average at `max` or above and is dropped by force. The queue is drained afterwards.
fn burst(subject: &mut Subject, now: Ns) -> usize {
    for id in 0.. {
        subject.enqueue(now, packet(id, 1500, false, 0));
        if subject.ear.0.pop().is_some() {
            drain(subject, now);
            return id as usize;
        }
    }
    unreachable!("the average of a growing queue grows")
}

/// Floyd and Jacobson 1993, section 6.1: with a weight of 0.001, the average of a queue that grows from
/// nothing by a packet an arrival is 4.88 at a length of 100 (avg_L = L + 1 + ((1 - w)^(L + 1) - 1) / w).
#[test]
fn red_averages_a_burst_as_the_paper_says() {
    for (max, first) in [("4.87", 100), ("4.89", 101)] {
        let text = format!("red:weight=0.001:min=1:max={max}:probability=0.000001:gentle=off");
        assert_eq!(burst(&mut Subject::new(&text, 1), 0), first);
    }
}

/// Floyd and Jacobson 1993, section 4: the average ages over an idle time as by as many arrivals to an empty
/// queue as packets could have been sent.
#[test]
fn red_ages_its_average_while_idle() {
    let (w, max) = (0.002_f64, 8.0);
    let growth = |l: f64| l + 1.0 + ((1.0 - w).powf(l + 1.0) - 1.0) / w;
    for idle in [0.0, 1.0, 100.0, 346.2, 2000.0, 1e6] {
        let text = "red:weight=0.002:min=1:max=8:probability=0.000001:gentle=off:rate=12mbit";
        let mut subject = Subject::new(text, 1);
        let first = burst(&mut subject, 0);
        let start = growth(first as f64);
        assert!(start >= max && growth(first as f64 - 1.0) < max);
        // 1500 bytes at 12 Mbit/s take a millisecond.
        let aged = start * (1.0 - w).powf(idle);
        let above = |l: &f64| aged * (1.0 - w).powf(*l) + growth(*l) >= max;
        let expected = (0..).map(f64::from).find(above).map(|l| l as usize);
        assert_eq!(Some(burst(&mut subject, (idle * 1e6) as Ns)), expected, "after {idle} packets' time");
    }
}

/// A queue that stays below min loses nothing, after any history; with an average of twice max and more, no
/// packet is accepted until service has lowered the average.
#[test]
fn red_drops_nothing_below_min_and_everything_above_twice_max() {
    let mut line = Line::new("red:min=20:max=60:probability=1:weight=0.02", 3);
    line.run(20 * SECOND, MS, 0.8, true);
    assert!(line.fates.is_empty() && line.sent > 10_000);
    let mut subject = Subject::new("red:min=1:max=10:probability=0.000001:weight=0.01:limit=500", 3);
    for id in 0..500 {
        subject.enqueue(0, packet(id, 1500, false, 0));
    }
    // The average exceeded 20 before: avg_L of the paper.
    let taken = subject.qdisc.backlog().packets;
    let forced =
        subject.ear.0.iter().filter(|fate| matches!(fate, Fate::Drop("red_forced", _))).count() as u64;
    let first =
        (0..500).find(|id| subject.ear.0.contains(&Fate::Drop("red_forced", *id))).expect("there are some");
    assert_eq!(forced, 500 - first, "from the first on, all");
    assert!(taken <= first && taken > 20, "{taken} {first}");
    subject.ear.0.clear();
    drain(&mut subject, 0);
    subject.enqueue(10 * SECOND, packet(999, 1500, false, 0));
    assert!(subject.ear.0.is_empty());
}

/// Disciplines that rely on a rate report it, and no others do.
#[test]
fn only_disciplines_with_a_rate_promise_one() {
    let promised = |text: &str| AnyQdisc::parse(text).unwrap().promised_rate();
    for component in COMPONENTS {
        assert_eq!(promised(component.name), None, "{}", component.name);
    }
    for name in ["dsd", "fcfs_green"] {
        assert_eq!(promised(&format!("{name}:rate=8mbit")), Some(Rate::from_bps(8_000_000)));
    }
}
