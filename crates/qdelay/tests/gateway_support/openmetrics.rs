//! Scraper's view of an OpenMetrics text, with its complaints (OpenMetrics 1.0, sections "Text format" and
//! "Metric types"). Written from the specification, independent of the writer.

use std::collections::{BTreeMap, BTreeSet};

/// A line with a value.
#[derive(Clone, Debug)]
pub struct Line {
    pub name: String,
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

/// Every value of a text.
#[derive(Debug)]
pub struct Metrics(pub Vec<Line>);

impl Metrics {
    /// Reads a text; panics where it is wrong.
    pub fn parse(text: &str) -> Metrics {
        let body = text.strip_suffix("# EOF\n").expect("ends with # EOF");
        let mut types: BTreeMap<String, String> = BTreeMap::new();
        let (mut lines, mut seen) = (Vec::new(), BTreeSet::new());
        let mut family = String::new();
        for line in body.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                let (kind, rest) = comment.split_once(' ').expect("a kind of comment");
                let (name, value) = rest.split_once(' ').expect("a name");
                if name != family {
                    assert!(!types.contains_key(name), "{name} is in two places");
                    family = name.to_string();
                }
                match kind {
                    "HELP" => assert!(!value.is_empty(), "{line}"),
                    "TYPE" => drop(types.insert(name.to_string(), value.to_string())),
                    "UNIT" => assert!(name.ends_with(&format!("_{value}")), "{line}"),
                    other => panic!("{other}: {line}"),
                }
                continue;
            }
            let parsed = sample(line);
            let suffix =
                parsed.name.strip_prefix(&family).unwrap_or_else(|| panic!("{line} is not of {family}"));
            let suffixes: &[&str] = match types.get(&family).map(String::as_str) {
                Some("counter") => &["_total"],
                Some("gauge") => &[""],
                Some("info") => &["_info"],
                Some("histogram") => &["_bucket", "_sum", "_count"],
                other => panic!("{family} is a {other:?}"),
            };
            assert!(suffixes.contains(&suffix), "{line}");
            assert!(parsed.value >= 0.0 && parsed.value.is_finite(), "{line}");
            assert!(seen.insert((parsed.name.clone(), parsed.labels.clone())), "twice: {line}");
            lines.push(parsed);
        }
        let metrics = Metrics(lines);
        types
            .iter()
            .filter(|(_, kind)| *kind == "histogram")
            .for_each(|(name, _)| metrics.check_histogram(name));
        metrics
    }

    /// Buckets ascend, and the last one counts everything.
    fn check_histogram(&self, name: &str) {
        let mut before: Option<(BTreeMap<String, String>, f64, f64)> = None;
        for line in self.0.iter().filter(|line| line.name == format!("{name}_bucket")) {
            let mut labels = line.labels.clone();
            let bound = labels.remove("le").expect("a bound");
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
            if let Some((same, lower, fewer)) = &before
                && *same == labels
            {
                assert!(*lower < bound && *fewer <= line.value, "{line:?}");
            }
            if bound == f64::INFINITY {
                let count = self
                    .0
                    .iter()
                    .find(|other| other.name == format!("{name}_count") && other.labels == labels);
                assert_eq!(count.expect("a count").value, line.value, "{line:?}");
            }
            before = Some((labels, bound, line.value));
        }
    }

    /// Value of the line with this name and at least these labels; 0 without such a line.
    pub fn get(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |line: &&Line| {
            line.name == name
                && labels.iter().all(|(key, value)| line.labels.get(*key).is_some_and(|v| v == value))
        };
        self.0.iter().filter(has).map(|line| line.value).sum()
    }
}

fn sample(line: &str) -> Line {
    let (name, labels, value) = match line.split_once('{') {
        Some((name, rest)) => {
            let (labels, value) = rest.split_once("} ").unwrap_or_else(|| panic!("{line}"));
            (name, labels, value)
        }
        None => {
            let (name, value) = line.split_once(' ').unwrap_or_else(|| panic!("{line}"));
            (name, "", value)
        }
    };
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_lowercase());
    assert!(is_name(name) && name.starts_with("qdelay_"), "{line}");
    // No label of ours has a comma or a quote in its value.
    let labels = labels.split(',').filter(|label| !label.is_empty()).map(|label| {
        let (key, value) = label.split_once('=').unwrap_or_else(|| panic!("{line}"));
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        assert!(is_name(key), "{line}");
        (key.to_string(), value.unwrap_or_else(|| panic!("{line}")).to_string())
    });
    Line { name: name.to_string(), labels: labels.collect(), value: value.parse().unwrap() }
}
