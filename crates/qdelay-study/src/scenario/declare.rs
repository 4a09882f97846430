//! Every key of a scenario file, declared once: reading, errors, the JSON Schema and the tables of `docs/scenarios.md`
//! come from here.

pub use super::values::SEEDS_MAX;
use super::values::{
    Bandwidth, Bins, Channel, ControlTtis, Decoding, Direction, Drx, Dscp, Dscps, F1, Handover, Labels,
    Limit, Link, Loss, McsTable, Name, Olla, Pacer, Partition, Pdcp, Percent, Protocol, Qdisc, QuantityUnit,
    Rlc, Scheduler, SdapOrder, Seeds, Share, Sharing, Starts, Tdd, Technology, TraceFormat, TraceName,
    Transport, Uplink,
};
use crate::expect::{Best, Over};
pub use qdelay_config::Settings;
use qdelay_config::{Declared, OrNone, Table, key, table};
use qdelay_core::{Rate, Span};

/// Most flows of a case.
pub const FLOWS_MAX: u64 = 100_000;
/// Most bins of a time series.
pub const BINS_MAX: u64 = 1_000_000;
/// Most UEs of a cell.
pub const UES_MAX: u64 = 10_000;
/// Most hops in front of a bottleneck.
pub const HOPS_MAX: usize = qdelay_path::stack::HOPS_MAX;
/// Most data radio bearers of a UE.
pub const BEARERS_MAX: usize = 30;
/// Most QoS flows of a UE: their identifiers have six bits (TS 38.415 clause 5.5.3.3).
pub const QOS_FLOWS_MAX: usize = 64;

const TRACE_FORMAT: Declared = key("", "How to read the trace; where it is not given, the first line tells.");
const ONCE: Declared = key(
    "off",
    "The trace does not start over: after its end a mahimahi link is silent, and the last rate of other formats holds.",
);
const LIMIT: Declared =
    key("", "Packets its queue holds, where the discipline's own limit is not given; else its default.")
        .count("packets")
        .within("1", "10000000");
const UPF: Declared = key(
    "none",
    "The queue of each QoS flow at the user plane function; none: packets come to the SDAP at once. Its limit is as that of sdap.",
);
const USP: Declared = key("vanilla", "The pacer between the UPF's queue and the SDAP's.");
const UPF_PACKETS: Declared = key(
    "",
    "Packets that may go on from a UPF's queue in each upf_period; any number where it is not given.",
)
.count("packets")
.within("1", "1000000");
const UPF_PERIOD: Declared = key("1ms", "See upf_packets.").within("1us", "10s");
const SDAP: Declared = key(
    "taildrop",
    "The queue of each QoS flow at the SDAP. Where it names no limit it has the discipline's, 1000 packets, or room for what the carrier carries in 100 ms at its highest MCS if that is more.",
);
const SDAP_ORDER: Declared = key(
    "priority",
    "How a bearer takes from its QoS flows: always the most important, a packet of each in turn, or as many bytes of each.",
);
const SDAP_PACKETS: Declared = key(
    "",
    "Packets that may go on from the SDAP to a bearer in each sdap_period; any number where it is not given.",
)
.count("packets")
.within("1", "1000000");
const SDAP_PERIOD: Declared = key("1ms", "See sdap_packets.").within("1us", "10s");
const PACER: Declared = key("vanilla", "What lets packets from the SDAP into the RLC's queue.");
const FEEDBACK: Declared =
    key("0s", "How long it takes until a pacer hears of what happens below it.").within("0s", "10s");
const F1_OF: Declared = key(
    "none",
    "What is between the central unit, with SDAP, PDCP and pacer, and the distributed one, with the RLC, where the base station is split.",
);
const POLLING: Declared =
    key("0s", "Pacers look at multiples of this only; 0: whenever there is a reason to.").within("0s", "10s");
