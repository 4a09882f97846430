//! Cooked traces of Pensieve: seconds and Mbit/s, of which a row describes the interval that it ends.

use super::{Program, Reading};
use qdelay_core::component::{Component, Kind};
use qdelay_trace::format::guess::Guess;

pub(super) static PROGRAM: Program = Program {
    component: &Component::new(
        Kind::Format,
        "pensieve",
        "cooked traces of Pensieve: mbps:sample=before, even where rows are evenly spaced",
    )
    .source("Pensieve (SIGCOMM 2017), sim/load_trace.py and sim/fixed_env.py"),
    usage: "pensieve",
    // Two columns of numbers say nothing about who wrote them.
    is_begun_by: |_| false,
    guess: |_| Guess { format: "pensieve".to_string(), assumed: Vec::new() },
    reading: Reading::Text(|_| Ok("mbps:sample=before".to_string())),
};
