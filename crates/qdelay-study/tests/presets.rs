//! Presets of links: figures beside the recordings they are of, bounds of the fit, and the tables of `docs/presets.md`.
//! `QDELAY_REGENERATE=1 cargo test -p qdelay-study --test main presets::` writes the tables again.

use super::scenario_schema::{compare, docs};
use qdelay_core::component::Registry;
use qdelay_path::stack::Direction;
use qdelay_study::link_keys::LinkKeys;
use qdelay_study::presets::fit::{self, Fitted};
use qdelay_study::presets::{Of, PRESETS, Preset, Quantity};
use qdelay_study::traces::Library;
use qdelay_testing::{Need, skip};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

fn fitted(preset: &'static Preset) -> Vec<Fitted> {
    fit::of(preset).unwrap_or_else(|error| panic!("{}: {error}", preset.name))
}

/// A mean rate is within 15%, and a median round trip within 10%, of its published figure: bounds that were chosen after the fit, for later changes.
#[test]
fn means_and_round_trips_are_near() {
    for preset in PRESETS {
        let fitted = fitted(preset);
        assert!(fitted.iter().any(|fitted| fitted.figure.of == Of::Down));
        for Fitted { figure, found } in &fitted {
            let bound = match figure.quantity {
                Quantity::Mean => 0.15,
                Quantity::Time(50) => 0.10,
                _ => continue,
            };
            let what = format!("{} {} {}", preset.name, figure.of.name(), figure.quantity.name());
            assert!(
                (found / figure.published - 1.0).abs() <= bound,
                "{what}: {found} for {}",
                figure.published
            );
        }
    }
}

/// Rates in Mbit/s of each second of a file in mahimahi's format, and its gaps in seconds, by their definition.
fn seconds(text: &str) -> (Vec<f64>, Vec<f64>) {
    let times: Vec<u64> = text.lines().map(|line| line.trim().parse().expect("a time in ms")).collect();
    let end = *times.last().expect("an opportunity");
    // A second includes its end and not its beginning; one that is not complete does not count.
    let mut bytes = vec![0; (end / 1000) as usize];
    for time in &times {
        if let Some(second) = bytes.get_mut((time.saturating_sub(1) / 1000) as usize) {
            *second += 1504;
        }
    }
    let mut gaps = vec![times[0] as f64 / 1000.0];
    gaps.extend(times.windows(2).map(|pair| (pair[1] - pair[0]) as f64 / 1000.0));
    (bytes.iter().map(|bytes| f64::from(*bytes) * 8.0 / 1e6).collect(), gaps)
}

#[test]
fn published_figures_are_those_of_the_recordings() {
    let Some(folder) = std::env::var_os("QDELAY_TRACES") else {
        skip(Need::Traces, "QDELAY_TRACES names no folder");
    };
    let mut count = 0;
    for preset in PRESETS {
        for figure in preset.figures {
            let Some(file) = figure.source.recording else { continue };
            count += 1;
            let text = std::fs::read_to_string(Path::new(&folder).join(file)).expect("a recording");
            let (mut rates, gaps) = seconds(&text);
            let mean = rates.iter().sum::<f64>() / rates.len() as f64;
            let deviation =
                (rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / rates.len() as f64).sqrt();
            rates.sort_by(f64::total_cmp);
            let duration = gaps.iter().sum::<f64>();
            let found = match figure.quantity {
                Quantity::Mean => text.lines().count() as f64 * 1504.0 * 8.0 / 1e6 / duration,
                Quantity::Rate(p) => rates[(rates.len() * usize::from(p)).div_ceil(100) - 1],
                Quantity::Variation => deviation / mean,
                Quantity::Outage => 100.0 * gaps.iter().filter(|gap| **gap > 0.1).sum::<f64>() / duration,
                Quantity::LongestGap => gaps.iter().copied().fold(0.0, f64::max),
                Quantity::Time(_) | Quantity::Loss => panic!("no figure of a recording of opportunities"),
            };
            let near = (found - figure.published).abs() <= 0.005_f64.max(figure.published * 0.02);
            assert!(near, "{}: {}: {found}", figure.source.name, figure.quantity.name());
        }
    }
    assert!(count >= 40, "{count} figures");
}

