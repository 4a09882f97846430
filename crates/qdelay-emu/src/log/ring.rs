//! A bounded queue of records between two threads whose producer never waits.
//!
//! A record is a head of [`HEAD_WORDS`] words and a body of any number of bytes. Memory is allocated and touched when the ring
//! is created. Afterwards [`Producer::push`] only copies and stores: it takes no lock, makes no system call, allocates nothing
//! and does not wake the consumer, which polls every few milliseconds and takes all records. If the ring is full, the record is
//! refused, and the caller counts it.
//!
//! The words are atomics so that no `unsafe` is needed: both sides access them with relaxed ordering, which costs as much as
//! plain memory. `tail` and `head` order the accesses; each is written by one side only.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Words in the head of a record.
pub const HEAD_WORDS: usize = 3;
/// Words of a record besides its body: the length of the body in bytes, and the head.
const FIXED_WORDS: u64 = 1 + HEAD_WORDS as u64;
const WORD_BYTES: usize = 8;
const SMALLEST_BYTES: usize = 4096;
const PAGE_WORDS: usize = 512;

/// A counter on a pair of cache lines of its own, so that the counters of the two sides do not slow each other down.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Count(AtomicU64);

#[derive(Debug)]
struct Shared {
    /// Storage; the length is a power of two.
    words: Box<[AtomicU64]>,
    /// Words ever removed; written by the consumer.
    head: Count,
    /// Words ever inserted; written by the producer.
    tail: Count,
    /// The producer's final words, see [`Producer::close`].
    trailer: [AtomicU64; HEAD_WORDS],
    /// The producer has been dropped.
    is_closed: AtomicBool,
    /// The consumer has been dropped.
    is_broken: AtomicBool,
}

impl Shared {
    #[inline]
    fn word(&self, at: u64) -> &AtomicU64 {
        &self.words[at as usize & (self.words.len() - 1)]
    }
}

/// The producer's side.
#[derive(Debug)]
pub struct Producer {
    shared: Arc<Shared>,
    tail: u64,
    /// The last known value of the consumer's count.
    head: u64,
}

/// The consumer's side.
#[derive(Debug)]
pub struct Consumer {
    shared: Arc<Shared>,
    head: u64,
    /// The last known value of the producer's count.
    tail: u64,
}

/// Creates a ring of `bytes` bytes, rounded up to a power of two of at least 4096.
pub fn ring(bytes: usize) -> (Producer, Consumer) {
    let words = bytes.clamp(SMALLEST_BYTES, 1 << 40).next_power_of_two() / WORD_BYTES;
    let words: Box<[AtomicU64]> = (0..words).map(|_| AtomicU64::new(0)).collect();
    // Writing each page now maps it, so that `push` causes no page fault.
    words.iter().step_by(PAGE_WORDS).for_each(|word| word.store(black_box(0), Ordering::Relaxed));
    let shared = Arc::new(Shared {
        words,
        head: Count::default(),
        tail: Count::default(),
        trailer: Default::default(),
        is_closed: AtomicBool::new(false),
        is_broken: AtomicBool::new(false),
    });
    (Producer { shared: shared.clone(), tail: 0, head: 0 }, Consumer { shared, head: 0, tail: 0 })
}

impl Producer {
    /// Inserts a record; returns `false` if the ring is full, or the consumer has been dropped.
    #[inline]
    pub fn push(&mut self, head: [u64; HEAD_WORDS], body: &[u8]) -> bool {
        let shared = &*self.shared;
        let needed = FIXED_WORDS + body.len().div_ceil(WORD_BYTES) as u64;
        let size = shared.words.len() as u64;
        // The consumer's count is only read if the last known value leaves no room, because the read costs a cache miss.
        if self.tail + needed - self.head > size {
            self.head = shared.head.0.load(Ordering::Acquire);
            if self.tail + needed - self.head > size {
                return false;
            }
        }
        if shared.is_broken.load(Ordering::Relaxed) {
            return false;
        }
        let mut at = self.tail;
        let mut put = |word| {
            shared.word(at).store(word, Ordering::Relaxed);
            at += 1;
        };
        put(body.len() as u64);
        head.into_iter().for_each(&mut put);
        let (whole, rest) = body.as_chunks::<WORD_BYTES>();
        whole.iter().for_each(|&bytes| put(u64::from_ne_bytes(bytes)));
        if !rest.is_empty() {
            let mut last = [0; WORD_BYTES];
            last[..rest.len()].copy_from_slice(rest);
            put(u64::from_ne_bytes(last));
        }
        self.tail = at;
        shared.tail.0.store(at, Ordering::Release);
        true
    }

