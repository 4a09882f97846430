//! `[cell]` and the tables below it: UEs, their bearers, and the QoS flows and packet filters of these.

use super::cell_filters;
use super::cell_tables::{Bearer, Cell, EACH, QosFlow, Slice, Ue};
use super::declare::{BEARER, BEARERS_MAX, CELL, FILTER, QOS_FLOW, QOS_FLOWS_MAX, SLICE, Table, UE};
use super::document::{Entry, Node};
use super::fault::{self, Fault};
use super::filter::Filter;
use super::layer::Layer;
use super::setting;
use std::collections::BTreeSet;

impl Cell {
    /// Reads `[cell]`.
    ///
    /// # Errors
    /// The first thing that is wrong: an unknown key, a value that its key does not accept, a name or QFI given twice.
    pub fn read(entries: &[Entry], line: u32) -> Result<Cell, Fault> {
        let is_stray = |entry: &&Entry| ["bearer", "qos_flow", "filter"].contains(&entry.key.as_str());
        if let Some(stray) = entries.iter().find(is_stray) {
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
        let (layer, [ues, slices]) = split(&CELL, entries, ["ue", "slice"])?;
        let mut cell = Cell { layer, slices: Vec::new(), ues: Vec::new(), bearer_names: Vec::new() };
        if let Some(entry) = slices {
            let mut names = Names::new(&SLICE);
            for node in tables("cell.slice", "[[cell.slice]]", entry)? {
                cell.slices.push(slice(node, &mut names)?);
            }
        }
        let mut names = Names::new(&UE);
        match ues {
            Some(entry) => {
                for (index, node) in tables("cell.ue", "[[cell.ue]]", entry)?.iter().enumerate() {
                    let ue = cell.ue(index, node, &mut names)?;
                    cell.ues.push(ue);
                }
            }
            None => {
                let node = Node { line, content: super::document::Content::Table(Vec::new()) };
                let ue = cell.ue(0, &node, &mut names)?;
                cell.ues.push(ue);
            }
        }
        Ok(cell)
    }

    fn ue(&mut self, index: usize, node: &Node, names: &mut Names) -> Result<Ue, Fault> {
        let entries = node
            .table()
            .ok_or_else(|| setting::wrong_type("cell.ue", node, "tables, each under [[cell.ue]]"))?;
        let (layer, [bearers]) = split(&UE, entries, ["bearer"])?;
        let name = names.take(&layer, node.line, &format!("ue-{}", index + 1))?;
        let mut ue = Ue { name, line: node.line, layer, bearers: Vec::new() };
        let mut bearer_names = Names::new(&BEARER);
        let mut qfis = BTreeSet::new();
        let nothing = [Node { line: node.line, content: super::document::Content::Table(Vec::new()) }];
        let list = match bearers {
            Some(entry) => tables("cell.ue.bearer", "[[cell.ue.bearer]]", entry)?,
            None => &nothing[..],
        };
        if list.len() > BEARERS_MAX {
            let message =
                format!("{} bearers are too many; expected at most {BEARERS_MAX} of a UE", list.len());
            return Err(Fault::new(list[BEARERS_MAX].line, "cell.ue.bearer", message));
        }
        for (index, node) in list.iter().enumerate() {
            ue.bearers.push(self.bearer(index, node, &mut bearer_names, &mut qfis)?);
        }
        cell_filters::check_ue(&ue)?;
        Ok(ue)
    }

    fn bearer(
        &mut self,
        index: usize,
        node: &Node,
        names: &mut Names,
        qfis: &mut BTreeSet<u8>,
    ) -> Result<Bearer, Fault> {
        const PATH: &str = "cell.ue.bearer";
        let entries = node
            .table()
            .ok_or_else(|| setting::wrong_type(PATH, node, "tables, each under [[cell.ue.bearer]]"))?;
        let (layer, [qos_flows, filters]) = split(&BEARER, entries, ["qos_flow", "filter"])?;
        let name = names.take(&layer, node.line, &format!("drb-{}", index + 1))?;
        let called = self.bearer_names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.bearer_names.push(name.clone());
            self.bearer_names.len() - 1
        });
        let filters = filters.map_or(Ok(Vec::new()), read_filters)?;
        let mut bearer = Bearer { name, line: node.line, called, layer, qos_flows: Vec::new(), filters };
        let Some(entry) = qos_flows else {
            // The place of a bearer is below the most of them, which is below 64.
            let qfi = index as u8 + 1;
            take_qfi(qfis, qfi, node.line, "the QFI of a bearer without QoS flows of its own is its number")?;
            bearer.qos_flows.push(QosFlow { qfi, layer: Layer::defaults(&QOS_FLOW) });
            return Ok(bearer);
        };
        for node in tables("cell.ue.bearer.qos_flow", "[[cell.ue.bearer.qos_flow]]", entry)? {
            let expected = "tables, each under [[cell.ue.bearer.qos_flow]]";
            let entries = node.table().ok_or_else(|| setting::wrong_type(QOS_FLOW.name, node, expected))?;
            let (layer, []) = split(&QOS_FLOW, entries, [])?;
            let qfi = layer.get("qfi");
            if !qfi.is_set() {
                let message =
                    "is missing; expected a number of 0 to 63, unlike that of any other QoS flow of the UE";
                return Err(Fault::new(node.line, format!("{}.qfi", QOS_FLOW.name), message));
            }
            // The declared range keeps it within six bits.
            let (qfi, line) = (qfi.whole() as u8, qfi.line);
            take_qfi(qfis, qfi, line, "each QFI of a UE belongs to one bearer")?;
            bearer.qos_flows.push(QosFlow { qfi, layer });
        }
        Ok(bearer)
    }
}