fn keys(given: &[(&str, &str)]) -> Result<LinkKeys, String> {
    let mut keys = LinkKeys::default();
    for (option, value) in given {
        keys.set(&format!("--{option}"), option, value, &Registry::new())
            .map_err(|error| error.to_string())?;
    }
    Ok(keys)
}

#[test]
fn a_preset_sets_every_key_and_later_options_replace_it() {
    let plan = |given: &[(&str, &str)]| {
        let keys = keys(given).unwrap();
        keys.plan(1, &Library::new(), &Registry::new()).unwrap_or_else(|error| panic!("{error}"))
    };
    let shown = |direction: &Direction| format!("{direction:?}");
    let plain = plan(&[("preset", "dsl")]);
    let by_hand = plan(&[
        ("down", "line:1500kbit"),
        ("up", "line:384kbit"),
        ("qdisc", "taildrop:limit=100"),
        ("up-qdisc", "taildrop:limit=25"),
        ("delay", "25ms"),
    ]);
    assert_eq!([shown(&plain.down), shown(&plain.up)], [shown(&by_hand.down), shown(&by_hand.up)]);
    // What an option before it said is gone: a preset is a whole network.
    let after = plan(&[("loss", "5%"), ("jitter", "10ms"), ("preset", "dsl")]);
    assert_eq!(shown(&after.down), shown(&plain.down));
    let changed = plan(&[("preset", "dsl"), ("up-delay", "80ms")]);
    assert_eq!(shown(&changed.down), shown(&plain.down));
    assert_eq!(changed.up.delay.as_millis_f64(), 80.0);
    let keys_of = keys(&[("preset", "subway")]).unwrap();
    assert_eq!(keys_of.preset, Some("subway"));
    let adjustment = keys_of.adjustment(&Library::new(), &Registry::new()).unwrap();
    assert!(
        adjustment.up.loss.is_some() && adjustment.down.jitter.is_some(),
        "a change to a preset leaves nothing as it was"
    );
}

#[test]
fn unknown_presets_are_named() {
    for (given, expected) in [
        (
            "lt",
            "--preset: 'lt': unknown preset; expected one of 3g, lte, lte-edge, 5g, starlink, dsl, wifi-busy, train, subway; did you mean 'lte'?",
        ),
        ("", "--preset: '': unknown preset; expected one of 3g, lte,"),
    ] {
        let error = keys(&[("preset", given)]).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
        assert_eq!(error.lines().count(), 1);
    }
}

/// The page's part between `<!-- presets -->` and `<!-- end of presets -->`.
#[test]
fn documented_figures_are_those_of_the_presets() {
    let mut text = std::fs::read_to_string(docs().join("presets.md")).expect("docs/presets.md");
    let mut part = String::new();
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    let mut sources = String::new();
    for preset in PRESETS {
        write!(part, "\n### {}\n\n{}.\n\n", preset.name, upper(preset.about)).unwrap();
        part += "| | | published | preset | error | source |\n| --- | --- | --- | --- | --- | --- |\n";
        for fitted in fitted(preset) {
            let (figure, found) = (fitted.figure, fitted.found);
            let next = numbers.len() + 1;
            let number_of_source = *numbers.entry(figure.source.name).or_insert_with(|| {
                writeln!(sources, "{next}. {}", figure.source.name).unwrap();
                next
            });
            let error = fitted.error().map_or(String::new(), |error| format!("{:+.0}%", 100.0 * error));
            let [published, found] = [figure.published, found].map(fit::number);
            let (of, what) = (figure.of.name(), figure.quantity.name());
            writeln!(part, "| {of} | {what} | {published} | {found} | {error} | {number_of_source} |")
                .unwrap();
        }
        writeln!(part, "\nAssumed: {}.", preset.assumed.join("; ")).unwrap();
    }
    let part = format!("{part}\n## Sources\n\n{sources}");
    let (begin, end) = ("<!-- presets -->\n", "<!-- end of presets -->");
    let start = text.find(begin).expect("the beginning of the tables") + begin.len();
    let end = start + text[start..].find(end).expect("the end of the tables");
    text.replace_range(start..end, &part);
    compare("presets.md", &text);
}

fn upper(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or(String::new(), |first| first.to_uppercase().chain(characters).collect())
}
