//! Packet captures (draft-ietf-opsawg-pcapng) of both sides of a link.
//!
//! The capture has two interfaces, `inside` and `outside`, of raw IP packets with times in ns. An arriving packet is recorded at
//! the interface that it comes from, as inbound; a leaving packet at the interface that it goes to, as outbound, with its bytes
//! at that time (including an ECN mark). A dropped packet is recorded once more at the interface that it came from, at the time
//! of the drop, with flags that name no direction and a comment such as `dropped by down: sojourn_bound`, by which `qdelay import
//! captures` recognizes the drop. In Wireshark `frame.comment` selects drops and `!frame.comment` excludes them. Times are times
//! of the path, added to the wall clock at the start of the run. Records lost because the ring was full are counted at the end as
//! the interface's drops.
//!
//! Parameters: `snap`, bytes kept of each packet (all); `ring_bytes` (16 MiB: a tenth of a second at 600 Mbit/s, with two
//! records for each packet).

use super::ring::HEAD_WORDS;
use super::writer::{Encode, Log};
use super::{Layout, LogError, LogSummary};
use crate::device::Port;
use crate::emulator::{Event, EventKind, Tap};
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{InterfaceStatisticsBlock, InterfaceStatisticsOption};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{Block, PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness};
use qdelay_core::{DropReason, Time};
use qdelay_record::drop_comment;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// `if_tsresol`: the unit of time stamps is 10^-9 s.
const NANOSECONDS: u8 = 9;
/// Direction bits of `epb_flags`.
const INBOUND: u32 = 1;
const OUTBOUND: u32 = 2;

/// Options of a capture.
#[derive(Clone, Debug)]
pub struct PcapngOptions {
    /// Maximum number of bytes kept of each packet; 0 keeps all.
    pub snap: u32,
    /// Wall clock time at the start of the run, since 1970.
    pub began: Duration,
    /// Size of the ring, which holds 32 bytes and the kept bytes of each packet.
    pub ring_bytes: usize,
}

impl Default for PcapngOptions {
    fn default() -> Self {
        PcapngOptions { snap: 0, began: Duration::ZERO, ring_bytes: 16 << 20 }
    }
}

/// A [`Tap`] that writes a packet capture of both sides.
#[derive(Debug)]
pub struct PcapngLog {
    log: Log,
    layout: Layout,
    snap: usize,
    reasons: Reasons,
}

/// The maximum number of distinct drop reasons; comments omit any further reasons.
const REASONS: usize = 256;

/// Numbers of drop reasons in the ring: assigned on the data path at their first use, read on the log's thread, without a lock.
#[derive(Clone, Debug)]
struct Reasons(Arc<[OnceLock<DropReason>]>);

impl Reasons {
    fn new() -> Reasons {
        Reasons((0..REASONS).map(|_| OnceLock::new()).collect())
    }
    /// The number of `reason`. Only the data path may call this.
    fn number(&self, reason: DropReason) -> u64 {
        let place = self.0.iter().position(|known| *known.get_or_init(|| reason) == reason);
        place.unwrap_or(REASONS) as u64
    }
    fn name(&self, number: u64) -> &'static str {
        self.0.get(number as usize).and_then(OnceLock::get).map_or("", |reason| reason.name())
    }
}

/// Kinds of events, in the lowest 8 bits of a record's last word. The word continues with the port of the record (8 bits), the
/// reason of a drop (16) and the packet's size (32). The second word is the node.
const ENTERED: u64 = 0;
const LEFT: u64 = 1;
const DROPPED: u64 = 2;

impl PcapngLog {
    /// Creates the file at `path`, or truncates it.
    ///
    /// # Errors
    /// The file or the thread cannot be created.
    pub fn create(path: &Path, layout: &Layout, options: &PcapngOptions) -> io::Result<Self> {
        PcapngLog::to_file(File::create(path)?, layout, options)
    }

    /// Writes the capture to `file`, which has to be empty. If the disk is full, the file is cut behind its last whole record.
    ///
    /// # Errors
    /// The process is out of threads or descriptors.
    pub fn to_file(file: File, layout: &Layout, options: &PcapngOptions) -> io::Result<Self> {
        PcapngLog::over(|encode, ring_bytes| Log::to_file(encode, file, ring_bytes), layout, options)
    }

    /// Writes the capture to `out`.
    ///
    /// # Errors
    /// The process is out of threads.
    pub fn new(
        out: impl Write + Send + 'static,
        layout: &Layout,
        options: &PcapngOptions,
    ) -> io::Result<Self> {
        PcapngLog::over(|encode, ring_bytes| Log::start(encode, out, ring_bytes), layout, options)
    }

    fn over(
        start: impl FnOnce(Capture, usize) -> io::Result<Log>,
        layout: &Layout,
        options: &PcapngOptions,
    ) -> io::Result<Self> {
        let reasons = Reasons::new();
        let encode = Capture::new(layout.clone(), reasons.clone(), options)?;
        let snap = if options.snap == 0 { usize::MAX } else { options.snap as usize };
        Ok(PcapngLog { log: start(encode, options.ring_bytes)?, layout: layout.clone(), snap, reasons })
    }

