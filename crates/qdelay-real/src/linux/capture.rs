//! Packets of the flows as they arrive at the shaper and as they leave it.

use super::network::Network;
use crate::ports::{self, FlowDirection};
use crate::sleep_until;
use qdelay_core::{Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::device::packet::PacketSocket;
use qdelay_emu::device::{Device, Kind};
use qdelay_emu::wait::in_background;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Number of bytes kept of each packet: its headers.
pub(crate) const HEAD_BYTES: usize = 80;
/// Time between two readings of the rings, which have room for much more.
const PAUSE: Span = Span::from_millis(20);
/// ECN codepoint CE (congestion experienced), in the second byte of the IP header.
const CE: u8 = 0x03;

/// A packet in a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RecordedPacket {
    /// Time stamp of the packet.
    pub at: Time,
    /// Hash of the header fields that identify the packet, without TTL and ECN codepoint.
    pub key: u64,
    /// Flow number of the packet.
    pub flow: u32,
    /// True if the packet is marked (CE).
    pub is_marked: bool,
    /// IP bytes.
    pub bytes: u32,
    /// First bytes of the packet.
    pub head: [u8; HEAD_BYTES],
}

/// The packets of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Capture {
    /// Packets that arrived at the shaper, in order of time.
    pub arrived: Vec<RecordedPacket>,
    /// Packets that left the shaper, in order of time.
    pub left: Vec<RecordedPacket>,
    /// Number of packets that did not fit into the kernel's rings.
    pub lost: u64,
}

impl Capture {
    /// Captures from `begin` on until `stop`, and reads the kernel's counters at the end; blocks the calling thread. The thread runs
    /// only while no program of the flows does: on a single processor, reading packets would otherwise delay the flows'
    /// acknowledgements.
    ///
    /// # Errors
    /// A socket failed; the message is one line.
    pub(crate) fn run(
        network: &Network,
        begin: &dyn Fn() -> Option<RealClock>,
        is_over: &dyn Fn(Time) -> bool,
        stop: &AtomicBool,
    ) -> Result<(Capture, BTreeMap<String, u64>), String> {
        let failed = |error: io::Error| format!("the capture failed: {error}");
        in_background().map_err(failed)?;
        let mut sockets = network.sockets()?;
        let mut capture = Capture::default();
        let Some(mut clock) = begin() else {
            return Err("the capture failed: the run did not begin".to_string());
        };
        loop {
            let now = clock.now();
            let is_last = is_over(now) || stop.load(Ordering::Relaxed);
            let counters = if is_last { Some(network.counters()?) } else { None };
            // Arrivals are read last, so that no departure is read without its arrival.
            let [arriving, leaving] = &mut sockets;
            drain(leaving, &mut clock, now, &mut capture.left).map_err(failed)?;
            drain(arriving, &mut clock, now, &mut capture.arrived).map_err(failed)?;
            if let Some(counters) = counters {
                capture.lost = sockets.iter_mut().map(Device::kernel_drops).sum();
                return Ok((capture, counters));
            }
            sleep_until(&mut clock, now + PAUSE);
        }
    }
}

/// Reads all packets seen so far.
fn drain(
    socket: &mut PacketSocket,
    clock: &mut RealClock,
    now: Time,
    seen: &mut Vec<RecordedPacket>,
) -> io::Result<()> {
    let mut buffer = [0; 2 * HEAD_BYTES];
    loop {
        let stamp = socket.next_stamp();
        let Some(received) = socket.receive(&mut buffer)? else { return Ok(()) };
        if received.kind != Kind::Ip {
            continue;
        }
        let packet = buffer.get(usize::from(received.header)..received.bytes).unwrap_or(&[]);
        let at = stamp.map_or(now, |stamp| clock.convert_wall_clock(stamp, now));
        seen.extend(parse(at, packet));
    }
}

/// Parses a packet; `None` if it does not belong to a flow.
fn parse(at: Time, packet: &[u8]) -> Option<RecordedPacket> {
    let flow = ports::read(packet, FlowDirection::Down).flow?;
    let mut head = [0; HEAD_BYTES];
    let kept = packet.len().min(HEAD_BYTES);
    head[..kept].copy_from_slice(&packet[..kept]);
    // The key excludes fields that may change on the way: ECN codepoint, TTL and header checksum.
    let mut identity = head;
    identity[1] &= !CE;
    identity[8] = 0;
    identity[10..12].fill(0);
    let mut hasher = DefaultHasher::new();
    identity.hash(&mut hasher);
    Some(RecordedPacket {
        at,
        key: hasher.finish(),
        flow,
        is_marked: head[1] & CE == CE,
        bytes: u32::from(u16::from_be_bytes([head[2], head[3]])),
        head,
    })
}
