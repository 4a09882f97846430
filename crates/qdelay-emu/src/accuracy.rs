//! Accuracy of the delays of a real-clock run: a grade, an error bound, and advice on improving both.
//!
//! The verdict of an [audit](crate::audit) is yes or no, by a limit that depends on the link. The grade states the size of
//! delay errors, whatever the link.
//!
//! A packet's delay error is the lateness of its release plus the time that the packet waited unread. The bound is the 99.9th
//! percentile of the lateness of releases, because the verdict allows one packet in a thousand to be late. If more than one
//! packet in a thousand may have waited unread, or was written in a stall, the longest such wait is added to it, and the bound is at least
//! the lateness that a packet may have had after its write.
//!
//! The path's own event times decide which packets a queue drops and when they leave it. A late release changes none of
//! these decisions. A packet that waited unread, and that its device did not time-stamp, reaches its queue later than it
//! reached the device.

use crate::audit::AuditFacts;
use qdelay_core::Span;

/// Upper bound of [`Grade::Fine`]. Tables print delays with this resolution, and [`Plan::lateness_limits`] requires this bound
/// at 120 Mbit/s.
///
/// [`Plan::lateness_limits`]: qdelay_path::stack::Plan::lateness_limits
pub const FINE: Span = Span::from_micros(100);
/// Upper bound of [`Grade::Good`]: the resolution of traces (1 ms), and a cell's TTI.
pub const GOOD: Span = Span::from_millis(1);
/// Upper bound of [`Grade::Coarse`]: half of BoDe's target of 20 ms, so that a queue at its target can be told from a queue
/// above it. Larger errors are [`Grade::Poor`].
pub const COARSE: Span = Span::from_millis(10);

/// Accuracy of the delays of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grade {
    /// No packet was released.
    Unmeasured,
    /// Delay error of at most [`FINE`].
    Fine,
    /// Delay error of at most [`GOOD`].
    Good,
    /// Delay error of at most [`COARSE`].
    Coarse,
    /// Delay error above [`COARSE`].
    Poor,
    /// Packets were lost outside the path: delays lack these packets, and senders reacted to losses that the link does not have.
    Incomplete,
}

impl Grade {
    /// The name in results.
    pub fn name(self) -> &'static str {
        match self {
            Grade::Unmeasured => "unmeasured",
            Grade::Fine => "fine",
            Grade::Good => "good",
            Grade::Coarse => "coarse",
            Grade::Poor => "poor",
            Grade::Incomplete => "incomplete",
        }
    }

    /// Permitted use of figures of this grade.
    fn meaning(self) -> &'static str {
        match self {
            Grade::Unmeasured => "no packet was released",
            Grade::Fine => "delays can be compared with those of the simulator",
            Grade::Good => "delays can be compared with each other to a millisecond",
            Grade::Coarse => "only differences of tens of milliseconds mean something",
            Grade::Poor => "delays cannot be used",
            Grade::Incomplete => "packets were lost outside the link, and their senders reacted to that",
        }
    }
}

/// The accuracy that a run has to have: a grade, or a bound of the error of delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Required {
    /// At least this grade.
    Grade(Grade),
    /// At most this error.
    Bound(Span),
}

impl Required {
    /// Reads `fine`, `good`, `coarse` or a time such as `2ms`.
    ///
    /// # Errors
    /// Neither; what was expected.
    pub fn parse(text: &str) -> Result<Required, String> {
        let grades = [Grade::Fine, Grade::Good, Grade::Coarse];
        if let Some(grade) = grades.into_iter().find(|grade| grade.name() == text) {
            return Ok(Required::Grade(grade));
        }
        match qdelay_core::units::parse_span(text) {
            Ok(bound) if !bound.is_zero() => Ok(Required::Bound(bound)),
            _ => Err("expected fine (0.1 ms), good (1 ms), coarse (10 ms) or a time such as 2ms".to_string()),
        }
    }

    /// Largest error of delays.
    pub fn bound(self) -> Span {
        match self {
            Required::Grade(Grade::Fine) => FINE,
            Required::Grade(Grade::Good) => GOOD,
            Required::Grade(_) => COARSE,
            Required::Bound(bound) => bound,
        }
    }
}

/// The requirement as text.
impl std::fmt::Display for Required {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Required::Grade(grade) => write!(f, "{} ({})", grade.name(), self.bound()),
            Required::Bound(bound) => write!(f, "{bound}"),
        }
    }
}

