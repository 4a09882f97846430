//! The claims of a paper, from its file under `papers/`: the claim, its section, the reason of its bound, and, if our figure
//! differs, the setting that removes the cause.

use super::checks::{By, Check, Side};
use super::examples;
use super::labels::{Labels, selection};
use super::paired::PairedComparison;
use super::settings::Setting;
use qdelay_study::expect::{Aggregate, Best, Expect};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeArray, DeString, DeTable, DeValue};

/// A paper and its claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Paper {
    /// Name on the command line.
    pub name: String,
    /// Title of the paper.
    pub title: String,
    /// Authors of the paper.
    pub authors: String,
    /// Place and time of publication; may be empty.
    pub venue: String,
    /// Digital object identifier, `10....`; empty where none could be confirmed.
    pub doi: String,
    /// Claims of the paper, in the order of the paper.
    pub claims: Vec<Claim>,
    /// Settings that remove the cause of a difference.
    pub settings: Vec<Setting>,
    /// Tables of changes that go with them.
    pub tables: Vec<PairedComparison>,
}

/// One checkable statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The figure that shows it; none where only the text says so.
    pub figure: Option<String>,
    /// The section that says so.
    pub section: String,
    /// The derivation of the bounds from the text.
    pub bound: String,
    /// The scenario that it is judged by, and how; or why it is not judged.
    pub check: Result<Check, String>,
    /// The claim in words.
    pub claim: String,
    /// Unit of the figures.
    pub unit: String,
    /// The paper's own figure.
    pub paper: Option<f64>,
    /// The author of the statement.
    pub source: ClaimSource,
}

/// The author of a statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum ClaimSource {
    /// The paper: its text, a table or a figure says so.
    #[default]
    #[serde(rename = "paper")]
    Paper,
    /// This project: a consequence of the paper's statements, a case that it leaves out, or an improvement.
    #[serde(rename = "qdelay")]
    Qdelay,
    /// ns-3, as a second implementation of the paper's experiment.
    #[serde(rename = "ns-3")]
    Ns3,
}

impl ClaimSource {
    /// All.
    pub const ALL: [ClaimSource; 3] = [ClaimSource::Paper, ClaimSource::Qdelay, ClaimSource::Ns3];

    /// The name in files.
    pub fn name(self) -> &'static str {
        match self {
            ClaimSource::Paper => "paper",
            ClaimSource::Qdelay => "qdelay",
            ClaimSource::Ns3 => "ns-3",
        }
    }
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    authors: String,
    #[serde(default)]
    venue: String,
    #[serde(default)]
    doi: String,
    /// The author of claims that name none.
    #[serde(default)]
    source: ClaimSource,
    claim: Vec<Entry>,
    #[serde(default)]
    setting: Vec<Setting>,
    #[serde(default)]
    table: Vec<PairedComparison>,
}

/// A `[[claim]]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    figure: Option<String>,
    section: String,
    claim: String,
    #[serde(default)]
    bound: String,
    skipped: Option<String>,
    scenario: Option<String>,
    example: Option<String>,
    traces: Option<String>,
    #[serde(default)]
    measure: String,
    #[serde(default, rename = "where")]
    select: BTreeMap<String, Labels>,
    #[serde(default)]
    normalise: BTreeMap<String, String>,
    aggregate: Option<String>,
    #[serde(default)]
    alternatives: BTreeMap<String, Labels>,
    best: Option<String>,
    min_over: Option<String>,
    max_over: Option<String>,
    source: Option<ClaimSource>,
    #[serde(default = "one")]
    factor: f64,
    #[serde(default)]
    offset: f64,
    #[serde(default)]
    unit: String,
    low: Option<f64>,
    high: Option<f64>,
    paper: Option<f64>,
    better: Option<Side>,
    fitted: Option<String>,
    explained: Option<String>,
}

fn one() -> f64 {
    1.0
}

impl Paper {
    /// Reads the claims of the paper called `name`.
    ///
    /// # Errors
    /// The first mistake in the file.
    pub fn parse(name: &str, text: &str) -> Result<Paper, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?;
        let file: File =
            serde_json::from_value(object(table.get_ref())).map_err(|error| error.to_string())?;
        let claims =
            file.claim.into_iter().map(|entry| claim(entry, file.source)).collect::<Result<Vec<_>, _>>()?;
        let (title, authors, settings) = (file.title, file.authors, file.setting);
        let (venue, doi) = (file.venue, file.doi);
        for claim in &claims {
            let Ok(Check { explained: Some(name), .. }) = &claim.check else { continue };
            if !settings.iter().any(|setting| setting.name == *name && setting.section == claim.section) {
                return Err(format!(
                    "claim '{}': explained by '{name}'; expected a setting of this name and of section {}",
                    claim.claim, claim.section
                ));
            }
        }
        Ok(Paper { name: name.to_string(), title, authors, venue, doi, claims, settings, tables: file.table })
    }

    /// The setting that `claim` is explained by, where its file says that it is.
    pub fn explaining(&self, claim: &Claim) -> Option<&Setting> {
        let name = claim.check.as_ref().ok()?.explained.as_ref()?;
        self.settings.iter().find(|setting| setting.name == *name)
    }
}

