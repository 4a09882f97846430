//! Pacers between packets that wait and the buffer of a bearer (5G QoS thesis, section 3.4).

use qdelay_core::pacer::{AnyPacer, Eligible, Pacer, PacerSetting, Served, Signal};
use qdelay_core::{Span, Time};

const TTI: Span = Span::from_millis(1);
/// Bytes that a resource block carries at MCS 28 (5G QoS thesis, section 4.4).
const BLOCK_BYTES: u64 = 88;
const MTU_BYTES: u64 = 1500;
/// The number of looks at the packets of the SDAP in a TTI.
const LOOKS: u64 = 10;

fn tti(number: u64) -> Time {
    Time::ZERO + TTI * number
}

/// A pacer as text names it. The texts of this file are known to be right.
fn pacer(text: &str) -> AnyPacer {
    match AnyPacer::parse(text, &PacerSetting::default()) {
        Ok(pacer) => pacer,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn report(pacer: &mut AnyPacer, now: Time, (capacity_bytes, sent_bytes, remaining_bytes): (u64, u64, u64)) {
    let remaining_packets = remaining_bytes.div_ceil(MTU_BYTES);
    let served =
        Served { capacity_bytes, sent_bytes, remaining_bytes, remaining_packets, ..Served::default() };
    pacer.on_signal(now, Signal::Served(served));
}

/// The pacers of the examples of section 3.4.
const PACERS: [(&str, &str); 2] = [("5g-bdp", "5g-bdp:capacity=used"), ("e5g-bdp", "e5g-bdp:alpha=0.5")];

/// A pacer between packets of 1500 bytes without end and the buffer of a bearer that gets `blocks(TTI, bytes in the buffer)`
/// resource blocks: granted and used bytes from `from` to `to`.
fn bulk(text: &str, blocks: impl Fn(u64, u64) -> u64, from: u64, to: u64) -> (u64, u64) {
    paced(pacer(text), blocks, from, to)
}

/// The same with `law`.
fn paced(mut law: AnyPacer, blocks: impl Fn(u64, u64) -> u64, from: u64, to: u64) -> (u64, u64) {
    let (mut buffer, mut granted, mut used) = (0, 0, 0);
    for number in 0..to {
        for look in 0..LOOKS {
            let now = tti(number) + TTI * look / LOOKS;
            while law.next_eligible(now, MTU_BYTES) == Eligible::Now {
                law.forwarded(now, MTU_BYTES);
                buffer += MTU_BYTES;
            }
        }
        let room = blocks(number, buffer) * BLOCK_BYTES;
        let sent = room.min(buffer);
        buffer -= sent;
        report(&mut law, tti(number + 1), (room, sent, buffer));
        if number >= from {
            (granted, used) = (granted + room, used + sent);
        }
    }
    (granted, used)
}

/// Section 3.4: 30 resource blocks in 5 TTIs, evenly and unevenly. The share of them that is used, from TTI 500 to 1000.
pub(super) fn granted_blocks() -> Vec<(String, f64)> {
    let patterns = [("even", [6, 7, 6, 6, 5]), ("uneven", [0, 12, 0, 0, 18])];
    let share = |text: &str, blocks: [u64; 5]| {
        let (granted, used) = bulk(text, |number, _| blocks[(number % 5) as usize], 500, 1000);
        used as f64 / granted as f64
    };
    let shares = PACERS.map(|(_, text)| patterns.map(|(_, blocks)| share(text, blocks)));
    let mut figures = Vec::new();
    for ((name, _), shares) in PACERS.iter().zip(shares) {
        for ((pattern, _), share) in patterns.iter().zip(shares) {
            figures.push((format!("{name}.{pattern}.used_share"), share));
        }
        figures.push((format!("{name}.even_over_uneven"), shares[0] / shares[1]));
    }
    figures.push(("e5g-bdp.uneven_over_5g-bdp".to_string(), shares[1][1] / shares[0][1]));
    figures
}

/// Section 3.4, the vicious circle: a scheduler gives 25 resource blocks by the bytes in the buffers, of which that of another bearer
/// always has what a TTI carries. The text supposes that in the last TTI no resource blocks were assigned, because of the low occupancy:
/// so it begins with such a TTI and an empty buffer. Bytes in a TTI, from TTI 500 to 1000.
pub(super) fn blocks_by_backlog() -> Vec<(String, f64)> {
    let other = 25 * BLOCK_BYTES;
    let bytes = |text: &str| {
        let mut law = pacer(text);
        report(&mut law, tti(0), (0, 0, 0));
        let (_, used) = paced(law, |_, buffer| 25 * buffer / (buffer + other), 500, 1000);
        used as f64 / 500.0
    };
    PACERS.map(|(name, text)| (format!("{name}.bytes_per_tti"), bytes(text))).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: a limit of one MTU with 2 blocks a TTI lets a packet of 1500 bytes begin while the one before is below it, so that
    /// none of the 176 bytes is unused but in the first TTI, before there is a report.
    #[test]
    fn what_is_used_is_what_was_there() {
        let (granted, used) = bulk("drql:max=1500b:fit=begun", |_, _| 2, 1, 1001);
        assert_eq!((granted, used), (176_000, 176_000));
        let (granted, used) = bulk("drql:max=1500b", |_, buffer| u64::from(buffer == 0), 0, 100);
        assert_eq!((granted, used), (0, 0), "something is always there");
    }
}
