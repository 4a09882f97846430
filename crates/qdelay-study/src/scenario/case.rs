//! A case: the settings of its point on every axis.

use super::Study;
use super::cell_tables::Cell;
use super::changes::{Change, Point};
use super::declare::{Flow, Hop, Path, Run, Settings};
use super::named::Named;
use crate::traces::TraceUsed;
use qdelay_core::Span;
use qdelay_sim::Scenario;
use serde_json::{Map, json};
use std::collections::BTreeMap;

/// Keys of `[path]` that a scenario with a cell uses.
const WITH_A_CELL: [&str; 15] = [
    "rtt",
    "jitter",
    "loss",
    "reorder",
    "reorder_delay",
    "duplicate",
    "corrupt",
    "uplink_jitter",
    "uplink_reorder",
    "uplink_duplicate",
    "uplink_corrupt",
    "uplink",
    "uplink_limit",
    "uplink_qdisc",
    "uplink_loss",
];

/// A case, ready to run.
#[derive(Clone, Debug)]
pub struct Case {
    /// Index in the order of the axes.
    pub index: u64,
    /// Id, unique in the study and usable as the name of a folder: `07-bode-20-ms-cubic-2`.
    pub id: String,
    /// Label on each axis.
    pub labels: Vec<String>,
    /// Every key with its value, including defaults: `path`, `cell`, `flow`, `run`.
    pub settings: serde_json::Value,
    /// Traces that the case runs on, by name.
    pub traces: BTreeMap<String, TraceUsed>,
    /// Scenario of the simulator.
    pub scenario: Scenario,
    /// True if every packet is recorded.
    pub packets: bool,
}

impl Case {
    /// Labels by the name of the axis of `study`.
    pub fn labels(&self, study: &Study) -> BTreeMap<String, String> {
        study.axes.iter().map(|axis| axis.name.clone()).zip(self.labels.iter().cloned()).collect()
    }
}

/// The tables of a scenario file, or of a case.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// Line of `[path]`; 0 if it is missing.
    pub path_line: u32,
    pub path: Path,
    pub hops: Vec<Named<Hop>>,
    pub cell: Option<Cell>,
    pub flows: Vec<Named<Flow>>,
    pub run: Run,
}

impl Tables {
    /// The settings of an empty file.
    pub fn defaults() -> Tables {
        Tables {
            path_line: 0,
            path: Path::defaults(),
            hops: Vec::new(),
            cell: None,
            flows: Vec::new(),
            run: Run::defaults(),
        }
    }

    /// The settings changed by `points`. A setting of one element overrides a setting of all.
    pub fn with<'a>(&self, points: impl Iterator<Item = &'a Point> + Clone) -> Tables {
        let mut tables = self.clone();
        points.clone().filter(|point| point.element.is_none()).for_each(|point| tables.set(point));
        points.filter(|point| point.element.is_some()).for_each(|point| tables.set(point));
        tables
    }

    fn set(&mut self, point: &Point) {
        // `None` changes every element of the table.
        let is_meant = |place: usize| point.element.is_none_or(|element| element == place);
        match &point.change {
            Change::Path(change) => self.path.set(change),
            Change::Run(change) => self.run.set(change),
            Change::Hop(change) => {
                let all = self.hops.iter_mut().enumerate();
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, hop)| hop.keys.set(change));
            }
            Change::Flow(change) => {
                let all = self.flows.iter_mut().enumerate();
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, flow)| flow.keys.set(change));
            }
            Change::Cell(change) => self.cell.iter_mut().for_each(|cell| cell.keys.set(change)),
            Change::CellUplink(change) => {
                let uplink = self.cell.iter_mut().filter_map(|cell| cell.uplink.as_mut());
                uplink.for_each(|uplink| uplink.keys.set(change));
            }
            Change::Scell(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| cell.scells.iter_mut().enumerate());
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, scell)| scell.keys.set(change));
            }
            Change::Slice(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| cell.slices.iter_mut().enumerate());
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, slice)| slice.keys.set(change));
            }
            Change::Ue(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| cell.ues.iter_mut().enumerate());
                all.filter(|(place, _)| is_meant(*place)).for_each(|(_, ue)| ue.keys.set(change));
            }
            Change::Bearer(change) => {
                let all = self.cell.iter_mut().flat_map(|cell| &mut cell.ues).flat_map(|ue| &mut ue.bearers);
                all.filter(|bearer| is_meant(bearer.called)).for_each(|bearer| bearer.keys.set(change));
            }
        }
    }

    /// Every key with its value; with random starts also `places`, where the run begins on each trace.
    pub fn settings(&self, seed: u64, places: Option<&BTreeMap<String, Span>>) -> serde_json::Value {
        let flow = |flow: &Named<Flow>| {
            let mut keys = flow.keys.json();
            keys.insert(
                "start_spread".to_string(),
                json!(self.spread(&flow.keys, places.is_some()).to_string()),
            );
            keys.insert("name".to_string(), json!(flow.name));
            if self.cell.is_none() {
                keys.remove("ue");
                keys.remove("qfi");
            }
            serde_json::Value::Object(keys)
        };
        let flows: Vec<serde_json::Value> = self.flows.iter().map(flow).collect();
        let mut run = self.run.json();
        run.remove("seeds");
        run.insert("seed".to_string(), json!(seed));
        run.insert("starts".to_string(), json!(if places.is_some() { "random" } else { "fixed" }));
        if let Some(places) = places.filter(|places| !places.is_empty()) {
            let places: BTreeMap<&String, String> =
                places.iter().map(|(name, place)| (name, place.to_string())).collect();
            run.insert("places".to_string(), json!(places));
        }
        // A run without `connections` omits the key, as results did before the key existed.
        if !self.run.connections.get() {
            run.remove("connections");
        }
        run.insert(
            "series".to_string(),
            json!(self.series().map_or("off".to_string(), |width| width.to_string())),
        );
        let mut path = self.path.json();
        let Some(cell) = &self.cell else {
            self.add_hops(&mut path);
            return json!({ "path": path, "flow": flows, "run": run });
        };
        path.retain(|key, _| WITH_A_CELL.contains(&key.as_str()));
        self.add_hops(&mut path);
        json!({ "path": path, "cell": cell.json(), "flow": flows, "run": run })
    }

    fn add_hops(&self, path: &mut Map<String, serde_json::Value>) {
        let hop = |hop: &Named<Hop>| {
            let mut keys = hop.keys.json();
            keys.insert("name".to_string(), json!(hop.name));
            serde_json::Value::Object(keys)
        };
        if !self.hops.is_empty() {
            let hops: Vec<serde_json::Value> = self.hops.iter().map(hop).collect();
            path.insert("hop".to_string(), json!(hops));
        }
    }

    /// Duration of the run.
    pub fn duration(&self) -> Span {
        self.run.duration.get()
    }

    /// True if every packet is recorded.
    pub fn packets(&self) -> bool {
        self.run.packets.get()
    }
}
