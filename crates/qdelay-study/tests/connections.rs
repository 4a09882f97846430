//! Series of connections in result files: their places, and no change of other figures.

use crate::common::run;
use qdelay_study::engine::series;
use qdelay_study::results::CaseSummary;
use qdelay_study::tables::Cells;
use qdelay_testing::Folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const TEXT: &str = r#"
    [path]
    link = "10mbit"
    [[flow]]
    name = "files"
    count = 2
    [[flow]]
    name = "call"
    transport = "voip"
    [run]
    duration = "2s"
    series = "100ms"
"#;

fn file(folder: &Folder, name: &str) -> Vec<u8> {
    let cases = folder.path().join("out/cases");
    let case = fs::read_dir(cases).unwrap().next().unwrap().unwrap().path();
    fs::read(case.join(name)).unwrap()
}

/// Every file of the cases except `series.parquet`, without the lists of connections.
fn rest(folder: &Folder) -> BTreeMap<&'static str, Value> {
    let strip = |name: &'static str| {
        let mut value: Value = serde_json::from_slice(&file(folder, name)).unwrap();
        if let Some(series) = value.get_mut("series").and_then(Value::as_object_mut) {
            series.remove("flows");
        }
        if let Some(run) = value.pointer_mut("/settings/run").or(None) {
            run.as_object_mut().unwrap().remove("connections");
        }
        (name, value)
    };
    ["summary.json", "run.json"].map(strip).into()
}

#[test]
fn connections_change_no_other_result() {
    let [off, on] = ["off", "on"].map(|name| Folder::new(&format!("connections-{name}")));
    run(&off, TEXT, true);
    run(&on, &format!("{TEXT}    connections = true"), true);
    let run_file: Value = serde_json::from_slice(&file(&off, "run.json")).unwrap();
    assert!(!run_file.to_string().contains("connections"), "{run_file}");
    let summary: Value = serde_json::from_slice(&file(&off, "summary.json")).unwrap();
    assert!(summary["series"].get("flows").is_none());
    assert_eq!(rest(&off)["summary.json"], rest(&on)["summary.json"]);
    let columns = |folder: &Folder| names(folder.path());
    let (before, after) = (columns(&off), columns(&on));
    assert_eq!(after[..before.len()], before[..]);
    assert_eq!(
        after[before.len()..],
        [
            "cwnd_bytes",
            "ssthresh_bytes",
            "in_flight_bytes",
            "srtt_ms",
            "rtt_ms",
            "pacing_mbps",
            "delivery_mbps",
            "retransmits",
            "ca_state"
        ]
    );
}

/// Column names in the `series.parquet` of the only case.
fn names(root: &Path) -> Vec<String> {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let case = fs::read_dir(root.join("out/cases")).unwrap().next().unwrap().unwrap().path();
    let reader = SerializedFileReader::new(fs::File::open(case.join("series.parquet")).unwrap()).unwrap();
    let schema = reader.metadata().file_metadata().schema_descr();
    schema.columns().iter().map(|column| column.name().to_string()).collect()
}

#[test]
fn the_series_table_equals_the_file() {
    let folder = Folder::new("connections-table");
    run(&folder, &format!("{TEXT}    connections = true"), false);
    let case: CaseSummary = serde_json::from_slice(&file(&folder, "summary.json")).unwrap();
    let over_time = case.series.unwrap();
    assert_eq!(over_time.flows.keys().collect::<Vec<_>>(), ["files-1", "files-2"]);
    let table = series::table(&over_time);
    let column = |name: &str| table.columns.iter().find(|column| column.name == name).unwrap();
    let Cells::Text(flows) = &column("flow").cells else { panic!("text") };
    let Cells::Whole(windows) = &column("cwnd_bytes").cells else { panic!("whole numbers") };
    assert_eq!((table.rows, flows.len(), windows.len()), (20 * 5, 100, 100));
    let of_second: Vec<Option<u64>> = flows
        .iter()
        .zip(windows)
        .filter(|(flow, _)| flow.as_deref() == Some("files-2"))
        .map(|(_, bytes)| bytes.map(|bytes| bytes as u64))
        .collect();
    assert_eq!(of_second, over_time.flows["files-2"].connection.as_ref().unwrap().cwnd_bytes);
    for column in &table.columns {
        assert!(!column.about.is_empty(), "{} says nothing", column.name);
    }
    assert!(column("cwnd_bytes").about.starts_with("Congestion window"));
}
