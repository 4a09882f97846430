//! Connections that are served at once: so many and no more, and whoever says nothing makes way for whoever does.
//!
//! A connection *waits* while its client is to say something, and may be closed meanwhile where all places are taken: of the
//! peer that holds the most of them, the one that has waited for longest. So who opens many, or lets them lie, closes their
//! own; a client that asks at once is served however many others do not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places; `K` says whose a connection is.
pub struct Places<K>(Arc<Mutex<State<K>>>);

struct State<K> {
    most: usize,
    /// Counts what happens: larger is later.
    now: u64,
    held: Vec<Held<K>>,
}

struct Held<K> {
    number: u64,
    peer: K,
    /// Since when it waits; `None` while it is served.
    waits: Option<u64>,
    close: Box<dyn Fn() + Send>,
}

/// A place of a connection, until it is dropped.
pub struct Place<K> {
    state: Arc<Mutex<State<K>>>,
    number: u64,
}

impl<K: PartialEq> Places<K> {
    /// None is taken.
    pub fn new(most: usize) -> Places<K> {
        Places(Arc::new(Mutex::new(State { most, now: 0, held: Vec::new() })))
    }

    /// A place for a connection that waits from now on, which `close` ends. `None` where all places are taken and none of
    /// these connections waits.
    pub fn take(&self, peer: K, close: impl Fn() + Send + 'static) -> Option<Place<K>> {
        let mut state = lock(&self.0);
        if state.held.len() >= state.most {
            let made_way = state.longest_waiting()?;
            (state.held.swap_remove(made_way).close)();
        }
        state.now += 1;
        let number = state.now;
        state.held.push(Held { number, peer, waits: Some(number), close: Box::new(close) });
        Some(Place { state: Arc::clone(&self.0), number })
    }
}

impl<K: PartialEq> State<K> {
    fn longest_waiting(&self) -> Option<usize> {
        let of_peer = |peer: &K| self.held.iter().filter(|held| held.peer == *peer).count();
        let rank = |held: &Held<K>| Some((usize::MAX - of_peer(&held.peer), held.waits?));
        let ranks = self.held.iter().enumerate().filter_map(|(at, held)| Some((rank(held)?, at)));
        ranks.min().map(|(_, at)| at)
    }
}

impl<K> Place<K> {
    /// It is served from now on, and makes way for nobody.
    pub fn is_served(&self) {
        self.set(false);
    }

    /// It waits again.
    pub fn waits(&self) {
        self.set(true);
    }

    fn set(&self, waits: bool) {
        let mut state = lock(&self.state);
        state.now += 1;
        let now = state.now;
        if let Some(held) = state.held.iter_mut().find(|held| held.number == self.number) {
            held.waits = waits.then_some(now);
        }
    }
}

impl<K> Drop for Place<K> {
    fn drop(&mut self) {
        // It may have made way.
        lock(&self.state).held.retain(|held| held.number != self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_waits_for_longest_makes_way_and_of_who_holds_the_most() {
        let closed = Arc::new(Mutex::new(Vec::new()));
        let places = Places::new(4);
        let take = |peer: char, name: &'static str| {
            let closed = Arc::clone(&closed);
            places.take(peer, move || lock(&closed).push(name))
        };
        let first = take('a', "first");
        let second = take('b', "second").unwrap();
        let third = take('b', "third").unwrap();
        let fourth = take('b', "fourth").unwrap();
        assert!(lock(&closed).is_empty());
        // 'a' waits for longer, but 'b' holds more.
        second.is_served();
        let fifth = take('c', "fifth").unwrap();
        assert_eq!(*lock(&closed), ["third"]);
        second.waits();
        drop(take('c', "sixth").unwrap());
        assert_eq!(*lock(&closed), ["third", "fourth"]);
        // What has made way has no place to give back.
        drop((third, fourth));
        let seventh = take('d', "seventh").unwrap();
        assert_eq!(lock(&closed).len(), 2);
        for place in [first.as_ref().unwrap(), &second, &fifth, &seventh] {
            place.is_served();
        }
        assert!(take('e', "eighth").is_none());
        drop(first);
        assert!(take('e', "ninth").is_some());
    }
}
