//! Tutorials and other pages that need no real packets: commands, files and output as printed on the page.

use crate::common::example;
use crate::tutorial_support::{Place, follow};

#[test]
fn bufferbloat() {
    follow("tutorials/bufferbloat", Place::Folder, &[], &[]);
}

#[test]
fn a_reproduced_paper() {
    follow("tutorials/reproduced-paper", Place::Folder, &[], &[]);
}

#[test]
fn an_own_aqm() {
    follow("tutorials/own-aqm", Place::Folder, &[example("own-aqm")], &["examples/own-aqm/src/main.rs"]);
}

#[test]
fn a_cell_of_twenty() {
    follow("tutorials/cell-of-twenty", Place::Folder, &[], &[]);
}

#[test]
fn the_landing_page() {
    follow("index", Place::Folder, &[], &[]);
}

#[test]
fn the_first_hour() {
    follow("first-hour", Place::Folder, &[], &[]);
}

#[test]
fn from_mahimahi() {
    follow("from-mahimahi", Place::Folder, &[], &[]);
}

#[test]
fn from_netem() {
    follow("from-netem", Place::Folder, &[], &[]);
}

#[test]
fn from_ns3() {
    follow("from-ns3", Place::Folder, &[], &[]);
}

#[test]
fn from_flent() {
    follow("from-flent", Place::Folder, &[], &[]);
}

#[test]
fn disciplines_side_by_side() {
    follow("compare", Place::Folder, &[], &[]);
}
