//! The results of a run: the entities of result files, each declared once, with full precision. They are
//! [rounded](qdelay_record::entity::Entity::rounded) when they are written. `docs/measures.md` has the definitions.

mod cell;
mod connection;
mod experience;
mod flow;
mod group;
mod measures;
mod nodes;
mod outages;
mod pdu_sets;
mod responsiveness;
mod series;
mod traffic;
mod uplink;
mod video;

pub use cell::{AirFigures, BearerFigures, CellFigures, PdcpFigures, QuantumFigures, SliceFigures};
pub(crate) use connection::ConnectionLog;
pub use connection::ConnectionSeries;
pub use experience::{FlowSeries, StreamSeries, VideoSeries, WebSeries};
pub(crate) use flow::UP;
pub use flow::{AudioFigures, FlowFigures, StreamFigures, VoiceFigures, WebFigures};
pub use group::{ArrivalFigures, GroupFigures, WholeMillisecondDelays, percent_of_arrived};
pub use measures::Measures;
pub use nodes::{CodepointFigures, HopFigures, NodeFigures, UplinkFigures};
pub use outages::OutageFigures;
pub(crate) use outages::Recoveries;
pub use pdu_sets::PduSetFigures;
pub use responsiveness::ResponsivenessFigures;
pub use series::{CellSeries, GroupSeries, Series};
pub use traffic::TrafficFigures;
pub(crate) use traffic::loss_ratio;
pub use uplink::{CellUplinkFigures, UplinkPathFigures};
pub use video::VideoFigures;

/// The mean of a figure; zero without values.
pub(crate) fn mean_of<T>(all: &[T], figure: impl Fn(&T) -> f64) -> f64 {
    all.iter().map(figure).sum::<f64>() / all.len().max(1) as f64
}
