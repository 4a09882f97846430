//! The tutorials that need no real packets: commands and files as they stand on the page, and what is printed.

use crate::common::example;
use crate::tutorial_support::{Place, follow};

#[test]
fn bufferbloat() {
    follow("bufferbloat", Place::Folder, &[]);
}

#[test]
fn a_reproduced_paper() {
    follow("reproduced-paper", Place::Folder, &[]);
}
