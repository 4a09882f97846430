//! A browser that loads one page repeatedly: the order of requests, their connections, and the duration of each load.
//!
//! An object is requested as soon as the object that names it has arrived and a connection is free. A connection is free if it has no outstanding
//! answer; with multiplexing the first one is always free. Objects are requested in the order of the page. A load lasts until its last object has
//! arrived; a pause follows, then the next load.

use super::Page;
use crate::nearest_rank::nearest_rank;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use qdelay_core::{Random, Span, Time};

/// Outcome of a browser from its start, warm-up included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WebOutcome {
    /// Complete page loads.
    pub pages: u64,
    /// Mean page load time; zero without a complete load.
    pub mean: Span,
    /// Median page load time; zero without a complete load.
    pub p50: Span,
    /// 95th percentile of the page load time; zero without a complete load.
    pub p95: Span,
    /// Longest page load time; zero without a complete load.
    pub max: Span,
    /// Whether a load was in progress at the end.
    pub is_loading: bool,
}

/// A complete page load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Start of the load.
    pub begun: Time,
    /// Time until the last object had arrived.
    pub took: Span,
}

/// An outstanding answer of a connection.
#[derive(Clone, Copy, Debug)]
struct Owed {
    object: usize,
    /// Byte of the connection's stream at which the answer ends.
    end: u64,
}

/// A browser.
#[derive(Clone, Debug)]
pub struct Browser {
    page: Arc<Page>,
    pause: Span,
    multiplexes: bool,
    random: Random,
    /// Start of the next load; [`Time::NEVER`] during a load.
    begins: Time,
    began: Time,
    /// Named objects not yet requested, in the order of requests.
    ready: VecDeque<usize>,
    /// For each connection: outstanding answers, and bytes of its stream requested so far.
    owed: Vec<(VecDeque<Owed>, u64)>,
    /// Objects of the current load that have not arrived.
    missing: usize,
    loads: Vec<Load>,
}

impl Browser {
    /// A browser with `connections` connections whose first load begins at `start`. Pauses are exponential with the mean `pause`.
    pub fn new(
        page: Arc<Page>,
        connections: usize,
        multiplexes: bool,
        pause: Span,
        start: Time,
        random: Random,
    ) -> Browser {
        Browser {
            page,
            pause,
            multiplexes,
            random,
            begins: start,
            began: start,
            ready: VecDeque::new(),
            owed: vec![(VecDeque::new(), 0); connections.max(1)],
            missing: 0,
            loads: Vec::new(),
        }
    }

    /// Start of the next load; [`Time::NEVER`] during a load.
    pub fn next_deadline(&self) -> Time {
        self.begins
    }

    /// Begins the next load if it is due.
    pub fn begin(&mut self, now: Time) {
        if self.begins <= now {
            self.begins = Time::NEVER;
            self.began = now;
            self.missing = self.page.objects().len();
            self.ready.push_back(0);
        }
    }

    /// Makes the next request: number of the connection, and bytes of the answer. `None` without an object to request or a free connection.
    pub fn request(&mut self) -> Option<(usize, u64)> {
        let object = *self.ready.front()?;
        let free = |(owed, _): &(VecDeque<Owed>, u64)| owed.is_empty();
        let lane = if self.multiplexes { 0 } else { self.owed.iter().position(free)? };
        self.ready.pop_front();
        let bytes = self.page.objects()[object].bytes;
        let (owed, requested) = &mut self.owed[lane];
        *requested += bytes;
        owed.push_back(Owed { object, end: *requested });
        Some((lane, bytes))
    }

    /// Reports that the first `delivered` bytes of connection `lane`'s stream have arrived.
    pub fn arrived(&mut self, now: Time, lane: usize, delivered: u64) {
        while let Some(Owed { object, .. }) = self.owed[lane].0.pop_front_if(|owed| owed.end <= delivered) {
            debug_assert!(self.missing > 0, "an object that no load misses");
            self.missing -= 1;
            let named = self.page.objects().iter().enumerate().skip(1);
            self.ready.extend(named.filter(|(_, other)| other.parent == object).map(|(index, _)| index));
            if self.missing == 0 {
                self.loads.push(Load { begun: self.began, took: now.since(self.began) });
                let pause = Span::from_secs_f64(self.pause.as_secs_f64() * self.random.exponential());
                self.begins = now + pause;
            }
        }
    }

    /// Complete page loads in their order.
    pub fn loads(&self) -> &[Load] {
        &self.loads
    }

    /// Outcome so far.
    pub fn outcome(&self) -> WebOutcome {
        let mut loads: Vec<Span> = self.loads.iter().map(|load| load.took).collect();
        loads.sort_unstable();
        let count = loads.len();
        let sum: u64 = loads.iter().map(|load| load.as_nanos()).sum();
        let rank = |percent| nearest_rank(&loads, percent);
        WebOutcome {
            pages: count as u64,
            mean: Span::from_nanos(sum / count.max(1) as u64),
            p50: rank(50),
            p95: rank(95),
            max: rank(100),
            is_loading: self.missing > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Object;
    use super::*;

    fn time_ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A browser of a page whose document names two objects; the second of them names a third.
    fn browser(connections: usize, multiplexes: bool) -> Browser {
        let objects = [(100, 0), (10, 0), (20, 0), (40, 2)].map(|(bytes, parent)| Object { bytes, parent });
        let page = Arc::new(Page::of_objects(objects.to_vec()).unwrap());
        Browser::new(
            page,
            connections,
            multiplexes,
            Span::ZERO,
            time_ms(0),
            Random::derive(1, "browser", "test"),
        )
    }

    #[test]
    fn objects_are_requested_when_they_are_named() {
        let mut browser = browser(2, false);
        assert_eq!(browser.request(), None);
        browser.begin(time_ms(0));
        assert_eq!((browser.request(), browser.request()), (Some((0, 100)), None));
        browser.arrived(time_ms(5), 0, 99);
        assert_eq!(browser.request(), None);
        browser.arrived(time_ms(10), 0, 100);
        assert_eq!(
            (browser.request(), browser.request(), browser.request()),
            (Some((0, 10)), Some((1, 20)), None)
        );
        browser.arrived(time_ms(20), 1, 20);
        // The first connection still has an outstanding answer.
        assert_eq!(browser.request(), Some((1, 40)));
        browser.arrived(time_ms(30), 1, 60);
        assert!(browser.outcome().is_loading && browser.next_deadline() == Time::NEVER);
        browser.arrived(time_ms(40), 0, 110);
        let outcome = browser.outcome();
        assert_eq!(
            (outcome.pages, outcome.mean, outcome.p95),
            (1, Span::from_millis(40), Span::from_millis(40))
        );
        assert_eq!(browser.next_deadline(), time_ms(40));
    }

    #[test]
    fn with_multiplexing_requests_do_not_wait_for_answers() {
        let mut browser = browser(1, true);
        browser.begin(time_ms(0));
        assert_eq!(browser.request(), Some((0, 100)));
        browser.arrived(time_ms(10), 0, 100);
        assert_eq!(
            (browser.request(), browser.request(), browser.request()),
            (Some((0, 10)), Some((0, 20)), None)
        );
        browser.arrived(time_ms(20), 0, 130);
        assert_eq!(browser.request(), Some((0, 40)));
    }
}
