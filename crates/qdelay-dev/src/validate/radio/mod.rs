//! Comparison with ns-3's LTE and with 5G-LENA: uplink, RLC, HARQ, schedulers, a wide carrier, two carriers and handovers, in scenarios with their timing.

use super::reference::{NS3_RADIO, Table};
use super::verdict::{Measure, ReferenceCell};
use super::{Row, each};
use qdelay_sim::Outcome;
use qdelay_study::engine::Named;
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_terminal::error::Failure;

/// Scenarios, each with one axis.
const STUDIES: [(&str, &str); 9] = [
    ("uplink", include_str!("uplink.toml")),
    ("downlink", include_str!("downlink.toml")),
    ("schedulers", include_str!("schedulers.toml")),
    ("nr-downlink", include_str!("nr-downlink.toml")),
    ("nr-uplink", include_str!("nr-uplink.toml")),
    ("nr-100mhz", include_str!("nr-100mhz.toml")),
    ("handover", include_str!("handover.toml")),
    ("two-carriers", include_str!("two-carriers.toml")),
    ("two-carriers-two-ues", include_str!("two-carriers-two-ues.toml")),
];

/// Rows of the table that belong to a label of an axis, and its cases, one for each seed.
///
/// # Errors
/// None in practice: scenarios and table are part of the program.
pub fn rows() -> Result<Vec<Row>, Failure> {
    let table = Table::parse(NS3_RADIO);
    let mut rows = Vec::new();
    let mut row = 0;
    while row < table.len() {
        let place = |row: usize| (table.text(row, "scenario"), table.text(row, "variant"));
        let cells: Vec<Cell> = (row..table.len())
            .take_while(|&later| place(later) == place(row))
            .map(|r| Cell::read(&table, r))
            .collect();
        let (name, variant) = place(row);
        row += cells.len();
        let cases = cases(name, variant)?;
        let judge =
            move |outcomes: &[&Outcome]| cells.iter().map(|cell| cell.judge(outcomes)).collect::<Vec<_>>();
        rows.push(Row { cases, judge: Box::new(judge) });
    }
    Ok(rows)
}

/// Cases of a label of a scenario's axis.
fn cases(name: &str, variant: &str) -> Result<Vec<Named>, Failure> {
    let missing = || Failure::Check(format!("{name}, {variant}: there is no such case; expected one"));
    let (_, text) = STUDIES.iter().find(|(known, _)| *known == name).ok_or_else(missing)?;
    let study = Study::parse(name, text, &Overrides::default())?;
    let axis = study.axes.first().map_or("", |axis| &axis.name);
    let index = study.index_of(&[(axis, variant)]).ok_or_else(missing)?;
    let case = |&seed: &u64| {
        let case = study.case_with_seed(index, seed, &Library::new())?;
        Ok(Named { name: format!("radio, {name}, {variant}, seed {seed}"), scenario: case.scenario })
    };
    study.seeds().iter().map(case).collect()
}

/// Row of the table: a figure of the flows of a group.
struct Cell {
    name: String,
    group: &'static str,
    figure: &'static str,
    /// Minimum and maximum over ns-3's runs.
    references: [f64; 2],
    /// Known excess of our figure, derived from the source code of both.
    shift: f64,
    relative: f64,
    absolute: f64,
}

impl Cell {
    fn read(table: &Table, row: usize) -> Cell {
        let [scenario, variant, group, figure] =
            ["scenario", "variant", "group", "measure"].map(|column| table.text(row, column));
        let [low, high, shift, relative, absolute] =
            ["low", "high", "shift", "relative", "absolute"].map(|column| table.number(row, column));
        let name = format!("{scenario}, {variant}, {group}: {figure}");
        Cell { name, group, figure, references: [low, high], shift, relative, absolute }
    }

    fn judge(&self, outcomes: &[&Outcome]) -> ReferenceCell {
        let ours = each(outcomes, |outcome| self.figure_of(outcome).unwrap_or(f64::NAN));
        let measure = Measure::new("figure", &self.references, &ours, self.relative, self.absolute);
        ReferenceCell::judge("radio", self.name.clone(), vec![measure.shifted(self.shift)])
    }

    fn figure_of(&self, outcome: &Outcome) -> Option<f64> {
        let group = outcome.groups.get(self.group)?;
        let delay = group.uplink.as_ref().map(|path| &path.total_ms).or(group.total_ms.as_ref());
        match self.figure {
            "throughput_mbps" => Some(group.throughput_mbps),
            "delivered" => Some(1.0 - group.loss_ratio),
            "delay_mean_ms" => delay.map(|delay| delay.mean),
            "delay_p50_ms" => delay.map(|delay| delay.p50),
            "delay_p95_ms" => delay.map(|delay| delay.p95),
            "delay_p99_ms" => delay.map(|delay| delay.p99),
            "delay_max_ms" => delay.map(|delay| delay.max),
            _ => None,
        }
    }
}
