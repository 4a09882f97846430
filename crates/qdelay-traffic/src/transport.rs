//! The registry of transports: TCP, named by its congestion controls; the datagram sources `udp`, `voip` and `gaming`; `tfrc` and `audio`, whose
//! rate TFRC controls; `sprout`; the applications over connections, `dash` and `web`; and video calls.
//!
//! Each transport has a module with `COMPONENTS`, which users can name, and a function `build`, which makes settings from
//! arguments. The registry below has one line per transport.

use crate::audio::{AudioConfig, AudioEnds};
use crate::connection::{Carriers, ConnectionConfig};
use crate::datagrams::Datagrams;
use crate::ends::{ConnectionState, Contents, End, EndFigures, Ends, FlowStart, Host};
use crate::experience::Experience;
use crate::own::{BoxedEnds, OwnConfig};
use crate::sprout::{SproutConfig, SproutEnds};
use crate::streaming::{StreamConfig, StreamEnds};
use crate::tcp::{TcpConfig, TcpEnds};
use crate::tfrc::{TfrcConfig, TfrcEnds};
use crate::udp::{Gaps, UdpConfig};
use crate::video::{VideoConfig, VideoEnds};
use crate::web::{WebConfig, WebEnds};
use crate::{audio, gaming, own, source, sprout, streaming, tcp, tfrc, udp, video, voip, web};
use alloc::boxed::Box;
use alloc::format;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_core::{Packet, Span, Time};