fn take_qfi(qfis: &mut BTreeSet<u8>, qfi: u8, line: u32, why: &str) -> Result<(), Fault> {
    let path = format!("{}.qfi", QOS_FLOW.name);
    if !qfis.insert(qfi) {
        let more = if qfis.len() == QOS_FLOWS_MAX { "; a UE has at most 64" } else { "" };
        return Err(Fault::new(line, path, format!("{qfi} is given twice: {why}; expected another{more}")));
    }
    Ok(())
}

fn read_filters(entry: &Entry) -> Result<Vec<Filter>, Fault> {
    const HEADER: &str = "[[cell.ue.bearer.filter]]";
    let filter = |node: &Node| {
        let entries = node
            .table()
            .ok_or_else(|| setting::wrong_type(FILTER.name, node, &format!("tables, each under {HEADER}")))?;
        let (layer, []) = split(&FILTER, entries, [])?;
        Ok(Filter { line: node.line, layer })
    };
    tables(FILTER.name, HEADER, entry)?.iter().map(filter).collect()
}

/// A `[[cell.slice]]`, which has to have a name and a share.
fn slice(node: &Node, names: &mut Names) -> Result<Slice, Fault> {
    let entries = node
        .table()
        .ok_or_else(|| setting::wrong_type(SLICE.name, node, "tables, each under [[cell.slice]]"))?;
    let (layer, []) = split(&SLICE, entries, [])?;
    if !layer.get("name").is_set() {
        let message = "is missing; expected a name, which bearers have as their slice";
        return Err(Fault::new(node.line, "cell.slice.name", message));
    }
    let name = names.take(&layer, node.line, "")?;
    Ok(Slice { name, line: node.line, layer })
}

/// A table's own keys, and the entries below which further tables stand.
pub(super) fn split<'a, const N: usize>(
    table: &'static Table,
    entries: &'a [Entry],
    below: [&str; N],
) -> Result<(Layer, [Option<&'a Entry>; N]), Fault> {
    let is_below = |entry: &&Entry| below.contains(&entry.key.as_str());
    let own: Vec<Entry> = entries.iter().filter(|entry| !is_below(entry)).cloned().collect();
    if let Some(wrong) = own.iter().find(|entry| table.position(&entry.key).is_none()) {
        let known: Vec<&str> = table.names().into_iter().chain(below).collect();
        return Err(fault::unknown(wrong.line, format!("{}.{}", table.name, wrong.key), &wrong.key, &known));
    }
    let layer = Layer::read(table, &own)?;
    Ok((layer, below.map(|name| entries.iter().find(|entry| entry.key == name))))
}

/// The tables under `header`; at least one.
pub(super) fn tables<'a>(path: &str, header: &str, entry: &'a Entry) -> Result<&'a [Node], Fault> {
    let expected = format!("tables, each under {header}");
    if entry.value.table().is_some() {
        let message = format!("stands without its own header; expected {header} before what is below it");
        return Err(Fault::new(entry.line, path, message));
    }
    let list = entry.value.list().filter(|list| !list.is_empty());
    list.ok_or_else(|| setting::wrong_type(path, &entry.value, &expected))
}

/// Names that have been given.
struct Names {
    table: &'static Table,
    seen: BTreeSet<String>,
}

impl Names {
    fn new(table: &'static Table) -> Names {
        Names { table, seen: BTreeSet::new() }
    }

    /// The name that `layer` gives, or else `default`.
    fn take(&mut self, layer: &Layer, line: u32, default: &str) -> Result<String, Fault> {
        let given = layer.get("name");
        let (name, line) =
            if given.is_set() { (given.text.clone(), given.line) } else { (default.to_string(), line) };
        let path = format!("{}.name", self.table.name);
        if self.table.position(&name).is_some() || name == EACH {
            let what = if name == EACH { "stands for every UE" } else { "is the name of a key" };
            return Err(Fault::new(line, path, format!("'{name}' {what}; expected another name")));
        }
        if !self.seen.insert(name.clone()) {
            return Err(Fault::new(line, path, format!("'{name}' is given twice; expected each name once")));
        }
        Ok(name)
    }
}
