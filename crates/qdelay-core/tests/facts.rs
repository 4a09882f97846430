//! What the RFCs and the paper say a discipline does, measured from outside.

mod drive;
mod models;

use drive::{Subject, packet};
use models::{Fate, MS, Ns};
use qdelay_core::Random;
use qdelay_core::qdisc::Qdisc;

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

    /// Nothing arrives; service goes on.
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
            .filter(|(_, f)| matches!(f, Fate::Codel(_) | Fate::Pie(_)))
            .map(|(at, _)| *at)
            .collect()
    }

    fn marks(&self) -> Vec<Ns> {
        let is_mark = |f: &Fate| matches!(f, Fate::MarkCodel(_) | Fate::MarkPie(_));
        self.fates.iter().filter(|(_, f)| is_mark(f)).map(|(at, _)| *at).collect()
    }
}

/// RFC 8289 section 5.5: under an overload that nothing answers, drop k follows drop k-1 by interval / sqrt(k - 1),
/// at the first chance of service from then on; what the chance adds does not accumulate.
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

/// The same law with marks: nothing is lost.
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

/// A standing queue below target, and a queue that empties once an interval, are never touched.
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
    // An M/D/1 queue at load 0.95 is not a good queue: some of its busy periods outlast an interval.
    assert!(dips.len() < 500, "{}", dips.len());
}

/// RFC 8289 section 5.3: a queue with no more than an MTU left behind the head is not dropped from, however slow it is.
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
        // 4 s empty what 1 s piled up; the rest is idle.
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

/// RFC 8033 section 4.4: from an idle start the first 150 ms of a burst pass whatever their load.
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
    // Without the allowance a strong overload is met sooner.
    let mut line = Line::new("pie:limit=100000:max_burst=0ms", 3);
    line.run(SECOND, MS, 10.0, true);
    assert!(line.drops()[0] < 150 * MS, "{}", line.drops()[0]);
}

/// RFC 8033 section 4.2: the integral term holds the mean delay at the reference, whatever load asks for it.
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
        // And the share dropped is the share that does not fit.
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

/// RFC 8033 section 4.1: a queue that is hardly used is left alone.
#[test]
fn pie_leaves_light_load_alone() {
    let mut line = Line::new("pie", 5);
    line.run(60 * SECOND, MS, 0.7, true);
    assert!(line.drops().is_empty());
    let mut line = Line::new("pie", 5);
    line.run(10 * SECOND, MS, 2.0, true);
    let busy = line.drops().len();
    assert!(busy > 1000);
    // Section 4.2's decay: once the overload is over, it is soon forgotten.
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
    // The load needs a third dropped: in the long run the probability stays above 10%.
    assert!(marks.iter().all(|at| *at < 10 * SECOND) && drops.len() > 1000);
    let mut line = Line::new("pie:ecn=off:limit=100000", 5);
    line.capable = true;
    line.run(20 * SECOND, MS, 1.5, true);
    assert!(line.marks().is_empty());
}

/// BoDe V-C: everything older than the bound goes, but the last three are served.
#[test]
fn bode_serves_the_last_three() {
    let mut subject = Subject::new("bode:target=20ms", 1);
    for id in 0..10 {
        subject.enqueue(0, packet(id, 1500, false, 0));
    }
    assert_eq!(subject.dequeue(20 * MS).map(|p| p.handle), Some(0), "exactly at the bound is in time");
    assert_eq!(subject.dequeue(20 * MS + 1).map(|p| p.handle), Some(7));
    assert_eq!(subject.ear.0, (1..7).map(Fate::Sojourn).collect::<Vec<_>>());
    assert_eq!(subject.dequeue(SECOND).map(|p| p.handle), Some(8));
    assert_eq!(subject.dequeue(2 * SECOND).map(|p| p.handle), Some(9));
    assert_eq!(subject.dequeue(2 * SECOND), None);
    assert_eq!(subject.qdisc.backlog().packets, 0);
}
