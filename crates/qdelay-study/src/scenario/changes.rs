//! Changes of settings by the points of an axis.

use super::declare::{
    Bearer, BearerChange, Cell, CellChange, CellUplink, CellUplinkChange, Flow, FlowChange, Hop, HopChange,
    Path, PathChange, Run, RunChange, Scell, ScellChange, Settings, Slice, SliceChange, Ue, UeChange,
};
use qdelay_config::{AnySetting, Fault, Key, Node, Table};

/// Declares the tables whose keys an axis may vary.
macro_rules! kinds {
    ($($kind:ident($change:ident)),*) => {
        /// A table whose keys may vary.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Kind { $($kind),* }

        /// A new value for a key of such a table.
        #[derive(Clone, Debug)]
        pub(crate) enum Change { $($kind($change)),* }

        impl Kind {
            pub fn table(self) -> &'static Table {
                match self { $(Kind::$kind => $kind::TABLE),* }
            }
            /// Reads a new value of `key`, one of the table's; errors call the key `path`.
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
    Scell(ScellChange),
    Slice(SliceChange)
);

/// Target of a change: table, index of its element (`None` for all), and key.
pub(crate) type Target = (Kind, Option<usize>, &'static str);

/// A change made by a point of an axis.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    /// Index of the changed element; `None` for all. Bearers are indexed by their names.
    pub element: Option<usize>,
    pub change: Change,
}

impl Point {
    pub fn target(&self) -> Target {
        (self.change.kind(), self.element, self.change.setting().key().name())
    }
}
