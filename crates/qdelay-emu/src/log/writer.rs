//! A log file written by a thread of its own.

use super::ring::{Consumer, HEAD_WORDS, Producer, ring};
use crate::device::Port;
use qdelay_core::Time;
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Maximum number of bytes written in one call.
const BLOCK_BYTES: usize = 64 * 1024;
/// Duration of a sleep of the writer while the ring is empty.
const REST: Duration = Duration::from_millis(5);
/// Number of sleeps after which an incomplete block is written.
const RESTS: u32 = 20;

/// Encoder of records as bytes of a file, on the writer's thread.
pub(super) trait Encode: Send + 'static {
    /// Writes the beginning of the file.
    fn begin(&mut self, out: &mut Vec<u8>);
    /// Writes a record with its body.
    fn record(&mut self, head: [u64; HEAD_WORDS], body: &[u8], out: &mut Vec<u8>);
    /// Writes the end of the file, for a run that lasted until `end`, in which `lost` records of each port were lost.
    fn end(&mut self, end: Time, lost: [u64; 2], out: &mut Vec<u8>);
}

/// Summary of a written log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Records that were written.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Records that are missing from the file: refused by the full ring, or not writable.
    pub lost: u64,
}

/// Error: a log could not be written to its end. The file contains `summary.records` whole records, and no end.
#[derive(Debug)]
#[non_exhaustive]
pub struct LogError {
    /// The error.
    pub error: io::Error,
    /// Summary of the incomplete file.
    pub summary: LogSummary,
}

impl fmt::Display for LogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogSummary { records, lost, .. } = self.summary;
        write!(f, "{}; it holds the first {records} records, and {lost} are missing", self.error)
    }
}
impl std::error::Error for LogError {}

/// The emulator's end of a log. A log dropped without [`Log::close`] leaves a file without an end.
#[derive(Debug)]
pub(super) struct Log {
    producer: Producer,
    writer: JoinHandle<(LogSummary, io::Result<()>)>,
    /// The file, for cutting off an incompletely written last record.
    file: Option<File>,
    /// Records passed to [`Log::push`].
    given: u64,
    /// Lost records, by the port that the packets come from.
    lost: [u64; 2],
}

impl Log {
    /// Starts a log that writes to `out`, over a ring of `ring_bytes`.
    pub fn start(
        encode: impl Encode,
        out: impl Write + Send + 'static,
        ring_bytes: usize,
    ) -> io::Result<Log> {
        let (producer, consumer) = ring(ring_bytes);
        let writer = thread::Builder::new().name("log".into()).spawn(move || write(consumer, encode, out))?;
        Ok(Log { producer, writer, file: None, given: 0, lost: [0; 2] })
    }

    /// Starts a log that writes to `file`, which always ends with a whole record.
    pub fn to_file(encode: impl Encode, file: File, ring_bytes: usize) -> io::Result<Log> {
        let kept = file.try_clone()?;
        Ok(Log { file: Some(kept), ..Log::start(encode, file, ring_bytes)? })
    }

    /// Passes a record to the writer, without waiting; a full ring counts the record as lost.
    #[inline]
    pub fn push(&mut self, port: Port, head: [u64; HEAD_WORDS], body: &[u8]) {
        self.given += 1;
        if !self.producer.push(head, body) {
            self.lost[port.index()] += 1;
        }
    }

    pub fn lost(&self) -> u64 {
        self.lost.iter().sum()
    }

    pub fn has_stopped(&self) -> bool {
        self.producer.is_broken()
    }

    /// Ends the log, and waits until all records are written.
    pub fn close(self, end: Time) -> Result<LogSummary, LogError> {
        self.producer.close([end.as_nanos(), self.lost[0], self.lost[1]]);
        self.writer.thread().unpark();
        let panicked = |_| {
            let error = io::Error::other("the thread that writes the log has panicked");
            (LogSummary::default(), Err(error))
        };
        let (summary, written) = self.writer.join().unwrap_or_else(panicked);
        let summary = LogSummary { lost: self.given.saturating_sub(summary.records), ..summary };
        written.map(|()| summary).map_err(|error| {
            // Devices and pipes have no length, so the call may fail.
            let _ = self.file.map(|file| file.set_len(summary.bytes));
            LogError { error, summary }
        })
    }
}

/// Writes records until the producer is dropped; returns the contents of the file, even if it could not be written to its end.
fn write(consumer: Consumer, encode: impl Encode, out: impl Write) -> (LogSummary, io::Result<()>) {
    let block = Vec::with_capacity(2 * BLOCK_BYTES);
    let mut file = Blocks { out, block, pending: 0, summary: LogSummary::default() };
    let written = write_all(consumer, encode, &mut file);
    (file.summary, written)
}

fn write_all(
    mut consumer: Consumer,
    mut encode: impl Encode,
    file: &mut Blocks<impl Write>,
) -> io::Result<()> {
    let (mut body, mut rests) = (Vec::new(), 0);
    encode.begin(&mut file.block);
    loop {
        // The flag is read first: records pushed before the end are then found below.
        let is_closed = consumer.is_closed();
        while let Some(head) = consumer.pop(&mut body) {
            encode.record(head, &body, &mut file.block);
            file.pending += 1;
            if file.block.len() >= BLOCK_BYTES {
                file.write()?;
                rests = 0;
            }
        }
        if is_closed {
            break;
        }
        thread::park_timeout(REST);
        rests += 1;
        if rests >= RESTS {
            file.write()?;
            rests = 0;
        }
    }
    let [end, inside, outside] = consumer.trailer();
    encode.end(Time::from_nanos(end), [inside, outside], &mut file.block);
    file.write()?;
    file.out.flush()
}

struct Blocks<W> {
    out: W,
    block: Vec<u8>,
    /// Number of records in the block.
    pending: u64,
    summary: LogSummary,
}

impl<W: Write> Blocks<W> {
    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        self.summary.bytes += self.block.len() as u64;
        self.summary.records += self.pending;
        self.pending = 0;
        self.block.clear();
        Ok(())
    }
}
