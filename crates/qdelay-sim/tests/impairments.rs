//! Loss, reordering and duplication on a path with flows: what they do to datagrams, and that every transport survives them.

use crate::common::{All, flow, link, ms, play, scenario};
use qdelay_core::{Random, Span, Time};
use qdelay_path::{ImpairmentSpec, LossModel, OverTime};
use qdelay_record::{Direction, Fate};
use qdelay_sim::{FlowSpec, Impairments, Scenario, Uplink, run_recorded};
use qdelay_trace::{LossRate, LossStep, LossSteps};

const NONE: ImpairmentSpec = ImpairmentSpec {
    loss: LossModel::None,
    corrupt: LossModel::None,
    reorder: LossModel::None,
    reorder_delay: Span::ZERO,
    duplicate: LossModel::None,
    is_cut: false,
};

/// 10 Mbit/s down and up, 40 ms.
fn with(down: ImpairmentSpec, up: ImpairmentSpec, flows: &[&str]) -> Scenario {
    Scenario {
        impairments: Impairments { down, up },
        uplink: Some(Uplink::tail_drop(link("line:10mbit").0, 100)),
        groups: vec!["all".to_string()],
        ..scenario("taildrop:limit=100", link("line:10mbit"), flows)
    }
}

#[test]
fn losses_on_the_way_down_are_losses_of_data() {
    let loss = ImpairmentSpec { loss: LossModel::Random(0.03), ..NONE };
    let outcome = play(&with(loss.clone(), NONE, &["udp:5mbit:size=1000b"]));
    let lost = outcome.flows[0].packets_lost;
    assert_eq!((lost, outcome.drops), (outcome.nodes["impairment"].dropped, 0));
    // 6250 packets; the standard deviation is 13.
    assert!(lost.abs_diff(188) < 60, "{lost}");
    assert!(!outcome.nodes.contains_key("uplink-impairment"));
    // Of data that goes down, nothing is lost on the way up.
    let outcome = play(&with(NONE, loss, &["udp:5mbit:size=1000b"]));
    assert_eq!((outcome.flows[0].packets_lost, outcome.nodes["uplink-impairment"].received_packets), (0, 0));
}

#[test]
fn losses_on_the_way_up_are_losses_of_uploads_and_acknowledgements() {
    let loss = ImpairmentSpec { loss: LossModel::Random(0.03), ..NONE };
    let mut uploads = with(NONE, loss.clone(), &["udp:5mbit:size=1000b"]);
    uploads.flows[0].is_upload = true;
    let outcome = play(&uploads);
    assert!(outcome.flows[0].packets_lost.abs_diff(188) < 60);
    assert_eq!(outcome.flows[0].packets_lost, outcome.nodes["uplink-impairment"].dropped);
    // A lost acknowledgement is made up for by the next.
    let outcome = play(&with(NONE, loss.clone(), &["cubic"]));
    assert!(outcome.nodes["uplink-impairment"].dropped > 50 && outcome.flows[0].goodput_mbps > 8.0);
    let without_uplink = Scenario { uplink: None, ..with(NONE, loss, &["cubic"]) };
    assert!(play(&without_uplink).nodes["uplink-impairment"].dropped > 50);
}

/// Copies arrive and are recorded as packets of their own; what is sent stays what it is.
#[test]
fn copies_are_packets_of_their_own() {
    let spec = ImpairmentSpec { duplicate: LossModel::Random(0.1), ..NONE };
    let scenario = with(spec, NONE, &["udp:5mbit:size=1000b"]);
    let mut records = All::default();
    let outcome = run_recorded(&scenario, &mut records).unwrap();
    let copies = outcome.nodes["impairment"].copies.unwrap();
    assert!(copies.abs_diff(625) < 120, "{copies}");
    let (sent, inside) = (outcome.flows[0].packets_sent, outcome.nodes["down"].inside);
    assert_eq!(outcome.nodes["receivers"].received_packets + inside, sent + copies);
    let data = records.0.iter().filter(|record| record.direction == Direction::Data);
    assert_eq!(data.count() as u64 + inside, sent + copies);
    assert!(records.0.iter().all(|record| record.departed.is_some()), "a copy has the times of its packet");
    assert_eq!(outcome.nodes["bottleneck"].copies, None);
}

