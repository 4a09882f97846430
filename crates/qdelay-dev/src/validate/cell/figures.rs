//! Figures of a run that are compared.

use qdelay_sim::Outcome;
use qdelay_study::results::round;
use serde::{Deserialize, Serialize};

/// Flow whose delay is compared.
pub const GAME: &str = "game";

/// Figures that are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CaseFigures {
    /// Mean delay of the game's packets, from arrival at the base station until the MAC takes them.
    pub game_mean_ms: f64,
    /// Packets sent, as a share of the packets that the MAC could have sent.
    pub utilization: f64,
}

impl CaseFigures {
    /// Figures of an outcome.
    pub fn from_outcome(outcome: &Outcome) -> CaseFigures {
        let game_mean_ms = outcome.groups.get(GAME).map_or(0.0, |group| group.queue_delay_ms.mean);
        CaseFigures { game_mean_ms: round(game_mean_ms), utilization: round(outcome.utilization) }
    }
}
