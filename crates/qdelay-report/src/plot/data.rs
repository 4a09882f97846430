//! The data of each kind of figure, a row for each point.

use super::Kind;
use super::chosen::Chosen;
use super::lines::box_percentiles;
use super::marks::on_plane;
use super::measure::{Figure, distributions, over_time};
use super::table::Table;
use qdelay_study::InputError;

/// The data as CSV.
pub(super) fn csv(chosen: &Chosen, kind: Kind, measure: &str) -> Result<String, InputError> {
    let table = match kind {
        Kind::Cdf => cdf(chosen, measure),
        Kind::Plane => plane(chosen, measure),
        Kind::Time => time(chosen, measure),
        Kind::Bars => bars(chosen, measure),
        Kind::Box => boxes(chosen, measure),
    };
    Ok(table?.text())
}

fn cdf(chosen: &Chosen, measure: &str) -> Result<Table, InputError> {
    let (found, _) = distributions(measure, chosen)?;
    let mut table = Table::with_heading(chosen, &["percent", "delay_ms", "half_of_95_interval_ms"]);
    for (entry, cdf) in chosen.entries.iter().zip(&found) {
        for (percent, ms) in cdf.iter().flat_map(|cdf| cdf.percent.iter().zip(&cdf.ms)) {
            table.row(chosen, entry, &[Some(*percent), Some(ms.mean), ms.half]);
        }
    }
    Ok(table)
}

fn plane(chosen: &Chosen, measure: &str) -> Result<Table, InputError> {
    let columns = [measure, "half_of_95_interval", "throughput_mbps", "half_of_95_interval_mbps"];
    let mut table = Table::with_heading(chosen, &columns);
    for (entry, delay, rate) in on_plane(chosen, measure)? {
        table.row(chosen, entry, &[Some(delay.mean), delay.half, Some(rate.mean), rate.half]);
    }
    Ok(table)
}

fn time(chosen: &Chosen, measure: &str) -> Result<Table, InputError> {
    let (found, _) = over_time(measure, chosen)?;
    let mut table = Table::with_heading(chosen, &["time_s", measure, "half_of_95_interval"]);
    for (entry, line) in chosen.entries.iter().zip(&found) {
        let Some(line) = line else { continue };
        for (bin, value) in line.values.iter().enumerate() {
            let Some(value) = value else { continue };
            table.row(chosen, entry, &[Some(line.time_s(bin)), Some(value.mean), value.half]);
        }
    }
    Ok(table)
}

fn bars(chosen: &Chosen, measure: &str) -> Result<Table, InputError> {
    let found = Figure::named(measure).all(measure, chosen)?;
    let mut table = Table::with_heading(chosen, &[measure, "half_of_95_interval"]);
    for (entry, value) in chosen.entries.iter().zip(&found) {
        let Some(value) = value else { continue };
        table.row(chosen, entry, &[Some(value.mean), value.half]);
    }
    Ok(table)
}

fn boxes(chosen: &Chosen, measure: &str) -> Result<Table, InputError> {
    let (found, _) = distributions(measure, chosen)?;
    let columns = ["p5_ms", "p25_ms", "p50_ms", "p75_ms", "p95_ms", "half_of_95_interval_of_p50_ms"];
    let mut table = Table::with_heading(chosen, &columns);
    for (entry, cdf) in chosen.entries.iter().zip(&found) {
        let Some(five) = cdf.as_ref().and_then(box_percentiles) else { continue };
        let mut row = five.map(|value| Some(value.mean)).to_vec();
        row.push(five[2].half);
        table.row(chosen, entry, &row);
    }
    Ok(table)
}
