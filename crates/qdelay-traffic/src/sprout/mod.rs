//! Sprout: the sender keeps within a cautious forecast of the link's deliveries, so that packets leave the queue in time.
//!
//! The receiver infers the rate at which the link delivers packets. Its belief is a probability for each of 256 rates. In each tick of
//! 20 ms the belief spreads like a rate in Brownian motion, and is weighed with the Poisson likelihood of the number of packets received.
//! From the belief the receiver forecasts the number of packets that the link delivers within 1 to 8 ticks with a probability of 95%, and
//! reports the forecast once per tick. The sender estimates the bytes in the queue, and sends as many as will leave the queue within 100 ms by
//! the forecast.
//!
//! | file | contents |
//! | --- | --- |
//! | [`model`](Model) | changes and deliveries of rates, with the tables for forecasts |
//! | [`belief`](Belief) | probabilities of rates, and the forecast |
//! | [`receiver`](Receiver) | ticks, received and lost bytes, reports |
//! | [`sender`](Sender) | window, flights, heartbeats |
//! | `wire` | the packet format, which is our own |
//!
//! `variant=ewma` is Sprout-EWMA of the paper's section 5.3: the link is predicted to stay at the moving average of received packets.
//!
//! Time is an argument of every call. After the start nothing is allocated per packet; the tables are computed once per configuration.
//!
//! Source: Winstein, Sivaraman and Balakrishnan, Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular Networks,
//! NSDI 2013, sections 3 and 5.3.
//!
//! # Differences from the reference
//! * Data flows in one direction, so reports are packets of their own, one per tick. The authors' program puts reports into data of the other
//!   direction, for which they wait. On most traces the throughput is that of the program, with a round trip that is 5 ms longer.
//! * The application always has data: the last packet of a flight fills the rest of the window, if the rest is more than a header.
//! * The rates are 0 to 1000 packets/s of `size` bytes; the paper has "MTU-sized packets".
//! * A tick with packets is observed even if the queue may have run empty. A tick without packets is not observed if the sender had announced
//!   before the tick that it would not send (`time_to_next`). The latest announcement is valid, from its arrival on; in the program an
//!   announcement counts from the beginning of the tick, and the one that ends last is valid.
//!
//! The paper leaves the following points open. The choices are those of its authors' program (keithw/sprout, 2018), with which a flow finds and
//! keeps the rate of a link that it does not always fill:
//! * Probability that Brownian motion would carry below the lowest or above the highest rate is dropped before normalization.
//! * The lowest rate is the outage. Its weight of remaining is multiplied by the probability that an exponential time with mean
//!   `1 / escape` lasts for a tick, and its weights of change by the complement.
//! * In a forecast the counts of ticks are independent of each other, given the current rate; the first tick has the current rate. With the joint
//!   distribution, in which a rate that has fallen stays low, forecasts are some packets lower. A flow with a round trip of 40 ms
//!   on a link of 400 packets/s then falls to 5% of the link, because it takes its own sending rate for the capacity of the link.
//! * The window is the deliveries in the 100 ms after the current tick of the forecast. The estimated queue shrinks by a tick's forecast
//!   when the tick has passed, as in the paper; in the program it shrinks by the sum of all ticks so far.
//! * A tick counts its bytes in whole packets, rounded to the nearest, but as at least one packet if any byte arrived: a heartbeat after an outage
//!   is then a delivery. The program counts 1400 bytes as a packet.
//! * `heartbeat` is 50 ms.
//!
//! For Sprout-EWMA the paper states neither the gain, here 1/8, nor the handling of a tick without an observation, here the same as in Sprout.

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

/// Length of a tick: the receiver observes and reports once per tick.
pub const TICK: Span = Span::from_millis(20);
/// Ticks of a forecast.
pub const TICKS: usize = 8;
/// Number of rates in the belief.
pub const BINS: usize = 256;
/// Highest rate of the belief, packets/s.
pub const RATE_MAX: f64 = 1000.0;
/// Bytes of headers in a data packet: IPv4 and UDP (28), sequence number (8), distance to the throwaway number
/// (4) and time to the next packet (2). A heartbeat consists of headers only.
pub const HEADER_BYTES: u32 = 42;
/// Size of a report's IP packet, bytes: IPv4 and UDP (28), time (4), bytes received or lost (8) and eight counts of two bytes.
pub const REPORT_BYTES: u32 = 56;

/// The header of a packet with data, or of a heartbeat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DataHeader {
    /// Bytes sent before this packet.
    pub seq: u64,
    /// Bytes sent up to the end of the latest packet that left more than 10 ms earlier: those of them that have not arrived are lost. The packet
    /// format carries the distance to `seq`.
    pub throwaway: u64,
    /// Time until the sender expects to send again; zero within a flight.
    pub time_to_next: Span,
}

/// A report of the receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Time of the report by the receiver's clock.
    pub time: Time,
    /// Bytes that have arrived or are lost.
    pub received_or_lost: u64,
    /// Forecast: packets delivered within 1 to 8 ticks.
    pub forecast: [u16; TICKS],
}
