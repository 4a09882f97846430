//! The keys of a cell in result files.

use super::cell_tables::{Bearer, Cell, Ue};
use super::declare::{self, Settings};
use super::filter::Filter;
use super::named::Named;
use qdelay_config::AnySetting;
use serde_json::{Map, json};

impl Cell {
    /// Every key with its value, including inherited values.
    pub fn json(&self) -> serde_json::Value {
        let object = serde_json::Value::Object;
        let bearer = |bearer: &Bearer| {
            let mut keys = filled(&bearer.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(bearer.name));
            if let Ok(priority) = self.priority(bearer) {
                keys.insert("priority".to_string(), json!(priority));
            }
            if !bearer.filters.is_empty() {
                let filters = bearer.filters.iter().map(Filter::json).collect::<Vec<_>>();
                keys.insert("filter".to_string(), json!(filters));
            }
            let qos_flows = bearer.qos_flows.iter().map(|flow| {
                let mut keys = filled(&flow.keys, &[&bearer.keys.each(), &self.keys.each()]);
                keys.insert("qfi".to_string(), json!(flow.qfi));
                object(keys)
            });
            keys.insert("qos_flow".to_string(), qos_flows.collect());
            object(keys)
        };
        let ue = |ue: &Ue| {
            let mut keys = filled(&ue.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(ue.name));
            keys.insert("bearer".to_string(), ue.bearers.iter().map(bearer).collect());
            object(keys)
        };
        let slice = |slice: &Named<declare::Slice>| {
            let mut keys = filled(&slice.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(slice.name));
            object(keys)
        };
        let scell = |scell: &Named<declare::Scell>| {
            let mut keys = filled(&scell.keys, &[&self.keys.each()]);
            keys.insert("name".to_string(), json!(scell.name));
            if let Ok(carrier) = self.scell_carrier(scell) {
                keys.insert("prbs".to_string(), json!(carrier.prbs()));
            }
            object(keys)
        };
        // Inner tables repeat inherited values, so that each shows every setting in force.
        let mut keys = self.keys.json();
        if !self.scells.is_empty() {
            keys.insert("scell".to_string(), self.scells.iter().map(scell).collect());
        }
        if !self.slices.is_empty() {
            keys.insert("slice".to_string(), self.slices.iter().map(slice).collect());
        }
        if let Some(uplink) = &self.uplink {
            keys.insert("uplink".to_string(), object(uplink.keys.json()));
        }
        keys.insert("ue".to_string(), self.ues.iter().map(ue).collect());
        object(keys)
    }
}

/// Every key of `own` with its value; without a value, that of the innermost of the tables `above` that has one.
fn filled(own: &impl Settings, above: &[&[&dyn AnySetting]]) -> Map<String, serde_json::Value> {
    let value = |setting: &dyn AnySetting| {
        let name = setting.key().name();
        let mut levels = above.iter().copied().flatten();
        let effective = levels.find(|above| above.key().name() == name && above.has_value());
        let effective =
            if setting.has_value() { setting } else { effective.map_or(setting, |effective| *effective) };
        (name.to_string(), effective.json())
    };
    own.each().into_iter().map(value).collect()
}
