//! A transport from outside, behind a vtable: both ends of a flow and all packets between them.
//!
//! A [`Transport`] holds the settings that a user's text describes; each flow has [`OwnEnds`] made from them. The host calls these ends like
//! [`Ends`], with one difference: the ends see the host behind a vtable, and its calls do not fail. If the host refuses a packet, the run ends
//! with that error after the call.
//!
//! The contents of packets are plain numbers. Ends whose packets carry bytes store the bytes themselves, under a number in the contents, and
//! return true from [`Transport::keeps_packets`]: the host then reports each packet that the path drops or copies, so that the ends can free
//! the bytes.

use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::experience::Experience;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt::Debug;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};
use qdelay_core::{Packet, Span, Time};

/// The host of [`OwnEnds`], behind a vtable.
pub type AnyHost<'a> = dyn Host<Error = Infallible> + 'a;

/// A transport that is not built in.
pub trait Transport: Debug + Send + Sync {
    /// Creates the ends of a flow, before any packet is sent.
    fn ends(&self, flow: &FlowStart<'_>) -> Box<dyn OwnEnds>;

    /// Whether the host reports dropped and copied packets: [`OwnEnds::lost`] and [`OwnEnds::doubled`].
    fn keeps_packets(&self) -> bool {
        false
    }

    /// Application bytes that a flow transfers; `None`: until the run ends.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// Whether a flow adapts to the capacity of the path, as a connection does; other flows have a rate of their own.
    fn is_elastic(&self) -> bool {
        true
    }

    /// Subcommand of `qdelay` that runs a flow of this transport over UDP sockets, for the real clock; `None` without one. `NAME receive ADDRESS`
    /// and `NAME send ADDRESS` have the options of `qdelay quic`. On an interrupt the sender prints a JSON object with `final_cwnd`,
    /// `final_srtt_ms`, `srtt_mean_ms` and `retransmits`.
    fn program(&self) -> Option<&'static str> {
        None
    }

    /// Checks that [`Transport::program`] can run this transport on a link of `mtu` bytes.
    ///
    /// # Errors
    /// The setting that the program does not support, and the expected one.
    fn check_sockets(&self, mtu: u16) -> Result<(), String> {
        let _ = mtu;
        Ok(())
    }
}

/// Both ends of a flow of a [`Transport`]. The calls are those of [`Ends`].
pub trait OwnEnds {
    /// See [`Ends::wake`].
    fn wake(&mut self, now: Time, is_stopped: bool, host: &mut AnyHost<'_>) -> Time;

    /// See [`Ends::arrive`].
    fn arrive(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut AnyHost<'_>,
    ) -> Time;

    /// Bounds the sender's stream to its first `total` bytes: later bytes wait for a larger offer, and the connection stays open. Before the
    /// first call there is no bound; an application that produces data over time therefore offers 0 bytes before the flow begins. A `total`
    /// below an earlier one has no effect. Returns a time at which the ends are to be called, in addition to earlier ones; `None` if these ends
    /// do not support offers. [`Host::in_order`] reports the bytes that have arrived.
    fn offer(&mut self, now: Time, total: u64, host: &mut AnyHost<'_>) -> Option<Time> {
        let _ = (now, total, host);
        None
    }

    /// The path has dropped a packet with these contents.
    fn lost(&mut self, contents: &Contents) {
        let _ = contents;
    }
    /// The path has copied a packet with these contents.
    fn doubled(&mut self, contents: &Contents) {
        let _ = contents;
    }

    /// See [`Ends::delivered_bytes`].
    fn delivered_bytes(&self) -> u64;
    /// See [`Ends::smoothed_rtt`].
    fn smoothed_rtt(&self) -> Option<Span>;
    /// See [`Ends::connection`].
    fn connection(&self) -> Option<ConnectionState> {
        None
    }
    /// See [`Ends::has_round_trips`].
    fn has_round_trips(&self) -> bool {
        false
    }
    /// See [`Ends::end_warmup`].
    fn end_warmup(&mut self, now: Time) {
        let _ = now;
    }
    /// See [`Ends::figures`].
    fn figures(&self, end: Time) -> EndFigures;
    /// See [`Ends::experience`].
    fn experience(&self, end: Time) -> Option<Experience<'_>> {
        let _ = end;
        None
    }
}

/// The function that builds a transport from outside.
pub(crate) type Maker = Box<dyn Fn(&Arguments) -> Result<OwnConfig, ComponentError> + Send + Sync>;

