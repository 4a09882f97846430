//! Window, round trip, rates and bytes in flight of connections over time, beside a model that knows the list of packets only.

use crate::common::{All, flow, link, ms, scenario};
use qdelay_core::component::{Component, Kind, Parameter, Registry};
use qdelay_core::{Random, Rate, Span, Time};
use qdelay_sim::results::ConnectionSeries;
use qdelay_sim::{Direction, Fate, FlowSpec, Outcome, PacketRecord, Scenario, run, run_recorded};
use qdelay_traffic::control::{self, AckSample, Connection, Controller, Window};
use qdelay_traffic::tcp::{KNOBS, with_knobs};
use qdelay_traffic::transport::{self, TransportConfig};
use std::collections::BTreeMap;

/// About 50 ms, and such that nothing happens just when a bin ends.
const BIN: Span = Span::from_nanos(49_999_983);
/// Bytes of data of a full segment, and of headers with timestamps in front of it.
const MSS: u64 = 1448;
const HEADERS: u32 = 52;

fn watched(qdisc: &str, flows: Vec<FlowSpec>) -> Scenario {
    let plain = scenario(qdisc, link("line:6mbit"), &[]);
    Scenario { flows, series: Some(BIN), connections: true, duration: Span::from_secs(20), ..plain }
}

fn named(name: &str, text: &str) -> FlowSpec {
    FlowSpec { name: name.to_string(), ..flow(text) }
}

fn connection<'a>(outcome: &'a Outcome, flow: &str) -> Option<&'a ConnectionSeries> {
    outcome.series.as_ref().unwrap().flows.get(flow)?.connection.as_ref()
}

/// A sender of Reno as RFC 5681 and RFC 6582 have it, by what leaves it and what acknowledges. Segments.
struct Model {
    cwnd: u64,
    ssthresh: u64,
    /// Segments acknowledged since the window last grew (RFC 3465).
    count: u64,
    una: u64,
    nxt: u64,
    /// The end of what was sent before the loss was found.
    recover: Option<u64>,
    /// Acknowledgements that repeat the latest number.
    duplicates: u64,
    /// When each byte range was sent, by its first byte; of what was sent once.
    sent: BTreeMap<u64, Time>,
    /// The latest round trip, where no loss is near.
    rtt: Option<Span>,
    recoveries: u64,
}

impl Model {
    fn new() -> Model {
        Model {
            cwnd: 10,
            ssthresh: u64::MAX,
            count: 0,
            una: 1,
            nxt: 1,
            recover: None,
            duplicates: 0,
            sent: BTreeMap::new(),
            rtt: None,
            recoveries: 0,
        }
    }

    fn sends(&mut self, now: Time, seq: u64, len: u64) {
        if seq >= self.nxt {
            self.nxt = seq + len;
            self.sent.insert(seq, now);
            return;
        }
        self.sent.remove(&seq);
        if self.recover.is_none() {
            self.ssthresh = (self.cwnd / 2).max(2);
            self.recover = Some(self.nxt);
            self.count = 0;
            self.recoveries += 1;
        }
    }

    fn hears(&mut self, now: Time, ack: u64) {
        if ack <= self.una {
            self.duplicates += 1;
            self.rtt = None;
            return;
        }
        let segments = (ack - self.una).div_ceil(MSS);
        self.rtt = self.sent.get(&self.una).filter(|_| self.duplicates == 0).map(|sent| now.since(*sent));
        (self.una, self.duplicates) = (ack, 0);
        match self.recover {
            Some(end) if ack < end => {}
            Some(_) => (self.recover, self.cwnd) = (None, self.ssthresh),
            None => self.grow(segments),
        }
    }

    fn grow(&mut self, segments: u64) {
        for _ in 0..segments {
            if self.cwnd < self.ssthresh {
                self.cwnd += 1;
                continue;
            }
            self.count += 1;
            if self.count >= self.cwnd {
                (self.count, self.cwnd) = (0, self.cwnd + 1);
            }
        }
    }
}

/// What the sender of a flow saw, in order: what acknowledges first, because it answers with data.
fn events(records: &[PacketRecord]) -> Vec<(Time, bool, u64, u64)> {
    let mut events = Vec::new();
    for record in records {
        let Some(sequence) = record.sequence else { continue };
        match record.direction {
            Direction::Data if record.bytes > HEADERS && sequence > 0 => {
                events.push((record.created, true, sequence, u64::from(record.bytes - HEADERS)));
            }
            Direction::Acknowledgement if record.fate == Fate::Delivered => {
                events.push((record.ended, false, sequence, 0));
            }
            _ => {}
        }
    }
    events.sort();
    events
}