/// The grade of a run and its error bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    /// The grade.
    pub grade: Grade,
    /// Maximum delay error of all but one packet in a thousand.
    pub bound: Span,
}

impl Accuracy {
    /// Derives the accuracy of a run from its audit.
    pub fn from_facts(facts: &AuditFacts) -> Accuracy {
        let late = Span::from_nanos((facts.lateness.p999 * 1e6).round() as u64);
        let stalls = &facts.stalls;
        let bound = match crate::audit::is_too_many(stalls.unknown(), stalls.read) {
            true => (late + stalls.longest_wait).max(stalls.longest_hold),
            false => late,
        };
        let grade = match bound {
            _ if facts.lost > 0 => Grade::Incomplete,
            _ if facts.lateness.count == 0 => Grade::Unmeasured,
            bound if bound <= FINE => Grade::Fine,
            bound if bound <= GOOD => Grade::Good,
            bound if bound <= COARSE => Grade::Coarse,
            _ => Grade::Poor,
        };
        Accuracy { grade, bound }
    }

    /// Whether the run meets `required`.
    pub fn meets(&self, required: Required) -> bool {
        !matches!(self.grade, Grade::Incomplete | Grade::Unmeasured) && self.bound <= required.bound()
    }

    /// One line of text: share of late releases, error bound, and the meaning of the grade.
    pub fn describe(&self, facts: &AuditFacts) -> String {
        let (name, meaning) = (self.grade.name(), self.grade.meaning());
        if self.grade == Grade::Unmeasured {
            return format!("verdict {name}: {meaning}");
        }
        let shares = 100.0 * late_share(facts);
        let limit = crate::audit::limits(facts.limits);
        format!(
            "verdict {name}: delays hold to {}: {meaning}; {shares:.2}% of packets left more than {limit} late; late \
             releases do not change what a queue drops",
            rounded_up(self.bound)
        )
    }
}

impl AuditFacts {
    /// Accuracy of the delays of this run.
    pub fn accuracy(&self) -> Accuracy {
        Accuracy::from_facts(self)
    }
}

/// Advice for a more accurate run; empty if delays are right to a millisecond and releases were on time.
pub fn advice(facts: &AuditFacts) -> Vec<String> {
    let stalls = &facts.stalls;
    let is_late = crate::audit::is_too_many(facts.late, facts.lateness.count);
    let is_unread = crate::audit::is_too_many(stalls.unknown(), stalls.read);
    if !is_late && !is_unread && Accuracy::from_facts(facts).bound <= GOOD {
        return Vec::new();
    }
    let mut advice = vec![
        "--realtime (real-time priority, and spinning before each release)".to_string(),
        "a longer --spin, such as 400us, if it is late with --realtime too".to_string(),
        "less other load on this machine".to_string(),
    ];
    if let Some(steal) = facts.steal.filter(|steal| *steal > Span::ZERO) {
        let seconds = steal.as_secs_f64();
        advice.push(format!(
            "a dedicated machine: the hypervisor gave {seconds:.2} s of processor time to other guests"
        ));
    }
    advice
}

/// The share of releases that were later than the limit, 0 to 1.
pub fn late_share(facts: &AuditFacts) -> f64 {
    facts.late as f64 / facts.lateness.count.max(1) as f64
}

