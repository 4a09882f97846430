//! The nodes of a cell's uplink: a queue for each bearer of each UE, in front of the air interface.
//!
//! ```text
//! acknowledgements, data of uploads -> [by flow] -> uplink/UE/DRB -> uplink-cell -> up
//! ```

use super::cell::{CellScenario, CellUplink};
use super::nodes::of_bearer;
use super::{FlowWay, Place, Stack, StackError};
use crate::{Key, NodeId, NodeSpec, Numbering, Rules};
use alloc::format;
use alloc::vec::Vec;
use qdelay_core::qdisc::AnyQdisc;

/// The node of the uplink of a cell itself.
pub(super) const UPLINK: &str = "uplink-cell";

/// Entry of the packets of each UE, and the queue of each bearer beside the uplink.
pub(super) struct Added {
    pub entries: Vec<NodeId>,
    pub pairs: Vec<[NodeId; 2]>,
}

/// Adds the uplink of `spec`, which leads to the node `behind`. A flow goes to the bearer of its QFI, what is of no flow to the first
/// of its UE.
pub(super) fn add(
    stack: &mut Stack,
    spec: &CellScenario,
    uplink: &CellUplink,
    key: Key,
    flows: &[FlowWay],
    behind: &str,
) -> Result<Added, StackError> {
    let mut added = Added { entries: Vec::new(), pairs: Vec::new() };
    let mut queues = Vec::new();
    let mut bearers = uplink.bearers.iter();
    for (place, ue) in spec.ues.iter().enumerate() {
        let first = queues.len();
        let mut names = Vec::new();
        for (down, bearer) in ue.bearers.iter().zip(&mut bearers) {
            let name = of_bearer("uplink", ue, down);
            let queue = NodeSpec::Queue(AnyQdisc::build(&bearer.queue)?);
            queues.push(stack.add_back(Place::Uplink, &name, queue));
            stack.chain(&[&name, UPLINK]);
            if let Some(pdcp) = bearer.rlc.pdcp {
                stack.change(|builder| builder.numbering(&name, Numbering::from_pdcp(&pdcp)));
            }
            names.push(name);
        }
        // A UE with one bearer needs no classifier, which would cost each of its packets a node.
        let entry = match names.as_slice() {
            [_] => queues[first],
            _ => {
                let mut rules =
                    Rules::by(key).otherwise(names.first().map_or("", |name| name.as_str()), None);
                for (number, flow) in (0_u32..).zip(flows).filter(|(_, flow)| flow.ue == place) {
                    let carries =
                        |bearer: &super::BearerSpec| bearer.qos_flows.iter().any(|of| of.qfi == flow.qfi);
                    if let Some(bearer) = ue.bearers.iter().position(carries) {
                        rules = rules.route(number..=number, &names[bearer], None);
                    }
                }
                stack.add_back(Place::Elsewhere, &format!("uplink/{}", ue.name), NodeSpec::Classifier(rules))
            }
        };
        added.entries.push(entry);
    }
    if let Some(setting) = spec.complete_uplink() {
        let cell = stack.add_back(Place::UplinkLink, UPLINK, NodeSpec::uplink(setting));
        stack.chain(&[UPLINK, behind]);
        added.pairs = queues.into_iter().map(|queue| [queue, cell]).collect();
    }
    Ok(added)
}
