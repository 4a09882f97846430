//! Scenarios of cells: tables, inherited keys, axes, errors, and results of runs.

use crate::common::{case, cell, results, study};
use qdelay_core::Span;
use qdelay_core::pacer::SizeUnit;
use qdelay_core::qdisc::{LIMIT, LIMIT_BYTES};
use qdelay_path::PullOrder;
use qdelay_study::results::{CaseSummary, Summary};
use qdelay_study::scenario::{Overrides, Study};
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use serde_json::json;

#[test]
fn one_ue_with_one_bearer_and_one_qos_flow_is_the_default() {
    let case = case("[cell]\n[[flow]]\n");
    let spec = cell(&case);
    assert_eq!((spec.tti, spec.unit, spec.n3.is_none()), (Span::from_millis(1), SizeUnit::Bytes, true));
    let [ue] = spec.ues.as_slice() else { panic!("one UE") };
    let [bearer] = ue.bearers.as_slice() else { panic!("one bearer") };
    let [qos_flow] = bearer.qos_flows.as_slice() else { panic!("one QoS flow") };
    assert_eq!((ue.name.as_str(), bearer.name.as_str(), qos_flow.qfi), ("ue-1", "drb-1", 1));
    assert_eq!((bearer.gate.law.typed(), bearer.queue.typed()), ("vanilla", "taildrop"));
    assert_eq!((bearer.order, qos_flow.upf.is_none()), (PullOrder::StrictPriority, true));
    assert_eq!((case.scenario.flows[0].ue, case.scenario.flows[0].qfi), (0, 1));
    assert_eq!(
        case.settings["path"],
        json!({ "rtt": "10ms", "jitter": "0s", "uplink": "48mbit", "uplink_limit": 1000, "uplink_qdisc": "taildrop",
            "loss": "none", "reorder": "0%", "reorder_delay": "2ms", "duplicate": "0%", "corrupt": "0%",
            "uplink_loss": "none", "uplink_jitter": "0s", "uplink_reorder": "0%", "uplink_duplicate": "0%",
            "uplink_corrupt": "0%" })
    );
    assert_eq!(case.settings["cell"]["ue"][0]["bearer"][0]["pacer"], json!("vanilla"));
    assert_eq!(case.settings["cell"]["ue"][0]["bearer"][0]["qos_flow"][0]["qfi"], json!(1));
}

const TREE: &str = r#"
    [cell]
    technology = "nr"
    prbs = 51
    numerology = 1
    pacer = "drql"
    rlc = "am"
    rlc_limit = 300
    feedback_delay = "1ms"
    upf_qdisc = "sfq"
    upf_pacer = "usp"
    upf_packets = 10
    n3 = "1gbit"
    sdap_order = "drr"

    [[cell.ue]]
    name = "car"
    count = 2
    channel = "cqi:9"

    [[cell.ue.bearer]]
    name = "fast"
    priority = 1
    pacer = "e5g-bdp"
    sdap_order = "priority"

    [[cell.ue.bearer.qos_flow]]
    qfi = 5
    priority = 2
    [[cell.ue.bearer.qos_flow]]
    qfi = 6
    priority = 1
    upf_qdisc = "none"
    sdap_qdisc = "codel"

    [[cell.ue.bearer]]
    priority = 2
    rlc_limit = "30kb"

    [[cell.ue]]
    name = "home"

    [[flow]]
    name = "call"
    transport = "voip"
    ue = "car"
    qfi = 6
    [[flow]]
    name = "file"
    ue = "each"
    qfi = 2
    [[flow]]
    name = "other"
    ue = "home"
"#;