fn claim(entry: Entry, source: ClaimSource) -> Result<Claim, String> {
    let fail = |message: &str| Err(format!("claim '{}': {message}", entry.claim));
    let by = match (&entry.scenario, &entry.example) {
        (Some(scenario), None) => Some(By::Scenario(scenario.clone())),
        (None, Some(name)) => match examples::find(name) {
            Some(example) => Some(By::Example(example)),
            None => return fail(&format!("no example '{name}'")),
        },
        (None, None) => None,
        _ => return fail("expected a scenario or an example, not both"),
    };
    let selects = !(entry.select.is_empty() && entry.normalise.is_empty() && entry.alternatives.is_empty());
    if let Some(By::Example(example)) = by
        && (selects || example.figure(&entry.measure).is_none())
    {
        let known: Vec<String> = example.figures().into_iter().map(|(name, _)| name).collect();
        return fail(&format!("expected as measure, and nothing to select, one of {}", known.join(", ")));
    }
    let check = match (&entry.skipped, by) {
        (Some(reason), None) => Err(reason.clone()),
        (None, Some(by)) => Ok(Check {
            by,
            any_trace: match entry.traces.as_deref() {
                None => false,
                Some("any") => true,
                Some(_) => return fail("traces is not 'any'; expected that or nothing"),
            },
            expect: match expect(&entry) {
                Ok(expect) => expect,
                Err(message) => return fail(message),
            },
            factor: entry.factor,
            offset: entry.offset,
            better: match two_sided(&entry) {
                Ok(better) => better,
                Err(message) => return fail(message),
            },
            fitted: entry.fitted.clone(),
            explained: entry.explained.clone(),
        }),
        _ => return fail("expected a scenario or an example, or why it is skipped"),
    };
    if check.is_ok() && entry.bound.is_empty() {
        return fail("no bound; expected how low and high follow from the text");
    }
    Ok(Claim {
        figure: entry.figure,
        section: entry.section,
        bound: entry.bound,
        check,
        claim: entry.claim,
        unit: entry.unit,
        paper: entry.paper,
        source: entry.source.unwrap_or(source),
    })
}

/// The good side of the claim. Without two bounds around the paper's figure there is nothing to be better than.
fn two_sided(entry: &Entry) -> Result<Option<Side>, &'static str> {
    let around =
        |low: f64, paper: f64, high: f64| (low <= paper && paper <= high && paper != 0.0).then_some(());
    match (entry.better, entry.low, entry.paper, entry.high) {
        (None, ..) => Ok(None),
        (better, Some(low), Some(paper), Some(high)) if around(low, paper, high).is_some() => Ok(better),
        _ => Err("expected low and high around the paper's figure, not 0, where a side is better"),
    }
}

fn expect(entry: &Entry) -> Result<Expect, &'static str> {
    let Some(aggregate) = Aggregate::named(entry.aggregate.as_deref().unwrap_or("mean")) else {
        return Err("expected aggregate to be mean, geomean, median, min, max, sum, ci95_low or ci95_high");
    };
    let best = match entry.best.as_deref() {
        None | Some("min") => Best::Min,
        Some("max") => Best::Max,
        Some(_) => return Err("expected best to be min or max"),
    };
    let extreme = match (&entry.min_over, &entry.max_over) {
        (None, None) => None,
        (Some(axis), None) => Some((Best::Min, axis.clone())),
        (None, Some(axis)) => Some((Best::Max, axis.clone())),
        _ => return Err("expected min_over or max_over, not both"),
    };
    if entry.measure.is_empty() || (entry.low, entry.high) == (None, None) {
        return Err("expected a measure, and low or high");
    }
    Ok(Expect {
        line: 0,
        claim: entry.claim.clone(),
        measure: entry.measure.clone(),
        select: selection(&entry.select),
        normalise: entry.normalise.clone(),
        aggregate,
        alternatives: selection(&entry.alternatives),
        best,
        extreme,
        unit: entry.unit.clone(),
        low: entry.low,
        high: entry.high,
        paper: entry.paper,
    })
}

/// TOML as JSON, of which `serde` makes the structs above.
pub(crate) fn object(table: &DeTable<'_>) -> Value {
    let pair = |(key, value): (&Spanned<DeString<'_>>, &Spanned<DeValue<'_>>)| {
        (key.get_ref().to_string(), json(value.get_ref()))
    };
    Value::Object(table.iter().map(pair).collect::<Map<_, _>>())
}

