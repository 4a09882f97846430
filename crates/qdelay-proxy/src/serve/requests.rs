//! Requests from other threads: the path is sampled and changed, and connections are reset.

use super::Proxy;
use super::tcp::reset_at_close;
use mio::Waker;
use qdelay_core::Time;
use qdelay_emu::control::{Controlled, LoopAction, Wake};
use qdelay_emu::device::Port;
use qdelay_emu::replace::Replaced;
use qdelay_emu::snapshot::{HostSample, LinkSettings, PortSample, Sample};
use qdelay_path::stack::{Adjustment, Plan};
use std::sync::Arc;

/// Wakes the loop of a proxy.
#[derive(Debug)]
pub struct PollWake(pub(super) Waker);

impl Wake for PollWake {
    fn wake(&self) {
        // The wait is bounded, so a wake-up that fails only delays the request.
        let _ = self.0.wake();
    }
}

impl Proxy {
    /// Serves pending requests.
    pub(super) fn obey(&mut self) {
        let Some(mut inbox) = self.inbox.take() else { return };
        let action = inbox.serve(self);
        self.inbox = Some(inbox);
        if action == LoopAction::Stop {
            match &mut self.at_stop {
                Some(act) => act(),
                None => self.is_stopped = true,
            }
        }
    }
}

impl Controlled for Proxy {
    fn sample(&mut self, settings: Arc<LinkSettings>, reloads: u64) -> Sample {
        let time = self.engine.advance(self.clock.now());
        self.update_audit(time);
        let metrics = self.engine.metrics();
        let sample = |port: Port| PortSample::new(port, metrics, self.engine.link_usage(port, time));
        Sample { time, ports: Port::ALL.map(sample), host: HostSample::from(&self.audit), settings, reloads }
    }

    fn replace(&mut self, plan: Plan) -> Result<Replaced, String> {
        self.engine.replace(self.clock.now(), plan).map(|(_, replaced)| replaced)
    }

    fn adjust(&mut self, adjustment: &Adjustment) -> Result<Time, String> {
        self.engine.adjust(self.clock.now(), adjustment)
    }

    /// Resets both sockets of each connection that has the port at one of its ends: the client's, that of the place it came to, or the
    /// target's. Nothing crosses the path for it.
    fn reset(&mut self, port: Option<u16>) -> (Time, usize) {
        let now = self.engine.advance(self.clock.now());
        let places: Vec<u16> =
            self.listeners.iter().map(|listener| listener.address().map_or(0, |own| own.port())).collect();
        let pairs = self.connections.pairs.iter_mut().filter_map(Option::as_mut);
        let has_port = |pair: &super::tcp::Pair, port: u16| {
            let target = self.mappings[pair.mapping].target.addresses.get(pair.attempt);
            port == pair.client
                || port == places[pair.mapping]
                || target.is_some_and(|target| port == target.port())
        };
        let mut ended = Vec::new();
        for pair in pairs.filter(|pair| port.is_none_or(|port| has_port(pair, port))) {
            pair.sockets.iter().flatten().for_each(|socket| reset_at_close(&socket.stream));
            ended.push(pair.key);
        }
        let mut count = 0;
        for key in ended {
            self.connections.remove(key);
            count += usize::from(self.engine.abort(key));
        }
        (now, count)
    }
}