const RLC: Declared = key("um", "Radio link control: unacknowledged, acknowledged or transparent mode.");
const PDCP: Declared = key(
    "ideal",
    "Where packets get their numbers: as they leave the RLC's queue, or, as in the standard, before it; and how long the UE waits for a missing one.",
);
const RLC_QUEUE: Declared = key("taildrop", "The queue that the RLC takes from.");
const RLC_LIMIT: Declared = key(
    "",
    "What that queue holds, where the discipline's own limit is not given; else its default, or what the carrier carries in 100 ms if that is more.",
);
const RLC_BUFFER: Declared = key("", "What that queue and the rest of a packet that is partly sent may be together, headers of PDCP included; an arrival that does not fit is dropped.").bytes().within("64b", "1000000000b");
const FIVE_QI: Declared = key("", "Of NR: its standardized 5QI.").count("5QI").within("1", "254");
const CHANNEL: Declared = key("mcs:28", "How good the radio channel is.");
const REPORT_DELAY: Declared =
    key("0s", "How old a channel report is when the scheduler first uses it.").within("0s", "10s");
const REPORT_PERIOD: Declared =
    key("0s", "How far channel reports are apart; 0: one for every TTI.").within("0s", "10s");
const OLLA: Declared = key(
    "none",
    "An offset of the reported channel that follows acknowledgements, so that a given share of first transmissions is lost.",
);
const DRX: Declared = key("none", "Discontinuous reception: when the UE sleeps, and gets no new block.");
const HANDOVER: Declared =
    key("none", "When the UE changes its cell, and for how long it then gets nothing.");
const HANDOVER_CHANNEL: Declared = key(
    "",
    "How good the channel is in the other cell; handovers go back and forth. As in the first where it is not given.",
);
const SCHEDULER: Declared = key("round_robin", "Which UE gets which resource blocks.");
const UPLINK_CHANNEL: Declared = key("mcs:20", "How good the radio channel upwards is.");
const UPLINK_QDISC: Declared = key("taildrop", "The queue of each bearer at the UE.");
const UPLINK_LIMIT: Declared =
    key("", "What that queue holds, where the discipline's own limit is not given; else its default.");
const SLICE_OF: Declared =
    key("", "With a partition: the slice of its bearers; each bearer is of one slice.");

table! {
    /// `[path]`.
    pub struct Path, PathChange = "path", "the bottleneck, and the way to it and back" {
        link: Option<Link> = key("", "The bottleneck's link, such as 10mbit; this or trace.").also(&["rate", "bandwidth", "capacity"]);
        trace: Option<TraceName> = key("", "The trace that drives the bottleneck's link; this or link.").also(&["file"]);
        trace_format: Option<TraceFormat> = TRACE_FORMAT;
        once: bool = ONCE;
        qdisc: Qdisc = key("taildrop", "The queue discipline of the bottleneck.").also(&["aqm", "queue", "scheduler"]);
        limit: Option<u64> = LIMIT.also(&["buffer", "queue_size", "queue_limit"]);
        rtt: Span = key("10ms", "Round trip without any queue or transmission.").within("1us", "60s").also(&["delay", "latency", "base_rtt"]);
        jitter: Span = key("0s", "At most this much more delay behind the bottleneck; packets keep their order.").within("0s", "60s");
        loss: OrNone<Loss> = key("none", "Random loss behind the bottleneck: a percentage, or a model such as gilbert-elliott:p=1%:r=25%.").also(&["drop", "packet_loss"]);
        reorder: Percent = key("0%", "Share of packets behind the bottleneck that stay for reorder_by, so that later ones overtake them.");
        reorder_by: Span = key("2ms", "How long they stay.").within("1us", "60s");
        duplicate: Percent = key("0%", "Share of packets behind the bottleneck that are followed by a copy.");
        uplink: Uplink = key("48mbit", "What acknowledgements and the data of uploads cross.");
        uplink_limit: u64 = key("1000", "Packets the uplink's queue holds, where the limit of uplink_qdisc is not given.").count("packets").within("1", "10000000");
        uplink_qdisc: Qdisc = key("taildrop", "The queue discipline of the uplink; results have its figures where this is given.");
        uplink_loss: OrNone<Loss> = key("none", "Random loss behind the uplink.");
    }
}

