//! Part that runs in the laboratory's machine: frames through the kernel's netem, from one end of a pair of interfaces to the other.

use super::cells::{self, Cell};
use super::figures::{Arrival, Figures, Log};
use qdelay_core::{Span, Time};
use qdelay_emu::clock::{Clock, RealClock};
use qdelay_emu::device::packet::PacketSocket;
use qdelay_emu::device::{Device, Sent};
use qdelay_lab::guest;
use qdelay_study::results::round;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::process::Command;

/// File of the words that select cells, in the machine.
pub const JOB: &str = "/job/netem.json";
/// Folder of netem's tables, in the machine.
pub const TABLES: &str = "/job/tc";
/// File of the report.
pub const REPORT: &str = "report.json";

/// Interfaces of the pair: netem is on the first.
const ENDS: [&str; 2] = ["near", "far"];
/// Bytes of a frame, and of its Ethernet header.
pub const FRAME: usize = 100;
pub const ETHERNET: usize = 14;
/// EtherType for experiments (IEEE 802): no part of the kernel reads the frames.
const ETHER_TYPE: [u8; 2] = [0x88, 0xb5];
/// Copies of a frame's number, so that a changed bit does not hide it.
const NUMBERS: usize = 3;
/// Packets that netem holds at most; more than any cell has on the way.
const LIMIT: &str = "100000";
/// Time without packets after which none is on the way.
const SILENT: Span = Span::from_secs(12);

/// Figures of a machine.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Release of the kernel.
    pub kernel: String,
    /// Version of `tc`.
    pub tc: String,
    /// Figures of each cell, by its name.
    pub cells: BTreeMap<String, Figures>,
}

/// Runs the cells, and leaves the report.
///
/// # Errors
/// This is not a machine of the laboratory; the message is one line.
pub fn run() -> Result<(), String> {
    let unreadable =
        |error: String| format!("{JOB}: {error}; expected the job of 'validate netem --measure'");
    let only = fs::read_to_string(JOB).map_err(|error| unreadable(error.to_string()))?;
    let only: Vec<String> = serde_json::from_str(&only).map_err(|error| unreadable(error.to_string()))?;
    let report = measure(&cells::chosen(&only));
    let text = qdelay_study::results::text(&report);
    guest::leave_files([(REPORT, text.as_bytes())].into_iter())
        .map_err(|error| format!("the result cannot be written: {error}"))
}