fn json(value: &DeValue<'_>) -> Value {
    let number = |text: &str| {
        text.replace('_', "").parse().ok().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
    };
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(whole) => {
            whole.as_str().replace('_', "").parse::<i64>().map_or(Value::Null, Value::from)
        }
        DeValue::Float(float) => number(float.as_str()),
        DeValue::Boolean(on) => Value::Bool(*on),
        DeValue::Datetime(time) => Value::String(time.to_string()),
        DeValue::Array(list) => array(list),
        DeValue::Table(table) => object(table),
    }
}

fn array(list: &DeArray<'_>) -> Value {
    Value::Array(list.iter().map(|item| json(item.get_ref())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "title = \"t\"\nauthors = \"a\"\n[[claim]]\nsection = \"I\"\nclaim = \"c\"\n";

    fn read(rest: &str) -> Result<Claim, String> {
        Paper::parse("p", &format!("{HEAD}{rest}")).map(|mut paper| paper.claims.remove(0))
    }

    #[test]
    fn a_claim_is_read() {
        let claim = read(
            "bound = \"b\"\nscenario = \"s\"\ntraces = \"any\"\nmeasure = \"m.p99\"\nlow = 1\nhigh = 2.5\npaper = 2\n\
            where = { a = \"x\", \"b.c\" = [\"y\", \"z\"] }\nnormalise = { a = \"w\" }\nalternatives = { a = \"v\" }\n\
            best = \"max\"\naggregate = \"median\"\nbetter = \"below\"\nfitted = \"how\"\n",
        );
        let claim = claim.unwrap();
        let check = claim.check.unwrap();
        assert!(check.any_trace && check.scenario() == Some("s"));
        assert_eq!((check.better, check.fitted.as_deref()), (Some(Side::Below), Some("how")));
        assert_eq!(check.expect.select["b.c"], ["y", "z"]);
        assert_eq!(
            (check.expect.low, check.expect.high, check.expect.paper),
            (Some(1.0), Some(2.5), Some(2.0))
        );
        assert_eq!((check.expect.aggregate, check.expect.best), (Aggregate::Median, Best::Max));
        assert_eq!((claim.figure, claim.source), (None, ClaimSource::Paper));
        assert_eq!(check.in_units(1.25), 1.25);
        let scaled =
            read("bound = \"b\"\nscenario = \"s\"\nmeasure = \"m\"\nlow = 1\nfactor = 100\noffset = -1.5");
        assert_eq!(scaled.unwrap().check.unwrap().in_units(0.04), 2.5);
        assert_eq!(read("skipped = \"no\"").unwrap().check, Err("no".to_string()));
    }

    #[test]
    fn what_a_claim_has_to_have() {
        for (rest, wanted) in [
            ("", "expected a scenario or an example, or why it is skipped"),
            ("skipped = \"no\"\nscenario = \"s\"", "expected a scenario or an example, or why"),
            ("scenario = \"s\"\nexample = \"5g/granted-blocks\"", "not both"),
            ("example = \"5g\"", "no example '5g'"),
            (
                "example = \"5g/granted-blocks\"\nmeasure = \"bytes\"",
                "one of 5g-bdp.even.used_share, 5g-bdp.uneven.used_share",
            ),
            (
                "example = \"5g/granted-blocks\"\nmeasure = \"5g-bdp.even.used_share\"\nwhere = { a = \"x\" }",
                "nothing to select",
            ),
            ("scenario = \"s\"\nbound = \"b\"\nmeasure = \"m\"", "low or high"),
            ("scenario = \"s\"\nbound = \"b\"\nlow = 1", "a measure"),
            ("scenario = \"s\"\nmeasure = \"m\"\nlow = 1", "how low and high follow"),
            ("scenario = \"s\"\nbound = \"b\"\nmeasure = \"m\"\nlow = 1\naggregate = \"mode\"", "geomean"),
            ("scenario = \"s\"\nbound = \"b\"\nmeasure = \"m\"\nlow = 1\ntraces = \"some\"", "'any'"),
            (
                "scenario = \"s\"\nbound = \"b\"\nmeasure = \"m\"\nlow = 1\npaper = 2\nbetter = \"above\"",
                "low and high around the paper's figure",
            ),
            (
                "scenario = \"s\"\nbound = \"b\"\nmeasure = \"m\"\nlow = 1\nhigh = 2\npaper = 3\nbetter = \"above\"",
                "low and high around the paper's figure",
            ),
            (
                "scenario = \"s\"\nbound = \"b\"\nmeasure = \"m\"\nlow = 1\nexplained = \"x\"\n\
                [[setting]]\nname = \"x\"\nsection = \"II\"\ncause = \"c\"",
                "expected a setting of this name and of section I",
            ),
            ("verdict = \"match\"", "unknown field"),
            ("low = ", "TOML"),
        ] {
            let message = read(rest).unwrap_err();
            assert!(message.contains(wanted), "{rest}: {message}");
        }
    }
}
