//! Known biases of transports against the implementations that they model, with the conditions under which each was measured.
//!
//! `docs/validation.md` describes the measurements. A bias is removed here once it is fixed; a test of `qdelay-dev validate` lists the cells that
//! miss their bounds because of it.

/// Known biases of the transport `transport`, one or two sentences each; empty for most.
pub fn known_biases(transport: &str) -> &'static [&'static str] {
    match transport {
        "bbr" => &[
            "One flow alone at 50 Mbit/s waits too little over CoDel, PIE and a plain queue: mean delay 23% below Linux 6.12's at a base \
             round trip of 10 ms, 26% at 20 ms, 14% at 40 ms.",
            "Four flows over PIE at a base round trip of 40 ms have too short a tail: 95th percentile 25 to 34 ms for Linux's 39 at \
             50 Mbit/s, 32 to 38 ms for 45 to 49 at 10 Mbit/s.",
            "Two flows at 50 Mbit/s and a base round trip of 160 ms over FQ-CoDel wait too long while they find the rate: mean delay of \
             12 s 32 to 44 ms for Linux's 19.5.",
            FOUR,
        ],
        "cubic" | "reno" => &[FOUR],
        _ => &[],
    }
}

const FOUR: &str = "Four flows at 50 Mbit/s share too evenly: 1 - Jain's index 0.013 on average for Linux's 0.029, and \
    fairer than Linux in 19 of 24 cells.";