table! {
    /// `[[path.hop]]`.
    pub struct Hop, HopChange = "path.hop", "a queue and a link in front of the bottleneck, which all flows cross in the data direction" {
        name: Option<Name> = key("", "What it is called; hop-1, hop-2... where it is not given.").fixed();
        link: Option<Link> = key("", "Its link, such as 10mbit; this or trace.").also(&["rate", "bandwidth", "capacity"]);
        trace: Option<TraceName> = key("", "The trace that drives its link; this or link.");
        trace_format: Option<TraceFormat> = TRACE_FORMAT;
        once: bool = ONCE;
        qdisc: Qdisc = key("taildrop", "The queue discipline in front of the link.").also(&["aqm", "queue"]);
        limit: Option<u64> = LIMIT;
        delay: Span = key("0s", "From its link to what is behind it, one way; on top of path.rtt.").within("0s", "60s").also(&["rtt", "latency"]);
    }
}

table! {
    /// `[[flow]]`.
    pub struct Flow, FlowChange = "flow", "a flow, or several that are alike" {
        name: Option<Name> = key("", "What it is called in results; flow-1, flow-2... where it is not given.").fixed();
        transport: Transport = key("cubic", "What its two ends run.").also(&["cc", "congestion", "congestion_control", "tcp", "protocol"]);
        count: u64 = key("1", "How many of them; several are called NAME-1, NAME-2...").count("flows").within("1", "100000").also(&["flows", "number", "n"]);
        direction: Direction = key("down", "Which way its data goes: down through the bottleneck, or up through path.uplink; acknowledgements go the other way.");
        start: Span = key("0s", "When it starts.");
        stop: Option<Span> = key("", "When it stops sending; at the end of the run where it is not given.");
        spread: Span = key("0s", "Each starts at a random time up to this after start; see run.starts where it is not given.");
        dscp: Dscp = key("be", "Differentiated services codepoint of its packets, in both directions.");
        other_dscp: Option<Dscp> = key("", "A second codepoint, for some of the data packets that it sends; acknowledgements keep dscp.");
        other_share: Option<Percent> = key("", "With which probability a data packet carries other_dscp, such as 20%; nothing unless given.");
        extra_rtt: Span = key("0s", "Added to the round trip for this flow alone, behind the uplink.").within("0s", "60s");
        access: Option<Rate> = key("", "Rate of its own access link in front of the bottleneck and of the uplink; none where not given.").within("1bit", "").also(&["rate"]);
        access_jitter: Span = key("0s", "At most this much more delay behind the access link for each data packet; packets keep their order.").within("0s", "60s");
        discard_after: Option<Span> = key("", "The receiver throws away data packets that come later than this after they were sent.").within("1us", "60s");
        ue: Option<Name> = key("", "The UEs of a cell that it goes to: a name under [[cell.ue]], or each: one flow for each of them.");
        qfi: Option<u8> = key("", "The QoS flow of that UE that carries it; its only one where it is not given.").count("QFI").within("0", "63");
    }
}

