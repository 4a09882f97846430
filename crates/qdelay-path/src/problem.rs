//! Why a path cannot be built.

use crate::NODES_MAX;
use alloc::string::String;
use core::fmt;
use qdelay_ran::{CellError, UplinkError};

/// Why a path could not be built: the node it is about, and what was expected there.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct BuildError {
    /// The node's name; empty where it is about the whole path.
    pub node: String,
    /// The problem.
    pub problem: BuildProblem,
}

impl BuildError {
    /// `problem` at the node of this name; an empty name is for the path as a whole.
    pub fn new(node: impl Into<String>, problem: BuildProblem) -> BuildError {
        BuildError { node: node.into(), problem }
    }
}

/// A problem of a node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildProblem {
    /// There is no node.
    Empty,
    /// More than [`NODES_MAX`](crate::NODES_MAX) nodes.
    TooMany(usize),
    /// The name is empty.
    NoName,
    /// Two nodes have its name.
    DuplicateName,
    /// It is named by `by` but was not declared.
    Unknown {
        /// The node or statement that names it.
        by: String,
    },
    /// It has this many outputs where it must have one.
    Outputs(usize),
    /// It is an exit and has an output.
    ExitOutput,
    /// A queue whose output takes nothing from queues.
    NoPuller {
        /// The output.
        to: String,
    },
    /// A gate, link or cell with no queue before it.
    NoUpstream,
    /// A gate, link or cell whose input cannot be taken from.
    NotPullable {
        /// The input.
        from: String,
        /// Kind of the node.
        kind: &'static str,
    },
    /// Packets can come back to it.
    Cycle,
    /// Two of a classifier's ranges overlap.
    Overlap {
        /// First and last key of one.
        one: (u32, u32),
        /// First and last key of the other.
        other: (u32, u32),
    },
    /// A probability of a delay or an impairment that is not within 0 to 1.
    Loss,
    /// It should receive signals but is not a gate.
    NotAGate {
        /// Kind of the node.
        kind: &'static str,
    },
    /// It was given polling, opportunities or a unit of sizes, but is not a gate.
    NoClock {
        /// Kind of the node.
        kind: &'static str,
    },
    /// It is given the buffer or the numbers of a bearer, but is no queue in front of a cell.
    NoBearer {
        /// Kind of the node.
        kind: &'static str,
    },
    /// F1-U without the queue of a bearer of a cell behind it, of which it is the only input.
    NoBearerBehind,
    /// A light load that is not followed by a queue in front of a link.
    NoLinkBehind,
    /// A link with a light load was to be put in or taken out while the path runs.
    LightFixed,
    /// It is given no opportunity ever: no packet in a period, or a period of no time.
    NoOpportunity,
    /// A quantum of no bytes.
    NoQuantum,
    /// A link in deficit round robin with a gate among its inputs.
    DeficitThroughGate {
        /// The gate.
        from: String,
    },
    /// A cell that cannot be.
    Cell(CellError),
    /// An uplink that cannot be.
    Uplink(UplinkError),
    /// A cell with more or fewer queues before it than it has bearers.
    Bearers {
        /// Number of bearers.
        bearers: usize,
        /// Number of queues.
        queues: usize,
    },
    /// It is on a path that cannot be changed while it runs.
    Fixed,
    /// It was given an order of inputs but takes from none, or from one for each bearer.
    NotAPuller {
        /// Kind of the node.
        kind: &'static str,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.node.is_empty() {
            write!(f, "node '{}': ", self.node)?;
        }
        self.problem.fmt(f)
    }
}
impl core::error::Error for BuildError {}

impl fmt::Display for BuildProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildProblem::Empty => f.write_str("the path has no nodes; expected at least one"),
            BuildProblem::TooMany(count) => {
                write!(f, "the path has {count} nodes; expected at most {NODES_MAX}")
            }
            BuildProblem::NoName => f.write_str("a node has an empty name; expected a name"),
            BuildProblem::DuplicateName => {
                f.write_str("two nodes have this name; expected names that differ")
            }
            BuildProblem::Unknown { by } => write!(f, "no such node, but {by} names it"),
            BuildProblem::Outputs(0) => f.write_str("nothing comes after it; expected one output"),
            BuildProblem::Outputs(count) => {
                write!(f, "{count} nodes come after it; expected one output (only a classifier has more)")
            }
            BuildProblem::ExitOutput => f.write_str("it is an exit; expected no output"),
            BuildProblem::NoPuller { to } => {
                write!(
                    f,
                    "it is a queue before '{to}', which takes nothing from it; expected a gate, a link or a cell"
                )
            }
            BuildProblem::NoUpstream => {
                f.write_str("nothing comes before it to take packets from; expected a queue")
            }
            BuildProblem::NotPullable { from, kind } => {
                write!(f, "it takes packets, but '{from}' before it is a {kind}; expected a queue in between")
            }
            BuildProblem::Cycle => {
                f.write_str("packets can come back to it; expected edges that lead from ingress to exits")
            }
            BuildProblem::Overlap { one, other } => write!(
                f,
                "ranges {}-{} and {}-{} overlap; expected each key in one range",
                one.0, one.1, other.0, other.1
            ),
            BuildProblem::Loss => f.write_str("loss is not a probability; expected 0 to 1"),
            BuildProblem::NotAGate { kind } => {
                write!(f, "feedback leads to it, but it is a {kind}; expected a gate")
            }
            BuildProblem::NoClock { kind } => write!(
                f,
                "it has polling, opportunities or a unit of sizes, but it is a {kind}; expected a gate"
            ),
            BuildProblem::NoBearer { kind } => {
                write!(
                    f,
                    "it has the buffer or the numbers of a bearer, but it is a {kind}; expected a queue in front of a cell"
                )
            }
            BuildProblem::NoBearerBehind => f.write_str(
                "it is F1-U; expected a queue in front of a cell behind it, into which nothing else leads",
            ),
            BuildProblem::NoLinkBehind => {
                f.write_str("it is a light load; expected a queue behind it, and a link behind that")
            }
            BuildProblem::LightFixed => write!(f, "its link replays two loads, and {}", crate::light::FIXED),
            BuildProblem::NoOpportunity => f.write_str(
                "it never has an opportunity; expected at least one packet in a period above zero",
            ),
            BuildProblem::NoQuantum => f.write_str("its quantum is 0; expected at least 1 byte"),
            BuildProblem::DeficitThroughGate { from } => {
                write!(f, "it takes packets in deficit round robin, but '{from}' is a gate; expected queues")
            }
            BuildProblem::Cell(error) => error.fmt(f),
            BuildProblem::Uplink(error) => error.fmt(f),
            BuildProblem::Bearers { bearers, queues } => {
                write!(f, "it is a cell of {bearers} bearers with {queues} queues; expected one for each")
            }
            BuildProblem::Fixed => f.write_str(
                "it is on the path of a scenario, which stays as it is; expected a link of two directions",
            ),
            BuildProblem::NotAPuller { kind } => {
                write!(f, "it has an order of inputs, but it is a {kind}; expected a gate or a link")
            }
        }
    }
}