/// Generates [`TransportConfig`], [`COMPONENTS`], [`TransportConfig::build`] and [`AnyEnds`]. A line names the enum variant, the type of
/// the settings, the type of the ends, and the modules that declare components of this variant, in the order of listing. A module may have an
/// additional argument for its `build` in parentheses.
macro_rules! transports {
    ($($(#[$about:meta])+ $kind:ident($config:ident => $ends:ident): $($module:ident $(($extra:expr))?),+;)+) => {
        /// Settings of a flow's transport.
        #[derive(Clone, Debug)]
        #[allow(clippy::large_enum_variant, reason = "one per flow")]
        pub enum TransportConfig {
            $($(#[$about])+ $kind($config),)+
        }

        const BY_MODULE: &[&[&Component]] = &[$($($module::COMPONENTS),+),+];

        impl TransportConfig {
            /// Builds the transport that the arguments describe.
            ///
            /// # Errors
            /// The parameters contradict each other, or the component is not a transport; the message says which.
            pub fn build(arguments: &Arguments) -> Result<TransportConfig, ComponentError> {
                if let Some(build) = arguments.maker::<source::Maker>() {
                    let gaps = Gaps::Custom(build(arguments)?);
                    return Ok(TransportConfig::Udp(UdpConfig::new(0, gaps)));
                }
                if let Some(build) = arguments.maker::<own::Maker>() {
                    return build(arguments).map(TransportConfig::Own);
                }
                // A component from outside that is neither a source nor a transport is a congestion control: TCP with that control.
                let is_custom = arguments.registry().components().any(|own| core::ptr::eq(own, arguments.component()));
                if is_custom {
                    return tcp::build(arguments).map(TransportConfig::Tcp);
                }
                let name = arguments.component().name;
                let is_of = |components: &[&Component]| components.iter().any(|component| component.name == name);
                $($(if is_of($module::COMPONENTS) {
                    return $module::build(arguments $(, $extra)?).map(TransportConfig::$kind);
                })+)+
                Err(arguments.fail(format!("'{name}' is not a transport")))
            }

            /// Creates the ends of a flow with these settings, before any packet is sent.
            pub fn ends(&self, flow: &FlowStart<'_>) -> AnyEnds {
                match self {
                    $(TransportConfig::$kind(config) => AnyEnds::from($ends::new(config, flow)),)+
                }
            }
        }

        /// Both ends of a flow of any transport.
        pub enum AnyEnds {
            $($(#[$about])+ $kind(Box<$ends>),)+
        }

        $(impl From<$ends> for AnyEnds {
            fn from(ends: $ends) -> AnyEnds {
                AnyEnds::$kind(Box::new(ends))
            }
        })+

        impl AnyEnds {
            /// See [`Ends::wake`].
            ///
            /// # Errors
            /// Errors of the host.
            #[inline]
            pub fn wake<H: Host>(&mut self, now: Time, is_stopped: bool, host: &mut H) -> Result<Time, H::Error> {
                match self { $(AnyEnds::$kind(ends) => ends.wake(now, is_stopped, host),)+ }
            }
            /// See [`Ends::arrive`].
            ///
            /// # Errors
            /// Errors of the host.
            #[inline]
            pub fn arrive<H: Host>(
                &mut self,
                now: Time,
                at: End,
                packet: &Packet,
                contents: &Contents,
                is_stopped: bool,
                host: &mut H,
            ) -> Result<Time, H::Error> {
                match self {
                    $(AnyEnds::$kind(ends) => ends.arrive(now, at, packet, contents, is_stopped, host),)+
                }
            }
            /// See [`Ends::keeps_packets`].
            pub fn keeps_packets(&self) -> bool {
                match self { $(AnyEnds::$kind(ends) => ends.keeps_packets(),)+ }
            }
            /// See [`Ends::lost`].
            pub fn lost(&mut self, contents: &Contents) {
                match self { $(AnyEnds::$kind(ends) => ends.lost(contents),)+ }
            }
            /// See [`Ends::doubled`].
            pub fn doubled(&mut self, contents: &Contents) {
                match self { $(AnyEnds::$kind(ends) => ends.doubled(contents),)+ }
            }
            /// See [`Ends::delivered_bytes`].
            pub fn delivered_bytes(&self) -> u64 {
                match self { $(AnyEnds::$kind(ends) => ends.delivered_bytes(),)+ }
            }
            /// See [`Ends::smoothed_rtt`].
            pub fn smoothed_rtt(&self) -> Option<Span> {
                match self { $(AnyEnds::$kind(ends) => ends.smoothed_rtt(),)+ }
            }
            /// See [`Ends::connection`].
            pub fn connection(&self) -> Option<ConnectionState> {
                match self { $(AnyEnds::$kind(ends) => ends.connection(),)+ }
            }
            /// See [`Ends::has_round_trips`].
            pub fn has_round_trips(&self) -> bool {
                match self { $(AnyEnds::$kind(ends) => ends.has_round_trips(),)+ }
            }
            /// See [`Ends::end_warmup`].
            pub fn end_warmup(&mut self, now: Time) {
                match self { $(AnyEnds::$kind(ends) => ends.end_warmup(now),)+ }
            }
            /// See [`Ends::figures`].
            pub fn figures(&self, end: Time) -> EndFigures {
                match self { $(AnyEnds::$kind(ends) => ends.figures(end),)+ }
            }
            /// See [`Ends::experience`].
            pub fn experience(&self, end: Time) -> Option<Experience<'_>> {
                match self { $(AnyEnds::$kind(ends) => ends.experience(end),)+ }
            }
        }
    };
}

transports! {
    /// TCP with a congestion control.
    Tcp(TcpConfig => TcpEnds): tcp;
    /// Datagrams at a rate of their own.
    Udp(UdpConfig => Datagrams): udp, voip, gaming;
    /// Packets at the rate that TFRC allows.
    Tfrc(TfrcConfig => TfrcEnds): tfrc;
    /// A call that adapts its rate and the codepoint of its packets (ABE).
    Audio(AudioConfig => AudioEnds): audio;
    /// Packets within Sprout's forecast of the link's deliveries.
    Sprout(SproutConfig => SproutEnds): sprout;
    /// A player of adaptive video over a connection.
    Stream(StreamConfig => StreamEnds): streaming(&CARRIERS);
    /// A browser and its connections.
    Web(WebConfig => WebEnds): web(&CARRIERS);
    /// A video call.
    Video(VideoConfig => VideoEnds): video;
    /// A transport from outside.
    Own(OwnConfig => BoxedEnds): own;
}

impl TransportConfig {
    /// Application bytes that a flow transfers; `None` for a flow without an end and for applications.
    pub fn bytes(&self) -> Option<u64> {
        match self {
            TransportConfig::Tcp(tcp) => tcp.bytes,
            TransportConfig::Own(own) => own.transport().bytes(),
            TransportConfig::Udp(_)
            | TransportConfig::Tfrc(_)
            | TransportConfig::Audio(_)
            | TransportConfig::Sprout(_)
            | TransportConfig::Stream(_)
            | TransportConfig::Web(_)
            | TransportConfig::Video(_) => None,
        }
    }

    /// Whether a flow is an elastic transfer that lasts until the run ends: a load.
    pub fn is_endless_transfer(&self) -> bool {
        match self {
            TransportConfig::Tcp(tcp) => tcp.bytes.is_none(),
            TransportConfig::Own(own) => own.transport().is_elastic() && own.transport().bytes().is_none(),
            TransportConfig::Udp(_)
            | TransportConfig::Tfrc(_)
            | TransportConfig::Audio(_)
            | TransportConfig::Sprout(_)
            | TransportConfig::Stream(_)
            | TransportConfig::Web(_)
            | TransportConfig::Video(_) => false,
        }
    }
}

/// The transports over which an application can run, for the parameter `over`.
const CARRIERS: Carriers = Carriers { components: COMPONENTS, build: connection };

fn connection(arguments: &Arguments) -> Result<Option<ConnectionConfig>, ComponentError> {
    Ok(match TransportConfig::build(arguments)? {
        TransportConfig::Tcp(tcp) => Some(ConnectionConfig::Tcp(tcp)),
        TransportConfig::Own(own) => Some(ConnectionConfig::Own(own)),
        TransportConfig::Udp(_)
        | TransportConfig::Tfrc(_)
        | TransportConfig::Audio(_)
        | TransportConfig::Sprout(_)
        | TransportConfig::Stream(_)
        | TransportConfig::Web(_)
        | TransportConfig::Video(_) => None,
    })
}

/// Components of all transports.
pub static COMPONENTS: &[&Component] = &{
    let mut all = [BY_MODULE[0][0]; count(BY_MODULE)];
    let (mut next, mut module) = (0, 0);
    while module < BY_MODULE.len() {
        let mut index = 0;
        while index < BY_MODULE[module].len() {
            all[next] = BY_MODULE[module][index];
            (next, index) = (next + 1, index + 1);
        }
        module += 1;
    }
    all
};

const fn count(lists: &[&[&Component]]) -> usize {
    let (mut count, mut list) = (0, 0);
    while list < lists.len() {
        (count, list) = (count + lists[list].len(), list + 1);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::playout::PlayoutSetting;
    use crate::voice::{Call, Codec};
    use alloc::vec::Vec;
    use qdelay_core::component::Kind;

    #[test]
    fn every_component_builds_from_its_defaults() {
        for component in COMPONENTS {
            assert_eq!(component.kind, Kind::Transport);
            assert!(TransportConfig::build(&Arguments::defaults(component)).is_ok(), "{}", component.name);
        }
        let names: Vec<&str> = COMPONENTS.iter().map(|component| component.name).collect();
        assert!(names.starts_with(&["cubic", "bbr", "reno"]), "{names:?}");
        let others = ["udp", "voip", "gaming", "tfrc", "audio", "sprout", "webrtc"];
        assert!(others.iter().all(|name| names.contains(name)), "{names:?}");
        let other = Arguments::defaults(qdelay_core::qdisc::COMPONENTS[0]);
        assert!(TransportConfig::build(&other).unwrap_err().message.contains("is not a transport"));
    }

    fn datagrams(text: &str) -> UdpConfig {
        let built = TransportConfig::build(&Arguments::parse(COMPONENTS, text).unwrap()).unwrap();
        let TransportConfig::Udp(config) = built else { panic!("not UDP") };
        config
    }

    #[test]
    fn udp_has_a_constant_gap_and_refuses_off_without_on() {
        assert_eq!(
            datagrams("udp:4mbit:size=1000b"),
            UdpConfig::new(1000, Gaps::constant(Span::from_millis(2)))
        );
        let arguments = Arguments::parse(COMPONENTS, "udp:off=1s").unwrap();
        assert!(TransportConfig::build(&arguments).is_err());
    }

    #[test]
    fn voip_builds_packets_gaps_and_playout_of_its_parameters() {
        let ms = Span::from_millis;
        let call = datagrams("voip");
        assert_eq!((call.bytes, call.gaps, call.echo), (200, Gaps::constant(ms(20)), false));
        let playout = PlayoutSetting::adaptive(ms(60));
        assert_eq!(call.call, Some(Call { codec: Codec::G711Concealed, interval: ms(20), playout }));
        let call = datagrams("voip:10ms:phase=300us:echo=on:concealment=off:playout=fixed:buffer=40ms");
        assert_eq!((call.bytes, call.phase, call.echo), (120, Span::from_micros(300), true));
        let playout = PlayoutSetting::fixed(ms(40));
        assert_eq!(call.call, Some(Call { codec: Codec::G711, interval: ms(10), playout }));
        let spurts = Gaps::Spurts { gap: ms(20), talk: ms(1004), pause: ms(1587) };
        assert_eq!(datagrams("voip:talk=1004ms:pause=1587ms").gaps, spurts);
        let one = Arguments::parse(COMPONENTS, "voip:talk=1s").unwrap();
        assert!(TransportConfig::build(&one).unwrap_err().message.contains("expected both"));
    }
}
