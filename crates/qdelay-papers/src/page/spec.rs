//! The figures of a paper that are drawn: `figures/NAME.toml`.

use crate::claims;
use qdelay_report::chart::{Ink, Mark, palette};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use toml::de::DeTable;

/// Keys of a figure that its panels do not have from it.
const OF_FIGURES: [&str; 4] = ["title", "note", "claims", "panel"];

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The axis that schemes are labels of.
    #[serde(default = "variant")]
    pub axis: String,
    /// In the order in which they stand in every figure.
    #[serde(rename = "scheme")]
    pub schemes: Vec<Scheme>,
    #[serde(rename = "figure")]
    pub figures: Vec<Drawing>,
}

/// A compared scheme; it has the same colour and mark in every figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scheme {
    /// Label on [`Figures::axis`].
    pub name: String,
    /// Place in the palette, from 0.
    pub colour: usize,
    /// Tells apart those of one colour; the dash of a line too.
    #[serde(default)]
    pub mark: Mark,
}

/// A figure, or one of its panels: what a panel does not say it has of its figure.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Drawing {
    /// Number in the paper; none where the paper has none.
    pub figure: Option<String>,
    pub title: String,
    /// The observation to make.
    pub note: String,
    pub kind: Option<Kind>,
    pub scenario: String,
    /// Labels by axis.
    #[serde(rename = "where")]
    pub select: BTreeMap<String, String>,
    /// Each figure is divided by that of the case with these labels in place of its own; empty for no division.
    pub normalise: BTreeMap<String, String>,
    /// An entry of `[[flow]]`.
    pub group: String,
    /// The delay of the group that is drawn.
    pub source: Option<Source>,
    /// The axes of a plane.
    pub x: Option<Measure>,
    pub y: Option<Measure>,
    /// The measures of rows and tables.
    pub measures: Vec<Measure>,
    /// The lines of plots over time.
    pub lines: Vec<Line>,
    /// A panel for each scheme.
    pub each: bool,
    /// The schemes that are shown; all where it is empty.
    pub schemes: Vec<String>,
    /// The paper's figures, by scheme: one for each measure of rows, or the x and y of a plane.
    pub paper: BTreeMap<String, Vec<f64>>,
    /// Bounds that the paper states, in distributions, trends and plots over time: a line for each with its name beside it.
    pub bounds: BTreeMap<String, f64>,
    /// Axis of delays or times.
    pub title_x: String,
    pub title_y: String,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub log: Option<bool>,
    /// Plots over time begin here, in seconds.
    pub from: Option<f64>,
    /// Spans of time that are shaded in plots over time.
    pub shade: Option<Shade>,
    /// Claims of these figures stand beside it; of its own number where it is empty.
    pub claims: Vec<String>,
    #[serde(rename = "panel")]
    pub panels: Vec<Drawing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A point for each scheme.
    Plane,
    /// Distributions.
    Cdf,
    /// Quartiles and range.
    Boxes,
    Bars,
    /// Several measures of one scheme in one line.
    Dots,
    Time,
    /// Rates of groups from the start on, of several schemes in one picture.
    Rates,
    /// Density of packets over their delay.
    Density,
    /// Measures over the number in the names of schemes.
    Trend,
    Table,
}

/// Times in which a viewer waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shade {
    /// The picture of a call is frozen.
    Freezes,
    /// A video stream has not begun or has stalled.
    Stalls,
}

/// The distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    Queue,
    Sdap,
    Rlc,
    RoundTrip,
    Arrival,
}

/// A figure of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The path of a figure, as in an `[[expect]]`.
    pub path: String,
    pub title: String,
    #[serde(default)]
    pub unit: String,
    #[serde(default = "one")]
    pub factor: f64,
    /// Added after that.
    #[serde(default)]
    pub offset: f64,
    #[serde(default)]
    pub log: bool,
    /// Labels by axis of the cases meant, in addition to the drawing's.
    #[serde(default, rename = "where")]
    pub select: BTreeMap<String, String>,
    /// Index in the palette, from 0, of its line in a trend.
    #[serde(default)]
    pub colour: usize,
    /// Whether smaller is better: determines the better corner of a plane.
    #[serde(default)]
    pub less: bool,
}

