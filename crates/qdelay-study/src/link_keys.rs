//! Keys of the two directions of a link under a real clock, with their defaults: options of `qdelay link` and `qdelay proxy`, keys of a
//! gateway's configuration, and words of `qdelay set`.
//!
//! `down` is the direction towards the inside, `up` the direction from it. As an option, `down` and `up` are the links, `qdisc` is the
//! discipline of `down`, and every other key is for both directions, or, behind `down-` or `up-`, for one.

use crate::lists;
use crate::presets::{self, Preset};
use crate::traces::Library;
use crate::traces::delay::{Delay, Extent};
use crate::traces::jitter::JitterText;
use crate::traces::loss::LinkLoss;
use qdelay_config::value::wrong_type;
use qdelay_config::{Accept, Content, Fault, InputError, Node, Setting, Settings, key, table};
use qdelay_core::Span;
use qdelay_core::component::{self, Parameter, Registry};
use qdelay_core::qdisc::{self, AnyQdisc};
use qdelay_path::stack::{Adjustment, Direction, DirectionAdjustment, Plan};
use qdelay_path::{AnyLink, Curve, ImpairmentSpec, Jitter, LossModel};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;

/// Default seed of the random streams.
pub const SEED: &str = "1";

/// A line of text that is built later, for its direction.
fn line(path: &str, node: &Node, expected: &str) -> Result<String, Fault> {
    let text = node.text().filter(|text| !text.is_empty() && !text.chars().any(char::is_control));
    text.map(str::to_string).ok_or_else(|| wrong_type(path, node, expected))
}

/// Declares a text of one line that is built later.
macro_rules! texts {
    ($($(#[$doc:meta])* $name:ident, $expected:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Accept for $name {
            fn read(_: &Parameter, path: &str, node: &Node) -> Result<(String, Self), Fault> {
                Ok((line(path, node, $expected)?, $name))
            }
            fn describe(_: &Parameter) -> String {
                $expected.to_string()
            }
            fn schema(_: &Parameter) -> Json {
                json!({ "type": "string", "minLength": 1 })
            }
        }
    )*};
}

texts! {
    /// A link or a trace.
    LinkName, "a rate, a link or a trace in quotes, such as \"10mbit\"";
    /// A queue discipline.
    QdiscName, "a queue discipline in quotes, such as \"codel\"";
}

