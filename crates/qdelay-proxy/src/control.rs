//! Requests to a running proxy from other threads.

use mio::Waker;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A request to the loop.
#[derive(Debug)]
pub enum Command {
    /// End the loop.
    Stop,
    /// Reset every open connection, at both sides.
    Reset,
}

/// A handle for requests. Clones refer to the same proxy.
#[derive(Clone, Debug)]
pub struct Control {
    commands: Sender<Command>,
    waker: Arc<Waker>,
}

/// Error: the proxy has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProxyEnded;

impl fmt::Display for ProxyEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the proxy has ended")
    }
}
impl std::error::Error for ProxyEnded {}

impl Control {
    pub(crate) fn new(waker: Waker) -> (Control, Receiver<Command>) {
        let (commands, inbox) = channel();
        (Control { commands, waker: Arc::new(waker) }, inbox)
    }

    /// Sends a request, and returns without waiting for its effect.
    ///
    /// # Errors
    /// The proxy has ended.
    pub fn send(&self, command: Command) -> Result<(), ProxyEnded> {
        self.commands.send(command).map_err(|_| ProxyEnded)?;
        self.waker.wake().map_err(|_| ProxyEnded)
    }
}
