//! The log of `mm-link --uplink-log`, `--downlink-log` (mahimahi, `src/frontend/link_queue.cc`: `record_arrival`,
//! `record_departure_opportunity`, `record_departure`, `record_drop`), which mm-throughput-graph and mm-delay-graph read.
//!
//! Each direction has a file of its own. Lines that begin with `#` describe the run; `# base timestamp:` is the beginning of the
//! trace. Each event is a line with a time, a kind and a size:
//!
//! | line | at that time |
//! | --- | --- |
//! | `MS + BYTES` | a packet arrived at the queue |
//! | `MS # BYTES` | the link could send this many bytes, whether packets waited or not |
//! | `MS - BYTES DELAY` | a packet left the link, DELAY ms after its arrival |
//! | `MS d PACKETS BYTES` | the queue dropped these packets |
//!
//! Times are in ms, rounded down; DELAY is the difference of two such times. Opportunities carry 1504 bytes; a packet counts
//! its IP bytes and the link's overhead, which for a trace is 4 bytes: the header of the TUN device. At equal times opportunities
//! come before arrivals, and both before the departures that the opportunity carries.
//!
//! Opportunities are written from the trace, by the log's thread: the path has no events for unused ones.
//!
//! Parameters: texts for the head; `drops` (on) writes `d` lines, at which known versions of mm-throughput-graph stop, in
//! mahimahi's own logs too; `ring_bytes` (4 MiB).
//!
//! Differences from the reference:
//! * Packets that the queue drops at dequeue (CoDel, BoDe) have a `d` line too; mahimahi logs only drops caused by an arrival.
//! * Packets dropped at the same time have a line each.
//! * Time 0 is the beginning of the trace; in mahimahi it is some ms earlier.
//! * A link that begins during the run (`qdelay set`) has its own opportunities from then on; the head keeps the first link.
//! * A link without a trace has a `#` line for each ms with the bytes its rate allowed in that ms, rounded to bytes.

use super::ring::HEAD_WORDS;
use super::writer::{Encode, Log};
use super::{Layout, LogError, LogSummary};
use crate::device::Port;
use crate::emulator::{Event, EventKind, Tap};
use qdelay_core::Time;
use qdelay_path::stack::{PathNodes, Role};
use qdelay_path::{AnyLink, LinkModel, TraceLink};
use qdelay_trace::OPPORTUNITY_BYTES;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const NANOS_PER_MS: u64 = 1_000_000;

/// Texts for the head of the log, and options for writing it.
#[derive(Clone, Debug)]
pub struct MahimahiOptions {
    /// The trace, or the link's description.
    pub trace: String,
    /// The name of this file.
    pub file: String,
    /// The command line.
    pub command_line: String,
    /// The queue's description.
    pub queue: String,
    /// Wall clock time at the start of the run, since 1970.
    pub began: Duration,
    /// Writes lines for drops.
    pub drops: bool,
    /// Size of the ring; 32 bytes for each event.
    pub ring_bytes: usize,
}

impl Default for MahimahiOptions {
    fn default() -> Self {
        let text = String::new;
        let (trace, file, command_line, queue) = (text(), text(), text(), text());
        MahimahiOptions {
            trace,
            file,
            command_line,
            queue,
            began: Duration::ZERO,
            drops: true,
            ring_bytes: 4 << 20,
        }
    }
}

/// A [`Tap`] that writes the mahimahi log of one direction.
#[derive(Debug)]
pub struct MahimahiLog {
    log: Log,
    port: Port,
    nodes: PathNodes,
    drops: bool,
    has_trace: bool,
    /// Capacities of links that have begun during the run, for the log's thread.
    capacities: Sender<Capacity>,
}

/// Kinds of records, in the last byte of their third word, below the size.
const ARRIVAL: u64 = 0;
const DEQUEUE: u64 = 1;
const DEPARTURE: u64 = 2;
const DROP: u64 = 3;
/// A link has begun in place of another.
const REPLACED: u64 = 4;

impl MahimahiLog {
    /// Creates the file at `path`, or truncates it, for the packets that come from `port`: [`Port::Outside`] for the downlink.
    ///
    /// # Errors
    /// The file or the thread cannot be created.
    pub fn create(path: &Path, layout: &Layout, port: Port, options: MahimahiOptions) -> io::Result<Self> {
        MahimahiLog::to_file(File::create(path)?, layout, port, options)
    }

    /// Writes the log to `file`, which has to be empty. If the disk is full, the file is cut behind its last whole record.
    ///
    /// # Errors
    /// The process is out of threads or descriptors.
    pub fn to_file(file: File, layout: &Layout, port: Port, options: MahimahiOptions) -> io::Result<Self> {
        let start = |encode, ring_bytes| Log::to_file(encode, file, ring_bytes);
        MahimahiLog::over(start, layout, port, options)
    }