#[test]
fn a_window_is_that_of_a_model_of_packets() {
    let scenario = watched("taildrop:limit=25", vec![named("reno", "reno")]);
    let mut all = All::default();
    let outcome = run_recorded(&scenario, &mut all).unwrap();
    let series = connection(&outcome, "reno").unwrap();
    let (events, mut next, mut model) = (events(&all.0), 0, Model::new());
    let (mut compared, mut acknowledged) = (0, 0.0);
    // Packets that are on the way at the end are in no list.
    let last = series.cwnd_bytes.len() - 20;
    for bin in 0..last {
        let end = Time::ZERO + BIN * (bin as u64 + 1);
        while let Some(&(at, is_data, sequence, len)) = events.get(next).filter(|event| event.0 < end) {
            if is_data {
                model.sends(at, sequence, len)
            } else {
                model.hears(at, sequence)
            }
            next += 1;
        }
        acknowledged += series.delivery_mbps[bin].unwrap_or(0.0) * BIN.as_secs_f64() * 1e6 / 8.0;
        if model.recover.is_some() || model.duplicates > 0 || model.nxt == 1 {
            continue;
        }
        compared += 1;
        let case = format!("bin {bin}: {series:?}");
        let cwnd = series.cwnd_bytes[bin].unwrap() / MSS;
        assert!(cwnd.abs_diff(model.cwnd) <= 1, "{cwnd} {}, bin {bin}", model.cwnd);
        // Sent less acknowledged: nothing is lost now.
        assert_eq!(series.in_flight_bytes[bin], Some(model.nxt - model.una), "{case}");
        assert!((acknowledged - (model.una - 1) as f64).abs() < 1.0, "{acknowledged} {case}");
        let threshold = (model.ssthresh != u64::MAX).then_some(model.ssthresh);
        assert!(
            series.ssthresh_bytes[bin]
                .map(|bytes| bytes / MSS)
                .zip(threshold)
                .is_none_or(|(ours, model)| ours.abs_diff(model) <= 1)
        );
        assert_eq!(series.ssthresh_bytes[bin].is_some(), threshold.is_some());
        assert_eq!(series.ca_state[bin], Some(0), "{case}");
        if let Some(rtt) = model.rtt {
            let ours = series.rtt_ms[bin].unwrap();
            assert!((ours - rtt.as_millis_f64()).abs() < 1e-3, "{ours} {rtt}, bin {bin}");
        }
    }
    assert!(model.recoveries >= 3 && compared > 200, "{} {compared}", model.recoveries);
    let sum: u64 = series.retransmits.iter().sum();
    assert_eq!(sum, outcome.flows[0].retransmits);
    // The path takes 40 ms, a full segment 2 ms of the line, and 25 of them wait at most.
    let rtts = series.rtt_ms.iter().chain(&series.srtt_ms).flatten();
    let (least, most) = rtts.fold((f64::MAX, 0.0_f64), |(low, high), rtt| (low.min(*rtt), high.max(*rtt)));
    assert!(least >= 40.0 && most <= 40.0 + 27.0 * 2.0, "{least} {most}");
}

/// In flight is what was sent, less what is acknowledged, selectively or not, less what is lost: never more than the window and what the
/// recovery lets out, and never more than the bytes that are somewhere on the path.
#[test]
fn bytes_in_flight_are_conserved() {
    for text in ["cubic", "bbr", "reno", "cubic:bytes=3000000b", "reno:profile=ns3"] {
        let scenario = watched("codel", vec![named("flow", text)]);
        let outcome = run(&scenario).unwrap();
        let series = connection(&outcome, "flow").unwrap();
        let mut acknowledged = 0.0;
        for bin in 0..series.cwnd_bytes.len() {
            let Some(flight) = series.in_flight_bytes[bin] else { continue };
            acknowledged += series.delivery_mbps[bin].unwrap() * BIN.as_secs_f64() * 1e6 / 8.0;
            let cwnd = series.cwnd_bytes[bin].unwrap();
            let limit = if series.ca_state[bin] == Some(0) { cwnd } else { 2 * cwnd + 20 * MSS };
            // A window that has just been cut down is left by acknowledgements.
            assert!(
                flight <= limit.max(cwnd * 2),
                "{text} {bin}: {flight} {cwnd} {:?}",
                series.ca_state[bin]
            );
        }
        // The last bin is shorter than the others: less is left over than a bin carries.
        let delivered = outcome.flows[0].delivered_bytes as f64;
        assert!((acknowledged - delivered).abs() < 6e6 / 8.0 * 0.2, "{text}: {acknowledged} {delivered}");
    }
}

