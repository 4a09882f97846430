//! Evaluation of expectations, compared with a slow model that looks up labels by name and shares no code with it.

use qdelay_study::expect::{Aggregate, Best, Expect, evaluate};
use qdelay_study::results::{AxisFile, CaseSummary, ExpectResult};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Pseudorandom numbers: xorshift.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

fn case(labels: &BTreeMap<String, String>, throughput: f64, p99: f64, power: Option<f64>) -> CaseSummary {
    let delay = json!({"count": 1, "mean": 1.0, "p50": 1.0, "p95": 1.0, "p99": p99, "p999": 1.0, "max": 1.0});
    let case = json!({
        "schema_version": 2, "id": "x", "labels": labels, "throughput_mbps": throughput, "utilization": 1.0,
        "capacity_mbps": null, "queue_delay_ms": delay, "sojourn_ms": delay, "backlog_max_packets": 3,
        "backlog_max_bytes": 4500, "one_way_delay_ms": delay, "jitter_ms": 0.0, "power": power, "drops": 0,
        "drops_by_reason": {}, "marks": 0, "marks_by_reason": {}, "packets_forwarded": 1, "jain": 1.0,
        "probe_ms": null, "probe_sent": null, "probe_lost": null, "flows": [], "nodes": {},
        "groups": {"video": {
            "flows": 1, "throughput_mbps": throughput / 2.0, "goodput_mbps": 1.0, "queue_delay_ms": delay,
            "one_way_delay_ms": delay, "jitter_ms": 0.0, "packets_sent": 1, "packets_lost": 0, "loss_ratio": 0.0
        }},
    });
    serde_json::from_value(case).expect("a case")
}

type Labels = BTreeMap<String, String>;

/// The slow model: looks up everything by name, one step after the other, over all cases each time.
mod model {
    use super::*;

    fn value(case: &CaseSummary, measure: &str) -> Option<f64> {
        if let Some(at) = measure.find(" / ") {
            let (over, below) = (value(case, &measure[..at])?, value(case, &measure[at + 3..])?);
            return if below == 0.0 { None } else { Some(over / below) };
        }
        match measure {
            "throughput_mbps" => Some(case.throughput_mbps),
            "queue_delay_ms.p99" => Some(case.queue_delay_ms.p99),
            "groups.video.throughput_mbps" => Some(case.groups["video"].throughput_mbps),
            "power" => case.power,
            _ => None,
        }
    }

    fn without_seed(case: &CaseSummary) -> CaseSummary {
        let labels = case.labels.iter().filter(|(axis, _)| *axis != "seed");
        let labels = labels.map(|(axis, label)| (axis.clone(), label.clone())).collect();
        CaseSummary { labels, ..case.clone() }
    }