table! {
    /// `[cell]`.
    pub struct Cell, CellChange = "cell", "a cell as the bottleneck, in place of path.link, path.trace and path.qdisc" {
        technology: Technology = key("lte", "Which tables and slots it has.").fixed();
        prbs: u16 = key("25", "Physical resource blocks of the carrier.").count("resource blocks").within("1", "275").also(&["rbs", "resource_blocks"]);
        bandwidth: Option<Bandwidth> = key("", "Of LTE, in place of prbs.");
        numerology: u8 = key("0", "Of NR: slots of 1 ms, 500, 250 or 125 us.").count("numerology").within("0", "3");
        mcs_table: McsTable = key("qam64", "Of NR: which modulations there are.");
        layers: u8 = key("1", "Of NR: spatial layers.").count("layers").within("1", "4");
        tti: Option<Span> = key("", "Transmission time interval: a multiple of the slot; the slot where it is not given.").within("1us", "1s");
        unit: QuantityUnit = key("bytes", "What is counted; packets: each is 1500 bytes, and none is cut in pieces.");
        scheduler: Scheduler = SCHEDULER.also(&["mac", "mac_scheduler"]);
        partition: OrNone<Partition> = key("none", "How slices, each under [[cell.slice]], get their resource blocks.");
        sharing: Sharing = key("priority", "How the bearers of a UE share what it gets.");
        control: ControlTtis = key("none", "Which TTIs carry less because of control.");
        tdd: OrNone<Tdd> = key("none", "Time division duplex: which slots are downlink; none: all.");
        bler: f64 = key("0", "Share of transport blocks that are lost and sent again, where the MCS is right.").within("0", "0.99");
        decoding: Decoding = key("steps", "What decides whether a transport block is lost, and what repetitions are worth.");
        harq_rtt: Option<Span> = key("", "From a lost block to its repetition; the technology's where it is not given.").within("1us", "1s");
        harq_retransmissions: u8 = key("3", "After so many a block is lost for good.").count("repetitions").within("0", "30");
        harq_processes: Option<u8> = key("", "Blocks of a UE that may be on the air or wait for repetition at a time; any number where it is not given.").count("processes").within("1", "32");
        air: Option<Span> = key("", "From the TTI in which a block is sent until it is decoded; the technology's where it is not given.").within("0s", "1s");
        channel: Channel = CHANNEL.also(&["cqi", "mcs", "snr"]);
        report_delay: Span = REPORT_DELAY;
        report_period: Span = REPORT_PERIOD;
        olla: OrNone<Olla> = OLLA;
        drx: OrNone<Drx> = DRX;
        handover: OrNone<Handover> = HANDOVER;
        handover_channel: Option<Channel> = HANDOVER_CHANNEL;
        n3: OrNone<Link> = key("none", "A link that packets cross before they come to the node.");
        n3_overhead: u64 = key("36", "Bytes that its tunnel adds to each packet, where the link's own overhead is not given: GTP-U, UDP and IP.").bytes().within("0", "1500b");
        n3_limit: u64 = key("1000", "Packets its queue holds.").count("packets").within("1", "10000000");
        upf: OrNone<Qdisc> = UPF;
        usp: Pacer = USP;
        upf_packets: Option<u32> = UPF_PACKETS;
        upf_period: Span = UPF_PERIOD;
        sdap: Qdisc = SDAP;
        sdap_order: SdapOrder = SDAP_ORDER;
        sdap_packets: Option<u32> = SDAP_PACKETS;
        sdap_period: Span = SDAP_PERIOD;
        pacer: Pacer = PACER;
        feedback: Span = FEEDBACK;
        f1: F1 = F1_OF;
        polling: Span = POLLING;
        rlc: Rlc = RLC;
        pdcp: Pdcp = PDCP;
        rlc_queue: Qdisc = RLC_QUEUE;
        rlc_limit: Option<Limit> = RLC_LIMIT;
        rlc_buffer: Option<u64> = RLC_BUFFER;
    }
}

