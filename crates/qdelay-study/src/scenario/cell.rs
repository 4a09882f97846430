//! Reads `[cell]` and the tables below it: UEs, their bearers, and the QoS flows and packet filters of bearers.

use super::cell_filters;
use super::cell_tables::{Bearer, Cell, EACH, QosFlow, Ue, Uplink};
use super::declare::{self, BEARERS_MAX, QOS_FLOWS_MAX, SCELLS_MAX, Settings};
use super::filter::Filter;
use super::named::{Named, Names, entries, split, tables};
use qdelay_config::value::wrong_type;
use qdelay_config::{Content, Entry, Fault, Node};
use std::collections::BTreeSet;

impl Cell {
    /// Reads `[cell]`.
    ///
    /// # Errors
    /// The first mistake: an unknown key, an invalid value, a name or QFI that is given twice.
    pub fn read(own: &[Entry], line: u32) -> Result<Cell, Fault> {
        // Without its outer header, such a table lands directly in `[cell]`, where it would be an unknown key.
        let is_stray = |entry: &&Entry| ["bearer", "qos_flow", "filter"].contains(&entry.key.as_str());
        if let Some(stray) = own.iter().find(is_stray) {
            let message = if stray.key == "bearer" {
                "stands outside of a UE; expected [[cell.ue.bearer]] below its [[cell.ue]]".to_string()
            } else {
                format!(
                    "stands outside of a bearer; expected [[cell.ue.bearer.{}]] below its [[cell.ue.bearer]]",
                    stray.key
                )
            };
            return Err(Fault::new(stray.line, format!("cell.{}", stray.key), message));
        }
        let (keys, [ues, slices, scells, uplink]) =
            split::<declare::Cell, 4>(own, ["ue", "slice", "scell", "uplink"])?;
        let uplink = uplink.map(read_uplink).transpose()?;
        let mut cell = Cell {
            keys,
            uplink,
            scells: Vec::new(),
            slices: Vec::new(),
            ues: Vec::new(),
            bearer_names: Vec::new(),
        };
        if let Some(entry) = scells {
            // A header [[cell.scell]] alone would make a primary cell that nobody has described.
            if entry.line == line {
                let message =
                    "is missing; expected a table [cell], the primary cell, in front of its secondary cells";
                return Err(Fault::new(line, "cell", message));
            }
            cell.scells = read_scells(tables::<declare::Scell>(entry)?)?;
        }
        if let Some(entry) = slices {
            let mut names = names();
            for node in tables::<declare::Slice>(entry)? {
                cell.slices.push(slice(node, &mut names)?);
            }
        }
        let mut names = names();
        let nothing = nothing(line);
        let ues = ues.map_or(Ok(&nothing[..]), tables::<declare::Ue>)?;
        for (number, node) in (1..).zip(ues) {
            let ue = cell.read_ue(number, node, &mut names)?;
            cell.ues.push(ue);
        }
        Ok(cell)
    }

    fn read_ue(&mut self, number: usize, node: &Node, known: &mut Names) -> Result<Ue, Fault> {
        let (keys, [bearers]) = split::<declare::Ue, 1>(entries::<declare::Ue>(node)?, ["bearer"])?;
        let Named { name, line, keys } = known.assign(keys, node.line, &format!("ue-{number}"))?;
        let mut ue = Ue { name, line, keys, bearers: Vec::new() };
        let (mut names, mut qfis) = (names(), BTreeSet::new());
        let nothing = nothing(line);
        let list = bearers.map_or(Ok(&nothing[..]), tables::<declare::Bearer>)?;
        if let Some(beyond) = list.get(BEARERS_MAX) {
            let message =
                format!("{} bearers are too many; expected at most {BEARERS_MAX} of a UE", list.len());
            return Err(Fault::new(beyond.line, declare::Bearer::TABLE.name, message));
        }
        for (number, node) in (1..).zip(list) {
            ue.bearers.push(self.read_bearer(number, node, &mut names, &mut qfis)?);
        }
        cell_filters::check_ue(&ue)?;
        Ok(ue)
    }

