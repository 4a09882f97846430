//! Extent of a delay: one direction or both.

/// Extent of a delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// One direction.
    OneWay,
    /// A round trip.
    RoundTrip,
}