/// Declares the tables of both directions, which have the same keys, and a view of the keys of either direction.
macro_rules! directions {
    ($keys:tt $($(#[$doc:meta])* $table:ident, $change:ident = $name:literal, $about:literal;)*) => {
        directions!(@view $keys);
        $(directions!(@table $(#[$doc])* $table, $change = $name, $about, $keys);)*
    };
    (@view { $($field:ident: $type:ty = $declared:expr;)* }) => {
        /// Keys of a direction.
        #[derive(Clone, Copy, Debug)]
        #[allow(missing_docs, reason = "each key is declared with a sentence")]
        pub struct DirectionKeys<'a> {
            $(pub $field: &'a Setting<$type>,)*
        }
    };
    (@table $(#[$doc:meta])* $table:ident, $change:ident = $name:literal, $about:literal, {
        $($field:ident: $type:ty = $declared:expr;)*
    }) => {
        table! {
            $(#[$doc])*
            pub struct $table, $change = $name, $about {
                $($field: $type = $declared;)*
            }
        }

        impl $table {
            /// Keys of this direction.
            pub const fn keys(&self) -> DirectionKeys<'_> {
                let $table { $($field,)* } = self;
                DirectionKeys { $($field,)* }
            }
        }
    };
}

directions! {
    {
        link: LinkName = key("infinite", "Rate, link of 'qdelay list link', or trace.");
        repeat: bool = key("on", "Start a trace over at its end; false: play it once.");
        qdisc: QdiscName = key("taildrop", "Queue discipline in front of the link.");
        delay: Delay = key("0s", "Delay of each packet behind the link; or a delay over time, such as steps:0s@20ms+5s@60ms or trace:FILE.").within("0s", "60s");
        jitter: JitterText = key("0s", "Random delay in addition: a time, the largest of a uniform one, or a distribution around the delay, such as normal:5ms; packets keep their order without reorder=on.")
            .within("0s", "60s");
        loss: LinkLoss = key("0", "Packets that are lost behind the link: a probability, a percentage, or a model, such as gilbert-elliott:p=1%:r=25%, steps:0s@0%+5s@2% or trace:FILE.").within("0", "1");
        reorder: LinkLoss = key("0", "Packets that are held for reorder_delay, so that later ones overtake them; in the forms of loss.").within("0", "1");
        reorder_delay: Span = key("2ms", "Time for which reordered packets are held.").within("1us", "60s");
        duplicate: LinkLoss = key("0", "Packets that are followed by a copy; in the forms of loss.").within("0", "1");
        corrupt: LinkLoss = key("0", "Packets of which a bit is changed behind the IP header, so that their checksum fails; in the forms of loss.").within("0", "1");
    }
    /// Direction from outside to inside.
    Down, DownChange = "down", "downloads of the devices";
    /// Direction from inside to outside.
    Up, UpChange = "up", "uploads of the devices";
}

impl DirectionKeys<'_> {
    /// Builds the direction that the keys describe.
    ///
    /// # Errors
    /// A file that cannot be read, or a link or a discipline that cannot be built.
    pub fn direction(self, library: &Library, registry: &Registry) -> Result<Direction, Fault> {
        let (delay, curve) = self.delay(library)?;
        Ok(Direction {
            link: self.link(library)?,
            qdisc: self.qdisc(registry)?,
            delay,
            curve,
            jitter: self.jitter(library)?,
            impairment: ImpairmentSpec {
                loss: model(self.loss, library)?,
                corrupt: model(self.corrupt, library)?,
                reorder: model(self.reorder, library)?,
                reorder_delay: self.reorder_delay.get(),
                duplicate: model(self.duplicate, library)?,
                is_cut: false,
            },
            is_held: false,
        })
    }

    /// Builds the parts whose keys are given.
    fn adjustment(self, library: &Library, registry: &Registry) -> Result<DirectionAdjustment, Fault> {
        let given =
            |setting: &Setting<LinkLoss>| setting.is_given().then(|| model(setting, library)).transpose();
        Ok(DirectionAdjustment {
            link: self.link.is_given().then(|| self.link(library)).transpose()?,
            qdisc: self.qdisc.is_given().then(|| self.qdisc(registry)).transpose()?,
            delay: self.delay.is_given().then(|| self.delay(library)).transpose()?,
            jitter: self.jitter.is_given().then(|| self.jitter(library)).transpose()?,
            loss: given(self.loss)?,
            corrupt: given(self.corrupt)?,
            reorder: given(self.reorder)?,
            reorder_delay: self.reorder_delay.is_given().then(|| self.reorder_delay.get()),
            duplicate: given(self.duplicate)?,
            is_cut: None,
            is_held: None,
        })
    }

    fn link(&self, library: &Library) -> Result<AnyLink, Fault> {
        library.link_or_trace(self.link.text(), self.repeat.get()).map_err(|error| self.link.fault(error))
    }
    fn qdisc(&self, registry: &Registry) -> Result<AnyQdisc, Fault> {
        let arguments = lists::component("qdisc", self.qdisc.text(), qdisc::COMPONENTS, registry)
            .map_err(|error| self.qdisc.fault(error.message))?;
        AnyQdisc::build(&arguments).map_err(|error| self.qdisc.fault(error))
    }
    fn delay(&self, library: &Library) -> Result<(Span, Option<Box<Curve>>), Fault> {
        let delay = library.delay(self.delay.value(), Extent::OneWay);
        let delay = delay.map_err(|message| self.delay.fault(message))?;
        Ok((delay.constant(), delay.curve.map(Box::new)))
    }
    fn jitter(&self, library: &Library) -> Result<Jitter, Fault> {
        library.jitter(self.jitter.value()).map_err(|message| self.jitter.fault(message))
    }
}

fn model(setting: &Setting<LinkLoss>, library: &Library) -> Result<LossModel, Fault> {
    library.loss(setting.value().loss()).map_err(|message| setting.fault(message))
}

/// The keys of both directions, and the option or word that each was given by.
#[derive(Clone, Debug)]
pub struct LinkKeys {
    /// Direction from outside to inside.
    pub down: Down,
    /// Direction from inside to outside.
    pub up: Up,
    /// The preset that the keys began with, if any.
    pub preset: Option<&'static str>,
    given_by: BTreeMap<&'static str, String>,
}

impl Default for LinkKeys {
    fn default() -> LinkKeys {
        LinkKeys { down: Down::defaults(), up: Up::defaults(), preset: None, given_by: BTreeMap::new() }
    }
}

/// The key of a table that an option sets, in the directions down and up.
fn key_of(option: &str) -> Option<(&'static str, [bool; 2])> {
    let (name, directions) = match option {
        "down" => ("link", [true, false]),
        "up" => ("link", [false, true]),
        "qdisc" => ("qdisc", [true, false]),
        "repeat" => ("repeat", [true, true]),
        _ => match option.split_once('-') {
            Some(("down", name)) => (name, [true, false]),
            Some(("up", name)) => (name, [false, true]),
            _ => (option, [true, true]),
        },
    };
    let name = name.replace('-', "_");
    let is_by_itself = name == "link" && !matches!(option, "down" | "up");
    Down::TABLE.key(&name).filter(|_| !is_by_itself).map(|key| (key.name(), directions))
}

/// Option that sets all others.
pub const PRESET: &str = "preset";

/// The options, without dashes in front: `down`, `up`, `qdisc`, `up-qdisc`, `delay`, `down-delay`..., `preset`.
pub fn options() -> Vec<String> {
    let mut options: Vec<String> = ["down", "up", "qdisc", "up-qdisc"].map(str::to_string).to_vec();
    let keys = Down::TABLE.names().into_iter().filter(|name| !["link", "qdisc", "repeat"].contains(name));
    for name in keys.map(|name| name.replace('_', "-")) {
        options.extend([name.clone(), format!("down-{name}"), format!("up-{name}")]);
    }
    options.push(PRESET.to_string());
    options
}

impl LinkKeys {
    /// Sets the key of `option`, a name of [`options`] or `repeat`. `place` names the option in errors, such as `--loss`.
    ///
    /// # Errors
    /// An unknown option, or a value that is not of its type or range.
    pub fn set(
        &mut self,
        place: &str,
        option: &str,
        value: &str,
        registry: &Registry,
    ) -> Result<(), InputError> {
        if option == PRESET {
            let preset = presets::named(value).map_err(|message| InputError::new(place, message))?;
            return self.apply(place, preset, registry);
        }
        let options = options();
        let Some((name, [in_down, in_up])) = key_of(option) else {
            let known: Vec<&str> = options.iter().map(String::as_str).collect();
            let near = component::suggestion(option, known.iter().copied());
            return Err(InputError::new(
                place,
                format!("unknown; expected one of {}{near}", known.join(", ")),
            ));
        };
        let mut node = Node::new(0, Content::Text(value.to_string()));
        node.registry = registry.clone();
        let wrong = |fault: Fault| without_key(place, &fault.message);
        if in_down && let Some(key) = Down::TABLE.key(name) {
            self.down.set(&Down::read_change(key, place, &node).map_err(wrong)?);
            self.given_by.insert(key.path, place.to_string());
        }
        if in_up && let Some(key) = Up::TABLE.key(name) {
            self.up.set(&Up::read_change(key, place, &node).map_err(wrong)?);
            self.given_by.insert(key.path, place.to_string());
        }
        Ok(())
    }

    /// Sets every key: to the value of `preset`, or to its default where the preset has none.
    ///
    /// # Errors
    /// The errors of [`LinkKeys::set`].
    pub fn apply(&mut self, place: &str, preset: &Preset, registry: &Registry) -> Result<(), InputError> {
        let place = format!("{place} {}", preset.name);
        for name in Down::TABLE.names() {
            let Some((down, up)) = Down::TABLE.key(name).zip(Up::TABLE.key(name)) else { continue };
            let [of_down, of_up] = match name {
                "link" => ["down".to_string(), "up".to_string()],
                "qdisc" => ["qdisc".to_string(), "up-qdisc".to_string()],
                _ => ["down", "up"].map(|direction| format!("{direction}-{}", name.replace('_', "-"))),
            };
            for (key, option) in [(down, of_down), (up, of_up)] {
                let both = option.split_once('-').map_or(option.as_str(), |(_, name)| name);
                let of = |wanted: &str| preset.values.iter().find(|(option, _)| *option == wanted);
                // A value of one direction counts before that of both.
                let given = of(&option).or_else(|| of(both).filter(|_| both != "qdisc"));
                self.set(&place, &option, given.map_or(key.parameter.default, |(_, value)| value), registry)?;
            }
        }
        self.preset = Some(preset.name);
        Ok(())
    }

    /// Builds both directions.
    ///
    /// # Errors
    /// A file that cannot be read, or a part that cannot be built; the error names the option.
    pub fn plan(&self, seed: u64, library: &Library, registry: &Registry) -> Result<Plan, InputError> {
        Ok(Plan {
            down: self.down.keys().direction(library, registry).map_err(|fault| self.by_option(&fault))?,
            up: self.up.keys().direction(library, registry).map_err(|fault| self.by_option(&fault))?,
            seed,
        })
    }

    /// Builds the parts whose keys were set.
    ///
    /// # Errors
    /// The errors of [`LinkKeys::plan`].
    pub fn adjustment(&self, library: &Library, registry: &Registry) -> Result<Adjustment, InputError> {
        let by_option = |fault: Fault| self.by_option(&fault);
        Ok(Adjustment {
            down: self.down.keys().adjustment(library, registry).map_err(by_option)?,
            up: self.up.keys().adjustment(library, registry).map_err(by_option)?,
        })
    }

    /// The error of a key as one of the option that it was given by.
    fn by_option(&self, fault: &Fault) -> InputError {
        let key = self.given_by.iter().find(|(path, _)| fault.message.starts_with(&format!("{path}: ")));
        match key {
            Some((path, place)) => InputError::new(place, &fault.message[path.len() + 2..]),
            None => InputError::new("link", &fault.message),
        }
    }
}

/// The message of a fault without the name of its key in front, which is the place.
fn without_key(place: &str, message: &str) -> InputError {
    InputError::new(
        place,
        message.strip_prefix(place).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(message),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(given: &[(&str, &str)]) -> Result<LinkKeys, String> {
        let mut keys = LinkKeys::default();
        for (option, value) in given {
            let set = keys.set(&format!("--{option}"), option, value, &Registry::new());
            set.map_err(|error| error.to_string())?;
        }
        Ok(keys)
    }

    fn plan(given: &[(&str, &str)]) -> Result<Plan, String> {
        keys(given)?.plan(1, &Library::new(), &Registry::new()).map_err(|error| error.to_string())
    }

    #[test]
    fn options_are_for_one_direction_or_both() {
        let plan = plan(&[
            ("down", "10mbit"),
            ("up-qdisc", "codel"),
            ("delay", "20ms"),
            ("up-delay", "5ms"),
            ("loss", "5%"),
            ("down-jitter", "normal:2ms"),
            ("up-duplicate", "0.25"),
            ("reorder-delay", "3ms"),
        ])
        .unwrap();
        let ms = Span::from_millis;
        assert_eq!((plan.down.delay, plan.up.delay), (ms(20), ms(5)), "the later option counts");
        assert_eq!(plan.down.impairment.loss, LossModel::Random(0.05));
        assert_eq!(plan.up.impairment.loss, LossModel::Random(0.05));
        assert_eq!(plan.up.impairment.duplicate, LossModel::Random(0.25));
        assert_eq!((plan.down.jitter.size, plan.up.jitter.size), (ms(2), ms(0)));
        assert_eq!(plan.down.impairment.reorder_delay, ms(3));
        assert!(format!("{:?}", plan.up.qdisc).contains("Codel"));
    }

    #[test]
    fn every_option_is_known_and_no_other() {
        for option in options() {
            assert!(key_of(&option).is_some() || option == PRESET, "{option}");
        }
        for option in ["link", "down-link", "up-link", "down-", "sideways", "down-down", "loss_down", ""] {
            let error = keys(&[(option, "1")]).unwrap_err();
            assert!(error.contains("expected one of down, up, qdisc, up-qdisc, delay"), "{option}: {error}");
        }
    }

    #[test]
    fn errors_name_the_option() {
        let error = |option: &str, value: &str| plan(&[(option, value)]).unwrap_err();
        for (option, value, expected) in [
            ("down", "10mbyte", "--down: '10mbyte'"),
            ("down", "no-such-trace", "--down: no trace 'no-such-trace'"),
            ("up-qdisc", "codell", "--up-qdisc: 'codell': unknown qdisc"),
            ("delay", "20", "--delay: '20': "),
            ("delay", "2min", "--delay: '2min': "),
            ("up-delay", "trace:no-such-file", "--up-delay: "),
            (
                "loss",
                "5% 25%",
                "--loss: '5% 25%': netem's 'loss 5% 25%' is 5%:correlation=25%:variant=netem here",
            ),
            ("loss", "1.5", "--loss: '1.5': expected a probability"),
            ("jitter", "10ms distribution normal", "--jitter: '10ms distribution normal': netem's"),
            ("reorder-delay", "0s", "--reorder-delay: '0s': out of range"),
        ] {
            let found = error(option, value);
            assert!(found.starts_with(expected), "{option} {value}: {found}");
            assert_eq!(found.lines().count(), 1);
        }
    }

    #[test]
    fn an_adjustment_has_what_was_set() {
        let keys = keys(&[("down", "2mbit"), ("up-loss", "3%")]).unwrap();
        let adjustment = keys.adjustment(&Library::new(), &Registry::new()).unwrap();
        assert!(adjustment.down.link.is_some() && adjustment.up.link.is_none());
        assert_eq!((adjustment.down.loss, adjustment.up.loss), (None, Some(LossModel::Random(0.03))));
    }
}