    fn read_bearer(
        &mut self,
        number: u8,
        node: &Node,
        names: &mut Names,
        qfis: &mut BTreeSet<u8>,
    ) -> Result<Bearer, Fault> {
        let own = entries::<declare::Bearer>(node)?;
        let (keys, [qos_flows, filters]) = split::<declare::Bearer, 2>(own, ["qos_flow", "filter"])?;
        let Named { name, line, keys } = names.assign(keys, node.line, &format!("drb-{number}"))?;
        let called = self.bearer_names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.bearer_names.push(name.clone());
            self.bearer_names.len() - 1
        });
        let filters = filters.map_or(Ok(Vec::new()), read_filters)?;
        let mut bearer = Bearer { name, line, called, keys, qos_flows: Vec::new(), filters };
        // A bearer without QoS flows carries one, whose QFI is the number of the bearer.
        let Some(entry) = qos_flows else {
            let why = "the QFI of a bearer without QoS flows of its own is its number";
            take_qfi(qfis, number, line, why)?;
            bearer.qos_flows.push(QosFlow { qfi: number, keys: declare::QosFlow::defaults() });
            return Ok(bearer);
        };
        for node in tables::<declare::QosFlow>(entry)? {
            let own = entries::<declare::QosFlow>(node)?;
            let (keys, []) = split::<declare::QosFlow, 0>(own, [])?;
            let Some(qfi) = keys.qfi.get() else {
                let message =
                    "is missing; expected a number from 0 to 63, unique among the QoS flows of the UE";
                return Err(Fault { line: node.line, ..keys.qfi.fault(message) });
            };
            take_qfi(qfis, qfi, keys.qfi.line(), "each QFI of a UE belongs to one bearer")?;
            bearer.qos_flows.push(QosFlow { qfi, keys });
        }
        Ok(bearer)
    }
}

/// Reads `[cell.uplink]`.
fn read_uplink(entry: &Entry) -> Result<Uplink, Fault> {
    let name = declare::CellUplink::TABLE.name;
    let own =
        entry.value.table().ok_or_else(|| wrong_type(name, &entry.value, "a table, under [cell.uplink]"))?;
    let (keys, []) = split::<declare::CellUplink, 0>(own, [])?;
    Ok(Uplink { line: entry.line, keys })
}

/// Names of UEs, bearers, secondary cells or slices, where `each` is reserved.
fn names() -> Names {
    Names::without(EACH, "stands for every UE")
}

/// A single empty table, in place of a list of tables that the file omits.
fn nothing(line: u32) -> [Node; 1] {
    [Node::new(line, Content::Table(Vec::new()))]
}

fn take_qfi(qfis: &mut BTreeSet<u8>, qfi: u8, line: u32, why: &str) -> Result<(), Fault> {
    if !qfis.insert(qfi) {
        let more = if qfis.len() == QOS_FLOWS_MAX { "; a UE has at most 64" } else { "" };
        let message = format!("{qfi} is given twice: {why}; expected another QFI{more}");
        return Err(Fault::new(line, format!("{}.qfi", declare::QosFlow::TABLE.name), message));
    }
    Ok(())
}

fn read_filters(entry: &Entry) -> Result<Vec<Filter>, Fault> {
    let filter = |node: &Node| {
        let (keys, []) = split::<declare::Filter, 0>(entries::<declare::Filter>(node)?, [])?;
        Ok(Filter { line: node.line, keys })
    };
    tables::<declare::Filter>(entry)?.iter().map(filter).collect()
}

/// Reads the `[[cell.scell]]`.
fn read_scells(list: &[Node]) -> Result<Vec<Named<declare::Scell>>, Fault> {
    if let Some(beyond) = list.get(SCELLS_MAX) {
        let message = format!("{} secondary cells are too many; expected at most {SCELLS_MAX}", list.len());
        return Err(Fault::new(beyond.line, declare::Scell::TABLE.name, message));
    }
    let mut names = names();
    let scell = |(number, node): (usize, &Node)| {
        let (keys, []) = split::<declare::Scell, 0>(entries::<declare::Scell>(node)?, [])?;
        names.assign(keys, node.line, &format!("scell-{number}"))
    };
    (1..).zip(list).map(scell).collect()
}

/// Reads a `[[cell.slice]]`; its name is required.
fn slice(node: &Node, names: &mut Names) -> Result<Named<declare::Slice>, Fault> {
    let (keys, []) = split::<declare::Slice, 0>(entries::<declare::Slice>(node)?, [])?;
    if !keys.name.is_set() {
        let message = "is missing; expected a name, which bearers have as their slice";
        return Err(Fault { line: node.line, ..keys.name.fault(message) });
    }
    names.assign(keys, node.line, "")
}