fn measure(cells: &[Cell]) -> Result<Measured, String> {
    command("ip", &["link", "add", ENDS[0], "type", "veth", "peer", "name", ENDS[1]])?;
    for end in ENDS {
        // The kernel's own packets would take random numbers, too. Without IPv6 the file does not exist.
        let _ = fs::write(format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6"), "1");
        command("ip", &["link", "set", end, "up"])?;
    }
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut measured = Measured {
        kernel: release.trim().to_string(),
        tc: command("tc", &["-V"])?.trim().to_string(),
        cells: BTreeMap::new(),
    };
    for (place, cell) in cells.iter().enumerate() {
        guest::say(&format!("cell {} of {}: {}", place + 1, cells.len(), cell.netem));
        let words = ["qdisc", "replace", "dev", ENDS[0], "root", "netem", "limit", LIMIT].into_iter();
        command("tc", &words.chain(cell.netem.split(' ')).collect::<Vec<_>>())?;
        let log = packets(cell).map_err(|error| format!("{}: {error}", cell.netem))?;
        measured.cells.insert(cell.netem.to_string(), log.figures(cell).into_iter().map(round).collect());
        command("tc", &["qdisc", "del", "dev", ENDS[0], "root"])?;
    }
    Ok(measured)
}

/// Runs a command, and returns its output.
fn command(program: &str, arguments: &[&str]) -> Result<String, String> {
    let line = || format!("{program} {}", arguments.join(" "));
    let output = Command::new(program).args(arguments).env("TC_LIB_DIR", TABLES).output();
    let output = output.map_err(|error| format!("{}: {error}", line()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("{}: {}", line(), String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// Sends the packets of a cell.
fn packets(cell: &Cell) -> io::Result<Log> {
    let open = |name| PacketSocket::open(name).map_err(io::Error::other);
    let (mut near, far) = (open(ENDS[0])?, open(ENDS[1])?);
    let mut clock = RealClock::start();
    let spacing = Span::from_micros(cell.spacing_us.into());
    let mut receiver = Receiver { far, sent: Vec::with_capacity(cell.packets as usize), log: Log::default() };
    let mut due = clock.now() + Span::from_millis(10);
    for number in 0..cell.packets {
        if !spacing.is_zero() {
            receiver.wait(&mut clock, due)?;
            due += spacing;
        }
        receiver.sent.push(clock.now());
        if near.send(&frame(number))? == Sent::Full {
            return Err(io::Error::other("the kernel refused a packet"));
        }
        receiver.drain(&mut clock)?;
    }
    let until = clock.now() + SILENT;
    receiver.wait(&mut clock, until)?;
    match near.kernel_drops() + receiver.far.kernel_drops() {
        0 => Ok(Log { sent: cell.packets, ..receiver.log }),
        drops => Err(io::Error::other(format!("{drops} packets did not fit into the receiver's memory"))),
    }
}

/// Other end of the pair.
struct Receiver {
    far: PacketSocket,
    /// When each packet was sent.
    sent: Vec<Time>,
    log: Log,
}

impl Receiver {
    /// Receives until `due`.
    fn wait(&mut self, clock: &mut RealClock, due: Time) -> io::Result<()> {
        loop {
            self.drain(clock)?;
            let left = due.since(clock.now()).as_nanos();
            if left == 0 {
                return Ok(());
            }
            let left =
                Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as i64 };
            if let Some(far) = self.far.fd() {
                poll(&mut [PollFd::from_borrowed_fd(far, PollFlags::IN)], Some(&left))?;
            }
        }
    }

    fn drain(&mut self, clock: &mut RealClock) -> io::Result<()> {
        let mut buffer = [0; 2 * FRAME];
        loop {
            let stamp = self.far.next_stamp();
            let Some(received) = self.far.receive(&mut buffer)? else { return Ok(()) };
            let now = clock.now();
            let at = stamp.map_or(now, |stamp| clock.convert_wall_clock(stamp, now));
            let frame = buffer.get(..received.bytes).unwrap_or(&[]);
            if let Some((number, changed)) = read(frame)
                && let Some(sent) = self.sent.get(number as usize)
            {
                let delay_ns = at.as_nanos() as i64 - sent.as_nanos() as i64;
                self.log.arrivals.push(Arrival { number, delay_ns, changed });
            }
        }
    }
}

fn frame(number: u32) -> [u8; FRAME] {
    let mut frame = [0x55; FRAME];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
    frame[12..ETHERNET].copy_from_slice(&ETHER_TYPE);
    for copy in 0..NUMBERS {
        frame[ETHERNET + 4 * copy..][..4].copy_from_slice(&number.to_be_bytes());
    }
    frame
}

/// Number of a frame, by the majority of its copies, and the byte in which a bit is changed; `None` for a frame of others.
fn read(bytes: &[u8]) -> Option<(u32, Option<usize>)> {
    if bytes.len() != FRAME {
        return None;
    }
    let copy = |place: usize| {
        let bytes = bytes.get(ETHERNET + 4 * place..)?.first_chunk()?;
        Some(u32::from_be_bytes(*bytes))
    };
    let [a, b, c] = [copy(0)?, copy(1)?, copy(2)?];
    let number = (a & b) | (b & c) | (a & c);
    let mut bits = 0;
    let mut changed = None;
    for (place, (found, sent)) in bytes.iter().zip(frame(number)).enumerate() {
        if *found != sent {
            bits += (*found ^ sent).count_ones();
            changed = Some(place);
        }
    }
    (bits <= 1).then_some((number, changed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_bit_is_found() {
        let plain = frame(0x0102_0304);
        assert_eq!(read(&plain), Some((0x0102_0304, None)));
        for bit in 0..FRAME * 8 {
            let mut other = plain;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(read(&other), Some((0x0102_0304, Some(bit / 8))), "{bit}");
        }
        assert_eq!((read(&[0; FRAME]), read(&plain[1..])), (None, None));
    }
}
