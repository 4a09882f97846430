//! Types for time, duration and rate, and their notation.

mod rate;
mod text;
mod time;

pub use rate::Rate;
pub use text::{UnitError, parse_bytes, parse_percent, parse_rate, parse_span};
pub use time::{Span, Time};
