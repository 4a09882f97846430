//! Changes to a running link by words such as `down=2mbit`: from the control socket, from HTTP, and from programs that use either.

use qdelay_config::InputError;
use qdelay_core::component::Registry;
use qdelay_emu::control::{Change, Changed, Control};
use qdelay_emu::snapshot::LinkSettings;
use qdelay_path::stack::Adjustment;
use qdelay_study::link_keys::{LinkKeys, PRESET};
use qdelay_study::traces::Library;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::settings;
use crate::error::one_line;
use crate::output::eprintln_line;

/// The directions that a cut or a pause concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// Both directions.
    #[default]
    Both,
    /// Towards the inside.
    Down,
    /// From the inside.
    Up,
}

impl Directions {
    fn named(word: &str) -> Option<Directions> {
        match word {
            "both" => Some(Directions::Both),
            "down" => Some(Directions::Down),
            "up" => Some(Directions::Up),
            _ => None,
        }
    }
    const fn name(self) -> &'static str {
        match self {
            Directions::Both => "both",
            Directions::Down => "down",
            Directions::Up => "up",
        }
    }
}

/// Effect of a cut on packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Every packet is dropped behind the link.
    Drop,
    /// Packets wait in the queue.
    Hold,
    /// Neither.
    Off,
}

impl Cut {
    const fn name(self) -> &'static str {
        match self {
            Cut::Drop => "drop",
            Cut::Hold => "hold",
            Cut::Off => "off",
        }
    }
}

/// Files that words may name.
#[derive(Clone, Debug)]
pub enum Files {
    /// Files of the user who started the link, also in these folders of traces.
    OfUser(Vec<PathBuf>),
    /// None: who may ask may not be who may read. Shipped traces have names of their own.
    Shipped,
}

/// A change that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// The change as text.
    pub what: String,
    /// The time on the path since when it holds, in seconds.
    pub time_s: f64,
}

/// Makes changes to one link.
#[derive(Clone, Debug)]
pub struct Adjuster {
    control: Control,
    registry: Registry,
    files: Files,
    /// True if each change is printed to standard error.
    announces: bool,
    /// One change at a time, so that the settings shown follow the order of changes.
    turn: Arc<Mutex<()>>,
}

fn line(error: InputError) -> String {
    error.to_string()
}

impl Adjuster {
    /// Changes of the link that `control` refers to; words may name components of `registry`.
    pub fn new(control: Control, registry: Registry, files: Files) -> Adjuster {
        Adjuster { control, registry, files, announces: false, turn: Arc::default() }
    }

    /// Prints each change to standard error.
    #[must_use]
    pub fn announcing(self) -> Adjuster {
        Adjuster { announces: true, ..self }
    }

    fn done(&self, what: String, time_s: f64) -> Done {
        if self.announces {
            eprintln_line(&one_line(&format!("{what} at {time_s:.6} s")));
        }
        Done { what, time_s }
    }

    /// Sets keys: each an option of `qdelay link` without dashes in front, or `cut`, `down-cut` or `up-cut` with `drop`, `hold` or `off`.
    ///
    /// # Errors
    /// The key, what is wrong and what was expected; nothing has changed.
    pub fn set(&self, words: &[(String, String)]) -> Result<Done, String> {
        if words.is_empty() {
            return Err("nothing to set; expected words such as down=2mbit loss=3%".to_string());
        }
        let (mut keys, mut cuts) = (LinkKeys::default(), Vec::new());
        // A preset sets every key, wherever it stands; the others change its values.
        let (presets, others): (Vec<_>, Vec<_>) = words.iter().partition(|(key, _)| key == PRESET);
        for (key, value) in presets.into_iter().chain(others) {
            match cut_key(key) {
                Some(directions) => cuts.push((directions, cut(key, value)?)),
                None => keys.set(key, key, value, &self.registry).map_err(line)?,
            }
        }
        let library = match &self.files {
            Files::OfUser(folders) => Library::for_scenario(None, folders).regular_files(),
            Files::Shipped => Library::new().shipped_only(),
        };
        let mut adjustment = keys.adjustment(&library, &self.registry).map_err(line)?;
        cuts.iter().for_each(|(directions, cut)| add_cut(&mut adjustment, *directions, *cut));
        let words: Vec<String> = words.iter().map(|(key, value)| format!("{key}={value}")).collect();
        self.change(&keys, adjustment, format!("set {}", words.join(" ")))
    }