    /// Writes the log to `out`.
    ///
    /// # Errors
    /// The process is out of threads.
    pub fn new(
        out: impl Write + Send + 'static,
        layout: &Layout,
        port: Port,
        options: MahimahiOptions,
    ) -> io::Result<Self> {
        let start = |encode, ring_bytes| Log::start(encode, out, ring_bytes);
        MahimahiLog::over(start, layout, port, options)
    }

    fn over(
        start: impl FnOnce(Lines, usize) -> io::Result<Log>,
        layout: &Layout,
        port: Port,
        options: MahimahiOptions,
    ) -> io::Result<Self> {
        let link = &layout.links[port.index()];
        let has_trace = link.opportunities().is_some();
        let (ring_bytes, drops) = (options.ring_bytes, options.drops);
        let (capacities, replacements) = channel();
        let capacity = Capacity::from_link(link, Time::ZERO);
        let encode = Lines { capacity, replacements, port, options };
        let nodes = layout.nodes.clone();
        Ok(MahimahiLog { log: start(encode, ring_bytes)?, port, nodes, drops, has_trace, capacities })
    }

    /// Records lost so far because the ring was full.
    pub fn lost(&self) -> u64 {
        self.log.lost()
    }
    /// True after writing the file has failed; [`MahimahiLog::close`] returns the error.
    pub fn has_stopped(&self) -> bool {
        self.log.has_stopped()
    }
    /// Ends the log of a run that lasted until `end` (not [`Time::NEVER`]), and waits until it is written.
    ///
    /// # Errors
    /// The file could not be written to its end.
    pub fn close(self, end: Time) -> Result<LogSummary, LogError> {
        self.log.close(end)
    }
}

impl Tap for MahimahiLog {
    #[inline]
    fn reads_bytes(&self) -> bool {
        false
    }
    #[inline]
    fn event(&mut self, event: &Event, _: &[u8]) {
        let Role { source, place } = self.nodes.role(event.node);
        if source != self.port {
            return;
        }
        let kind = match event.kind {
            EventKind::Enqueued if place.is_first() => ARRIVAL,
            // The opportunity of this packet is written at the dequeue, to keep lines in order of time.
            EventKind::Dequeued if self.has_trace && place.is_last() => DEQUEUE,
            EventKind::Departed if place.is_link() => DEPARTURE,
            EventKind::Dropped(_) if self.drops && (place.is_queue() || place.is_link()) => DROP,
            _ => return,
        };
        let size = u64::from(event.packet.bytes);
        self.log.push(
            self.port,
            [event.time.as_nanos(), event.reached_bottleneck.min(event.time).as_nanos(), size << 8 | kind],
            &[],
        );
    }

    fn link_replaced(&mut self, now: Time, port: Port, link: &AnyLink) {
        if port != self.port {
            return;
        }
        let mut link = link.clone();
        link.begin_at(now);
        self.has_trace = link.opportunities().is_some();
        let before = self.log.lost();
        self.log.push(port, [now.as_nanos(), now.as_nanos(), REPLACED], &[]);
        // The record is read after it has been sent, or waits for it; without the record nothing is read.
        if self.log.lost() == before {
            // The thread has ended only if the file cannot be written.
            let _ = self.capacities.send(Capacity::from_link(&link, now));
        }
    }
}

/// Encoder of the file's lines.
struct Lines {
    capacity: Capacity,
    /// One for each record of a replacement.
    replacements: Receiver<Capacity>,
    port: Port,
    options: MahimahiOptions,
}

impl Encode for Lines {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let MahimahiOptions { trace, file, command_line, queue, began, .. } = &self.options;
        let name = match self.port {
            Port::Inside => "Uplink",
            Port::Outside => "Downlink",
        };
        line(out, format_args!("# mahimahi mm-link ({name}) [{}] > {}", plain(trace), plain(file)));
        line(out, format_args!("# command line: {}", plain(command_line)));
        line(out, format_args!("# queue: {}", plain(queue)));
        line(out, format_args!("# init timestamp: {}", began.as_millis()));
        line(out, format_args!("# base timestamp: 0"));
    }

    fn record(&mut self, head: [u64; HEAD_WORDS], _: &[u8], out: &mut Vec<u8>) {
        let [now, arrival, last] = head;
        let (time, bytes) = (Time::from_nanos(now), (last >> 8) + u64::from(self.capacity.overhead));
        let ms = now / NANOS_PER_MS;
        match last & 0xff {
            ARRIVAL => {
                self.capacity.through(time, out);
                line(out, format_args!("{ms} + {bytes}"));
            }
            DEQUEUE => self.capacity.begins(time, bytes, out),
            DEPARTURE => {
                self.capacity.departs(time, out);
                line(out, format_args!("{ms} - {bytes} {}", ms.saturating_sub(arrival / NANOS_PER_MS)));
            }
            REPLACED => {
                self.capacity.through(time, out);
                // The sender lives until the log is closed.
                if let Ok(capacity) = self.replacements.recv() {
                    self.capacity = capacity;
                }
            }
            _ => {
                self.capacity.until(time, out);
                line(out, format_args!("{ms} d 1 {bytes}"));
            }
        }
    }

    fn end(&mut self, end: Time, lost: [u64; 2], out: &mut Vec<u8>) {
        if end != Time::NEVER {
            self.capacity.through(end, out);
        }
        let lost: u64 = lost.iter().sum();
        if lost > 0 {
            line(out, format_args!("# lost: {lost} records"));
        }
    }
}