#[test]
fn bearers_inherit_keys_of_the_cell() {
    // `home` has QFI 1 only, so the flow, which names another QFI, goes to `car` alone.
    let text = TREE.replace("ue = \"each\"", "ue = \"car\"");
    let case = case(&text);
    let spec = cell(&case);
    let names: Vec<&str> = spec.ues.iter().map(|ue| ue.name.as_str()).collect();
    assert_eq!(names, ["car-1", "car-2", "home"]);
    assert_eq!(spec.tti, Span::from_micros(500));
    let [fast, slow] = spec.ues[1].bearers.as_slice() else { panic!("two bearers") };
    assert_eq!((fast.gate.law.typed(), slow.gate.law.typed()), ("e5g-bdp", "drql"));
    assert_eq!((fast.queue.get(&LIMIT), slow.queue.get(&LIMIT_BYTES)), (300, 30_000));
    assert_eq!(
        (fast.order, slow.order),
        (PullOrder::StrictPriority, PullOrder::DeficitRoundRobin { quantum_bytes: 1500 })
    );
    assert_eq!((fast.gate.feedback, slow.gate.feedback), (Span::from_millis(1), Span::from_millis(1)));
    assert_eq!((slow.name.as_str(), slow.service.priority, slow.qos_flows[0].qfi), ("drb-2", 2, 2));
    // The QoS flow with the higher priority comes first.
    let [first, second] = fast.qos_flows.as_slice() else { panic!("two QoS flows") };
    assert_eq!((first.qfi, first.upf.is_none(), first.sdap.typed()), (6, true, "codel"));
    let upf = second.upf.as_ref().expect("a UPF queue");
    assert_eq!(
        (second.qfi, upf.qdisc.typed(), upf.gate.law.typed(), upf.gate.packets),
        (5, "sfq", "usp", Some(10))
    );
    let flows: Vec<(&str, usize, u8)> =
        case.scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.ue, flow.qfi)).collect();
    assert_eq!(
        flows,
        [("call-1", 0, 6), ("call-2", 1, 6), ("file-1", 0, 2), ("file-2", 1, 2), ("other", 2, 1)]
    );
    let bearer = &case.settings["cell"]["ue"][0]["bearer"][1];
    assert_eq!((&bearer["pacer"], &bearer["rlc_limit"]), (&json!("drql"), &json!("30kb")));
    assert_eq!(case.settings["cell"]["ue"][1]["bearer"][0]["rlc_limit"], json!(300));
}

#[test]
fn axes_reach_every_level() {
    let text = TREE.replace("ue = \"each\"", "ue = \"car\"")
        + r#"
    [matrix]
    cell.pacer = ["vanilla", "dynrlc"]
    cell.ue.report_delay = ["0s", "4ms"]
    cell.ue.home.channel = ["mcs:3", "fading"]
    cell.bearer.priority = [4, 9]
    cell.bearer.fast.rlc_limit = [10, "5kb"]
    flow.file.qfi = [2, 5]
    "#;
    let study = study(&text);
    assert_eq!(study.case_count(), 64);
    study.check(&Library::new()).unwrap();
    let last = study.case(63, &Library::new()).unwrap();
    let spec = cell(&last);
    assert_eq!(spec.ues[0].bearers[1].gate.law.typed(), "dynrlc");
    assert_eq!(spec.ues[0].bearers[0].gate.law.typed(), "e5g-bdp", "what a bearer says stands over the cell");
    assert_eq!(spec.ues[2].bearers[0].service.priority, 9);
    assert_eq!(spec.ues[0].bearers[0].queue.get(&LIMIT_BYTES), 5000);
    assert_eq!(last.settings["cell"]["ue"][1]["channel"], json!("fading"));
    assert_eq!(last.settings["cell"]["ue"][0]["report_delay"], json!("4ms"));
    assert_eq!(last.scenario.flows[2].qfi, 5);
}

/// Parameters of a pacer, such as its period, are checked against the cell of the scenario.
#[test]
fn pacers_are_checked_against_their_own_cell() {
    let text = |pacer: &str, prbs| {
        format!("[cell]\ntechnology = \"nr\"\nnumerology = 1\nprbs = {prbs}\npacer = \"{pacer}\"\n[[flow]]\n")
    };
    case(&text("e5g-bdp:period=500us", 51));
    let told = error(&text("e5g-bdp:period=400us", 51));
    assert!(
        told.contains("line 5") && told.contains("period 400us is shorter than the TTI of 500us"),
        "{told}"
    );
    case(&text("dynrlc:min=20", 273));
    let told = error(&text("dynrlc:min=20", 11));
    assert!(told.contains("line 5") && told.contains("min 20 is above max 10"), "{told}");
}