/// A line of a drawing over time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    pub series: Quantity,
    pub title: String,
    /// An entry of `[[flow]]`, in place of the drawing's.
    #[serde(default)]
    pub group: String,
    /// For rates, and for lines of groups of their own: index in the palette, from 0.
    #[serde(default)]
    pub colour: usize,
    /// Factor from Mbit/s to the unit of the axis, for rates.
    #[serde(default = "one")]
    pub factor: f64,
}

/// A field of a series of a cell, or a value computed from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Bytes that the MAC could take in a TTI.
    CapacityBytes,
    /// The same in packets of 1500 bytes.
    CapacityPackets,
    /// In kB, mean over time.
    RlcBytes,
    /// In kB, the most that lasted.
    RlcBytesMax,
    RlcPackets,
    RlcPacketsMax,
    Mcs,
    /// Mean queue delay of the group, ms.
    Delay,
    /// Mbit/s of the group.
    Throughput,
    /// DSD's g.
    GreenBias,
    /// Mbit/s that the link offered.
    Capacity,
    /// The rate that the control of the first call with video allows, Mbit/s.
    TargetRate,
    /// From capture to display of its frames, ms.
    DisplayDelay,
    /// Height of its picture, pixels.
    Height,
    /// The bit rate of the first video stream on the screen, Mbit/s.
    BitRate,
    /// Video in its buffer, s.
    Buffer,
}

fn variant() -> String {
    "variant".to_string()
}

fn one() -> f64 {
    1.0
}

impl Scheme {
    /// The colour in every figure.
    pub fn ink(&self) -> Ink {
        palette(self.colour)
    }
}

impl Measure {
    /// The label of its axis.
    pub fn with_unit(&self) -> String {
        if self.unit.is_empty() { self.title.clone() } else { format!("{} ({})", self.title, self.unit) }
    }
}

impl Figures {
    /// Reads the file.
    ///
    /// # Errors
    /// The first mistake in the file.
    pub fn parse(text: &str) -> Result<Figures, String> {
        let table = DeTable::parse(text).map_err(|error| error.to_string())?;
        let mut file = claims::object(table.get_ref());
        for figure in file.get_mut("figure").and_then(Value::as_array_mut).into_iter().flatten() {
            let own = figure.clone();
            let panels = figure.get_mut("panel").and_then(Value::as_array_mut).into_iter().flatten();
            panels.for_each(|panel| complete(panel, &own));
        }
        serde_json::from_value(file).map_err(|error| error.to_string())
    }
}

/// Gives a panel the settings of its figure that it lacks, with `where` by axis.
fn complete(panel: &mut Value, figure: &Value) {
    let (Some(panel), Some(figure)) = (panel.as_object_mut(), figure.as_object()) else { return };
    for (key, value) in figure.iter().filter(|(key, _)| !OF_FIGURES.contains(&key.as_str())) {
        match panel.get_mut(key) {
            None => drop(panel.insert(key.clone(), value.clone())),
            Some(own) if key == "where" => {
                let mut all = value.clone();
                if let (Some(all), Some(own)) = (all.as_object_mut(), own.as_object()) {
                    all.extend(own.clone());
                }
                *own = all;
            }
            Some(_) => {}
        }
    }
}

impl Drawing {
    /// The panels; the figure itself where it has none.
    pub fn complete(&self) -> Vec<Drawing> {
        if self.panels.is_empty() {
            return vec![Drawing { title: String::new(), ..self.clone() }];
        }
        self.panels.clone()
    }

    /// The scenarios that it needs.
    pub fn scenarios(&self) -> Vec<String> {
        let mut names: Vec<String> = self.complete().into_iter().map(|panel| panel.scenario).collect();
        names.dedup();
        names
    }
}