    /// True if the consumer has been dropped.
    pub fn is_broken(&self) -> bool {
        self.shared.is_broken.load(Ordering::Relaxed)
    }

    /// Ends the ring with a final set of words, which is delivered even if the ring is full.
    pub fn close(self, trailer: [u64; HEAD_WORDS]) {
        for (place, word) in self.shared.trailer.iter().zip(trailer) {
            place.store(word, Ordering::Relaxed);
        }
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        self.shared.is_closed.store(true, Ordering::Release);
    }
}

impl Consumer {
    /// Removes the next record, and replaces the contents of `body` by its body; returns `None` if the ring is empty.
    pub fn pop(&mut self, body: &mut Vec<u8>) -> Option<[u64; HEAD_WORDS]> {
        let shared = &*self.shared;
        // The producer's count is only read when no known record is left, because the read costs a cache miss.
        if self.head == self.tail {
            self.tail = shared.tail.0.load(Ordering::Acquire);
            if self.head == self.tail {
                return None;
            }
        }
        let mut at = self.head;
        let mut take = || {
            let word = shared.word(at).load(Ordering::Relaxed);
            at += 1;
            word
        };
        let length = take() as usize;
        let head = std::array::from_fn(|_| take());
        body.clear();
        for _ in 0..length.div_ceil(WORD_BYTES) {
            body.extend_from_slice(&take().to_ne_bytes());
        }
        body.truncate(length);
        self.head = at;
        shared.head.0.store(at, Ordering::Release);
        Some(head)
    }

    /// True if the producer has been dropped. Its remaining records can still be removed.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed.load(Ordering::Acquire)
    }

    /// The producer's final words; zeros if the producer did not close the ring.
    pub fn trailer(&self) -> [u64; HEAD_WORDS] {
        std::array::from_fn(|place| self.shared.trailer[place].load(Ordering::Relaxed))
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        self.shared.is_broken.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        /// The ring accepts the same records in the same order as a queue of the standard library, and refuses exactly when full.
        #[test]
        fn is_a_bounded_queue(operations in prop::collection::vec(prop::option::of(0_usize..1200), 1..400)) {
            let (mut producer, mut consumer) = ring(4096);
            let (mut model, mut used, mut body) = (VecDeque::new(), 0, Vec::new());
            for (number, operation) in operations.into_iter().enumerate() {
                if let Some(length) = operation {
                    let sent: Vec<u8> = (0..length).map(|at| (at ^ number) as u8).collect();
                    let needed = 4 + length.div_ceil(8);
                    let has_room = used + needed <= 512;
                    prop_assert_eq!(producer.push([number as u64, 7, u64::MAX], &sent), has_room);
                    if has_room {
                        used += needed;
                        model.push_back((number as u64, sent));
                    }
                } else {
                    let got = consumer.pop(&mut body).map(|head| (head[0], body.clone()));
                    let expected = model.pop_front();
                    used -= expected.as_ref().map_or(0, |(_, sent)| 4 + sent.len().div_ceil(8));
                    prop_assert_eq!(got, expected);
                }
            }
        }
    }

    #[test]
    fn accepted_records_cross_threads_in_order() {
        let (mut producer, mut consumer) = ring(1 << 14);
        let reader = std::thread::spawn(move || {
            let (mut body, mut numbers) = (Vec::new(), Vec::new());
            loop {
                let is_closed = consumer.is_closed();
                match consumer.pop(&mut body) {
                    Some([number, double, _]) => {
                        assert_eq!(double, number * 2);
                        assert_eq!(body.len() as u64, number % 100);
                        assert!(body.iter().all(|&byte| byte == number as u8));
                        numbers.push(number);
                    }
                    None if is_closed => return (numbers, consumer.trailer()),
                    None => std::thread::yield_now(),
                }
            }
        });
        let mut taken = Vec::new();
        for number in 0..200_000_u64 {
            if producer.push([number, number * 2, 0], &vec![number as u8; number as usize % 100]) {
                taken.push(number);
            }
        }
        producer.close([1, 2, 3]);
        let (numbers, trailer) = reader.join().unwrap();
        assert!(numbers == taken, "{} of {} came", numbers.len(), taken.len());
        assert_eq!(trailer, [1, 2, 3]);
    }

    #[test]
    fn push_fails_without_a_consumer() {
        let (mut producer, consumer) = ring(0);
        assert!(producer.push([0; 3], &[0; 4096 - 32]) && !producer.push([0; 3], &[]), "full");
        drop(consumer);
        assert!(producer.is_broken());
        let (mut producer, consumer) = ring(0);
        assert!(!producer.push([0; 3], &[0; 4096]), "longer than the ring");
        drop(consumer);
        assert!(!producer.push([0; 3], &[]), "no consumer");
    }
}
