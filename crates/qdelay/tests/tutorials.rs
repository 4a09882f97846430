//! The tutorials that need no real packets: commands and files as they stand on the page, and what is printed.

use crate::common::example;
use crate::tutorial_support::{Place, follow};

#[test]
fn bufferbloat() {
    follow("bufferbloat", Place::Folder, &[], &[]);
}

#[test]
fn a_reproduced_paper() {
    follow("reproduced-paper", Place::Folder, &[], &[]);
}

#[test]
fn an_own_aqm() {
    follow("own-aqm", Place::Folder, &[example("own-aqm")], &["examples/own-aqm/src/main.rs"]);
}

#[test]
fn a_cell_of_twenty() {
    follow("cell-of-twenty", Place::Folder, &[], &[]);
}
