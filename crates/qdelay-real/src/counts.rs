//! What is counted beside the measures: by the path, and of datagrams.

use qdelay_emu::device::Port;
use qdelay_emu::plan::Places;
use qdelay_path::stack::Place;
use qdelay_path::{Counters, NodeId, Path};
use qdelay_sim::{NodeOutcome, ReasonCount, Scenario};

/// The path's own counts at the end.
#[derive(Debug, Default)]
pub struct PathEnd {
    pub drops: Vec<ReasonCount>,
    pub marks: Vec<ReasonCount>,
    pub nodes: Vec<NodeOutcome>,
}

impl PathEnd {
    /// Of a run of `scenario` that is over.
    pub fn of(path: &Path, places: &Places, scenario: &Scenario) -> PathEnd {
        let queues = places.queues(path, Port::Outside);
        // Whatever is dropped by a cell counts, and by any queue above it.
        let cell = scenario.bottleneck.as_cell().map(|_| places.link[Port::Outside.index()]);
        let bottleneck: Vec<&Counters> = queues.chain(cell).filter_map(|node| path.counters(node)).collect();
        // What the simulator does not need is left out: it knows where a flow enters.
        let is_known = |node: &NodeId| places.role(*node).place != Place::Classes;
        let nodes = path.nodes().filter(is_known).filter_map(|node| NodeOutcome::of(path, node));
        let is_link = path.nodes().all(|node| is_known(&node));
        PathEnd {
            drops: ReasonCount::drops(bottleneck.iter().copied()),
            marks: ReasonCount::marks(bottleneck.iter().copied()),
            nodes: nodes.map(|node| if is_link { renamed(node) } else { node }).collect(),
        }
    }
}

/// As the simulator calls the nodes of a link. Those of a scenario's whole path have its names already.
fn renamed(node: NodeOutcome) -> NodeOutcome {
    let name = match node.name.as_str() {
        "down" => "bottleneck",
        "down-link" => "link",
        "down-delay" => "down",
        "inside" => "receivers",
        "up" => "uplink",
        "up-link" => "uplink-link",
        "up-delay" => "up",
        "outside" => "senders",
        other => other,
    };
    NodeOutcome { name: name.to_string(), ..node }
}

/// Datagrams of a flow that were delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Echo {
    /// To the receiver.
    pub there: u64,
    /// To the sender, where there are replies.
    pub back: u64,
}
