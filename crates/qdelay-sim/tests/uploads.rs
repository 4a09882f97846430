//! Uploads: their data crosses the uplink, and their acknowledgements the bottleneck. What is told of them is compared with the
//! same flow in the other direction, with the path's own counts, and with arithmetic.

use crate::common::{All, flow, link, ms, play, scenario};
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_record::Direction;
use qdelay_sim::{Bottleneck, FlowSpec, LinkSpec, Outcome, Scenario, Uplink, run_recorded};

/// Flows of two groups, `down` and `up`, over two lines with queues of 100 packets.
fn both(down_mbit: u32, up_mbit: u32, downloads: &[&str], uploads: &[&str]) -> Scenario {
    let line = |mbit: u32| link(&format!("line:{mbit}mbit"));
    let spec = |is_upload: bool| {
        move |text: &&str| FlowSpec { is_upload, group: usize::from(is_upload), ..flow(text) }
    };
    Scenario {
        uplink: Some(Uplink::tail_drop(line(up_mbit).0, 100)),
        flows: downloads.iter().map(spec(false)).chain(uploads.iter().map(spec(true))).collect(),
        groups: ["down", "up"].map(str::to_string).to_vec(),
        series: Some(ms(100)),
        ..scenario("taildrop:limit=100", line(down_mbit), &[])
    }
}

/// The same with directions exchanged: the links and the flows.
fn mirrored(scenario: &Scenario) -> Scenario {
    let (_, LinkSpec(down)) = scenario.bottleneck.as_link().unwrap();
    let uplink = scenario.uplink.clone().unwrap();
    let qdisc = Arguments::parse(qdelay_core::qdisc::COMPONENTS, "taildrop:limit=100").unwrap();
    let flows = scenario.flows.iter().map(|flow| FlowSpec { is_upload: !flow.is_upload, ..flow.clone() });
    Scenario {
        bottleneck: Bottleneck::Link { qdisc, link: uplink.link },
        uplink: Some(Uplink::tail_drop(down.clone(), 100)),
        flows: flows.collect(),
        ..scenario.clone()
    }
}

/// What is told of the flows, without their directions.
fn without_directions(mut outcome: Outcome) -> String {
    outcome.measures.flows.iter_mut().for_each(|flow| flow.direction = None);
    outcome.measures.groups.values_mut().for_each(|group| group.direction = None);
    let series = outcome.series.map(|series| series.groups);
    format!("{:?} {:?} {series:?}", outcome.measures.flows, outcome.measures.groups)
}

#[test]
fn an_upload_is_a_download_in_a_mirror() {
    let cases: [(&[&str], &[&str]); 5] = [
        (&["cubic"], &[]),
        (&["bbr", "udp:1mbit:size=300b"], &[]),
        (&["cubic"], &["reno"]),
        (&["cubic", "bbr"], &["cubic", "voip"]),
        (&[], &["udp:30mbit"]),
    ];
    for (downloads, uploads) in cases {
        let scenario = both(11, 5, downloads, uploads);
        let (there, back) = (play(&scenario), play(&mirrored(&scenario)));
        assert_eq!(without_directions(there), without_directions(back), "{downloads:?} {uploads:?}");
    }
}

/// 1500 bytes at 3 Mbit/s take 4 ms, and there are 20 ms behind the uplink.
#[test]
fn delays_of_an_upload_are_those_of_the_uplink() {
    let outcome = play(&both(100, 3, &[], &["udp:2mbit:size=1500b"]));
    let up = &outcome.groups["up"];
    assert_eq!(outcome.flows[0].direction.as_deref(), Some("up"));
    assert_eq!(up.direction.as_deref(), Some("up"));
    assert_eq!((outcome.groups["down"].flows, &outcome.groups["down"].direction), (0, &None));
    assert!((up.queue_delay_ms.mean - 4.0).abs() < 1e-9 && (up.queue_delay_ms.max - 4.0).abs() < 1e-9);
    assert!((up.one_way_delay_ms.mean - 24.0).abs() < 1e-9, "{:?}", up.one_way_delay_ms);
    assert!((up.throughput_mbps - 2.0).abs() < 0.01, "{}", up.throughput_mbps);
    let uplink = outcome.uplink.as_ref().unwrap();
    assert_eq!((uplink.arrived, uplink.drops), (up.packets_sent, 0));
    assert!((uplink.utilization - 2.0 / 3.0).abs() < 0.01);
    // Nothing has crossed the bottleneck.
    assert_eq!((outcome.packets_forwarded, outcome.queue_delay_ms.count), (0, 0));
    assert_eq!((outcome.one_way_delay_ms.count, outcome.jain), (0, 1.0));
}

#[test]
fn losses_of_an_upload_are_those_of_the_uplink() {
    let outcome = play(&both(100, 3, &["udp:1mbit"], &["udp:6mbit:size=1500b"]));
    let (uplink, node) = (outcome.uplink.as_ref().unwrap(), outcome.nodes["uplink"]);
    assert_eq!((uplink.arrived, uplink.drops), (node.received_packets, node.dropped));
    assert_eq!(uplink.delivered, outcome.nodes["uplink-link"].forwarded_packets);
    assert!(uplink.drops > 2000, "{uplink:?}");
    let [down, up] = ["down", "up"].map(|name| &outcome.groups[name]);
    assert_eq!((up.packets_lost, down.packets_lost, outcome.drops), (uplink.drops, 0, 0));
    assert_eq!(uplink.drops_by_reason["tail_limit"], uplink.drops);
    // 100 wait and one is on the link.
    assert!((uplink.queue_delay_ms.max - 404.0).abs() < 4.0);
}