    fn case_at<'a>(cases: &'a [CaseSummary], wanted: &Labels) -> Option<&'a CaseSummary> {
        cases.iter().find(|case| case.labels == *wanted)
    }

    /// Student's t for 95%: the density of the angle atan(t / sqrt(n)) is cos(x)^(n - 1), integrated from 0 by Simpson's rule.
    fn quantile(degrees: usize) -> f64 {
        const CELLS: usize = 20_000;
        let width = std::f64::consts::FRAC_PI_2 / CELLS as f64;
        let density = |angle: f64| angle.cos().powi(degrees as i32 - 1);
        let area = |from: f64, to: f64| {
            (to - from) / 6.0 * (density(from) + 4.0 * density(f64::midpoint(from, to)) + density(to))
        };
        let cell = |cell: usize| (cell as f64 * width, (cell + 1) as f64 * width);
        let wanted = 0.95 * (0..CELLS).map(|at| area(cell(at).0, cell(at).1)).sum::<f64>();
        let mut before = 0.0;
        for at in 0..CELLS {
            let (from, to) = cell(at);
            if before + area(from, to) >= wanted {
                let (mut low, mut high) = (from, to);
                for _ in 0..50 {
                    let middle = f64::midpoint(low, high);
                    if before + area(from, middle) < wanted { low = middle } else { high = middle }
                }
                return (degrees as f64).sqrt() * high.tan();
            }
            before += area(from, to);
        }
        f64::NAN
    }

    thread_local! {
        static QUANTILES: RefCell<BTreeMap<usize, f64>> = const { RefCell::new(BTreeMap::new()) };
    }

    /// Mean minus t standard errors; with `sign` 1, mean plus t standard errors.
    fn end_of_interval(all: &[f64], sign: f64) -> Result<f64, ()> {
        if all.len() < 2 {
            return Err(());
        }
        let n = all.len() as f64;
        let mean = all.iter().sum::<f64>() / n;
        let deviation = (all.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
        let degrees = all.len() - 1;
        let t = QUANTILES.with_borrow_mut(|known| *known.entry(degrees).or_insert_with(|| quantile(degrees)));
        Ok(mean + sign * t * deviation / n.sqrt())
    }

    fn figure(
        expect: &Expect,
        cases: &[CaseSummary],
        select: &BTreeMap<String, Vec<String>>,
    ) -> Result<f64, ()> {
        let mut all = Vec::new();
        // For each figure, the cases without their seeds that it was computed from.
        let mut runs: Vec<Vec<CaseSummary>> = Vec::new();
        for case in cases {
            if !select
                .iter()
                .all(|(axis, labels)| case.labels.get(axis).is_some_and(|label| labels.contains(label)))
            {
                continue;
            }
            let mut run = vec![case];
            let mut one = value(case, &expect.measure).ok_or(())?;
            if !expect.normalise.is_empty() {
                let mut other = case.labels.clone();
                for (axis, label) in &expect.normalise {
                    other.insert(axis.clone(), label.clone());
                }
                let reference = case_at(cases, &other).ok_or(())?;
                run.push(reference);
                let reference = value(reference, &expect.measure).ok_or(())?;
                if reference == 0.0 {
                    return Err(());
                }
                one /= reference;
            }
            if matches!(expect.aggregate, Aggregate::Ci95Low | Aggregate::Ci95High) {
                let run = run.into_iter().map(without_seed).collect();
                if runs.contains(&run) {
                    continue;
                }
                runs.push(run);
            }
            all.push(one);
        }
        let n = all.len() as f64;
        all.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        let (Some(first), Some(last)) = (all.first(), all.last()) else { return Err(()) };
        Ok(match expect.aggregate {
            Aggregate::Min => *first,
            Aggregate::Max => *last,
            Aggregate::Sum => all.iter().rev().sum(),
            Aggregate::Mean => all.iter().map(|one| one / n).sum(),
            Aggregate::Geomean => all.iter().map(|one| one.powf(1.0 / n)).product(),
            Aggregate::Median => (all[(all.len() - 1) / 2] + all[all.len() / 2]) / 2.0,
            Aggregate::Ci95Low => end_of_interval(&all, -1.0)?,
            Aggregate::Ci95High => end_of_interval(&all, 1.0)?,
        })
    }

    /// With the extreme over an axis: one expectation for each label, without the extreme.
    pub fn with_extreme(expect: &Expect, axes: &[AxisFile], cases: &[CaseSummary]) -> Option<f64> {
        let Some((extreme, name)) = &expect.extreme else { return ours(expect, cases) };
        let mut found = Vec::new();
        for label in &axes.iter().find(|axis| axis.name == *name)?.labels {
            if expect.select.get(name).is_some_and(|wanted| !wanted.contains(label)) {
                continue;
            }
            let mut one = Expect { extreme: None, ..expect.clone() };
            one.select.insert(name.clone(), vec![label.clone()]);
            found.push(ours(&one, cases)?);
        }
        found.sort_by(|a, b| a.partial_cmp(b).expect("numbers"));
        if *extreme == Best::Min { found.first().copied() } else { found.last().copied() }
    }

    pub fn ours(expect: &Expect, cases: &[CaseSummary]) -> Option<f64> {
        let figure_here = figure(expect, cases, &expect.select).ok()?;
        if expect.alternatives.is_empty() {
            return Some(figure_here);
        }
        // Every tuple of labels on the axes of `alternatives`, counted like an odometer.
        let axes: Vec<(&String, &Vec<String>)> = expect.alternatives.iter().collect();
        let count: usize = axes.iter().map(|(_, labels)| labels.len()).product();
        let mut others = Vec::new();
        for mut number in 0..count {
            let mut select = expect.select.clone();
            for (axis, labels) in &axes {
                select.insert((*axis).clone(), vec![labels[number % labels.len()].clone()]);
                number /= labels.len();
            }
            others.push(figure(expect, cases, &select).ok()?);
        }
        let best = match expect.best {
            Best::Min => others.iter().copied().reduce(f64::min)?,
            Best::Max => others.iter().copied().reduce(f64::max)?,
        };
        if best == 0.0 { None } else { Some(figure_here / best) }
    }
}

fn axes(draw: &mut Draw) -> Vec<AxisFile> {
    let count = 1 + draw.below(4);
    // The last axis has seeds in half of the studies.
    let seeds = draw.chance(50);
    (0..count)
        .map(|axis| AxisFile {
            name: if seeds && axis + 1 == count { "seed".to_string() } else { format!("axis.{axis}") },
            labels: (0..1 + draw.below(4)).map(|label| format!("l{label}")).collect(),
        })
        .collect()
}

