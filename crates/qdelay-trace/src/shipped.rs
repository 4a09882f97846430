//! Synthetic traces that are part of the program, so that it can be tried without any file.
//!
//! The traces are in the folder `traces` of this crate, whose README.md describes how they were made and how
//! close they are to recorded ones. A test makes them anew and compares every byte.

macro_rules! shipped {
    ($($name:literal of $origin:literal),* $(,)?) => {
        /// Name and contents, in mahimahi's format.
        pub static SHIPPED: &[(&str, &[u8])] = &[$(($name, include_bytes!(concat!("../traces/", $name)))),*];

        /// Name of each shipped trace, and the text of the [`crate::synth::COMPONENT`] that makes it.
        pub static ORIGINS: &[(&str, &str)] = &[$(($name, $origin)),*];
    };
}

shipped! {
    "synth-lte-driving.down" of "synth:lte-driving:duration=90s:seed=2",
    "synth-lte-driving.up" of "synth:lte-driving-up:duration=90s:seed=6",
    "synth-lte-stationary.down" of "synth:lte-stationary:duration=60s:seed=2",
    "synth-subway.down" of "synth:subway:duration=60s:seed=7",
}

/// The contents of the shipped trace of this name.
pub fn find(name: &str) -> Option<&'static [u8]> {
    SHIPPED.iter().find(|(known, _)| *known == name).map(|(_, contents)| *contents)
}
