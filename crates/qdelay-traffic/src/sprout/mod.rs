//! Sprout: datagrams within what a cautious forecast of the link says can be delivered in time.
//!
//! The receiver infers the rate at which the link delivers packets. Its belief is a probability for each of 256 rates. Each tick of
//! 20 ms it lets the belief spread, as a rate in Brownian motion would, and weighs it with the number of packets that came, as Poisson
//! counts. From the belief it forecasts how many packets the link will have delivered after 1 to 8 ticks with a probability of 95%, and
//! reports this once a tick. The sender keeps an estimate of what waits in the queue, and sends what the forecast says will have left
//! the queue in 100 ms.
//!
//! | file | what |
//! | --- | --- |
//! | [`model`](Model) | how rates change and what they deliver, with the tables for forecasts |
//! | [`belief`](Belief) | the probabilities of rates, and the forecast |
//! | [`receiver`](Receiver) | ticks, what has come or is lost, reports |
//! | [`sender`](Sender) | the window, flights, heartbeats |
//! | `wire` | the packet format, which is our own |
//!
//! `variant=ewma` is Sprout-EWMA of the paper's section 5.3, which predicts that the link stays at the moving average of what came.
//!
//! Time is an argument of every call. After a start nothing is allocated per packet; the tables are made once for a configuration.
//!
//! Source: Winstein, Sivaraman and Balakrishnan, Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks,
//! NSDI 2013, sections 3 and 5.3.
//!
//! # Differences from the reference
//! * Data flows one way, so that reports are packets of their own, one for each tick, rather than part of the data of the other way, for which
//!   the program's reports wait: on most traces ours has the program's throughput with a round trip that is 5 ms longer.
//! * The application always has data: the last packet of a flight fills what is left of the window, if that is more than a header.
//! * The rates are 0 to 1000 packets of `size` bytes a second, where the paper has "MTU-sized packets".
//! * A tick in which packets came is observed even where the queue may have run empty; one in which none came is not observed if the
//!   sender was not expected to send since before it began. The mark that came last is the valid one, and counts from its arrival;
//!   the program's counts from the beginning of the tick, and the latest end of all marks is valid.
//!
//! The paper leaves open what follows, and the choice is that of its authors' program (keithw/sprout, 2018), by which a flow finds and
//! keeps the rate of a link that it does not fill all the time:
//! * What Brownian motion would carry below the lowest or above the highest rate is left out before the probabilities are normalized.
//! * The lowest rate is the outage. Its weight for remaining is multiplied by the probability that an exponential time with mean
//!   `1 / escape` lasts for a tick, the others by that of the contrary.
//! * In a forecast the counts of ticks are independent of each other, given the rate now; the first tick has the rate now. With the joint
//!   distribution, in which a rate that has fallen stays low, forecasts are some packets lower, and a flow with a round trip of 40 ms
//!   on a link of 400 packets/s sinks to a twentieth of it, because it takes what it sends for what the link can.
//! * The window has what is delivered in the 100 ms after the forecast's tick that is under way. The queue loses a tick's forecast
//!   when the tick has passed, as in the paper; in the program it loses the sum of all ticks until then.
//! * A tick counts its bytes as whole packets, rounded to the nearest, and at least as one if anything came: a heartbeat after an outage
//!   is then a delivery. The program counts 1400 bytes as a packet.
//! * `heartbeat` is 50 ms.
//!
//! Of Sprout-EWMA the paper has neither the gain, 1/8 here, nor what it takes for a tick without an observation: here the same as Sprout.

mod belief;
mod component;
mod ends;
mod model;
mod receiver;
mod sender;
mod wire;

pub use belief::Belief;
pub(crate) use component::{COMPONENTS, build};
pub use component::{SproutConfig, Variant};
pub use ends::SproutEnds;
pub use model::Model;
pub use receiver::Receiver;
pub use sender::Sender;

use qdelay_core::{Span, Time};

/// How long the receiver counts packets until it observes and reports.
pub const TICK: Span = Span::from_millis(20);
/// Ticks of a forecast.
pub const TICKS: usize = 8;
/// Rates that the belief tells apart.
pub const BINS: usize = 256;
/// The highest of them, in packets a second.
pub const RATE_MAX: f64 = 1000.0;
/// Bytes of a data packet that are not the application's: IPv4 and UDP (28), sequence number (8), distance to the throwaway number
/// (4) and time to the next packet (2). A heartbeat has no others.
pub const HEADER_BYTES: u32 = 42;
/// Size of a report's IP packet: IPv4 and UDP (28), time (4), bytes received or lost (8) and eight counts of two bytes.
pub const REPORT_BYTES: u32 = 56;

/// The header of a packet with data, or of a heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataHeader {
    /// Bytes that were sent before it.
    pub seq: u64,
    /// Bytes up to the end of the latest packet that was sent more than 10 ms before: what of them has not come is lost. The packet
    /// format carries the distance to `seq`.
    pub throwaway: u64,
    /// When the sender expects to send again; zero within a flight.
    pub time_to_next: Span,
}

/// A report of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// When it was made, by the receiver's clock.
    pub time: Time,
    /// Bytes that have come or are lost.
    pub received_or_lost: u64,
    /// Packets that will have been delivered after 1 to 8 ticks.
    pub forecast: [u16; TICKS],
}
