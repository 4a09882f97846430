//! The component `quic`: parameters, their checks, and the settings that they make.

use crate::config::{Control, QuicConfig};
use crate::crypto::{Profile, tls};
use crate::ends::QuicEnds;
use crate::socket;
use qdelay_core::Rate;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom, Kind, Typed, Unit};
use qdelay_traffic::ends::FlowStart;
use qdelay_traffic::own::{self, OwnEnds, Transport};

const CONTROL: Typed<str> = Typed::new(
    "control",
    "cubic",
    "Congestion control: cubic and newreno are the stack's; bbr is that of TCP",
)
.unit(Unit::Choice(&["cubic", "newreno", "bbr"]))
.source("quinn-proto's default");
const CRYPTO: Typed<str> = Typed::new(
    "crypto",
    "none",
    "Cryptography: tls, or none, which leaves packets of the same size in plain text",
)
.unit(Unit::Choice(&["none", "tls"]))
.source("both give the same results");
const STREAMS: Typed<Option<u32>> =
    Typed::new("streams", "", "Streams sent in parallel; default 1, or 0 if there are datagrams")
        .unit(Unit::Count("streams"))
        .within("0", "1000")
        .source("one transfer");
const DATAGRAMS: Typed<Option<Rate>> = Typed::new(
    "datagrams",
    "",
    "Rate of application data in DATAGRAM frames, which are not retransmitted; default no datagrams",
)
.within("1kbit", "10gbit")
.source("RFC 9221");
const BYTES: Typed<Option<u64>> = Typed::new(
    "bytes",
    "",
    "Application bytes of all streams together, after which they end; default until the run ends",
)
.unit(Unit::Bytes)
.within("1", "")
.source("none");
const SIZE: Typed<u64> = Typed::new("size", "1480b", "Largest IP packet; fixed, without path MTU discovery")
    .unit(Unit::Bytes)
    .within("1228", "16384")
    .source("the MTU that quinn-proto discovers on Ethernet");
const WINDOW: Typed<u64> = Typed::new("window", "1250000b", "Receive window of each stream")
    .unit(Unit::Bytes)
    .within("2000", "1000mb")
    .source("quinn-proto's default, for 100 Mbit/s and 100 ms");
const ECN: Typed<bool> = Typed::new("ecn", "off", "Whether packets are ECN-capable")
    .source("off as for TCP; quinn's sockets have it on");

static COMPONENT: Component = Component::new(Kind::Transport, "quic", "A connection of the QUIC stack quinn")
    .source("RFC 9000, RFC 9002; quinn-proto 0.11")
    .with(&[
        CONTROL.parameter(),
        BYTES.parameter(),
        STREAMS.parameter(),
        DATAGRAMS.parameter(),
        SIZE.parameter(),
        WINDOW.parameter(),
        ECN.parameter(),
        CRYPTO.parameter(),
    ])
    .positional("control");

/// The transport component `quic`.
pub const COMPONENTS: &[&Component] = &[&COMPONENT];

/// The transport `quic` as an entry of a [`Registry`](qdelay_core::component::Registry).
pub fn custom() -> Custom {
    own::custom(&COMPONENT, build)
}

/// Builds the settings of the connection that `arguments` describe.
///
/// # Errors
/// The parameters contradict each other.
pub fn build(arguments: &Arguments) -> Result<QuicConfig, ComponentError> {
    let (datagrams, bytes) = (arguments.get(&DATAGRAMS), arguments.get(&BYTES));
    let streams = arguments.get(&STREAMS).unwrap_or(u32::from(datagrams.is_none() || bytes.is_some()));
    if streams == 0 && datagrams.is_none() {
        return Err(arguments.fail(
            "neither streams nor datagrams; expected streams=1 or more, or a rate of datagrams".to_string(),
        ));
    }
    if let Some(bytes) = bytes
        && bytes < u64::from(streams).max(1)
    {
        return Err(arguments
            .fail(format!("{bytes} bytes for {streams} streams; expected at least one byte for each")));
    }
    if streams == 0 && bytes.is_some() {
        return Err(
            arguments.fail("bytes needs a stream, but streams=0; expected streams=1 or more".to_string())
        );
    }
    let crypto = if arguments.get(&CRYPTO) == "tls" { Profile::Tls } else { Profile::Null };
    if crypto == Profile::Tls {
        tls::configs().map_err(|error| arguments.fail(error))?;
    }
    Ok(QuicConfig {
        control: match arguments.get(&CONTROL) {
            "newreno" => Control::NewReno,
            "bbr" => Control::Bbr,
            _ => Control::Cubic,
        },
        crypto,
        streams,
        datagrams,
        bytes,
        ip_bytes: arguments.get(&SIZE) as u16,
        window: arguments.get(&WINDOW),
        ecn: arguments.get(&ECN),
    })
}

impl Transport for QuicConfig {
    fn ends(&self, flow: &FlowStart<'_>) -> Box<dyn OwnEnds> {
        Box::new(QuicEnds::new(self, flow))
    }
    fn keeps_packets(&self) -> bool {
        true
    }
    fn bytes(&self) -> Option<u64> {
        self.bytes
    }
    fn is_elastic(&self) -> bool {
        self.streams > 0
    }
    fn program(&self) -> Option<&'static str> {
        Some("quic")
    }
    fn check_sockets(&self, mtu: u16) -> Result<(), String> {
        socket::check(self, mtu)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quic(text: &str) -> Result<QuicConfig, String> {
        let arguments = Arguments::parse(COMPONENTS, text).map_err(|error| error.to_string())?;
        build(&arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn texts_set_their_parameters_and_the_others_have_defaults() {
        let plain = quic("quic").unwrap();
        assert_eq!((plain.control, plain.crypto, plain.streams), (Control::Cubic, Profile::Null, 1));
        assert_eq!(quic("quic:newreno").unwrap(), QuicConfig { control: Control::NewReno, ..plain.clone() });
        let tls = quic("quic:control=bbr:crypto=tls:ecn=on:streams=3:bytes=1mb:size=1500b").unwrap();
        let expected = QuicConfig {
            control: Control::Bbr,
            crypto: Profile::Tls,
            ecn: true,
            streams: 3,
            bytes: Some(1_000_000),
            ip_bytes: 1500,
            ..plain
        };
        assert_eq!(tls, expected);
        assert_eq!(quic("quic:datagrams=2mbit").unwrap().streams, 0);
        assert_eq!(quic("quic:datagrams=2mbit:streams=2").unwrap().streams, 2);
    }

    #[test]
    fn unknown_keys_and_contradictions_are_refused() {
        let refused = |text| quic(text).unwrap_err();
        assert!(refused("quic:hystart=off").contains("quic has no key 'hystart'; known: control, bytes,"));
        assert!(refused("quic:control=vegas").contains("control=vegas"));
        assert!(refused("quic:control=vegas").contains("expected one of cubic, newreno, bbr"));
        assert!(refused("quic:streams=0").contains("neither streams nor datagrams"));
        assert!(refused("quic:streams=0:datagrams=1mbit:bytes=1mb").contains("bytes needs a stream"));
        assert!(refused("quic:streams=3:bytes=2b").contains("2 bytes for 3 streams"));
        assert!(refused("quic:size=1200b").contains("1228"));
    }
}