table! {
    /// `[cell.uplink]`.
    pub struct CellUplink, CellUplinkChange = "cell.uplink", "the uplink of the cell: scheduling requests, reports and grants, in place of path.uplink" {
        channel: Channel = UPLINK_CHANNEL.also(&["cqi", "mcs", "snr"]);
        scheduler: Scheduler = SCHEDULER.also(&["mac", "mac_scheduler"]);
        sr_period: OrNone<Span> = key("10ms", "Time between a UE's occasions of scheduling requests: one that the technology has; none: it has configured grants only.").within("1us", "10s").also(&["sr", "period"]);
        sr_offset: Span = key("0s", "The first occasion of the first UE; that of each further one is a TTI later.").within("0s", "10s");
        sr_prohibit: Span = key("0s", "sr-ProhibitTimer: the least time between two requests of a UE.").within("0s", "10s");
        sr_grant: u64 = key("512b", "What is granted for a request, before the base station knows how much there is.").bytes().within("1b", "100000b");
        grant_delay: Option<Span> = key("", "From the TTI of a grant to that of its transmission; the technology's where it is not given.").within("0s", "1s").also(&["k2"]);
        configured_period: Option<Span> = key("", "Time between a UE's configured grants; it has none where this is not given.").within("1us", "10s");
        configured_bytes: Option<u64> = key("", "What each of them holds at least.").bytes().within("1b", "100000b");
        periodic_bsr: Span = key("10ms", "periodicBSR-Timer: a block that is sent so long after the last buffer status report has one.").within("1us", "10s");
        retx_bsr: Span = key("320ms", "retxBSR-Timer: a UE with data asks again after so long without a grant.").within("1us", "100s");
        bler: f64 = key("0", "Share of transport blocks that are lost and sent again, where the MCS is right.").within("0", "0.99");
        harq_rtt: Option<Span> = key("", "From a lost block to its repetition; the technology's where it is not given.").within("1us", "1s");
        harq_retransmissions: u8 = key("3", "After so many a block is lost for good.").count("repetitions").within("0", "30");
        air: Option<Span> = key("", "From the TTI in which a block or a request is sent until it is decoded; the technology's where it is not given.").within("0s", "1s");
        rlc: Option<Rlc> = RLC.inherited().about("Radio link control upwards; that of the bearer where it is not given.");
        pdcp: Option<Pdcp> = PDCP.inherited().about("PDCP upwards; that of the bearer where it is not given.");
        qdisc: Qdisc = UPLINK_QDISC.also(&["aqm", "queue"]);
        limit: Option<Limit> = UPLINK_LIMIT;
    }
}

table! {
    /// `[[cell.slice]]`.
    pub struct Slice, SliceChange = "cell.slice", "a slice of the cell: a share of its resource blocks, and the bearers that name it" {
        name: Option<Name> = key("", "What it is called; required.").required().fixed();
        share: Option<Share> = key("", "Its part of the resource blocks that carry new data, such as \"25%\"; required.").required();
        scheduler: Option<Scheduler> = SCHEDULER.inherited();
    }
}

table! {
    /// `[[cell.ue]]`.
    pub struct Ue, UeChange = "cell.ue", "a UE of the cell, or several that are alike" {
        name: Option<Name> = key("", "What it is called; ue-1, ue-2... where it is not given.").fixed();
        count: u64 = key("1", "How many of them; several are called NAME-1, NAME-2...").count("UEs").within("1", "10000");
        channel: Option<Channel> = CHANNEL.inherited();
        report_delay: Option<Span> = REPORT_DELAY.inherited();
        report_period: Option<Span> = REPORT_PERIOD.inherited();
        olla: Option<OrNone<Olla>> = OLLA.inherited();
        drx: Option<OrNone<Drx>> = DRX.inherited();
        handover: Option<OrNone<Handover>> = HANDOVER.inherited();
        handover_channel: Option<Channel> = HANDOVER_CHANNEL;
        slice: Option<Name> = SLICE_OF;
        uplink_channel: Option<Channel> = UPLINK_CHANNEL.inherited();
    }
}

