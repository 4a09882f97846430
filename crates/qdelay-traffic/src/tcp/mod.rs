//! TCP as a state machine: inputs are the time and arriving segments, outputs are segments to send and the time of the
//! next call.
//!
//! [`Endpoint`] is one side of a connection. `sender` and `receiver` are its halves. `ack`, `recovery`, `recovery_newreno`,
//! `recovery_ns3` and `transmit` continue the sender; `scoreboard`, `rack`, `rtt`, `rate_sample` and `send_buffer` are parts of its state, and `out_of_order` is part
//! of the receiver's. [`Profile`] names the implementations that can be modelled.
//!
//! # Differences from the reference
//! * All segments of one write but the last are full, and the sender never splits a segment.
//! * After an idle time of more than the retransmission timeout the window is restarted (`write`), as in Linux; the window of a sender that is
//!   application-limited for as long, but not idle, is not reduced (Linux `tcp_cwnd_application_limited`).
//! * There are no urgent data, path MTU discovery, window scaling limits (windows are carried whole), keep-alive and
//!   TIME-WAIT: a connection ends when both sides have received all data.
//! * Timestamps are always on, and so is SACK unless [`Profile::sack`] is off.

mod ack;
mod component;
mod duplicates;
mod endpoint;
mod ends;
mod out_of_order;
mod rack;
mod rate_sample;
mod receiver;
mod recovery;
mod recovery_newreno;
mod recovery_ns3;
mod rtt;
mod scoreboard;
mod send_buffer;
mod sender;
mod timer;
mod transmit;

pub use crate::knobs::{KNOBS, component, with_knobs};
pub use crate::profile::{LossDetection, Pacing, Profile, RecoveryRule, RoundTripRule, TimeoutRule};
pub(crate) use component::{COMPONENTS, build};
pub use component::{Prelude, TcpConfig};
pub use endpoint::{Endpoint, Phase};
pub use ends::TcpEnds;
pub use rate_sample::{RateSampler, Sample};
pub use receiver::Receiver;
pub use rtt::RttEstimator;
pub use scoreboard::{Record, state};
pub use sender::{Sender, SenderCounts};

/// Largest burst of a sender, bytes (Linux `GSO_MAX_SIZE`).
const MAX_BURST: u64 = 65_536;
