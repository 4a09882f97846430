//! The settings of a point of an axis.

use super::declare::{
    Bearer, BearerChange, Cell, CellChange, CellUplink, CellUplinkChange, Flow, FlowChange, Hop, HopChange,
    Path, PathChange, Run, RunChange, Settings, Slice, SliceChange, Ue, UeChange,
};
use qdelay_config::{AnySetting, Fault, Key, Node, Table};

/// The tables whose keys may vary.
macro_rules! kinds {
    ($($kind:ident($change:ident)),*) => {
        /// A table whose keys may vary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Kind { $($kind),* }

        /// A value for a key of one of them.
        #[derive(Clone, Debug)]
        pub(crate) enum Change { $($kind($change)),* }

        impl Kind {
            pub fn table(self) -> &'static Table {
                match self { $(Kind::$kind => $kind::TABLE),* }
            }
            /// Reads a value of `key` of the table, which errors call `path`.
            pub fn read(self, key: &'static Key, path: &str, node: &Node) -> Result<Change, Fault> {
                match self { $(Kind::$kind => $kind::read_change(key, path, node).map(Change::$kind)),* }
            }
        }

        impl Change {
            pub fn kind(&self) -> Kind {
                match self { $(Change::$kind(_) => Kind::$kind),* }
            }
            pub fn setting(&self) -> &dyn AnySetting {
                match self { $(Change::$kind(change) => $kind::setting(change)),* }
            }
        }
    };
}

kinds!(
    Path(PathChange),
    Hop(HopChange),
    Run(RunChange),
    Flow(FlowChange),
    Cell(CellChange),
    CellUplink(CellUplinkChange),
    Ue(UeChange),
    Bearer(BearerChange),
    Slice(SliceChange)
);

/// Where a value goes: the table, which of several (all unless one is named), and the key.
pub(crate) type Target = (Kind, Option<usize>, &'static str);

/// A value that a point sets.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Which of several tables; all where `None`. Bearers are counted by their names.
    pub element: Option<usize>,
    pub change: Change,
}

impl Point {
    pub fn target(&self) -> Target {
        (self.change.kind(), self.element, self.change.setting().key().name())
    }
}