    /// Records lost so far because the ring was full.
    pub fn lost(&self) -> u64 {
        self.log.lost()
    }
    /// True after writing the file has failed; [`PcapngLog::close`] returns the error.
    pub fn has_stopped(&self) -> bool {
        self.log.has_stopped()
    }
    /// Ends the capture of a run that lasted until `end`, and waits until it is written.
    ///
    /// # Errors
    /// The file could not be written to its end.
    pub fn close(self, end: Time) -> Result<LogSummary, LogError> {
        self.log.close(end)
    }
}

impl Tap for PcapngLog {
    #[inline]
    fn event(&mut self, event: &Event, bytes: &[u8]) {
        let source = self.layout.source(event.node);
        let (port, kind, reason) = match event.kind {
            EventKind::Enqueued if self.layout.nodes.role(event.node).place.is_first() => {
                (source, ENTERED, 0)
            }
            EventKind::Delivered => (source.other(), LEFT, 0),
            EventKind::Dropped(reason) => (source, DROPPED, self.reasons.number(reason)),
            _ => return,
        };
        let last = u64::from(event.packet.bytes) << 32 | reason << 16 | (port.index() as u64) << 8 | kind;
        let kept = bytes.get(..self.snap).unwrap_or(bytes);
        self.log.push(port, [event.time.as_nanos(), event.node.index() as u64, last], kept);
    }
}

/// Encoder of the file's blocks.
struct Capture {
    layout: Layout,
    reasons: Reasons,
    snap: u32,
    began: u64,
    /// Encoder of pcapng blocks into memory.
    blocks: PcapNgWriter<Vec<u8>>,
}

impl Capture {
    fn new(layout: Layout, reasons: Reasons, options: &PcapngOptions) -> io::Result<Capture> {
        let application = concat!("qdelay ", env!("CARGO_PKG_VERSION"));
        let section = SectionHeaderBlock {
            // Little-endian explicitly, because the times in statistics depend on it: see `end`.
            endianness: Endianness::Little,
            options: vec![SectionHeaderOption::UserApplication(application.into())],
            ..SectionHeaderBlock::default()
        };
        let blocks = PcapNgWriter::with_section_header(Vec::new(), section).map_err(io::Error::other)?;
        let began = u64::try_from(options.began.as_nanos()).unwrap_or(u64::MAX);
        Ok(Capture { layout, reasons, snap: options.snap, began, blocks })
    }

    fn wall_clock(&self, time: u64) -> u64 {
        self.began.saturating_add(time)
    }

    fn put(&mut self, block: &Block<'_>, out: &mut Vec<u8>) {
        std::mem::swap(self.blocks.get_mut(), out);
        // Writing to memory cannot fail, and the interfaces are those of `begin`.
        let _ = self.blocks.write_block(block);
        std::mem::swap(self.blocks.get_mut(), out);
    }
}

impl Encode for Capture {
    fn begin(&mut self, out: &mut Vec<u8>) {
        // The section header.
        out.append(self.blocks.get_mut());
        for port in Port::ALL {
            let options = vec![
                InterfaceDescriptionOption::IfName(port.name().into()),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            let block = InterfaceDescriptionBlock { linktype: DataLink::RAW, snaplen: self.snap, options };
            self.put(&block.into_block(), out);
        }
    }

    fn record(&mut self, head: [u64; HEAD_WORDS], body: &[u8], out: &mut Vec<u8>) {
        let [time, node, last] = head;
        let options = match last & 0xff {
            ENTERED => vec![EnhancedPacketOption::Flags(INBOUND)],
            LEFT => vec![EnhancedPacketOption::Flags(OUTBOUND)],
            _ => {
                let reason = self.reasons.name(last >> 16 & 0xffff);
                let comment = drop_comment(self.layout.name(node as usize), reason);
                vec![EnhancedPacketOption::Comment(comment.into()), EnhancedPacketOption::Flags(0)]
            }
        };
        let block = EnhancedPacketBlock {
            interface_id: (last >> 8 & 0xff) as u32,
            timestamp: Duration::from_nanos(self.wall_clock(time)),
            original_len: (last >> 32) as u32,
            data: Cow::Borrowed(body),
            options,
        };
        self.put(&block.into_block(), out);
    }

    fn end(&mut self, end: Time, lost: [u64; 2], out: &mut Vec<u8>) {
        for port in Port::ALL {
            let block = InterfaceStatisticsBlock {
                interface_id: port.index() as u32,
                // The pcapng format puts the upper half first; the crate does not do that in little-endian files.
                timestamp: self.wall_clock(end.as_nanos()).rotate_left(32),
                options: vec![InterfaceStatisticsOption::IsbIfDrop(lost[port.index()])],
            };
            self.put(&block.into_block(), out);
        }
    }
}
