//! Checks over the combinations of points of a study's axes.

use super::cell_filters;
use super::changes::Change;
use super::declare::{
    BearerChange, CellChange, CellUplinkChange, FlowChange, HopChange, PathChange, RunChange, SliceChange,
    UeChange,
};
use super::matrix::Dimension;
use super::study::Study;
use crate::InputError;
use crate::traces::Library;
use qdelay_config::Fault;

/// Most combinations that are checked completely, with a single `[[flow]]`; beyond, each value is checked once.
const COMBINATIONS_MAX: u64 = 100_000;

impl Study {
    /// Checks all cases: finds and reads traces, builds links and disciplines. Tries all combinations of the relevant settings if
    /// there are at most 100,000, otherwise each value once.
    ///
    /// # Errors
    /// Errors of [`Study::case`].
    pub fn check(&self, library: &Library) -> Result<(), InputError> {
        // Only these keys decide whether a scenario can be built.
        let matters = |change: &Change| match change {
            Change::Path(change) => {
                use PathChange::{limit, link, qdisc, repeat, trace, trace_format, uplink};
                matches!(
                    change,
                    link(_) | trace(_) | trace_format(_) | repeat(_) | qdisc(_) | limit(_) | uplink(_)
                )
            }
            Change::Hop(change) => {
                use HopChange::{limit, link, qdisc, repeat, trace, trace_format};
                matches!(change, link(_) | trace(_) | trace_format(_) | repeat(_) | qdisc(_) | limit(_))
            }
            Change::Flow(change) => matches!(change, FlowChange::ue(_) | FlowChange::qfi(_)),
            Change::Run(_) => false,
            Change::Cell(_)
            | Change::CellUplink(_)
            | Change::Ue(_)
            | Change::Bearer(_)
            | Change::Scell(_)
            | Change::Slice(_) => true,
        };
        self.combinations(matters, |digits| {
            let tables = self.tables_at(digits);
            tables.check()?;
            tables.scenario(0, &mut self.sources(library, 0, tables.duration())).map(drop)
        })
        .map_err(|fault| fault.in_file(&self.place))
    }

    /// Warnings about settings that have less effect than expected in any case, each with its line and key.
    pub fn warnings(&self) -> Vec<InputError> {
        let matters = |change: &Change| matches!(change, Change::Cell(_) | Change::Bearer(_));
        let mut warnings = Vec::new();
        let collected = self.combinations(matters, |digits| {
            let tables = self.tables_at(digits);
            for fault in tables.cell_warnings() {
                let error = fault.in_file(&self.place);
                if !warnings.contains(&error) {
                    warnings.push(error);
                }
            }
            Ok::<(), Fault>(())
        });
        debug_assert!(collected.is_ok());
        warnings
    }

    /// Calls `each` with combinations of points on the axes whose changes `matters` accepts; the other axes stay at their first
    /// point.
    pub(super) fn combinations(
        &self,
        matters: impl Fn(&Change) -> bool,
        mut each: impl FnMut(&[usize]) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let sets = |axis: &Dimension| axis.points.iter().flatten().any(|point| matters(&point.change));
        let varied: Vec<usize> =
            (0..self.dimensions.len()).filter(|at| sets(&self.dimensions[*at])).collect();
        let points = |at: usize| self.dimensions[at].points.len();
        let mut digits = vec![0; self.dimensions.len()];
        let count = varied.iter().fold(1_u64, |product, at| product.saturating_mul(points(*at) as u64));
        // Each combination takes longer with many flows.
        if count > COMBINATIONS_MAX / self.tables.flows.len().clamp(1, 1000) as u64 {
            each(&digits)?;
            for at in varied {
                for digit in 1..points(at) {
                    digits[at] = digit;
                    each(&digits)?;
                }
                digits[at] = 0;
            }
            return Ok(());
        }
        for index in 0..count {
            let mut rest = index;
            for at in varied.iter().rev() {
                digits[*at] = (rest % points(*at) as u64) as usize;
                rest /= points(*at) as u64;
            }
            each(&digits)?;
        }
        Ok(())
    }
}

/// Checks for settings that contradict each other, over the combinations that can.
pub(super) fn check_combinations(study: &Study) -> Result<(), Fault> {
    let matters = |change: &Change| match change {
        Change::Path(change) => {
            use PathChange::{link, repeat, trace, trace_format};
            matches!(change, link(_) | trace(_) | repeat(_) | trace_format(_))
        }
        Change::Hop(change) => {
            use HopChange::{link, repeat, trace, trace_format};
            matches!(change, link(_) | trace(_) | repeat(_) | trace_format(_))
        }
        Change::Run(change) => {
            matches!(change, RunChange::duration(_) | RunChange::warmup(_) | RunChange::series(_))
        }
        Change::Flow(change) => {
            use FlowChange::{
                access_jitter, access_rate, count, qfi, second_dscp, second_share, start, start_spread, stop,
                ue,
            };
            let is_time = matches!(change, count(_) | start(_) | stop(_) | start_spread(_));
            let is_mark =
                matches!(change, access_rate(_) | access_jitter(_) | second_dscp(_) | second_share(_));
            is_time || is_mark || matches!(change, ue(_) | qfi(_))
        }
        // The number of UEs determines the flows; other contradictions are found when traces are read.
        Change::Ue(change) => matches!(change, UeChange::count(_) | UeChange::slice(_)),
        Change::Cell(change) => matches!(change, CellChange::partition(_)),
        Change::CellUplink(change) => {
            use CellUplinkChange::{configured_bytes, configured_period, sr_period};
            matches!(change, sr_period(_) | configured_period(_) | configured_bytes(_))
        }
        Change::Bearer(change) => matches!(change, BearerChange::slice(_)),
        // Contradictions are found when the cell is built.
        Change::Scell(_) => false,
        Change::Slice(change) => {
            use SliceChange::{dedicated, max, min, share};
            matches!(change, share(_) | dedicated(_) | min(_) | max(_))
        }
    };
    study.combinations(matters, |digits| study.tables_at(digits).check())?;
    cell_filters::check(study)
}
