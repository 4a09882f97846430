//! Limit of connections: an idle connection is closed if a new one needs its slot.
//!
//! A connection is *idle* while its client is expected to send. If all slots are taken, an idle connection is closed: that of the peer
//! with the most idle connections which has been idle for longest. A client that opens many connections, or leaves them idle, therefore
//! loses its own; a client that sends its request at once is served however many others do not.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Slots for connections; `K` identifies the peer of a connection.
pub struct ConnectionSlots<K>(Arc<Mutex<State<K>>>);

struct State<K> {
    most: usize,
    /// Event counter as a clock: larger is later.
    now: u64,
    held: Vec<Held<K>>,
}

struct Held<K> {
    number: u64,
    peer: K,
    /// Event count since which the connection is idle; `None` while it is served.
    waits: Option<u64>,
    close: Box<dyn Fn() + Send>,
}

/// Slot of a connection, freed when dropped.
pub struct ConnectionSlot<K> {
    state: Arc<Mutex<State<K>>>,
    number: u64,
}

impl<K: PartialEq> ConnectionSlots<K> {
    /// Creates `most` free slots.
    pub fn new(most: usize) -> ConnectionSlots<K> {
        ConnectionSlots(Arc::new(Mutex::new(State { most, now: 0, held: Vec::new() })))
    }

    /// Takes a slot for a connection that is now idle, and that `close` closes. `None` if all slots are taken by connections that are
    /// being served.
    pub fn acquire(&self, peer: K, close: impl Fn() + Send + 'static) -> Option<ConnectionSlot<K>> {
        let mut state = lock(&self.0);
        if state.held.len() >= state.most {
            let oldest = state.longest_idle()?;
            (state.held.swap_remove(oldest).close)();
        }
        state.now += 1;
        let number = state.now;
        state.held.push(Held { number, peer, waits: Some(number), close: Box::new(close) });
        Some(ConnectionSlot { state: Arc::clone(&self.0), number })
    }
}

impl<K: PartialEq> State<K> {
    fn longest_idle(&self) -> Option<usize> {
        let of_peer = |peer: &K| self.held.iter().filter(|held| held.peer == *peer).count();
        let rank = |held: &Held<K>| Some((usize::MAX - of_peer(&held.peer), held.waits?));
        let ranks = self.held.iter().enumerate().filter_map(|(at, held)| Some((rank(held)?, at)));
        ranks.min().map(|(_, at)| at)
    }
}

impl<K> ConnectionSlot<K> {
    /// Marks the connection as being served, so that it is not closed for another.
    pub fn set_busy(&self) {
        self.set(false);
    }

    /// Marks the connection as idle again.
    pub fn set_idle(&self) {
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

impl<K> Drop for ConnectionSlot<K> {
    fn drop(&mut self) {
        // The slot may have been freed for another connection already.
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
    fn the_longest_idle_connection_of_the_peer_with_the_most_is_closed() {
        let closed = Arc::new(Mutex::new(Vec::new()));
        let slots = ConnectionSlots::new(4);
        let take = |peer: char, name: &'static str| {
            let closed = Arc::clone(&closed);
            slots.acquire(peer, move || lock(&closed).push(name))
        };
        let first = take('a', "first");
        let second = take('b', "second").unwrap();
        let third = take('b', "third").unwrap();
        let fourth = take('b', "fourth").unwrap();
        assert!(lock(&closed).is_empty());
        // 'a' has been idle for longer, but 'b' holds more slots.
        second.set_busy();
        let fifth = take('c', "fifth").unwrap();
        assert_eq!(*lock(&closed), ["third"]);
        second.set_idle();
        drop(take('c', "sixth").unwrap());
        assert_eq!(*lock(&closed), ["third", "fourth"]);
        // A connection that was closed for another has no slot to free.
        drop((third, fourth));
        let seventh = take('d', "seventh").unwrap();
        assert_eq!(lock(&closed).len(), 2);
        for slot in [first.as_ref().unwrap(), &second, &fifth, &seventh] {
            slot.set_busy();
        }
        assert!(take('e', "eighth").is_none());
        drop(first);
        assert!(take('e', "ninth").is_some());
    }
}
