//! Changes of a scenario by the command line, each declared once: its text in `[origin]` and `study.json`, and its effect on a study.

use super::declare::{Run, Settings};
use super::origin::{duration_text, seeds_text};
use super::study::Study;
use super::values::{self, Starts, parse_seeds};
use qdelay_config::{Content, Fault, Node, Setting};
use qdelay_core::Span;
use qdelay_core::units::parse_span;

/// Changes of a scenario by the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Seeds that replace `run.seeds`; see [`parse_seeds`].
    pub seeds: Option<Vec<u64>>,
    /// Duration that replaces `run.duration`.
    pub duration: Option<Span>,
    /// Value that replaces `run.starts`.
    pub starts: Option<Starts>,
    /// True to turn `run.connections` on.
    pub connections: bool,
}

/// The declaration of an override.
pub(crate) struct Override {
    /// Key in `[origin]` and `study.json`.
    pub key: &'static str,
    /// Kind of text in `[origin]`, for errors.
    pub expected: &'static str,
    /// Text in `[origin]`; `None` if the scenario's own value stays.
    pub text: fn(&Overrides) -> Option<String>,
    /// Text in `study.json`; `None` if the scenario's own value stays.
    #[cfg_attr(not(feature = "engine"), allow(dead_code, reason = "only the engine compares studies"))]
    pub identity: fn(&Overrides) -> Option<String>,
    /// Sets the override from either text.
    pub set: fn(&mut Overrides, &str) -> Result<(), String>,
    /// Changes the study.
    apply: fn(&mut Study, &Overrides) -> Result<(), Fault>,
}

/// Every override, in the order of `[origin]`.
pub(crate) static OVERRIDES: [Override; 4] = [
    Override {
        key: SEEDS,
        expected: "seeds in quotes, such as \"1..5\"",
        text: |overrides| overrides.seeds.as_deref().map(seeds_text),
        // Seeds are an axis, which `study.json` has in full.
        identity: |overrides| overrides.seeds.as_ref().map(|seeds| format!("{} given", seeds.len())),
        set: |overrides, text| {
            let seeds = parse_seeds(text).map_err(|message| format!("'{text}': {message}"))?;
            overrides.seeds = Some(seeds);
            Ok(())
        },
        apply: |study, overrides| {
            let seeds = overrides.seeds.as_ref().unwrap_or(&study.tables.run.seeds.value().0).clone();
            if overrides.seeds.is_some() {
                values::check_seeds(&seeds).map_err(|message| Fault::new(0, "run.seeds", message))?;
            }
            study.seeds = seeds;
            Ok(())
        },
    },
    Override {
        key: "duration",
        expected: "a duration in quotes, such as \"60s\"",
        text: |overrides| overrides.duration.map(duration_text),
        identity: |overrides| overrides.duration.map(|duration| duration.to_string()),
        set: |overrides, text| match parse_span(text) {
            Ok(span) if !span.is_zero() => {
                overrides.duration = Some(span);
                Ok(())
            }
            Ok(_) => Err("out of range; expected a duration above 0, such as 60s".to_string()),
            Err(error) => Err(format!("'{text}': {error}")),
        },
        apply: |study, overrides| {
            let Some(duration) = overrides.duration else { return Ok(()) };
            if study.varies_duration() {
                let message = "the matrix varies it; expected no duration on the command line";
                return Err(Fault::new(0, "run.duration", message));
            }
            let node = Node::new(0, Content::Text(duration_text(duration)));
            let key = Run::TABLE.key("duration").expect("a key");
            study.tables.run.duration = Setting::read(key, key.path, &node)?;
            Ok(())
        },
    },
    Override {
        key: "starts",
        expected: "a word in quotes",
        text: |overrides| overrides.starts.map(|starts| starts.word().to_string()),
        identity: |overrides| overrides.starts.map(|starts| starts.word().to_string()),
        set: |overrides, text| {
            let known: Vec<&str> = Starts::ALL.iter().map(|(known, _)| *known).collect();
            let starts = Starts::named(text)
                .ok_or_else(|| format!("'{text}': expected one of {}", known.join(", ")))?;
            overrides.starts = Some(starts);
            Ok(())
        },
        apply: |study, overrides| {
            study.starts = overrides.starts.unwrap_or(study.tables.run.starts.get());
            Ok(())
        },
    },
    Override {
        key: "connections",
        expected: "\"on\"",
        text: |overrides| overrides.connections.then(|| "on".to_string()),
        identity: |overrides| overrides.connections.then(|| "on".to_string()),
        set: |overrides, text| {
            overrides.connections = text == "on";
            if overrides.connections { Ok(()) } else { Err(format!("'{text}': expected on")) }
        },
        apply: |study, overrides| {
            if overrides.connections {
                study.tables.run.connections.set("on", true);
            }
            Ok(())
        },
    },
];

/// Key of the seeds, whose labels `study.json` keeps as an axis.
pub(crate) const SEEDS: &str = "seeds";

impl Overrides {
    /// These changes, completed by those of `other`.
    pub(super) fn or(self, other: &Overrides) -> Overrides {
        Overrides {
            seeds: self.seeds.or_else(|| other.seeds.clone()),
            duration: self.duration.or(other.duration),
            starts: self.starts.or(other.starts),
            connections: self.connections || other.connections,
        }
    }

    /// Changes the study.
    pub(super) fn apply(&self, study: &mut Study) -> Result<(), Fault> {
        OVERRIDES.iter().try_for_each(|declared| (declared.apply)(study, self))
    }
}