table! {
    /// `[[cell.ue.bearer]]`.
    pub struct Bearer, BearerChange = "cell.ue.bearer", "a data radio bearer of a UE" {
        name: Option<Name> = key("", "What it is called; drb-1, drb-2... where it is not given.").fixed();
        priority: u8 = key("1", "The bearers of a UE are served in this order, 1 first; equal ones in turn. Where it is not given, that of qci or five_qi.").count("priority").within("1", "255");
        qci: Option<u8> = key("", "Of LTE: its standardized QoS class; all bearers of a UE have one, or none.").count("QCI").within("1", "254");
        five_qi: Option<u8> = FIVE_QI.about("Of NR: the standardized 5QI of its QoS flows that have none of their own.");
        gbr: Option<Rate> = key("", "Its guaranteed bit rate, which is served before the scheduler decides; none where it is not given.").within("1kbit", "");
        slice: Option<Name> = SLICE_OF.about("With a partition: its slice, in place of the UE's.");
        sdap_order: Option<SdapOrder> = SDAP_ORDER.inherited();
        sdap_packets: Option<u32> = SDAP_PACKETS;
        sdap_period: Option<Span> = SDAP_PERIOD.inherited();
        pacer: Option<Pacer> = PACER.inherited();
        feedback: Option<Span> = FEEDBACK.inherited();
        f1: Option<F1> = F1_OF.inherited();
        polling: Option<Span> = POLLING.inherited();
        rlc: Option<Rlc> = RLC.inherited();
        pdcp: Option<Pdcp> = PDCP.inherited();
        rlc_queue: Option<Qdisc> = RLC_QUEUE.inherited();
        rlc_limit: Option<Limit> = RLC_LIMIT;
        rlc_buffer: Option<u64> = RLC_BUFFER;
        uplink_qdisc: Option<Qdisc> = UPLINK_QDISC.inherited();
        uplink_limit: Option<Limit> = UPLINK_LIMIT;
        uplink_pbr: Option<Rate> = key("", "Prioritised bit rate upwards; all that it has, before bearers of lower priority, where it is not given.").within("1bit", "");
        uplink_bucket: Span = key("50ms", "With uplink_pbr, bucket size duration: for how long what the rate has not used stays.").within("1ms", "10s");
    }
}

table! {
    /// `[[cell.ue.bearer.qos_flow]]`.
    pub struct QosFlow, QosFlowChange = "cell.ue.bearer.qos_flow", "a QoS flow of a bearer" {
        qfi: Option<u8> = key("", "Its identifier, unlike that of any other of the UE; required.").required().count("QFI").within("0", "63").fixed();
        priority: u8 = key("1", "With sdap_order = \"priority\": 1 first; equal ones as they stand. Where it is not given, that of five_qi.").count("priority").within("1", "255");
        five_qi: Option<u8> = FIVE_QI;
        upf: Option<OrNone<Qdisc>> = UPF.inherited();
        usp: Option<Pacer> = USP.inherited();
        upf_packets: Option<u32> = UPF_PACKETS;
        upf_period: Option<Span> = UPF_PERIOD.inherited();
        sdap: Option<Qdisc> = SDAP.inherited();
    }
}

table! {
    /// `[[cell.ue.bearer.filter]]`.
    pub struct Filter, FilterChange = "cell.ue.bearer.filter", "a packet filter of a bearer: which packets it carries" {
        precedence: Option<u8> = key("", "Of the filters that match a packet the one with the least decides; unlike that of any other of the UE; required.").required().count("precedence").within("0", "255").fixed();
        dscp: Option<Dscps> = key("", "Codepoints of packets that match; any where it is not given.").fixed();
        protocol: Option<Protocol> = key("", "What packets that match are of; either where it is not given.").fixed();
        flow: Option<Name> = key("", "The [[flow]] that packets that match are of; any where it is not given.").fixed();
        qfi: Option<u8> = key("", "The QoS flow of the bearer that carries what matches; its first where it is not given.").count("QFI").within("0", "63").fixed();
    }
}

table! {
    /// `[run]`.
    pub struct Run, RunChange = "run", "for how long, how often, and what is kept" {
        duration: Span = key("60s", "Simulated time.").within("1ms", "1440min").also(&["time", "length", "stop", "end"]);
        warmup: Span = key("0s", "Rates and delays are taken from here on.");
        seeds: Seeds = key("1", "Seeds of the random streams: each case runs with each.").fixed();
        starts: Starts = key("auto", "With random each seed begins at a place of its own on every trace, and flows without spread start up to 200 ms later; with fixed all begin at the start of the trace; auto: random with several seeds.").fixed();
        min_packet_bytes: u32 = key("0", "Smallest IP packet whose delay counts.").bytes().within("0", "65535b");
        probe: bool = key("off", "Small packets at random times through the bottleneck's queue.");
        series: Option<Bins> = key("", "Width of the bins of the time series, or off; a 500th of the duration, rounded up.");
        connections: bool = key("off", "Add to the series of each connection its window, round trip, pacing rate and more, as they are at the end of each bin.").fixed();
        packets: bool = key("off", "Keep a record of every packet.");
    }
}

