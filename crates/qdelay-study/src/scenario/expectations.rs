//! Reads `[[expect]]`, and checks that the named axes, labels and measures exist.

use super::Axis;
use super::declare::{self, ExpectChange, Settings};
use super::matrix_keys::listed;
use crate::expect::{Best, Expect, OVER, Selection};
use crate::results::Measures;
use qdelay_config::renamed::RENAMED;
use qdelay_config::value::wrong_type;
use qdelay_config::{Content, Entry, Fault, Node, RenamedKey, fault};
use qdelay_core::dscp;
use qdelay_record::entity::{Entity, Field, Shape};
use qdelay_sim::DelayStage;
use std::collections::{BTreeMap, BTreeSet};

/// Reads the tables under `[[expect]]`. `flows` are the names of the groups in results, `hops` those of the hops.
///
/// # Errors
/// The first mistake: an unknown key, axis, label or measure, or an invalid value.
pub(crate) fn read(
    entry: &Entry,
    axes: &[Axis],
    flows: &[&str],
    hops: &[&str],
) -> Result<Vec<Expect>, Fault> {
    const EXPECTED: &str = "tables, each under [[expect]]";
    let list = entry.value.list().ok_or_else(|| wrong_type("expect", &entry.value, EXPECTED))?;
    let reader = Reader::new(axes, flows, hops);
    list.iter()
        .map(|node| {
            let entries = node.table().ok_or_else(|| wrong_type("expect", node, EXPECTED))?;
            reader.expect(node.line, entries)
        })
        .collect()
}

struct Reader<'a> {
    /// The labels of each axis.
    axes: Vec<(&'a str, BTreeSet<&'a str>)>,
    flows: &'a [&'a str],
    hops: &'a [&'a str],
}