/// In both directions at once, every packet of the bottleneck's queue is counted there, whichever way its flow goes.
#[test]
fn acknowledgements_of_uploads_are_packets_of_the_bottleneck() {
    let mut scenario = both(10, 10, &["cubic"], &["cubic", "cubic"]);
    scenario.flows[1].dscp = 8;
    let mut records = All::default();
    let outcome = run_recorded(&scenario, &mut records).unwrap();
    let left = |direction: Direction, flow: u32| {
        let of = |record: &&qdelay_sim::PacketRecord| record.direction == direction && record.flow == flow;
        records.0.iter().filter(of).filter(|record| record.departed.is_some()).count() as u64
    };
    // Of the download it is the data that crosses the bottleneck, of the uploads the acknowledgements.
    assert!(left(Direction::Data, 0) > 1000 && left(Direction::Acknowledgement, 1) > 1000);
    assert_eq!(
        (left(Direction::Acknowledgement, 0), left(Direction::Data, 1), left(Direction::Data, 2)),
        (0, 0, 0)
    );
    let [be, cs1] = ["be", "cs1"].map(|name| outcome.codepoints[name].delivered);
    assert_eq!(outcome.packets_forwarded, be + cs1);
    assert!(cs1.abs_diff(left(Direction::Acknowledgement, 1)) < 100, "{cs1}");
    assert!(outcome.groups["down"].goodput_mbps > 5.0 && outcome.groups["up"].goodput_mbps > 5.0);
    assert_eq!(outcome.queue_delay_ms.count, outcome.packets_forwarded);
    assert!(outcome.groups["down"].queue_delay_ms.count < outcome.packets_forwarded);
}

/// An access link, its jitter and a bound on lateness stand on the way of the data.
#[test]
fn keys_of_a_flow_are_for_its_data() {
    let mut scenario = both(100, 50, &[], &["udp:2mbit:size=1250b"]);
    scenario.flows[0].access = crate::common::rate(10.0);
    scenario.flows[0].access_jitter = ms(3);
    scenario.flows[0].extra_rtt = ms(6);
    let outcome = play(&scenario);
    // 1 ms of the access link, 200 us of the uplink, 20 ms and 6 ms of propagation, and 1.5 ms of jitter on average.
    let delay = outcome.groups["up"].one_way_delay_ms;
    assert!((delay.mean - 28.7).abs() < 0.2 && delay.max <= 30.2 + 1e-9, "{delay:?}");
    assert!(outcome.groups["up"].one_way_min_ms >= 27.2 - 1e-9);
    scenario.flows[0].discard_delay = Some(Span::from_micros(28_700));
    let outcome = play(&scenario);
    let up = &outcome.groups["up"];
    let share = up.discarded_late.unwrap() as f64 / up.packets_sent as f64;
    assert!((share - 0.5).abs() < 0.05, "{share}");
}

#[test]
fn without_uploads_there_is_nothing_of_the_uplink() {
    assert!(play(&both(10, 10, &["cubic"], &[])).uplink.is_none());
}

/// The uplink's own discipline keeps the queue of the uplink short, and what it has done is told of the uplink alone.
#[test]
fn the_uplink_has_a_discipline_of_its_own() {
    let with = |qdisc: &str| {
        let mut scenario = both(50, 5, &[], &["cubic:ecn=on", "reno"]);
        let qdisc = Arguments::parse(qdelay_core::qdisc::COMPONENTS, qdisc).unwrap();
        scenario.uplink.as_mut().unwrap().qdisc = Some(qdisc);
        play(&scenario)
    };
    let (deep, short) = (with("taildrop:limit=1000"), with("codel:ecn=on"));
    let [deep, short] = [&deep, &short].map(|outcome| {
        let uplink = outcome.uplink.as_ref().unwrap();
        assert_eq!((outcome.drops, outcome.marks), (0, 0));
        assert_eq!(uplink.drops, outcome.flows.iter().map(|flow| flow.packets_lost).sum::<u64>());
        assert_eq!(uplink.marks, outcome.nodes["uplink"].marked);
        assert!(uplink.utilization > 0.8);
        uplink
    });
    assert!(deep.queue_delay_ms.p50 > 5.0 * short.queue_delay_ms.p50, "{deep:?} {short:?}");
    assert!(
        short.marks > 0 && short.drops_by_reason["codel"] > 0 && !deep.drops_by_reason.contains_key("codel")
    );
}

/// Its figures are there for downloads too, whose acknowledgements cross it.
#[test]
fn an_uplink_with_a_discipline_is_measured_without_uploads() {
    let mut scenario = both(10, 10, &["cubic"], &[]);
    let qdisc = Arguments::parse(qdelay_core::qdisc::COMPONENTS, "taildrop:limit=100").unwrap();
    let plain = play(&scenario);
    scenario.uplink.as_mut().unwrap().qdisc = Some(qdisc);
    let mut watched = play(&scenario);
    let uplink = watched.measures.uplink.take().unwrap();
    assert_eq!(uplink.delivered, plain.nodes["uplink-link"].forwarded_packets);
    assert!(uplink.queue_delay_ms.count == uplink.delivered && uplink.delivered > 1000);
    assert_eq!(watched, plain, "nothing else changes");
}