/// `span` in milliseconds as text, rounded up: to 10 us up to 1 ms, to 0.1 ms above.
fn rounded_up(span: Span) -> String {
    match span.as_nanos() {
        nanos if nanos <= 1_000_000 => format!("{:.2} ms", nanos.div_ceil(10_000).max(1) as f64 / 100.0),
        nanos => format!("{:.1} ms", nanos.div_ceil(100_000) as f64 / 10.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::Audit;
    use crate::device::Port;
    use qdelay_core::Time;

    fn us(n: u64) -> Time {
        Time::from_nanos(n * 1000)
    }

    /// An audit of groups `(packets, lateness in us)`, on a link with a lateness limit of 100 us.
    fn run(groups: &[(u64, u64)]) -> Audit {
        let mut audit = Audit::begin(us(0), [Span::from_micros(100); 2], 0);
        for (count, late) in groups {
            (0..*count).for_each(|_| audit.released(us(1_000_000 + late), Port::Inside, us(1_000_000)));
        }
        audit
    }

    fn grade(groups: &[(u64, u64)]) -> Grade {
        run(groups).facts().accuracy().grade
    }

    #[test]
    fn each_grade_includes_its_upper_bound() {
        assert_eq!(grade(&[]), Grade::Unmeasured);
        for (late, expected) in [
            (0, Grade::Fine),
            (100, Grade::Fine),
            (101, Grade::Good),
            (1000, Grade::Good),
            (1010, Grade::Coarse),
            (10_000, Grade::Coarse),
            (10_100, Grade::Poor),
            (800_000, Grade::Poor),
        ] {
            assert_eq!(grade(&[(1000, late)]), expected, "{late} us");
        }
    }

    #[test]
    fn one_packet_in_a_thousand_does_not_count() {
        assert_eq!(grade(&[(1999, 20), (1, 50_000)]), Grade::Fine);
        assert_eq!(grade(&[(1990, 20), (10, 50_000)]), Grade::Poor);
    }

    #[test]
    fn grade_is_good_though_releases_exceed_the_limit() {
        let facts = run(&[(990, 20), (10, 206)]).facts();
        assert!(!facts.verdict.trustworthy);
        assert_eq!(
            facts.accuracy().describe(&facts),
            "verdict good: delays hold to 0.21 ms: delays can be compared with each other to a millisecond; 1.00% of packets \
             left more than 100us late; late releases do not change what a queue drops"
        );
        let advice = advice(&facts);
        assert!(advice[0].starts_with("--realtime ") && advice[1].contains("--spin"), "{advice:?}");
    }

    #[test]
    fn advice_is_empty_for_an_accurate_run() {
        assert_eq!(advice(&run(&[(1000, 20)]).facts()), Vec::<String>::new());
    }

    #[test]
    fn advice_states_the_stolen_time() {
        let mut facts = run(&[(1000, 2000)]).facts();
        facts.steal = Some(Span::from_millis(2500));
        assert!(advice(&facts).iter().any(|line| line.contains("2.50 s of processor time")));
    }

    #[test]
    fn stall_sets_the_bound_if_too_many_packets_were_read_late() {
        let stalled = |reads: u64| {
            let mut audit = run(&[(1000, 20)]);
            audit.clock_read(us(20));
            (0..reads).for_each(|_| audit.stalls.read(Port::Inside, false));
            audit.clock_read(us(800_000));
            audit.stalls.read(Port::Inside, false);
            audit.stalls.empty(Port::Inside);
            audit.facts().accuracy()
        };
        assert_eq!(stalled(999), Accuracy { grade: Grade::Fine, bound: Span::from_micros(20) });
        assert_eq!(stalled(998), Accuracy { grade: Grade::Poor, bound: Span::from_millis(800) });
    }

    #[test]
    fn requirements_are_met_up_to_their_bound() {
        let accuracy = |groups: &[(u64, u64)]| run(groups).facts().accuracy();
        let required = |text: &str| Required::parse(text).unwrap();
        for (late, met, missed) in [
            (100, "fine", "99us"),
            (1000, "good", "fine"),
            (10_000, "coarse", "good"),
            (1500, "1.5ms", "good"),
        ] {
            let accuracy = accuracy(&[(1000, late)]);
            assert!(accuracy.meets(required(met)) && !accuracy.meets(required(missed)), "{late} us");
        }
        assert!(!accuracy(&[]).meets(required("coarse")), "nothing was measured");
        let mut lossy = run(&[(1000, 20)]);
        lossy.send_full = 1;
        assert!(!lossy.facts().accuracy().meets(required("coarse")));
        for wrong in ["poor", "0s", "1", "", "incomplete"] {
            assert!(Required::parse(wrong).unwrap_err().contains("expected fine"), "{wrong}");
        }
    }

    #[test]
    fn losses_outside_the_path_outweigh_lateness() {
        let mut audit = run(&[(1000, 20)]);
        audit.send_full = 1;
        assert_eq!(audit.facts().accuracy().grade, Grade::Incomplete);
    }

    #[test]
    fn bounds_are_rounded_up() {
        for (nanos, text) in [
            (0, "0.01 ms"),
            (10_000, "0.01 ms"),
            (10_001, "0.02 ms"),
            (999_999, "1.00 ms"),
            (1_000_001, "1.1 ms"),
            (9_950_000, "10.0 ms"),
        ] {
            assert_eq!(rounded_up(Span::from_nanos(nanos)), text);
        }
    }
}