/// A queue without a limit holds 1000 packets, or the packets that the carrier sends in 100 ms at its highest MCS if that is
/// more.
#[test]
fn queues_without_a_limit_have_room_for_the_carrier() {
    let limits = |keys: &str| {
        let case = case(&format!(
            "[cell]\nupf_qdisc = \"taildrop\"\n{keys}\n[cell.uplink]\nchannel = \"mcs:20\"\n[[flow]]\n"
        ));
        let spec = cell(&case);
        let bearer = &spec.ues[0].bearers[0];
        let up = &spec.uplink.as_ref().unwrap().bearers[0];
        let of = &bearer.qos_flows[0];
        [&of.upf.as_ref().unwrap().qdisc, &of.sdap, &bearer.queue, &up.queue].map(|queue| queue.get(&LIMIT))
    };
    let carrier = "technology = \"nr\"\nnumerology = 1\nprbs = 273\nlayers = 4\nmcs_table = \"qam256\"\n";
    let wide = format!("{carrier}channel = \"mcs:20\"\n");
    assert_eq!(limits("prbs = 100"), [1000; 4], "9422 bytes in a TTI are 628 packets");
    let room = limits(&wide);
    assert!(room.iter().all(|limit| *limit == room[0] && (15_000..25_000).contains(limit)), "{room:?}");
    let named = format!("{wide}sdap_qdisc = \"bode:target=75ms\"\nrlc_limit = 300\n");
    assert_eq!(limits(&named), [room[0], room[0], 300, room[0]]);
    let named = format!("{wide}sdap_qdisc = \"taildrop:limit_bytes=1mb\"\nrlc_qdisc = \"codel:limit=70\"\n");
    assert_eq!(limits(&named), [room[0], 1000, 70, room[0]]);
    // The peak rate of a trace is unknown, and a discipline with one queue per class has its own limits.
    let named = format!("{carrier}channel = \"trace:synth-lte-driving\"\n");
    assert_eq!(limits(&named)[..3], [1000; 3]);
    let classes = format!("{wide}sdap_qdisc = \"priority:ef@taildrop+rest@taildrop\"");
    case(&format!("[cell]\n{classes}\n[[flow]]\n"));
}

/// Bits of a transport block of a codeword by TS 38.214 clause 5.1.3.2, for more than 3824 bits and code rates above a quarter.
fn large_block_bits(elements: f64, rate: f64, modulation: f64, layers: f64) -> f64 {
    let info = elements * rate * modulation * layers;
    let step = ((info - 24.0).log2().floor() - 5.0).exp2();
    let quantised = (step * ((info - 24.0) / step).round()).max(3840.0);
    let blocks = ((quantised + 24.0) / 8424.0).ceil();
    8.0 * blocks * ((quantised + 24.0) / (8.0 * blocks)).ceil() - 24.0
}

/// A carrier of 100 MHz, 273 blocks of 156 - 12 elements, DDDSU with a special slot of ten symbols: its rate by the clauses of TS 38.214, by hand,
/// for MCS 20 (256QAM, rate 682.5/1024), 5 (16QAM, 378/1024) and 27 (948/1024), with 2, 4 and 8 layers.
#[test]
fn a_hundred_megahertz_carry_the_bits_of_the_standard() {
    for (mcs, modulation, rate) in
        [(20, 8.0, 682.5 / 1024.0), (5, 4.0, 378.0 / 1024.0), (27, 8.0, 948.0 / 1024.0)]
    {
        for layers in [2.0, 4.0, 8.0_f64] {
            let codewords = if layers > 4.0 { 2.0 } else { 1.0 };
            // The first symbol of each slot is control, one more has reference signals.
            let bits = |symbols: f64| {
                let elements = 273.0 * (12.0 * symbols - 12.0);
                codewords * large_block_bits(elements, rate, modulation, layers / codewords)
            };
            let expected = (3.0 * bits(13.0) + bits(9.0)) / 2.5e-3 / 1e6;
            let text = format!(
                "[cell]\ntechnology = \"nr\"\nnumerology = 1\nprbs = 273\nmcs_table = \"qam256\"\nlayers = {layers}\nchannel = \"mcs:{mcs}\"\n\
                 tdd = \"tdd:DDDSU:special=10\"\n[[flow]]\ntransport = \"udp:{:.0}mbit\"\n[run]\nduration = \"300ms\"\nwarmup = \"200ms\"\n",
                1.1 * expected
            );
            let summary = results(&text);
            let found = only(&summary).throughput_mbps;
            // Headers of MAC, RLC and PDCP; a slot more or less in the time that is measured.
            assert!((found / expected - 1.0).abs() < 0.01, "{mcs} {layers}: {found} of {expected} Mbit/s");
        }
    }
}

/// The error of a scenario, checked to be one line.
fn error(text: &str) -> String {
    let study = Study::parse("my.toml", text, &Overrides::default());
    let error = study.and_then(|study| study.check(&Library::new())).expect_err(text);
    let line = error.to_string();
    assert!(!line.contains('\n'), "{line}");
    line
}