#[test]
fn nothing_is_there_without_impairments() {
    // Late by no time is not late.
    let nothing = ImpairmentSpec { reorder: LossModel::Random(0.5), loss: LossModel::Random(0.0), ..NONE };
    let plain = play(&with(NONE, NONE, &["cubic", "bbr"]));
    assert_eq!(play(&with(nothing.clone(), nothing, &["cubic", "bbr"])), plain);
    assert!(!plain.nodes.contains_key("impairment"));
}

/// Cubic loses throughput to random loss as its square root, and BBR does not ask.
#[test]
fn random_loss_slows_cubic_and_not_bbr() {
    let goodput = |flow: &str, loss: f64| {
        let spec = ImpairmentSpec { loss: LossModel::Random(loss), ..NONE };
        let scenario = Scenario { duration: Span::from_secs(30), ..with(spec, NONE, &[flow]) };
        play(&scenario).flows[0].goodput_mbps
    };
    assert!(goodput("cubic", 0.02) < 0.6 * goodput("cubic", 0.0));
    assert!(goodput("bbr", 0.02) > 0.8 * goodput("bbr", 0.0));
}

/// Losses of the same number in bursts are fewer events, which a sender answers once.
#[test]
fn losses_in_bursts_cost_cubic_less() {
    let goodput = |loss: LossModel| {
        let spec = ImpairmentSpec { loss, ..NONE };
        let scenario = Scenario { duration: Span::from_secs(60), ..with(spec, NONE, &["cubic"]) };
        play(&scenario).flows[0].goodput_mbps
    };
    // 1% of the packets in both.
    let bursts = LossModel::GilbertElliott { p: 0.2 / 99.0, r: 0.2, bad: 1.0, good: 0.0 };
    let (single, bursts) = (goodput(LossModel::Random(0.01)), goodput(bursts));
    assert!(bursts > 1.15 * single, "{bursts} {single}");
}

/// What is late by less than recovery waits for is no loss.
#[test]
fn a_little_reordering_costs_tcp_little() {
    for transport in ["cubic", "bbr", "reno"] {
        let spec = ImpairmentSpec { reorder: LossModel::Random(0.01), reorder_delay: ms(2), ..NONE };
        let outcome = play(&with(spec, NONE, &[transport]));
        assert!(outcome.flows[0].goodput_mbps > 4.0, "{transport} {:?}", outcome.flows[0]);
    }
}

/// A download of a megabyte is complete with any loss that leaves something.
#[test]
fn downloads_end_whatever_happens_on_the_way() {
    let down = ImpairmentSpec {
        loss: LossModel::GilbertElliott { p: 0.02, r: 0.3, bad: 0.7, good: 0.005 },
        reorder: LossModel::Random(0.05),
        reorder_delay: ms(7),
        duplicate: LossModel::Random(0.03),
        ..NONE
    };
    let up = ImpairmentSpec { loss: LossModel::Random(0.05), ..NONE };
    for transport in [
        "cubic",
        "bbr",
        "reno",
        "vegas",
        "westwood",
        "c2tcp",
        "copa",
        "ledbat",
        "vivace",
        "verus",
        "cubic:profile=ns3",
        "cubic:ecn=on",
    ] {
        for seed in 1..6 {
            let typed = format!("{transport}:bytes=1mb");
            let long = Scenario {
                seed,
                duration: Span::from_secs(120),
                ..with(down.clone(), up.clone(), &[&typed])
            };
            let flow = &play(&long).flows[0];
            assert!(
                flow.completion_s.is_some() && flow.delivered_bytes == 1_000_000,
                "{typed} {seed}: {flow:?}"
            );
        }
    }
}

/// Up to a dozen steps within 3 s, as milliseconds and probabilities, and the model of them.
fn steps(random: &mut Random) -> (Vec<(u64, f64)>, LossModel) {
    let mut starts: Vec<u64> = (0..random.below(12)).map(|_| 1 + random.below(2999)).chain([0]).collect();
    starts.sort_unstable();
    starts.dedup();
    let steps: Vec<(u64, f64)> =
        starts.into_iter().map(|start| (start, random.unit() * random.below(2) as f64)).collect();
    let of_round = steps.iter().map(|(start, probability)| LossStep {
        start: Time::ZERO + ms(*start),
        value: LossRate(*probability),
    });
    let of_round = LossSteps::new(of_round.collect(), ms(3000)).unwrap();
    (steps, LossModel::over_time(OverTime::new(of_round, true)))
}