impl<'a> Reader<'a> {
    fn new(axes: &'a [Axis], flows: &'a [&'a str], hops: &'a [&'a str]) -> Reader<'a> {
        let labels = |axis: &'a Axis| axis.labels.iter().map(String::as_str).collect();
        Reader { axes: axes.iter().map(|axis| (axis.name.as_str(), labels(axis))).collect(), flows, hops }
    }

    /// Noun of the named figures in `field`, and the possible names, if these are known before a run.
    fn named(&self, field: &str) -> Option<(&'static str, Vec<&'a str>)> {
        match field {
            "groups" => Some(("group", self.flows.to_vec())),
            "hops" => Some(("hop", self.hops.to_vec())),
            "stages" => Some(("stage", DelayStage::ALL.map(DelayStage::name).to_vec())),
            _ => None,
        }
    }

    fn expect(&self, line: u32, entries: &[Entry]) -> Result<Expect, Fault> {
        let mut expect = Expect { line, ..Expect::default() };
        for entry in entries {
            let path = format!("expect.{}", entry.key);
            let key = declare::Expect::TABLE.key(&entry.key).ok_or_else(|| {
                fault::unknown(entry.line, &path, &entry.key, &declare::Expect::TABLE.names())
            })?;
            match declare::Expect::read_change(key, &path, &entry.value)? {
                ExpectChange::claim(claim) => expect.claim = claim.text().to_string(),
                ExpectChange::measure(measure) => {
                    expect.measure = self.measure(&path, &entry.value, measure.text().to_string())?;
                }
                ExpectChange::selects(_) => expect.select = self.selection(&path, &entry.value)?,
                ExpectChange::alternatives(_) => expect.alternatives = self.selection(&path, &entry.value)?,
                ExpectChange::normalise(_) => expect.normalise = self.point(&path, &entry.value)?,
                ExpectChange::aggregate(aggregate) => expect.aggregate = aggregate.get(),
                ExpectChange::best(best) => expect.best = best.get(),
                ExpectChange::min_over(axis) => {
                    self.extreme(Best::Min, &path, axis.text(), entry, &mut expect)?
                }
                ExpectChange::max_over(axis) => {
                    self.extreme(Best::Max, &path, axis.text(), entry, &mut expect)?
                }
                ExpectChange::unit(unit) => expect.unit = unit.text().to_string(),
                ExpectChange::low(low) => expect.low = low.get(),
                ExpectChange::high(high) => expect.high = high.get(),
                ExpectChange::paper(paper) => expect.paper = paper.get(),
            }
        }
        // Missing keys are reported last, so that a misspelled key is reported as such.
        check(expect, entries)
    }

    /// Sets the axis of `min_over` or `max_over`, of which only one may be given.
    fn extreme(
        &self,
        extreme: Best,
        path: &str,
        axis: &str,
        entry: &Entry,
        expect: &mut Expect,
    ) -> Result<(), Fault> {
        let fail = |message: String| Err(Fault::new(entry.line, path, message));
        if !self.axes.iter().any(|(known, _)| *known == axis) {
            let axes: Vec<&str> = self.axes.iter().map(|(axis, _)| *axis).collect();
            return fail(format!("'{axis}': no such axis; expected one of {}", listed(&axes)));
        }
        match expect.extreme.replace((extreme, axis.to_string())) {
            None => Ok(()),
            Some(_) => fail("min_over and max_over are both given; expected one of them".to_string()),
        }
    }

    /// Reads labels by axis, each a label or a list of labels.
    fn selection(&self, path: &str, node: &Node) -> Result<Selection, Fault> {
        let mut selection = Selection::new();
        self.descend(path, "", node, &mut selection)?;
        Ok(selection)
    }

    fn descend(&self, path: &str, above: &str, node: &Node, selection: &mut Selection) -> Result<(), Fault> {
        const EXPECTED: &str = "a table, such as { \"path.qdisc\" = \"taildrop\" }";
        let entries = node.table().ok_or_else(|| wrong_type(path, node, EXPECTED))?;
        for entry in entries {
            let name = if above.is_empty() { entry.key.clone() } else { format!("{above}.{}", entry.key) };
            let path = format!("{path}.'{name}'");
            let Some((_, known)) = self.axes.iter().find(|(axis, _)| *axis == name) else {
                let begins = |axis: &str| axis.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'));
                let axes: Vec<&str> = self.axes.iter().map(|(axis, _)| *axis).collect();
                // `where.path.qdisc = ...` arrives as nested tables, which are followed while the name may still grow to an
                // axis.
                if entry.value.table().is_some() && axes.iter().any(|axis| begins(axis)) {
                    let outer = path.rsplit_once(".'").map_or(path.as_str(), |(outer, _)| outer);
                    self.descend(outer, &name, &entry.value, selection)?;
                    continue;
                }
                if let Some(renamed) = renamed_axis(&name, &axes) {
                    return Err(Fault::new(entry.line, path, format!("was renamed; expected {renamed}")));
                }
                let hint = fault::suggestion(&name, axes.iter().copied());
                let message = format!("unknown axis; expected one of {}{hint}", listed(&axes));
                return Err(Fault::new(entry.line, path, message));
            };
            let labels = labels(&path, &entry.value, known)?;
            if selection.insert(name, labels).is_some() {
                return Err(Fault::new(entry.line, path, "is given twice; expected each axis once"));
            }
        }
        Ok(())
    }

    /// Reads a single label for each axis.
    fn point(&self, path: &str, node: &Node) -> Result<BTreeMap<String, String>, Fault> {
        let selection = self.selection(path, node)?;
        let single = |(axis, mut labels): (String, Vec<String>)| match (labels.pop(), labels.is_empty()) {
            (Some(label), true) => Ok((axis, label)),
            _ => Err(Fault::new(node.line, format!("{path}.'{axis}'"), "several labels; expected one")),
        };
        selection.into_iter().map(single).collect()
    }

    /// Checks a measure: a figure, or one figure divided by another.
    fn measure(&self, path: &str, node: &Node, text: String) -> Result<String, Fault> {
        let (first, second) = text.split_once(OVER).map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
        for figure in [first].into_iter().chain(second) {
            self.figure(figure)
                .map_err(|message| Fault::new(node.line, path, format!("'{figure}': {message}")))?;
        }
        Ok(text)
    }

    /// Checks that the declared results have a figure at this path.
    fn figure(&self, text: &str) -> Result<(), String> {
        let unknown = |what: &str, wrong: &str, known: &[&str]| {
            let hint = fault::suggestion(wrong, known.iter().copied());
            Err(format!("unknown {what} '{wrong}'; expected one of {}{hint}", listed(known)))
        };
        let (mut shape, mut last, mut words) = (Measures::shape(), "", text.split('.'));
        // Each word of the path descends one level into the declared fields of results.
        loop {
            let word = words.next().filter(|word| !word.is_empty());
            shape = match (shape, word) {
                (Shape::Number, None) => return Ok(()),
                (Shape::Number, Some(_)) => {
                    return Err(format!("'{last}' is a number; expected nothing after it"));
                }
                (Shape::Fields(entity, fields), word) => {
                    let known: Vec<&Field> = fields.iter().filter(|field| has_figures(field)).collect();
                    let names: Vec<&str> = known.iter().map(|field| field.name).collect();
                    let is_delay = entity == "DelaySummary";
                    match (word, known.iter().find(|field| Some(field.name) == word)) {
                        (_, Some(field)) => (field.shape)(),
                        (Some(word), None) => {
                            return unknown(if is_delay { "figure" } else { "measure" }, word, &names);
                        }
                        (None, None) if is_delay => {
                            let figures: Vec<String> =
                                names.iter().map(|figure| format!("{text}.{figure}")).collect();
                            return Err(format!(
                                "a distribution; expected one of its figures: {}",
                                figures.join(", ")
                            ));
                        }
                        (None, None) => {
                            return Err(format!("a measure is missing; expected one of {}", listed(&names)));
                        }
                    }
                }
                (Shape::Named(of), word) => match (self.named(last), word) {
                    (Some((what, known)), _) if known.is_empty() => {
                        return Err(format!("the scenario has no {what}; expected another measure"));
                    }
                    (Some((what, known)), None) => {
                        return Err(format!(
                            "the name of a {what} is missing; expected one of {}",
                            listed(&known)
                        ));
                    }
                    (Some((what, known)), Some(word)) if !known.contains(&word) => {
                        return unknown(what, word, &known);
                    }
                    (None, Some(word)) if last == "codepoints" && !is_codepoint(word) => {
                        return Err(format!(
                            "unknown codepoint '{word}'; expected a name such as ef, or dscp-3"
                        ));
                    }
                    (None, None) => {
                        return Err("a table of named figures; expected a name after it".to_string());
                    }
                    (_, Some(_)) => of(),
                },
                (Shape::List(_) | Shape::Text, _) => {
                    return Err("not a number; expected a numeric figure".to_string());
                }
            };
            last = word.unwrap_or_default();
        }
    }
}

/// The axis of `axes` whose key had the last part of `name` as its old name.
fn renamed_axis(name: &str, axes: &[&str]) -> Option<String> {
    let (above, old) = name.rsplit_once('.')?;
    let axis = |key: &RenamedKey| format!("{above}.{}", key.new);
    RENAMED.iter().filter(|key| key.old == old).map(axis).find(|axis| axes.contains(&axis.as_str()))
}

/// True if results use this name for a codepoint: its name, or `dscp-` and its number if it has no name.
fn is_codepoint(word: &str) -> bool {
    let number = word.strip_prefix("dscp-").unwrap_or(word);
    let named = dscp::parse(number).map(dscp::name);
    match named {
        Some(Some(name)) => name == word,
        Some(None) => number.len() < word.len(),
        None => false,
    }
}

/// True if a field is a figure or contains one.
fn has_figures(field: &Field) -> bool {
    !matches!((field.shape)(), Shape::List(_) | Shape::Text)
}

fn labels(path: &str, node: &Node, known: &BTreeSet<&str>) -> Result<Vec<String>, Fault> {
    // Labels are texts, but a file may write numbers and booleans without quotes.
    let label = |node: &Node| match &node.content {
        Content::Text(text) | Content::Whole(text) | Content::Float(text) => {
            if known.contains(text.as_str()) {
                return Ok(text.clone());
            }
            let all: Vec<&str> = known.iter().copied().collect();
            let hint = fault::suggestion(text, all.iter().copied());
            let message = format!("unknown label '{text}'; expected one of {}{hint}", listed(&all));
            Err(Fault::new(node.line, path, message))
        }
        Content::Switch(on) => match if *on { "on" } else { "off" } {
            text if known.contains(text) => Ok(text.to_string()),
            _ => Err(wrong_type(path, node, "a label or a list of labels")),
        },
        _ => Err(wrong_type(path, node, "a label or a list of labels")),
    };
    match node.list() {
        Some([]) => Err(Fault::new(node.line, path, "no label; expected at least one")),
        Some(list) => {
            let all: Vec<String> = list.iter().map(label).collect::<Result<_, _>>()?;
            let mut seen = BTreeSet::new();
            match all.iter().zip(list).find(|(label, _)| !seen.insert(*label)) {
                Some((twice, node)) => Err(Fault::new(
                    node.line,
                    path,
                    format!("label '{twice}' is given twice; expected each once"),
                )),
                None => Ok(all),
            }
        }
        None => Ok(vec![label(node)?]),
    }
}

/// Checks for missing keys and contradictions.
fn check(expect: Expect, entries: &[Entry]) -> Result<Expect, Fault> {
    let line_of = |key: &str| entries.iter().find(|entry| entry.key == key).map(|entry| entry.line);
    let fail = |key: &str, message: &str| {
        Err(Fault::new(line_of(key).unwrap_or(expect.line), format!("expect.{key}"), message))
    };
    if expect.claim.is_empty() {
        return fail("claim", "is missing; expected the claim in words");
    }
    if expect.measure.is_empty() {
        return fail("measure", "is missing; expected a figure such as \"queue_delay_ms.p99\"");
    }
    match (expect.low, expect.high) {
        (None, None) => fail("low", "neither low nor high is given; expected at least one"),
        (Some(low), Some(high)) if low > high => {
            fail("low", "is above high; expected a range from low to high")
        }
        _ if line_of("best").is_some() && expect.alternatives.is_empty() => {
            fail("best", "there are no alternatives; expected this key only with alternatives")
        }
        _ => Ok(expect),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects the path of every declared figure, with an example where results have names.
    fn collect(shape: Shape, path: &str, figures: &mut Vec<String>) {
        match shape {
            Shape::Number => figures.push(path.to_string()),
            Shape::Fields(_, fields) => {
                let dot = if path.is_empty() { "" } else { "." };
                fields.iter().for_each(|field| {
                    collect((field.shape)(), &format!("{path}{dot}{}", field.name), figures);
                });
            }
            Shape::Named(of) => {
                let name = match path.rsplit('.').next() {
                    Some("groups") => "video",
                    Some("hops") => "core",
                    Some("stages") => DelayStage::ALL[0].name(),
                    Some("codepoints") => "dscp-3",
                    _ => "any",
                };
                collect(of(), &format!("{path}.{name}"), figures);
            }
            Shape::List(_) | Shape::Text => {}
        }
    }

    #[test]
    fn measures_are_checked_against_declared_results() {
        let flows = ["video", "file"];
        let reader = Reader::new(&[], &flows, &["core"]);
        let node = Node::new(1, Content::Switch(true));
        let read = |text: &str| reader.measure("m", &node, text.to_string()).map_err(|fault| fault.message);
        let mut figures = vec!["groups.video.throughput_mbps / groups.file.throughput_mbps".to_string()];
        collect(Measures::shape(), "", &mut figures);
        assert!(figures.len() > 400, "{}", figures.len());
        assert!(figures.contains(&"cell.by_ue.any.queue_delay_ms.p99".to_string()));
        for good in figures {
            assert_eq!(read(&good), Ok(good.clone()));
        }
        for (bad, wanted) in [
            ("queue_delay_ms", "a distribution; expected one of its figures: queue_delay_ms.count"),
            ("queue_delay_ms.p98", "unknown figure 'p98'"),
            ("queue_delay_ms.p99.x", "expected nothing after it"),
            ("utilisation", "did you mean 'utilization'?"),
            ("utilization.x", "expected nothing after it"),
            ("groups", "the name of a group is missing; expected one of video, file"),
            ("groups.vidoe.loss_ratio", "did you mean 'video'?"),
            ("groups.video", "a measure is missing; expected one of flows, throughput_mbps"),
            ("flows", "unknown measure 'flows'"),
            (
                "power / groups.file",
                "'groups.file': a measure is missing; expected one of flows, throughput_mbps",
            ),
            ("nodes", "a table of named figures; expected a name after it"),
            ("cell.stages.rlc", "a distribution; expected one of its figures: cell.stages.rlc.count"),
            ("groups.video.voice.loud", "unknown measure 'loud'"),
            ("hops.coer.drops", "unknown hop 'coer'; expected one of core; did you mean 'core'?"),
            ("cell.stages.rcl.p99", "did you mean 'rlc'?"),
            ("codepoints.dscp-46.loss", "unknown codepoint 'dscp-46'; expected a name such as ef, or dscp-3"),
            ("codepoints.3.loss", "unknown codepoint '3'"),
            ("power / power / power", "'power / power': unknown measure 'power / power'"),
            ("", "a measure is missing; expected"),
        ] {
            let message = read(bad).unwrap_err();
            assert!(message.contains(wanted), "{bad}: {message}");
        }
    }
}