#[test]
fn errors_of_cells_name_line_key_and_expected_value() {
    let cases = [
        (
            "[cell]\n[path]\nlink = \"10mbit\"\n[[flow]]",
            "line 3: path.link: a cell is given; expected this key only without [cell]",
        ),
        (
            "[cell]\n[path]\nqdisc = \"codel\"\n[[flow]]",
            "line 3: path.qdisc: a cell is given; expected this key only without [cell]",
        ),
        (
            "[cell]\ntechnology = \"umts\"\n[[flow]]",
            "line 2: cell.technology: 'umts': expected one of lte, nr",
        ),
        ("[cell]\nprbs = 26\n[[flow]]", "line 2: cell.prbs: "),
        ("[cell]\nprbs = 276\n[[flow]]", "line 2: cell.prbs: '276': out of range; expected 1 to 275"),
        (
            "[cell]\nprbs = 25\nbandwidth = \"5mhz\"\n[[flow]]",
            "line 3: cell.bandwidth: prbs is given too; expected one of the two",
        ),
        (
            "[cell]\nnumerology = 1\n[[flow]]",
            "line 2: cell.numerology: the cell is LTE; expected this key only with technology = \"nr\"",
        ),
        (
            "[cell]\ntti = \"1500us\"\n[[flow]]",
            "line 2: cell.tti: a TTI of 1.5ms; expected 1 to 1000 whole slots of 1ms",
        ),
        (
            "[cell]\nchannel = \"cqi:16\"\n[[flow]]",
            "line 2: cell.channel: 'cqi:16': cqi=16: out of range; expected 1 to 15",
        ),
        (
            "[cell]\nchannel = \"mcs:29\"\n[[flow]]",
            "line 2: cell.channel: 'mcs:29': mcs=29: out of range; expected 0 to 28",
        ),
        (
            "[cell]\nchannel = \"wire\"\n[[flow]]",
            "line 2: cell.channel: 'wire': unknown channel 'wire'; known: mcs, cqi, fading, cqi-trace, capacity, trace",
        ),
        (
            "[cell]\nchannel = \"capacity\"\n[[flow]]",
            "line 2: cell.channel: 'capacity': no file; expected one, such as capacity:packets.txt",
        ),
        (
            "[cell]\nchannel = \"capacity:nowhere.txt\"\n[[flow]]",
            "line 2: cell.channel: 'capacity:nowhere.txt': no trace 'nowhere.txt': it is not shipped, and there is no nowhere.txt; expected it in a folder given by --traces",
        ),
        (
            "[cell]\npacer = \"e5gbdp\"\n[[flow]]",
            "line 2: cell.pacer: 'e5gbdp': unknown pacer 'e5gbdp'; known: ",
        ),
        (
            "[cell]\nscheduler = \"rr\"\n[[flow]]",
            "line 2: cell.scheduler: 'rr': unknown scheduler 'rr'; known: round_robin",
        ),
        ("[cell]\nrlc = \"umm\"\n[[flow]]", "line 2: cell.rlc: 'umm': unknown rlc 'umm'; known: um, am, tm"),
        (
            "[cell]\nrlc = \"um:sn=12\"\n[[flow]]",
            "line 2: cell.rlc: sequence numbers cannot have 12 bits; expected 5 or 10",
        ),
        (
            "[cell]\nrlc = \"am:reordering=1s\"\n[[flow]]",
            "line 2: cell.rlc: 'am:reordering=1s': LTE has no 'reordering'",
        ),
        (
            "[cell]\nrlc_limit = 0\n[[flow]]",
            "line 2: cell.rlc_limit: '0': out of range; expected 1 to 10000000 packets",
        ),
        (
            "[cell]\nrlc_limit = \"1400b\"\n[[flow]]",
            "line 2: cell.rlc_limit: '1400b': no packet fits; expected at least 1500 bytes",
        ),
        (
            "[cell]\nrlc_limit = \"much\"\n[[flow]]",
            "line 2: cell.rlc_limit: 'much': expected a number of packets, such as 30, or bytes with their unit",
        ),
        (
            "[cell]\nrlc_limit = 1.5\n[[flow]]",
            "line 2: cell.rlc_limit: found the float 1.5; expected a number of packets",
        ),
        (
            "[cell]\nunit = \"packets\"\nrlc = \"am\"\n[[flow]]",
            "line 3: cell.rlc: the cell counts whole packets, without an RLC; expected unit = \"bytes\", or no rlc",
        ),
        (
            "[cell]\nupf_pacer = \"usp\"\n[[flow]]",
            "line 2: cell.upf_pacer: there is no queue at the UPF; expected this key only with upf",
        ),
        (
            "[cell]\nharq_rtt = \"1ms\"\nbler = 0.1\n[[flow]]",
            "line 2: cell.harq_rtt: a block is repeated after 1ms; expected at least the time on the air, 4ms",
        ),
        (
            "[cell]\ntdd = \"tdd:UUU\"\n[[flow]]",
            "line 2: cell.tdd: 'tdd:UUU': pattern=UUU: no slot is downlink; expected at least one D",
        ),
        (
            "[cell]\ntdd = \"tdd:DSU:special=5\"\n[[flow]]",
            "line 2: cell.tdd: the number of downlink symbols of a special subframe is 5; expected 3, 6, 9, 10, 11 or 12",
        ),
        (
            "[cell]\ntti = \"2ms\"\ntdd = \"tdd:DSU\"\n[[flow]]",
            "line 3: cell.tdd: time division duplex needs TTIs of one slot, 1ms; found a TTI of 2ms",
        ),
        (
            "[cell]\n[[cell.scell]]\nlayers = 2\n[[flow]]",
            "line 3: cell.scell.layers: the cell is LTE; expected this key only with technology = \"nr\"",
        ),
        (
            "[cell]\n[[cell.scell]]\nprbs = 26\n[[flow]]",
            "line 3: cell.scell.prbs: 26 is not a valid number of PRBs of an LTE carrier",
        ),
        (
            "[cell]\n[[cell.scell]]\nnumerology = 1\n[[flow]]",
            "line 3: cell.scell.numerology: unknown key; expected one of name, prbs, mcs_table, layers, tdd, channel",
        ),
        (
            "[cell]\n[[cell.ue]]\nscells = 1\n[[flow]]",
            "line 3: cell.ue.scells: there is no secondary cell; expected a table [[cell.scell]]",
        ),
        (
            "[cell]\n[[cell.scell]]\n[[cell.ue]]\nscells = 2\n[[flow]]",
            "line 4: cell.ue.scells: 2 is more than the cell has; expected 0 to 1",
        ),
        (
            "[cell]\nscheduler = \"eqp\"\n[[cell.scell]]\n[[flow]]",
            "line 3: cell.scell: carrier aggregation supports neither slices (a partition, eqp) nor guaranteed bit rates",
        ),
        (
            "[cell]\n[[cell.scell]]\nchannel = \"mcs:29\"\n[[flow]]",
            "line 3: cell.scell.channel: 'mcs:29': mcs=29: out of range; expected 0 to 28",
        ),
        ("[cell]\n[[cell.scell]]\ntdd = \"tdd:DDSU:special=5\"\n[[flow]]", "line 3: cell.scell.tdd: "),
        (
            "[[cell.scell]]\nprbs = 25\n[[flow]]",
            "line 1: cell: is missing; expected a table [cell], the primary cell, in front of its secondary cells",
        ),
        (
            "[cell]\nolla = \"olla:target=0%\"\n[[flow]]",
            "line 2: cell.olla: 'olla:target=0%': target=0%: out of range; expected 0.1% to 90%",
        ),
        (
            "[cell]\nolla = \"olla:target=100%\"\n[[flow]]",
            "line 2: cell.olla: 'olla:target=100%': target=100%: out of range; expected 0.1% to 90%",
        ),
        (
            "[cell]\n[[cell.ue]]\ndrx = \"drx:cycle=40ms:on=40ms\"\n[[flow]]",
            "line 3: cell.ue.drx: 'drx:cycle=40ms:on=40ms': on=40ms: expected less than the cycle, 40ms",
        ),
        (
            "[cell]\nhandover = \"handover\"\n[[flow]]",
            "line 2: cell.handover: 'handover': no time is given; expected every=5s",
        ),
        (
            "[cell]\n[[cell.ue]]\nhandover_channel = \"mcs:3\"\n[[flow]]",
            "line 3: cell.ue.handover_channel: there is no handover; expected one, such as handover = \"handover:every=5s\"",
        ),
        (
            "[cell]\nhandover = \"handover:every=5s\"\nhandover_channel = \"mcs:40\"\n[[flow]]",
            "line 3: cell.handover_channel: ",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\ngbr = \"20mbit\"\n[[flow]]",
            "line 4: cell.ue.bearer.gbr: the guaranteed bit rates up to this one need 109% of the cell",
        ),
        (
            "[cell]\nscheduler = \"edf\"\npartition = \"fp\"\n[[cell.slice]]\nname = \"a\"\nshare = \"100%\"\n[[cell.ue]]\nslice = \"a\"\n[[flow]]",
            "line 3: cell.partition: a cell with slices supports neither schedulers by delay (mlwdf, exp_pf, edf) nor guaranteed bit rates",
        ),
        ("[cell]\ndecoding = \"snr:combining=turbo\"\n[[flow]]", "line 2: cell.decoding: "),
        (
            "[cell]\npaser = \"drql\"\n[[flow]]",
            "line 2: cell.paser: unknown key; expected one of technology, ",
        ),
        (
            "[cell]\n[[cell.bearer]]\n[[flow]]",
            "line 2: cell.bearer: stands outside of a UE; expected [[cell.ue.bearer]] below its [[cell.ue]]",
        ),
        (
            "[cell]\n[[cell.ue.bearer]]\n[[flow]]",
            "line 2: cell.ue: header is missing; expected [[cell.ue]] before its keys and tables",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue.bearer.qos_flow]]\n[[flow]]",
            "line 3: cell.ue.bearer: header is missing; expected [[cell.ue.bearer]] before its keys and tables",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer.qos_flow]]\n[[flow]]",
            "line 4: cell.ue.bearer.qos_flow.qfi: is missing; expected a number from 0 to 63",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer.qos_flow]]\nqfi = 64\n[[flow]]",
            "line 5: cell.ue.bearer.qos_flow.qfi: '64': out of range; expected 0 to 63",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer.qos_flow]]\nqfi = 1\n[[flow]]",
            "line 6: cell.ue.bearer.qos_flow.qfi: 1 is given twice: each QFI of a UE belongs to one bearer; expected another QFI",
        ),
        (
            "[cell]\n[[cell.ue]]\nname = \"a\"\n[[cell.ue]]\nname = \"a\"\n[[flow]]",
            "line 5: cell.ue.name: 'a' is given twice; expected each name once",
        ),
        (
            "[cell]\n[[cell.ue]]\nname = \"each\"\n[[flow]]",
            "line 3: cell.ue.name: 'each' stands for every UE; expected another name",
        ),
        (
            "[cell]\n[[cell.ue]]\nname = \"channel\"\n[[flow]]",
            "line 3: cell.ue.name: 'channel' is the name of a key; expected another name",
        ),
        (
            "[cell]\n[[cell.ue]]\ncount = 10000\n[[cell.ue]]\n[[flow]]\nue = \"ue-2\"",
            "line 4: cell.ue: 10001 UEs are too many; expected at most 10000 in all",
        ),
        (
            "[cell]\n[[flow]]\nue = \"ue-2\"",
            "line 3: flow.ue: unknown UE 'ue-2'; expected each or one of ue-1; did you mean 'ue-1'?",
        ),
        (
            "[cell]\n[[flow]]\nqfi = 9",
            "line 3: flow.qfi: 9: no bearer of UE 'ue-1' carries this QFI; expected one of 1",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue]]\n[[flow]]",
            "line 4: flow.ue: there are 2 UEs and none is named; expected each or one of ue-1, ue-2",
        ),
        (
            "[cell]\n[[cell.ue]]\n[[cell.ue.bearer]]\n[[cell.ue.bearer]]\n[[flow]]",
            "line 5: flow.qfi: UE 'ue-1' has several QoS flows and none is named; expected one of 1, 2",
        ),
        (
            "[path]\nlink = \"1mbit\"\n[[flow]]\nqfi = 1",
            "line 4: flow.qfi: there is no cell; expected this key only with [cell]",
        ),
        (
            "[path]\nlink = \"1mbit\"\n[[flow]]\n[matrix]\ncell.pacer = [\"drql\"]",
            "line 5: matrix.cell: there is no cell; expected a table [cell]",
        ),
        (
            "[cell]\n[[flow]]\n[matrix]\ncell.pacers = [\"drql\"]",
            "line 4: matrix.cell.pacers: unknown key; expected one of ",
        ),
        (
            "[cell]\n[[flow]]\n[matrix]\ncell.ue.car.channel = [\"mcs:1\"]",
            "line 4: matrix.cell.ue.car: neither a key nor the name of a UE; expected one of count, channel, report_delay, report_period, olla, drx, handover, handover_channel, scells, slice, uplink_channel, ue-1",
        ),
        (
            "[cell]\n[[flow]]\n[matrix]\ncell.bearer.drb-2.pacer = [\"drql\"]",
            "line 4: matrix.cell.bearer.drb-2: neither a key nor the name of a bearer; expected one of ",
        ),
        (
            "[cell]\n[[flow]]\n[matrix]\npath.qdisc = [\"codel\"]",
            "path.qdisc: a cell is given; expected this key only without [cell]",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, wanted) in cases {
        let message = error(text);
        if !message.starts_with("my.toml: ") || !message.contains(wanted) {
            wrong.push(format!("{text}\n  {message}\n  {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let many = "[cell]\n[[cell.ue]]\n".to_string() + &"[[cell.ue.bearer]]\n".repeat(31) + "[[flow]]";
    assert!(
        error(&many)
            .contains("line 33: cell.ue.bearer: 31 bearers are too many; expected at most 30 of a UE")
    );
}

#[test]
fn channels_are_read_from_files() {
    let folder = Folder::new("files");
    folder.write("cap.txt", "3\n1\n2\n30\n");
    let table =
        "Timestamp,Speed,CQI\n2018.01.27_13.58.29,0,7\n2018.01.27_13.58.30,0,-\n2018.01.27_13.58.31,0,15\n";
    folder.write("drive.csv", table);
    let library = || Library::new().beside(folder.path());
    let channel = |text: &str, more: &str| {
        let case =
            study(&format!("[cell]\nchannel = \"{text}\"\n[[flow]]\n{more}")).case(0, &library()).unwrap();
        (format!("{:?}", cell(&case).ues[0].setting), case.traces)
    };
    let (setting, traces) = channel("capacity:cap.txt:from=1s:for=2s:repeat=off", "");
    assert!(setting.contains("values: [2, 30]") && setting.contains("repeat: false"), "{setting}");
    assert_eq!(traces["cap.txt"].digest.len(), 16);
    for (tie, cqi) in [("lowest", "cqi: 4"), ("highest", "cqi: 5")] {
        let (setting, _) = channel(&format!("capacity:cap.txt:from=1s:for=1s:cqi={tie}"), "");
        assert!(setting.contains("CqiSteps") && setting.contains(cqi), "{setting}");
    }
    let (setting, _) = channel("cqi-trace:drive.csv:from=1s:outage=1s", "");
    assert!(
        setting.contains("cqi: 0") && setting.contains("cqi: 15") && !setting.contains("cqi: 7"),
        "{setting}"
    );
    let (setting, traces) = channel("trace:synth-subway", "");
    assert!(setting.contains("Opportunities") && traces.contains_key("synth-subway"), "{setting}");
    let stand_in = "[fallback]\n\"far/away.txt\" = \"synth-subway\"\n";
    let (_, traces) = channel("capacity:far/away.txt", stand_in);
    assert_eq!(traces["synth-subway"].substitute_for.as_deref(), Some("far/away.txt"));
    for (text, wanted) in [
        ("capacity:cap.txt:from=2s:for=2s", "line 2: cell.channel: 'capacity:cap.txt:from=2s:for=2s': "),
        ("cqi-trace:cap.txt", "line 1: "),
        ("capacity:drive.csv", "drive.csv: line 1: "),
        ("capacity:cap.txt:cqi=lowest", "cap.txt: "),
    ] {
        let study = study(&format!("[cell]\nchannel = \"{text}\"\n[[flow]]\n"));
        let error = study.check(&library()).unwrap_err().to_string();
        assert!(error.contains(wanted), "{error}");
    }
}

fn only(summary: &Summary) -> &CaseSummary {
    let [case] = summary.cases.as_slice() else { panic!("one case") };
    case
}

const MIXED: &str = r#"
    [path]
    rtt = "20ms"
    [cell]
    rlc_limit = 50
    [[flow]]
    name = "bulk"
    [[flow]]
    name = "game"
    transport = "gaming:20ms:echo=on"
    [[flow]]
    name = "call"
    transport = "voip"
    [run]
    duration = "10s"
    warmup = "2s"
"#;

#[test]
fn figures_of_a_cell_are_consistent() {
    let summary = results(MIXED);
    let case = only(&summary);
    // 25 PRBs at MCS 28 carry at most 2292 bytes per millisecond.
    assert!(case.throughput_mbps > 16.0 && case.throughput_mbps < 18.3, "{}", case.throughput_mbps);
    assert!(case.utilization > 0.9 && case.utilization <= 1.0, "{}", case.utilization);
    let cell = case.cell.as_ref().expect("figures of the cell");
    assert_eq!(cell.rbs_offered, 8000 * 25);
    assert_eq!(cell.rbs_used + cell.rbs_wasted + cell.rbs_unfit, cell.rbs_offered);
    assert_eq!(cell.rbs_repeated, 0);
    let names: Vec<&str> = cell.stages.keys().map(String::as_str).collect();
    assert_eq!(names, ["air", "reassembly", "reordering", "rlc", "sdap"]);
    // The mean delays of the stages add up to the mean one-way delay, except for the delay behind the cell.
    let sum: f64 = cell.stages.values().map(|stage| stage.mean).sum();
    assert!((sum + 10.0 - case.one_way_delay_ms.mean).abs() < 0.05, "{sum} {}", case.one_way_delay_ms.mean);
    let bearer = &cell.bearers["ue-1/drb-1"];
    // Without a pacer the RLC's queue holds all packets: Little's law.
    let packets_a_ms = case.queue_delay_ms.count as f64 / 8000.0;
    let little = packets_a_ms * case.queue_delay_ms.mean;
    assert!((bearer.packets.mean / little - 1.0).abs() < 0.02, "{} {little}", bearer.packets.mean);
    assert!(bearer.packets.max <= 51.0 && bearer.packets.p95 <= bearer.packets.max);
    assert!(case.drops > 0 && case.drops == case.nodes["rlc/ue-1/drb-1"].dropped);
    let game = &case.groups["game"];
    let round_trip = game.round_trip_ms.as_ref().expect("echoes");
    assert!(round_trip.count > 350 && round_trip.mean > game.one_way_delay_ms.mean + 9.9);
    assert!(game.voice.is_none() && case.groups["bulk"].round_trip_ms.is_none());
    let voice = case.groups["call"].voice.as_ref().expect("a call");
    assert!((1.0..=4.5).contains(&voice.mos) && voice.r_min == voice.r, "{voice:?}");
    let call = &case.flows[2];
    assert_eq!((call.ue.as_deref(), call.qfi, call.voice), (Some("ue-1"), Some(1), Some(*voice)));
}

/// A download over one carrier, over two, and over two where its UE has the first alone: the first and the last have the same figures.
#[test]
fn a_secondary_cell_adds_its_resource_blocks() {
    let text = |scells: &str, of_ue: &str| {
        format!(
            "[run]\nduration = \"3s\"\n[cell]\ntechnology = \"nr\"\nnumerology = 1\nprbs = 24\nchannel = \"mcs:20\"\npacer = \"e5g-bdp\"\n\
             {scells}[[cell.ue]]\n{of_ue}[[flow]]\ntransport = \"cubic\"\n"
        )
    };
    let scell = "[[cell.scell]]\nprbs = 48\ntdd = \"tdd:DDDSU\"\n";
    let figures = |text: &str| {
        let case = &results(text).cases[0];
        (case.groups["flow-1"].throughput_mbps, case.cell.as_ref().expect("a cell").rbs_held_back_share)
    };
    let (one, _) = figures(&text("", ""));
    let (two, held_back) = figures(&text(scell, ""));
    // DDDSU has (3 * 13 + 9) / 65 of the capacity of all slots.
    let expected = 1.0 + 2.0 * 48.0 / 65.0;
    assert!((two / one / expected - 1.0).abs() < 0.06, "{two} and {one}, expected {expected}");
    assert!(held_back.expect("a share") < 0.05, "{held_back:?}");
}

#[test]
fn axes_name_secondary_cells() {
    let text = "[cell]\n[[cell.scell]]\nname = \"wide\"\n[[cell.scell]]\n[[flow]]\n[matrix]\ncell.scell.wide.prbs = [25, 50]\n";
    let prbs = [0, 1].map(|number| {
        let case = study(text).case(number, &Library::new()).unwrap_or_else(|error| panic!("{error}"));
        case.settings["cell"]["scell"][0]["prbs"].clone()
    });
    assert_eq!(prbs, [json!(25), json!(50)]);
}
