//! Time series of a cell, compared with its total figures.

use crate::common::run;
use qdelay_study::results::{CaseSummary, CellSeries};
use qdelay_testing::Folder;
use std::fs;

const CELL: &str = r#"
    [path]
    rtt = "20ms"
    [cell]
    rlc_limit = 50
    channel = "fading:snr=12:coherence=5ms"
    [[cell.ue]]
    name = "phone"
    count = 2
    [[flow]]
    name = "bulk"
    ue = "each"
    [[flow]]
    name = "game"
    transport = "gaming:20ms:echo=on"
    ue = "each"
    [run]
    duration = "10s"
    warmup = "2s"
    series = "300ms"
"#;

/// The case with its curves, read from its file.
pub fn with_curves(folder: &Folder, text: &str) -> CaseSummary {
    let summary = run(folder, text, true);
    let file = folder.path().join("out/cases").join(&summary.cases[0].id).join("summary.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn bins_of_a_cell_add_up_to_its_totals() {
    let folder = Folder::new("bins");
    // A bin ends with the warm-up, so that series and totals cover the same time.
    let case = with_curves(&folder, &CELL.replace("300ms", "400ms"));
    let (series, cell) = (case.series.as_ref().unwrap(), case.cell.as_ref().unwrap());
    let CellSeries { rbs_offered, rbs_used, rlc_bytes_mean, rlc_packets_mean, rlc_bytes_max, mcs, .. } =
        series.cell.clone().unwrap();
    assert_eq!(rbs_offered.len(), 25);
    let measured = 5..25;
    let sum = |values: &[u64]| values[measured.clone()].iter().sum::<u64>();
    assert_eq!((sum(&rbs_offered), sum(&rbs_used)), (cell.rbs_offered, cell.rbs_used));
    let mean = |values: &[f64]| values[measured.clone()].iter().sum::<f64>() / 20.0;
    let of_bearers = |level: fn(&qdelay_study::results::BearerFigures) -> f64| {
        cell.bearers.values().map(level).sum::<f64>()
    };
    for (ours, wanted) in [
        (mean(&rlc_bytes_mean), of_bearers(|bearer| bearer.bytes.mean)),
        (mean(&rlc_packets_mean), of_bearers(|bearer| bearer.packets.mean)),
    ] {
        assert!((ours - wanted).abs() < 1e-5 * wanted, "{ours} {wanted}");
    }
    let most = rlc_bytes_max[measured].iter().copied().max().unwrap() as f64;
    let each: Vec<f64> = cell.bearers.values().map(|bearer| bearer.bytes.max).collect();
    assert!(most <= each.iter().sum::<f64>() && each.iter().all(|one| *one <= most), "{most} {each:?}");
    let known: Vec<f64> = mcs.into_iter().flatten().collect();
    assert!(!known.is_empty() && known.iter().all(|mcs| (0.0..=28.0).contains(mcs)));
    assert!(known.windows(2).any(|pair| pair[0] != pair[1]), "the channel fades");
}

#[test]
fn a_short_last_bin_and_watching_change_nothing() {
    let folder = Folder::new("last");
    let case = with_curves(&folder, CELL);
    let series = case.series.as_ref().and_then(|series| series.cell.as_ref()).unwrap();
    // 33 bins of 300 ms and one of 100 ms, with 25 resource blocks per millisecond.
    assert_eq!(series.rbs_offered.len(), 34);
    assert_eq!((series.rbs_offered[1], series.rbs_offered[33]), (7500, 2500));
    let other = with_curves(&Folder::new("off"), &CELL.replace("\"300ms\"", "\"off\""));
    assert_eq!(other.series, None);
    assert_eq!((&case.cell, case.queue_delay_ms), (&other.cell, other.queue_delay_ms));
}

#[test]
fn distributions_of_a_cell_are_those_of_its_figures() {
    let folder = Folder::new("distributions");
    let case = with_curves(&folder, CELL);
    let stages = case.group_stage_cdf.as_ref().unwrap();
    for (name, group) in &case.groups {
        for (stage, delay) in group.stages.as_ref().unwrap() {
            let cdf = &stages[name][stage];
            let at = |percent: f64| cdf.ms[cdf.percent.iter().position(|known| *known == percent).unwrap()];
            assert_eq!((at(50.0), at(95.0), at(100.0)), (delay.p50, delay.p95, delay.max), "{name} {stage}");
        }
    }
    let round_trips = case.group_round_trip_cdf.as_ref().unwrap();
    assert_eq!(round_trips.keys().collect::<Vec<_>>(), ["game"]);
    assert_eq!(
        round_trips["game"].ms.last().copied(),
        case.groups["game"].round_trip_ms.map(|delay| delay.max)
    );
}
