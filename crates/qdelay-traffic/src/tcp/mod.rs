//! TCP as a state machine. Its inputs are the time and arriving segments; its outputs are segments to send and the time of the
//! next call.
//!
//! [`Endpoint`] is one side of a connection. `sender` and `receiver` are its halves; `ack`, `recovery`, `recovery_ns3` and
//! `transmit`, `send_buffer` continue the sender; `scoreboard`, `rack`, `rtt` and `rate_sample` are its parts; [`Profile`] names the
//! worlds it can behave like.
//!
//! # Differences from the reference
//! * All segments but the last of what was written at once are full, and the sender cuts no segment again.
//! * After an idle time of more than the retransmission timeout the window is restarted (`write`), as in Linux; a window that the
//!   application did not use for as long, but not idle, is not reduced (Linux `tcp_cwnd_application_limited`).
//! * No urgent data, no path MTU discovery, no window scaling limits (windows are carried whole), no keep-alive, no
//!   TIME-WAIT: a connection ends when both sides have what they wait for.
//! * SACK and timestamps are always on.

mod ack;
mod component;
mod endpoint;
mod ends;
mod ns3_state;
mod rack;
mod rate_sample;
mod receiver;
mod recovery;
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