    /// Cuts, pauses or restores.
    ///
    /// # Errors
    /// The direction cannot be cut, or the link has ended.
    pub fn cut(&self, directions: Directions, cut: Cut) -> Result<Done, String> {
        let mut adjustment = Adjustment::default();
        add_cut(&mut adjustment, directions, cut);
        let verb = match cut {
            Cut::Drop => "cut",
            Cut::Hold => "pause",
            Cut::Off => "restore",
        };
        self.change(&LinkKeys::default(), adjustment, format!("{verb} {}", directions.name()))
    }

    /// Resets the TCP connections with `port` at either end, or all; also returns how many.
    ///
    /// # Errors
    /// The link has ended.
    pub fn reset(&self, port: Option<u16>) -> Result<(Done, usize), String> {
        let (time, count) = self.control.reset(port).map_err(|gone| gone.to_string())?;
        let what = port.map_or("reset all".to_string(), |port| format!("reset port {port}"));
        Ok((self.done(what, time.as_secs_f64()), count))
    }

    /// The changes so far.
    ///
    /// # Errors
    /// The link has ended.
    pub fn changes(&self) -> Result<Vec<Changed>, String> {
        self.control.changes().map_err(|gone| gone.to_string())
    }

    fn change(&self, keys: &LinkKeys, adjustment: Adjustment, what: String) -> Result<Done, String> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.control.settings().map_err(|gone| gone.to_string())?;
        let mut shown = LinkSettings::clone(&before);
        settings::change(&mut shown, keys, &adjustment);
        let change = Change { adjustment, settings: Arc::new(shown), what: what.clone() };
        let time = self.control.adjust(change).map_err(|gone| gone.to_string())??;
        Ok(self.done(what, time.as_secs_f64()))
    }
}

/// The directions of the key `cut`, `down-cut` or `up-cut`; `None` for other keys.
fn cut_key(key: &str) -> Option<Directions> {
    match key.strip_suffix("cut")? {
        "" => Some(Directions::Both),
        prefix => Directions::named(prefix.strip_suffix('-')?).filter(|named| *named != Directions::Both),
    }
}

fn cut(key: &str, value: &str) -> Result<Cut, String> {
    let all = [Cut::Drop, Cut::Hold, Cut::Off];
    let found = all.into_iter().find(|cut| cut.name() == value);
    found.ok_or_else(|| format!("{key}: '{value}': expected drop, hold or off"))
}

/// A cut and a pause exclude each other.
fn add_cut(adjustment: &mut Adjustment, directions: Directions, cut: Cut) {
    let both = [(Directions::Down, &mut adjustment.down), (Directions::Up, &mut adjustment.up)];
    for (direction, change) in both {
        if directions == Directions::Both || directions == direction {
            change.is_cut = Some(cut == Cut::Drop);
            change.is_held = Some(cut == Cut::Hold);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_have_keys_of_their_own() {
        assert_eq!(
            ["cut", "down-cut", "up-cut"].map(cut_key),
            [Some(Directions::Both), Some(Directions::Down), Some(Directions::Up)]
        );
        assert_eq!(["both-cut", "downcut", "loss", "-cut", "shortcut"].map(cut_key), [None; 5]);
        assert_eq!(cut("cut", "hold"), Ok(Cut::Hold));
        assert_eq!(cut("up-cut", "on"), Err("up-cut: 'on': expected drop, hold or off".to_string()));
        let mut adjustment = Adjustment::default();
        add_cut(&mut adjustment, Directions::Up, Cut::Hold);
        assert_eq!((adjustment.down.is_cut, adjustment.down.is_held), (None, None));
        assert_eq!((adjustment.up.is_cut, adjustment.up.is_held), (Some(false), Some(true)));
    }
}