fn cases(draw: &mut Draw, axes: &[AxisFile]) -> Vec<CaseSummary> {
    let mut points = vec![Labels::new()];
    for axis in axes {
        let with = |point: &Labels, label: &String| {
            let mut point = point.clone();
            point.insert(axis.name.clone(), label.clone());
            point
        };
        points =
            points.iter().flat_map(|point| axis.labels.iter().map(move |label| with(point, label))).collect();
    }
    let mut cases: Vec<CaseSummary> = Vec::new();
    let has_seeds = axes.last().is_some_and(|axis| axis.name == "seed");
    for point in points {
        if draw.chance(2) {
            continue;
        }
        // A seed without effect: the case repeats the figures of an earlier case that differs only in its seed, or of another
        // case.
        if let Some(before) = cases.last().filter(|_| has_seeds && draw.chance(40)) {
            cases.push(CaseSummary { labels: point, ..before.clone() });
            continue;
        }
        // Zero in some cases, to test division by zero.
        let throughput = if draw.chance(3) { 0.0 } else { draw.below(1000) as f64 / 7.0 };
        let power = (!draw.chance(3)).then(|| 1.0 + draw.below(50) as f64);
        cases.push(case(&point, throughput, 1.0 + draw.below(500) as f64, power));
    }
    cases
}

fn some_labels(draw: &mut Draw, axis: &AxisFile) -> Vec<String> {
    let mut labels: Vec<String> = axis.labels.iter().filter(|_| draw.chance(50)).cloned().collect();
    if labels.is_empty() {
        labels.push(axis.labels[draw.below(axis.labels.len())].clone());
    }
    labels
}

fn expect(draw: &mut Draw, axes: &[AxisFile]) -> Expect {
    let measures = [
        "throughput_mbps",
        "queue_delay_ms.p99",
        "groups.video.throughput_mbps",
        "power",
        "power / throughput_mbps",
        "probe_ms.p99",
    ];
    let aggregates: Vec<Aggregate> = Aggregate::ALL.iter().map(|(_, aggregate)| *aggregate).collect();
    let mut expect = Expect {
        line: 1,
        claim: "c".to_string(),
        measure: measures[draw.below(measures.len())].to_string(),
        select: BTreeMap::new(),
        normalise: BTreeMap::new(),
        aggregate: aggregates[draw.below(aggregates.len())],
        alternatives: BTreeMap::new(),
        best: if draw.chance(50) { Best::Min } else { Best::Max },
        extreme: None,
        unit: "u".to_string(),
        low: draw.chance(60).then(|| draw.below(100) as f64 / 20.0),
        high: draw.chance(60).then(|| draw.below(100) as f64 / 5.0),
        paper: Some(1.0),
    };
    if !axes.is_empty() && draw.chance(20) {
        let extreme = if draw.chance(50) { Best::Min } else { Best::Max };
        expect.extreme = Some((extreme, axes[draw.below(axes.len())].name.clone()));
    }
    for axis in axes {
        if draw.chance(40) {
            expect.select.insert(axis.name.clone(), some_labels(draw, axis));
        }
        if draw.chance(20) {
            expect.normalise.insert(axis.name.clone(), axis.labels[draw.below(axis.labels.len())].clone());
        }
        if draw.chance(20) {
            expect.alternatives.insert(axis.name.clone(), some_labels(draw, axis));
        }
    }
    expect
}

#[test]
fn evaluation_agrees_with_the_model() {
    let mut draw = Draw(0x9e37_79b9_7f4a_7c15);
    let (mut figures, mut none, mut matches) = (0, 0, 0);
    for round in 0..2000 {
        let axes = axes(&mut draw);
        let cases = cases(&mut draw, &axes);
        let expects: Vec<Expect> = (0..4).map(|_| expect(&mut draw, &axes)).collect();
        for (expect, result) in expects.iter().zip(evaluate(&expects, &axes, &cases)) {
            let wanted = model::with_extreme(expect, &axes, &cases);
            match (wanted, result.value) {
                (None, None) => none += 1,
                (Some(wanted), Some(ours)) => {
                    figures += 1;
                    let close = (wanted - ours).abs() <= 0.6e-6 + 1e-9 * wanted.abs();
                    assert!(close, "round {round}: {ours}, and the model has {wanted}: {expect:?}");
                }
                (wanted, ours) => panic!("round {round}: {ours:?}, and the model has {wanted:?}: {expect:?}"),
            }
            let inside = result.value.is_some_and(|ours| {
                expect.low.unwrap_or(f64::MIN) <= ours && ours <= expect.high.unwrap_or(f64::MAX)
            });
            assert_eq!(result.verdict, if inside { "match" } else { "miss" });
            matches += usize::from(inside);
        }
    }
    assert!(figures > 3000 && none > 300 && matches > 1000, "{figures} {none} {matches}");
}

