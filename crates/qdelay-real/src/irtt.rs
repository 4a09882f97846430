//! Call-like flows of irtt, whose server returns every packet.
//!
//! A flow is call-like if it is always on, with a small packet every 5 to 100 ms, such as G.711's 200 bytes every 20 ms
//! (`udp:80kbit:size=200b`). irtt's results are reported beside our own measures, and have to be consistent with them: no more
//! replies than the link has delivered, and no round trip shorter than the path's.

use super::measure::Echo;
use qdelay_core::Span;
use qdelay_sim::FlowSpec;
use qdelay_study::results::{Irtt, round};
use qdelay_traffic::transport::TransportConfig;
use serde_json::Value;
use std::process::{Command, Stdio};

/// Packet sizes of call-like flows in bytes. irtt's own headers take 88 bytes with those of IPv4 and UDP.
const BYTES: std::ops::RangeInclusive<u32> = 96..=400;
/// Range of intervals between packets of call-like flows.
const GAP: [Span; 2] = [Span::from_millis(5), Span::from_millis(100)];
/// Bytes of IPv4 and UDP headers.
const HEADERS: u32 = 28;

/// True if irtt can generate the flow.
pub fn is_call(flow: &FlowSpec) -> bool {
    gap(flow).is_some()
}

/// Payload bytes of a packet, and the interval between packets; `None` if the flow is not call-like.
pub fn gap(flow: &FlowSpec) -> Option<(u32, Span)> {
    let TransportConfig::Udp(udp) = &flow.transport else { return None };
    let gap = udp.gaps.as_constant()?;
    let is_call = BYTES.contains(&udp.bytes) && (GAP[0]..=GAP[1]).contains(&gap);
    is_call.then_some((udp.bytes - HEADERS, gap))
}

/// True if irtt is installed.
pub fn is_installed() -> bool {
    let version = Command::new("irtt")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    version.is_ok_and(|status| status.success())
}

/// Parses irtt's output; `None` if it is not a final report.
pub fn parse(flow: &str, printed: &Value) -> Option<Irtt> {
    let stats = printed.get("stats")?;
    let count = |name: &str| stats[name].as_u64();
    let ms = |name: &str, of: &str| stats[name][of].as_f64().map_or(0.0, |nanos| round(nanos / 1e6));
    Some(Irtt {
        flow: flow.to_string(),
        sent: count("packets_sent")?,
        received_forward: count("server_packets_received").unwrap_or(0),
        received_reverse: count("packets_received")? + count("duplicates").unwrap_or(0),
        round_trip_min_ms: ms("rtt", "min"),
        round_trip_mean_ms: ms("rtt", "mean"),
        round_trip_max_ms: ms("rtt", "max"),
        forward_min_ms: ms("send_delay", "min"),
        forward_mean_ms: ms("send_delay", "mean"),
        forward_max_ms: ms("send_delay", "max"),
        reverse_mean_ms: ms("receive_delay", "mean"),
    })
}

/// Contradictions between irtt's results and the link's counts.
pub fn contradictions(irtt: &Irtt, echo: Echo, base_rtt: Span) -> Vec<String> {
    let flow = &irtt.flow;
    let mut all = Vec::new();
    if irtt.received_reverse != echo.back {
        all.push(format!(
            "flow '{flow}': irtt got {} replies, and the link delivered {}",
            irtt.received_reverse, echo.back
        ));
    }
    // Each reply contains the number of packets that the server had received when it was sent.
    if irtt.received_forward > echo.there || irtt.received_forward < echo.back {
        all.push(format!(
            "flow '{flow}': irtt's server got {} packets; the link delivered {}, and {} replies",
            irtt.received_forward, echo.there, echo.back
        ));
    }
    let half = round((base_rtt / 2).as_millis_f64());
    let whole = round(base_rtt.as_millis_f64());
    for (what, measured, least) in
        [("one-way delay", irtt.forward_min_ms, half), ("round trip", irtt.round_trip_min_ms, whole)]
    {
        if irtt.received_reverse > 0 && measured < least {
            all.push(format!(
                "flow '{flow}': irtt measured a {what} of {measured} ms; the path has at least {least} ms"
            ));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use qdelay_core::component::Arguments;
    use qdelay_traffic::transport;
    use serde_json::json;

    fn flow(typed: &str) -> FlowSpec {
        let arguments = Arguments::parse(transport::COMPONENTS, typed).unwrap();
        FlowSpec::new(typed, TransportConfig::build(&arguments).unwrap())
    }

    #[test]
    fn small_packets_at_short_intervals_are_call_like() {
        assert_eq!(gap(&flow("udp:80kbit:size=200b")), Some((172, Span::from_millis(20))));
        assert_eq!(gap(&flow("voip:10ms:echo=on")), Some((92, Span::from_millis(10))));
        for other in [
            "udp:1mbit",
            "cubic",
            "udp:80kbit:size=200b:on=1s:off=1s",
            "udp:16kbit:size=40b",
            "voip:talk=1s:pause=1s",
            "gaming",
        ] {
            assert!(!is_call(&flow(other)), "{other}");
        }
    }

    #[test]
    fn irtt_results_have_to_agree_with_the_link() {
        let printed = json!({ "stats": {
            "packets_sent": 10, "server_packets_received": 9, "packets_received": 8, "duplicates": 0,
            "rtt": { "min": 20_500_000, "mean": 21e6, "max": 30e6 }, "send_delay": { "min": 10_100_000 },
        }});
        let irtt = parse("call", &printed).unwrap();
        assert_eq!((irtt.sent, irtt.received_forward, irtt.received_reverse), (10, 9, 8));
        assert_eq!((irtt.round_trip_min_ms, irtt.forward_min_ms, irtt.reverse_mean_ms), (20.5, 10.1, 0.0));
        let found =
            |there, back, ms| contradictions(&irtt, Echo { there, back }, Span::from_millis(ms)).len();
        assert_eq!((found(9, 8, 20), found(10, 8, 20)), (0, 0));
        assert_eq!((found(8, 8, 20), found(9, 7, 20), found(9, 8, 21)), (1, 1, 2));
        assert_eq!(parse("call", &Value::Null), None);
    }
}
