//! Presets: named values for the keys of both directions of a link, fitted to published figures.
//!
//! `table` has each preset with its figures and their sources; [`fit`] computes the figures of the preset itself, so that the error
//! of the fit is that of the values in use.

pub mod fit;
mod table;

pub use table::PRESETS;

use qdelay_core::component;

/// A kind of network.
#[derive(Debug)]
pub struct Preset {
    /// Name of the preset.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Values by option, as in [`LinkKeys`](crate::link_keys::LinkKeys); options that are absent keep their defaults.
    pub values: &'static [(&'static str, &'static str)],
    /// Figures that the values were fitted to.
    pub figures: &'static [Figure],
    /// Values that no source gives.
    pub assumed: &'static [&'static str],
}

/// A published figure.
#[derive(Debug)]
pub struct Figure {
    /// Direction, or both.
    pub of: Of,
    /// Statistic of it.
    pub quantity: Quantity,
    /// Published value, in the unit of the quantity.
    pub published: f64,
    /// Where it was published, or the recording that it was computed from.
    pub source: &'static Source,
}

/// A direction, or both together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// From outside to inside.
    Down,
    /// From inside to outside.
    Up,
    /// A small packet out and back, over an idle link.
    RoundTrip,
}

impl Of {
    /// Name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Of::Down => "down",
            Of::Up => "up",
            Of::RoundTrip => "round trip",
        }
    }
}

/// A statistic of a direction or of round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Mean rate.
    Mean,
    /// Percentile of the rate over 1 s.
    Rate(u8),
    /// Standard deviation of the rate over 1 s, over its mean.
    Variation,
    /// Share of time in gaps of more than 100 ms.
    Outage,
    /// Longest gap.
    LongestGap,
    /// Percentile of the time.
    Time(u8),
    /// Share of packets that are lost.
    Loss,
}

impl Quantity {
    /// Name and unit in tables.
    pub fn name(self) -> String {
        match self {
            Quantity::Mean => "mean, Mbit/s".to_string(),
            Quantity::Rate(percentile) => format!("p{percentile} over 1 s, Mbit/s"),
            Quantity::Variation => "variation over 1 s".to_string(),
            Quantity::Outage => "time in gaps over 100 ms, %".to_string(),
            Quantity::LongestGap => "longest gap, s".to_string(),
            Quantity::Time(percentile) => format!("p{percentile}, ms"),
            Quantity::Loss => "loss, %".to_string(),
        }
    }
}

/// A publication or a recording.
#[derive(Debug)]
pub struct Source {
    /// Citation, with the year.
    pub name: &'static str,
    /// Recording in the folder of traces, where the figures were computed from one.
    pub recording: Option<&'static str>,
}

/// The preset of this name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The preset of this name.
///
/// # Errors
/// No preset has this name; what was expected.
pub fn named(name: &str) -> Result<&'static Preset, String> {
    find(name).ok_or_else(|| {
        let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
        let near = component::suggestion(name, known.iter().copied());
        format!("'{name}': unknown preset; expected one of {}{near}", known.join(", "))
    })
}