table! {
    /// `[[expect]]`.
    pub struct Expect, ExpectChange = "expect", "what the results should be" {
        claim: Option<String> = key("", "What is expected, in words; required.").required().fixed();
        measure: Option<String> = key("", "The figure, as a dotted path into a case of summary.json; required.").required().fixed();
        selects as "where": Option<Labels> = key("", "A table of axis = label, or a list of labels: the cases meant; all others too.").fixed();
        normalise: Option<Labels> = key("", "A table of axis = label: each figure over that of the case with these labels.").fixed();
        over: Over = key("mean", "How the figures of the cases become one.").fixed();
        versus: Option<Labels> = key("", "A table of axis = labels: the figure is divided by the best of these labels'.").fixed();
        best: Best = key("min", "Which of versus is best.").fixed();
        unit: Option<String> = key("", "Unit of low, high and paper, to be printed.").fixed();
        low: Option<f64> = key("", "Least accepted; this, high or both.").fixed();
        high: Option<f64> = key("", "Largest accepted; this, low or both.").fixed();
        paper: Option<f64> = key("", "What a paper says.").fixed();
    }
}

/// The keys outside of any table, and the tables, with what each is for.
pub static TOP: &[(&str, &str)] = &[
    ("title", "What it is, in one line."),
    ("about", "What it is for, in any number of lines."),
    ("path", "The bottleneck, and the way to it and back."),
    ("cell", "A cell of a mobile network as the bottleneck."),
    ("flow", "The flows: one table for each."),
    ("run", "For how long, how often, and what is kept."),
    ("matrix", "Keys with several values: one case for each combination."),
    ("fallback", "Shipped traces that stand in for ones that may not be at hand."),
    ("expect", "What the results should be."),
    ("origin", "What the command line said of a run: the last table of the scenario in its folder."),
];

/// Every table.
pub static TABLES: [&Table; 12] = [
    Path::TABLE,
    Hop::TABLE,
    Cell::TABLE,
    CellUplink::TABLE,
    Slice::TABLE,
    Ue::TABLE,
    Bearer::TABLE,
    QosFlow::TABLE,
    Filter::TABLE,
    Flow::TABLE,
    Run::TABLE,
    Expect::TABLE,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn defaults_are_those_of_keys<T: Settings>() {
        let defaults = T::defaults();
        for (key, setting) in T::TABLE.keys.iter().zip(defaults.each()) {
            let default = key.parameter.default;
            assert_eq!((setting.key().name(), setting.has_value()), (key.name(), !default.is_empty()));
            assert!(key.parameter.read(default).is_ok() || default.is_empty(), "{}", key.path);
        }
    }

    #[test]
    fn every_default_is_read() {
        defaults_are_those_of_keys::<Path>();
        defaults_are_those_of_keys::<Hop>();
        defaults_are_those_of_keys::<Cell>();
        defaults_are_those_of_keys::<CellUplink>();
        defaults_are_those_of_keys::<Slice>();
        defaults_are_those_of_keys::<Ue>();
        defaults_are_those_of_keys::<Bearer>();
        defaults_are_those_of_keys::<QosFlow>();
        defaults_are_those_of_keys::<Filter>();
        defaults_are_those_of_keys::<Flow>();
        defaults_are_those_of_keys::<Run>();
        defaults_are_those_of_keys::<Expect>();
    }

    #[test]
    fn keys_are_explained() {
        for table in TABLES {
            assert!(table.keys.iter().all(|key| key.parameter.about.ends_with('.')), "{}", table.name);
        }
    }
}