#[test]
fn each_flow_has_its_own_and_datagrams_have_none() {
    let late = FlowSpec { start: ms(2_000), stop: Some(ms(9_000)), ..named("web-2", "cubic") };
    let short = named("short", "reno:bytes=200000b");
    let flows = vec![named("web-1", "bbr"), late, short, named("call", "voip"), named("load", "udp:1mbit")];
    let scenario = watched("fq_codel", flows);
    let outcome = run(&scenario).unwrap();
    let names: Vec<&String> = outcome.series.as_ref().unwrap().flows.keys().collect();
    assert_eq!(names, ["short", "web-1", "web-2"]);
    let there = |name: &str| -> Vec<usize> {
        let bins = connection(&outcome, name).unwrap().cwnd_bytes.iter().enumerate();
        bins.filter(|(_, bytes)| bytes.is_some()).map(|(bin, _)| bin).collect()
    };
    let (late, short) = (there("web-2"), there("short"));
    assert!(late[0] >= 40 && *late.last().unwrap() <= 180 && late.len() > 130, "{late:?}");
    let end = outcome.flows[2].completion_s.unwrap() / BIN.as_secs_f64();
    assert!((*short.last().unwrap() as f64) < end + 3.0, "{short:?} {end}");
    let bbr = connection(&outcome, "web-1").unwrap();
    assert!(bbr.pacing_mbps.iter().skip(5).all(Option::is_some));
    assert!(connection(&outcome, "web-2").unwrap().pacing_mbps.iter().all(Option::is_none));
}

#[test]
fn watching_connections_changes_nothing_else() {
    for flows in [vec![named("a", "cubic"), named("b", "bbr")], vec![named("stream", "dash")]] {
        let scenario = watched("codel", flows);
        let (mut outcome, plain) =
            (run(&scenario).unwrap(), run(&Scenario { connections: false, ..scenario }).unwrap());
        let series = outcome.series.as_mut().unwrap();
        assert!(series.flows.values().all(|flow| flow.connection.is_some()));
        series.flows.values_mut().for_each(|flow| flow.connection = None);
        series.flows.retain(|_, flow| flow.stream.is_some());
        assert_eq!(outcome, plain);
    }
}

/// A window of seven segments at 3 Mbit/s, whatever happens.
#[derive(Clone, Debug)]
struct Fixed;

impl Controller for Fixed {
    fn init(&mut self, _: &Connection, window: &mut Window, _: &mut Random) {
        window.cwnd = 7;
    }
    fn ssthresh(&mut self, _: &Connection, window: &Window) -> u32 {
        window.cwnd
    }
    fn grow(&mut self, _: &Connection, _: &mut Window, _: &AckSample) {}
    fn owns_window(&self) -> bool {
        true
    }
    fn pacing_rate(&self) -> Option<Rate> {
        Some(Rate::from_mbps(3.0))
    }
    fn in_kernel(&self) -> Option<&'static str> {
        None
    }
}

const PARAMETERS: [Parameter; KNOBS.len()] = with_knobs(&[]);
static FIXED: Component = Component::new(Kind::Transport, "fixed", "A fixed window").with(&PARAMETERS);

#[test]
fn a_control_from_outside_has_them_too() {
    let registry = Registry::new().with(control::custom(&FIXED, |_| Ok(Fixed)));
    let arguments = registry.parse(transport::COMPONENTS, "fixed").unwrap();
    let config = TransportConfig::build(&arguments).unwrap();
    let scenario = watched("taildrop:limit=100", vec![FlowSpec::new("fixed", config)]);
    let outcome = run(&scenario).unwrap();
    let name = outcome.flows[0].name.clone();
    let series = connection(&outcome, &name).unwrap();
    for bin in 2..series.cwnd_bytes.len() {
        assert_eq!(series.cwnd_bytes[bin], Some(7 * MSS), "{bin}");
        assert_eq!(series.pacing_mbps[bin], Some(3.0), "{bin}");
        assert_eq!(series.ssthresh_bytes[bin], None, "{bin}");
    }
}