/// An entry of a [`Registry`](qdelay_core::component::Registry): `build` makes the transport from the arguments of `component`.
pub fn custom<T: Transport + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<T, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| {
        let transport: Arc<dyn Transport> = Arc::new(build(arguments)?);
        Ok(OwnConfig(transport))
    });
    Custom::new(component, maker)
}

/// Settings of a transport from outside.
#[derive(Clone, Debug)]
pub struct OwnConfig(Arc<dyn Transport>);

impl OwnConfig {
    /// The transport.
    pub fn transport(&self) -> &dyn Transport {
        &*self.0
    }
}

/// Built-in components of this kind: none.
pub(crate) const COMPONENTS: &[&Component] = &[];

/// Refuses all arguments: no component of this kind is built in.
pub(crate) fn build(arguments: &Arguments) -> Result<OwnConfig, ComponentError> {
    Err(arguments.fail(String::from("no transport of this kind is built in")))
}

/// Both ends of a flow of a transport from outside.
pub struct BoxedEnds {
    ends: Box<dyn OwnEnds>,
    keeps_packets: bool,
}

/// Adapter of a host for one call: its calls do not fail, and it keeps the first error of the host.
struct Carrier<'a, H: Host> {
    host: &'a mut H,
    refused: Result<(), H::Error>,
}

impl<H: Host> Host for Carrier<'_, H> {
    type Error = Infallible;

    fn draw(&mut self) -> bool {
        self.host.draw()
    }
    fn send(&mut self, end: End, outgoing: Outgoing) -> Result<(), Infallible> {
        if self.refused.is_ok() {
            self.refused = self.host.send(end, outgoing);
        }
        Ok(())
    }
    fn sent(&mut self, end: u64) {
        self.host.sent(end);
    }
    fn arrived(&mut self, first: u64, end: u64) {
        self.host.arrived(first, end);
    }
    fn in_order(&mut self, bytes: u64) {
        self.host.in_order(bytes);
    }
    fn round_trip(&mut self, span: Span) {
        self.host.round_trip(span);
    }
}

impl BoxedEnds {
    /// See [`OwnEnds::offer`]; [`Time::NEVER`] if the ends do not support offers.
    ///
    /// # Errors
    /// The host refuses a packet.
    pub fn offer<H: Host>(&mut self, now: Time, total: u64, host: &mut H) -> Result<Time, H::Error> {
        let mut carrier = Carrier { host, refused: Ok(()) };
        let due = self.ends.offer(now, total, &mut carrier);
        carrier.refused.map(|()| due.unwrap_or(Time::NEVER))
    }
}

impl Ends for BoxedEnds {
    type Config = OwnConfig;

    fn new(config: &OwnConfig, flow: &FlowStart<'_>) -> BoxedEnds {
        BoxedEnds { ends: config.0.ends(flow), keeps_packets: config.0.keeps_packets() }
    }

    fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
        let mut carrier = Carrier { host, refused: Ok(()) };
        let due = self.ends.wake(now, is_stopped, &mut carrier);
        carrier.refused.map(|()| due)
    }

    fn arrive<H: Host>(
        &mut self,
        now: Time,
        at: End,
        packet: &Packet,
        contents: &Contents,
        is_stopped: bool,
        host: &mut H,
    ) -> Result<Time, H::Error> {
        let mut carrier = Carrier { host, refused: Ok(()) };
        let due = self.ends.arrive(now, at, packet, contents, is_stopped, &mut carrier);
        carrier.refused.map(|()| due)
    }

    fn keeps_packets(&self) -> bool {
        self.keeps_packets
    }
    fn lost(&mut self, contents: &Contents) {
        self.ends.lost(contents);
    }
    fn doubled(&mut self, contents: &Contents) {
        self.ends.doubled(contents);
    }
    fn delivered_bytes(&self) -> u64 {
        self.ends.delivered_bytes()
    }
    fn smoothed_rtt(&self) -> Option<Span> {
        self.ends.smoothed_rtt()
    }
    fn connection(&self) -> Option<ConnectionState> {
        self.ends.connection()
    }
    fn has_round_trips(&self) -> bool {
        self.ends.has_round_trips()
    }
    fn end_warmup(&mut self, now: Time) {
        self.ends.end_warmup(now);
    }
    fn figures(&self, end: Time) -> EndFigures {
        self.ends.figures(end)
    }
    fn experience(&self, end: Time) -> Option<Experience<'_>> {
        self.ends.experience(end)
    }
}