/// Two axes with figures that can be checked by mental arithmetic.
#[test]
fn figures_agree_with_mental_arithmetic() {
    let axes = [("q", vec!["a", "b", "c"]), ("t", vec!["x", "y"])].map(|(name, labels)| AxisFile {
        name: name.into(),
        labels: labels.into_iter().map(String::from).collect(),
    });
    let delays = [
        ("a", "x", 100.0),
        ("a", "y", 200.0),
        ("b", "x", 50.0),
        ("b", "y", 50.0),
        ("c", "x", 10.0),
        ("c", "y", 40.0),
    ];
    let cases: Vec<CaseSummary> = delays
        .iter()
        .map(|(q, t, p99)| {
            let labels = [("q", q), ("t", t)].map(|(axis, label)| (axis.to_string(), label.to_string()));
            case(&BTreeMap::from(labels), 1.0, *p99, None)
        })
        .collect();
    let one = |axis: &str, labels: &[&str]| {
        BTreeMap::from([(
            axis.to_string(),
            labels.iter().map(|label| (*label).to_string()).collect::<Vec<_>>(),
        )])
    };
    let base = Expect {
        measure: "queue_delay_ms.p99".to_string(),
        select: one("q", &["c"]),
        normalise: BTreeMap::from([("q".to_string(), "a".to_string())]),
        high: Some(0.15),
        ..Expect::default()
    };
    let ours =
        |expect: &Expect| -> ExpectResult { evaluate(std::slice::from_ref(expect), &axes, &cases).remove(0) };
    // (10 / 100 + 40 / 200) / 2; the bound itself is accepted.
    assert_eq!((ours(&base).value, ours(&base).verdict.as_str()), (Some(0.15), "match"));
    // The two figures have a standard error of 0.05; Student's t for one degree of freedom is 12.706205.
    let ends = [Aggregate::Ci95Low, Aggregate::Ci95High]
        .map(|aggregate| ours(&Expect { aggregate, ..base.clone() }).value);
    assert_eq!(ends, [Some(-0.48531), Some(0.78531)]);
    // Two cases that differ only in their seed and have equal figures count as one.
    for (second, interval) in [(10.0, None), (11.0, Some(4.147))] {
        let axes = [AxisFile { name: "seed".into(), labels: vec!["1".into(), "2".into()] }];
        let cases = [("1", 10.0), ("2", second)].map(|(seed, p99)| {
            case(&BTreeMap::from([("seed".to_string(), seed.to_string())]), 1.0, p99, None)
        });
        let over = Expect {
            select: BTreeMap::new(),
            normalise: BTreeMap::new(),
            aggregate: Aggregate::Ci95Low,
            ..base.clone()
        };
        let result = evaluate(&[over], &axes, &cases).remove(0);
        assert_eq!(result.value.map(|ours| (ours * 1000.0).round() / 1000.0), interval);
        assert_eq!(result.verdict, "miss");
    }
    let one_case = Expect {
        aggregate: Aggregate::Ci95Low,
        select: BTreeMap::from([("q".into(), vec!["c".into()]), ("t".into(), vec!["x".into()])]),
        ..base.clone()
    };
    assert_eq!(ours(&one_case).value, None, "of one case there is no interval");
    // The throughput is 1 everywhere, so the figures stay 10 / 1 and 40 / 1, over 100 / 1 and 200 / 1.
    let ratio = Expect { measure: "queue_delay_ms.p99 / throughput_mbps".to_string(), ..base.clone() };
    assert_eq!(ours(&ratio).value, Some(0.15));
    // Divided by the best of a and b, which is b's (0.5 + 0.25) / 2.
    let better = Expect { alternatives: one("q", &["a", "b"]), ..base.clone() };
    assert_eq!((ours(&better).value, ours(&better).verdict.as_str()), (Some(0.4), "miss"));
    let worst = Expect { alternatives: one("q", &["a", "b"]), best: Best::Max, ..base.clone() };
    assert_eq!(ours(&worst).value, Some(0.15));
    for nothing in [
        Expect { select: one("q", &["d"]), ..base.clone() },
        Expect { select: one("z", &["c"]), ..base.clone() },
        Expect { measure: "power".to_string(), ..base.clone() },
        Expect { measure: "drops_by_reason.codel".to_string(), ..base.clone() },
        Expect { measure: "throughput_mbps / drops".to_string(), ..base.clone() },
        Expect { alternatives: one("q", &["a", "d"]), ..base.clone() },
        Expect { measure: "drops".to_string(), ..base },
    ] {
        let result = ours(&nothing);
        assert_eq!((result.value, result.verdict.as_str()), (None, "miss"), "{nothing:?}");
    }
}
