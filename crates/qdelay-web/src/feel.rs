//! Quality that a user experiences over the last seconds: pings, a call, updates of a game, loads of a page.
//!
//! The transports are the simulator's; only the window is defined here. The results rate a call over the whole run with `voice`.

use crate::watch::{PacketTimes, REMEMBERED};
use qdelay_core::{Span, Time};
use qdelay_traffic::experience::Experience;
use qdelay_traffic::playout::Playout;
use qdelay_traffic::transport::TransportConfig;
use qdelay_traffic::udp::{Gaps, UdpConfig};
use serde::Serialize;
use std::collections::VecDeque;

/// Deadline of a game's update: the packet delay budget of 5QI 3, real time gaming (3GPP TS 23.501,
/// table 5.7.4-1).
pub const GAME_DEADLINE: Span = Span::from_millis(50);
/// Age below which speech may still arrive and be heard.
const UNDECIDED: Span = Span::from_secs(1);

/// Experience of the user of a flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Feeling {
    /// Echoed datagrams.
    Ping {
        /// Median round-trip time, ms; `None` without an answer.
        p50_ms: Option<f64>,
        /// 95th percentile of the round-trip time, ms.
        p95_ms: Option<f64>,
        /// Longest round-trip time, ms.
        max_ms: Option<f64>,
        /// Pings without an answer, percent of those whose fate is known.
        lost_percent: f64,
    },
    /// A call with speech.
    Call {
        /// Mean opinion score, 1 (bad) to 4.5.
        mos: f64,
        /// Mouth-to-ear delay, ms.
        mouth_to_ear_ms: f64,
        /// Speech that was not heard, percent.
        lost_percent: f64,
    },
    /// Updates of a game.
    Game {
        /// Updates that came within [`GAME_DEADLINE`], percent of those whose fate is known.
        in_time_percent: f64,
        /// Mean one-way delay of arrived updates, ms; `None` without any.
        mean_ms: Option<f64>,
    },
    /// Page that is loaded repeatedly.
    Page {
        /// Number of complete loads since the start.
        loads: usize,
        /// Duration of the last load, s.
        last_s: Option<f64>,
        /// Mean duration of the last five loads, s.
        mean_s: Option<f64>,
    },
}

/// True if packets of this transport have to be stored.
pub fn is_felt(transport: &TransportConfig) -> bool {
    match transport {
        TransportConfig::Udp(config) => config.echo || config.call.is_some() || is_game(config),
        _ => false,
    }
}

fn is_game(config: &UdpConfig) -> bool {
    matches!(config.gaps, Gaps::Normal { .. })
}

/// Experience computed from the packets of a datagram flow in the last seconds before `now`; `None` for other flows, and
/// before the fate of a packet is known.
pub fn packets_feeling(
    transport: &TransportConfig,
    [out, back]: &[VecDeque<PacketTimes>; 2],
    now: Time,
) -> Option<Feeling> {
    let TransportConfig::Udp(config) = transport else { return None };
    if let Some(call) = config.call {
        return call_feeling(out, call, now);
    }
    if config.echo {
        let mut trips: Vec<Span> = delays(back, now).collect();
        trips.sort_unstable();
        let lost = dropped(out, now) + dropped(back, now);
        // Nearest rank: with a few answers, an interpolated percentile would be a value that no packet had.
        let rank = |share: f64| ((share * trips.len() as f64).ceil() as usize).max(1) - 1;
        let at = |share: f64| trips.get(rank(share)).map(|trip| trip.as_millis_f64());
        return (lost + trips.len() > 0).then(|| Feeling::Ping {
            p50_ms: at(0.5),
            p95_ms: at(0.95),
            max_ms: at(1.0),
            lost_percent: percent(lost, lost + trips.len()),
        });
    }
    if !is_game(config) {
        return None;
    }
    let delays: Vec<Span> = delays(out, now).collect();
    let known = dropped(out, now) + delays.len();
    let in_time = delays.iter().filter(|delay| **delay <= GAME_DEADLINE).count();
    let sum: f64 = delays.iter().map(|delay| delay.as_millis_f64()).sum();
    (known > 0).then(|| Feeling::Game {
        in_time_percent: percent(in_time, known),
        mean_ms: (!delays.is_empty()).then(|| sum / delays.len() as f64),
    })
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

/// Packets of the last seconds.
fn recent(packets: &VecDeque<PacketTimes>, now: Time) -> impl Iterator<Item = &PacketTimes> {
    packets.iter().filter(move |packet| now.since(packet.created) <= REMEMBERED)
}
fn delays(packets: &VecDeque<PacketTimes>, now: Time) -> impl Iterator<Item = Span> {
    recent(packets, now).filter_map(|packet| Some(packet.arrived?.since(packet.created)))
}
fn dropped(packets: &VecDeque<PacketTimes>, now: Time) -> usize {
    recent(packets, now).filter(|packet| packet.arrived.is_none()).count()
}

/// Rating of the last seconds of a call, by a playout buffer that received only them.
fn call_feeling(
    out: &VecDeque<PacketTimes>,
    call: qdelay_traffic::voice::Call,
    now: Time,
) -> Option<Feeling> {
    let interval = call.interval.as_nanos().max(1);
    let first = recent(out, now).map(|packet| packet.created).min()?;
    let mut arrived: Vec<(Time, Time)> =
        recent(out, now).filter_map(|packet| Some((packet.arrived?, packet.created))).collect();
    arrived.sort_unstable();
    let mut playout = Playout::new(call.playout, call.interval);
    for (at, created) in &arrived {
        playout.arrived(created.since(first).as_nanos() / interval, *created, *at);
    }
    let until = now.since(first).saturating_sub(UNDECIDED).as_nanos() / interval;
    if until == 0 {
        return None;
    }
    let heard = playout.heard(until);
    let quality = call.quality(&heard);
    Some(Feeling::Call {
        mos: quality.mos,
        mouth_to_ear_ms: quality.mouth_to_ear.as_millis_f64(),
        lost_percent: 100.0 * heard.loss,
    })
}

/// Experience computed from the ends of a flow; `None` for an application without such figures.
pub fn application_feeling(experience: &Experience<'_>) -> Option<Feeling> {
    let Experience::Web(loads) = experience else { return None };
    let last = &loads[loads.len().saturating_sub(5)..];
    let sum: f64 = last.iter().map(|load| load.took.as_secs_f64()).sum();
    Some(Feeling::Page {
        loads: loads.len(),
        last_s: last.last().map(|load| load.took.as_secs_f64()),
        mean_s: (!last.is_empty()).then(|| sum / last.len() as f64),
    })
}
