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
//! * Data flows one way, so that reports are packets of their own, one for each tick, rather than part of the data of the other way.
//! * The application always has data, and data packets are full. The paper's program also fills windows smaller than a packet.
//! * The rates are 0 to 1000 packets of `size` bytes a second, where the paper has "MTU-sized packets".
//! * What Brownian motion would carry below the lowest or above the highest rate is spread over the others in proportion. The paper
//!   does not say what becomes of it.
//! * The lowest rate is an outage: a tick ends it with the probability that an exponential time with mean `1 / escape` is over, and
//!   then the rate is one that Brownian motion gives, other than the lowest. The paper says that motion is biased towards remaining; its
//!   authors' program (keithw/sprout, 2018) multiplies each weight by the probability, which lets outages end sooner.
//! * A tick counts its bytes as whole packets, rounded to the nearest, and at least as one if anything came (the authors' program does
//!   so; the paper says "k bytes"): a heartbeat after an outage is then a delivery.
//! * A tick in which packets came is observed even where the queue may have run empty; one in which none came is not observed if the
//!   sender was not expected to send since before it began. The mark that came last is the one that is valid.
//! * The forecast takes the ticks from the last tick's end; the sender counts them from the report's arrival.
//! * The paper does not say how often heartbeats are sent: `heartbeat` is 50 ms, that of the authors' program.
//! * The gain of Sprout-EWMA is not in the paper: `gain` is 1/8. It takes the same ticks as observed as Sprout does.

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
