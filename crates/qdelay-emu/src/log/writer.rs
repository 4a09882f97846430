//! A file that is written on a thread of its own.

use super::ring::{Consumer, HEAD_WORDS, Producer, ring};
use crate::device::Port;
use qdelay_core::Time;
use std::io::{self, Write};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// What is written at once.
const BLOCK_BYTES: usize = 64 * 1024;
/// How long the writer rests when there is nothing to take.
const REST: Duration = Duration::from_millis(5);
/// A block that is not full is written after this many rests.
const RESTS: u32 = 20;

/// How records become bytes of a file, on the writer's thread.
pub(super) trait Encode: Send + 'static {
    /// What the file begins with.
    fn begin(&mut self, out: &mut Vec<u8>);
    /// A record with its body.
    fn record(&mut self, head: [u64; HEAD_WORDS], body: &[u8], out: &mut Vec<u8>);
    /// What it ends with: it tells of a run until `end`, but for the `lost` records of each port.
    fn end(&mut self, end: Time, lost: [u64; 2], out: &mut Vec<u8>);
}

/// What came of a log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSummary {
    /// Records that were written.
    pub records: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Records that found no room between the emulator and the file, and are missing from it.
    pub lost: u64,
}

/// The emulator's end of a log. Dropped without [`Log::close`] it leaves a file without its end.
#[derive(Debug)]
pub(super) struct Log {
    producer: Producer,
    writer: JoinHandle<io::Result<LogSummary>>,
    /// By the port the packets come from.
    lost: [u64; 2],
}

impl Log {
    /// Writes to `out`, over a ring of `ring_bytes`.
    pub fn start(
        encode: impl Encode,
        out: impl Write + Send + 'static,
        ring_bytes: usize,
    ) -> io::Result<Log> {
        let (producer, consumer) = ring(ring_bytes);
        let writer = thread::Builder::new().name("log".into()).spawn(move || write(consumer, encode, out))?;
        Ok(Log { producer, writer, lost: [0; 2] })
    }

    /// Never waits.
    #[inline]
    pub fn push(&mut self, port: Port, head: [u64; HEAD_WORDS], body: &[u8]) {
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

    /// Waits until everything is written.
    pub fn close(self, end: Time) -> io::Result<LogSummary> {
        self.producer.close([end.as_nanos(), self.lost[0], self.lost[1]]);
        self.writer.thread().unpark();
        let written = self
            .writer
            .join()
            .map_err(|_| io::Error::other("the thread that writes the log has panicked"))?;
        Ok(LogSummary { lost: self.lost.iter().sum(), ..written? })
    }
}

/// Takes records until the producer is gone.
fn write(mut consumer: Consumer, mut encode: impl Encode, out: impl Write) -> io::Result<LogSummary> {
    let mut file = Blocks { out, block: Vec::with_capacity(2 * BLOCK_BYTES), bytes: 0 };
    let (mut body, mut records, mut rests) = (Vec::new(), 0, 0);
    encode.begin(&mut file.block);
    loop {
        // Asked first: what was put in before the end is then seen below.
        let is_closed = consumer.is_closed();
        while let Some(head) = consumer.pop(&mut body) {
            encode.record(head, &body, &mut file.block);
            records += 1;
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
    file.out.flush()?;
    Ok(LogSummary { records, bytes: file.bytes, lost: 0 })
}

struct Blocks<W> {
    out: W,
    block: Vec<u8>,
    bytes: u64,
}

impl<W: Write> Blocks<W> {
    fn write(&mut self) -> io::Result<()> {
        self.out.write_all(&self.block)?;
        self.bytes += self.block.len() as u64;
        self.block.clear();
        Ok(())
    }
}
