//! A transport from outside, behind a vtable: both ends of a flow, with whatever packets they exchange.
//!
//! A [`Transport`] is what a user's text describes; each flow has [`OwnEnds`] of it. They are called as [`Ends`] are, except that their
//! host is behind a vtable too and never fails: what it refuses ends the run after the call.
//!
//! The contents of packets are plain numbers. Ends whose packets have bytes store these themselves, under a number in the contents, and
//! say so by [`Transport::keeps_packets`]: they are then told of each packet that the path drops or doubles, and can free its bytes.

use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host, Outgoing};
use crate::experience::Experience;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use core::convert::Infallible;
use core::fmt::Debug;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};
use qdelay_core::{Packet, Span, Time};

/// The carrier of the packets of [`OwnEnds`].
pub type AnyHost<'a> = dyn Host<Error = Infallible> + 'a;

/// A transport that is not built in.
pub trait Transport: Debug + Send + Sync {
    /// The ends of a flow; nothing is sent yet.
    fn ends(&self, flow: &FlowStart<'_>) -> Box<dyn OwnEnds>;

    /// Whether the ends want to know what becomes of packets that do not arrive: [`OwnEnds::lost`] and [`OwnEnds::doubled`].
    fn keeps_packets(&self) -> bool {
        false
    }

    /// Application bytes that a flow transfers; `None` for as long as the run lasts.
    fn bytes(&self) -> Option<u64> {
        None
    }

    /// Whether a flow takes what the path gives, as a connection does; the others have a rate of their own.
    fn is_elastic(&self) -> bool {
        true
    }

    /// The subcommand of the program that runs a flow of this transport over UDP sockets, for the real clock; `None` where there is
    /// none. `NAME receive ADDRESS` and `NAME send ADDRESS` have the options of `qdelay quic`. When it is interrupted, the sender
    /// prints a JSON object with `final_cwnd`, `final_srtt_ms`, `srtt_mean_ms` and `retransmits`.
    fn program(&self) -> Option<&'static str> {
        None
    }

    /// Checks that [`Transport::program`] can run it, where packets have at most `mtu` bytes.
    ///
    /// # Errors
    /// What it cannot, and what is expected.
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

    /// The application has offered the first `total` bytes of its stream: what is behind them is not sent before more are offered, and the
    /// connection stays open. Before the first call there is no such bound, so that an application that produces its data as it goes
    /// begins with a call of 0 bytes before the flow begins. A smaller `total` than before changes nothing. Returns when the ends want to be
    /// called for it, which changes nothing of what they wanted before; `None` where they cannot send as an application offers.
    /// [`Host::in_order`] says what has arrived.
    fn offer(&mut self, now: Time, total: u64, host: &mut AnyHost<'_>) -> Option<Time> {
        let _ = (now, total, host);
        None
    }

    /// A packet with these contents will not arrive.
    fn lost(&mut self, contents: &Contents) {
        let _ = contents;
    }
    /// There is one packet more with these contents.
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

/// A transport for a [`Registry`](qdelay_core::component::Registry), which `build` makes of arguments of `component`.
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

/// A transport that is not built in, as it is declared.
#[derive(Clone, Debug)]
pub struct OwnConfig(Arc<dyn Transport>);

impl OwnConfig {
    /// The transport.
    pub fn transport(&self) -> &dyn Transport {
        &*self.0
    }
}

/// None is built in.
pub(crate) const COMPONENTS: &[&Component] = &[];

/// Never called, since no component is built in.
pub(crate) fn build(arguments: &Arguments) -> Result<OwnConfig, ComponentError> {
    Err(arguments.fail(String::from("no transport of this kind is built in")))
}

/// The ends of a flow of any such transport.
pub struct BoxedEnds {
    ends: Box<dyn OwnEnds>,
    keeps_packets: bool,
}

/// The host of one call, which remembers the first refusal.
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
    fn in_order(&mut self, bytes: u64) {
        self.host.in_order(bytes);
    }
    fn round_trip(&mut self, span: Span) {
        self.host.round_trip(span);
    }
}

impl BoxedEnds {
    /// See [`OwnEnds::offer`]; [`Time::NEVER`] where the ends cannot.
    ///
    /// # Errors
    /// Those of the host.
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