/// Capacity of the link, as lines of opportunities.
#[derive(Debug)]
struct Capacity {
    /// Bytes that the link adds to each packet.
    overhead: u32,
    kind: CapacityKind,
}

#[derive(Debug)]
enum CapacityKind {
    Trace(Opportunities),
    Rate { link: AnyLink, ms: u64, offered: u64 },
}

/// The link of a trace, advanced to the last opportunity that has been written.
#[derive(Debug)]
struct Opportunities {
    /// Positioned at the first opportunity that has not been written.
    link: TraceLink,
    /// Time of the last opportunity.
    last: Time,
    credit: u64,
    /// Bytes of the packet on the link that no opportunity has carried yet.
    lacking: u64,
}

impl Capacity {
    /// The capacity of `link`, which begins at `begin`.
    fn from_link(link: &AnyLink, begin: Time) -> Capacity {
        let overhead = link.overhead_bytes();
        let kind = match link.opportunities().cloned() {
            Some(link) => CapacityKind::Trace(Opportunities { link, last: begin, credit: 0, lacking: 0 }),
            None => CapacityKind::Rate {
                link: link.clone(),
                ms: begin.as_nanos() / NANOS_PER_MS,
                offered: link.offered_bytes(begin),
            },
        };
        Capacity { overhead, kind }
    }

    /// Writes all opportunities before `now`.
    fn until(&mut self, now: Time, out: &mut Vec<u8>) {
        match &mut self.kind {
            CapacityKind::Trace(opportunities) => opportunities.until(now, out),
            CapacityKind::Rate { .. } => self.through(now, out),
        }
    }

    /// Writes all opportunities up to and including `now`.
    fn through(&mut self, now: Time, out: &mut Vec<u8>) {
        match &mut self.kind {
            CapacityKind::Trace(opportunities) => {
                while opportunities.link.next() <= now {
                    opportunities.write(out);
                }
            }
            CapacityKind::Rate { link, ms, offered } => {
                while *ms < now.as_nanos() / NANOS_PER_MS {
                    *ms += 1;
                    let before =
                        std::mem::replace(offered, link.offered_bytes(Time::from_nanos(*ms * NANOS_PER_MS)));
                    if *offered > before {
                        line(out, format_args!("{ms} # {}", *offered - before));
                    }
                }
            }
        }
    }

    /// Records the dequeue of a packet of `bytes`, which starts its transmission.
    fn begins(&mut self, now: Time, bytes: u64, out: &mut Vec<u8>) {
        let CapacityKind::Trace(opportunities) = &mut self.kind else { return };
        opportunities.until(now, out);
        if (opportunities.credit == 0 || opportunities.last != now) && opportunities.link.next() <= now {
            opportunities.write(out);
        }
        opportunities.lacking = bytes;
        opportunities.carry();
    }

    /// Records the end of transmission of the packet on the link.
    fn departs(&mut self, now: Time, out: &mut Vec<u8>) {
        self.until(now, out);
        let CapacityKind::Trace(opportunities) = &mut self.kind else { return };
        while opportunities.lacking > 0 && opportunities.link.next() <= now {
            opportunities.write(out);
        }
        opportunities.lacking = 0;
    }
}

impl Opportunities {
    fn until(&mut self, now: Time, out: &mut Vec<u8>) {
        while self.link.next() < now {
            self.write(out);
        }
    }

    /// Writes the next opportunity, and uses as many of its bytes as the packet on the link needs.
    fn write(&mut self, out: &mut Vec<u8>) {
        self.last = self.link.next();
        line(out, format_args!("{} # {OPPORTUNITY_BYTES}", self.last.as_nanos() / NANOS_PER_MS));
        self.link.burn();
        self.credit = OPPORTUNITY_BYTES;
        self.carry();
    }

    fn carry(&mut self) {
        let bytes = self.credit.min(self.lacking);
        self.credit -= bytes;
        self.lacking -= bytes;
    }
}

fn line(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = writeln!(out, "{text}");
}

/// Replaces control characters by spaces, so that `text` stays on one line.
fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}