/// Data of every transport is lost as a walk over the steps has it for the time at which each packet leaves the link.
#[test]
fn packets_are_lost_with_the_probability_that_holds_behind_the_link() {
    for seed in 1..25 {
        let random = &mut Random::derive(seed, "losses", "steps");
        let (steps, loss) = steps(random);
        let spec = ImpairmentSpec { loss, ..NONE };
        let scenario = Scenario { seed, ..with(spec, NONE, &["cubic", "udp:3mbit:size=700b", "bbr"]) };
        let mut records = All::default();
        run_recorded(&scenario, &mut records).unwrap();
        let mut sent: Vec<(Time, bool)> = records
            .0
            .iter()
            .filter(|record| record.direction == Direction::Data)
            .filter_map(|record| Some((record.departed?, record.fate != Fate::Delivered)))
            .collect();
        sent.sort_by_key(|(departed, _)| *departed);
        // What entered the delay of 20 ms before the end is not recorded if it was not lost.
        sent.retain(|(departed, _)| *departed < Time::ZERO + ms(9975));
        assert!(sent.len() > 2000, "{}", sent.len());
        let mut draws = Random::derive(seed, "impairment", "loss");
        for (departed, lost) in sent {
            let at = departed.as_nanos() / 1_000_000 % 3000;
            let holds = steps.iter().rfind(|(start, _)| *start <= at).unwrap().1;
            assert_eq!(lost, draws.unit() < holds, "seed {seed}: {departed} {holds}");
        }
    }
}

#[test]
fn a_constant_loss_over_time_is_a_percentage() {
    let constant = |probability| {
        let steps = [0, 700].map(|at| LossStep { start: Time::ZERO + ms(at), value: LossRate(probability) });
        let model =
            LossModel::over_time(OverTime::new(LossSteps::new(steps.to_vec(), ms(900)).unwrap(), true));
        [model, LossModel::Random(probability)].map(|loss| ImpairmentSpec { loss, ..NONE })
    };
    for probability in [0.0, 0.004, 0.3] {
        let [over_time, plain] = constant(probability);
        let flows = ["cubic", "bbr", "udp:1mbit"];
        let [a, b] = [over_time, plain].map(|spec| play(&with(spec.clone(), spec, &flows)));
        assert_eq!(a, b, "{probability}");
    }
}

/// Any setting.
fn any(random: &mut Random) -> ImpairmentSpec {
    let loss = match random.below(4) {
        0 => LossModel::None,
        1 => LossModel::Random(random.unit() / 2.0),
        2 => steps(random).1,
        _ => LossModel::GilbertElliott {
            p: random.unit() * 0.3,
            r: 0.05 + random.unit() * 0.9,
            bad: random.unit(),
            good: random.unit() * 0.1,
        },
    };
    let mut share = || [0.0, random.unit() * 0.3, 1.0][random.below(3) as usize];
    let (reorder, duplicate) = (share().into(), share().into());
    ImpairmentSpec {
        loss,
        reorder,
        reorder_delay: Span::from_micros(random.below(50_000)),
        duplicate,
        ..NONE
    }
}

/// Every transport, in both directions, with anything in its way in both: the audit holds, and results repeat.
#[test]
fn every_transport_survives_anything() {
    const TRANSPORTS: [&str; 19] = [
        "cubic",
        "bbr",
        "reno:ecn=on",
        "vegas",
        "westwood",
        "c2tcp",
        "copa",
        "ledbat",
        "vivace",
        "vivace:utility=loss",
        "verus",
        "cubic:profile=ns3",
        "cubic:bytes=200kb",
        "udp:3mbit:echo=on",
        "voip",
        "gaming",
        "tfrc",
        "audio:128kbit",
        "dash:robustmpc",
    ];
    for seed in 1..121 {
        let mut random = Random::derive(seed, "scenario", "impairments");
        let (down, up, is_upload) = (any(&mut random), any(&mut random), random.below(2) == 1);
        let transport = TRANSPORTS[seed as usize % TRANSPORTS.len()];
        let flows = vec![FlowSpec { is_upload, ..flow(transport) }, flow("cubic")];
        let scenario =
            Scenario { seed, duration: ms(3000), series: Some(ms(100)), flows, ..with(down, up, &[]) };
        assert_eq!(play(&scenario), play(&scenario), "{seed}");
    }
}
