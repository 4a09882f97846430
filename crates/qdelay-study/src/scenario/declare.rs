//! Declaration of every key of a scenario file. Reading, errors, the JSON Schema and the tables of `docs/scenarios.md` derive
//! from these declarations.

pub use super::values::SEEDS_MAX;
use super::values::{
    Bandwidth, Bins, Channel, ControlTtis, Decoding, Direction, Drx, Dscp, Dscps, F1, Handover, Labels,
    Limit, Link, McsTable, Name, Olla, Pacer, Partition, Pdcp, Percent, Protocol, Qdisc, QuantityUnit, Rank,
    Rlc, Scheduler, SdapOrder, Seeds, Share, Sharing, Spans, Starts, Tdd, Technology, TraceFormat, TraceName,
    Transport, Uplink,
};
use crate::expect::{Aggregate, Best};
use crate::traces::delay::Delay;
use crate::traces::jitter::JitterText;
use crate::traces::loss::Loss;
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
/// Most secondary cells of a cell: `maxNrofSCells` of TS 38.331.
pub const SCELLS_MAX: usize = 31;
/// Most data radio bearers of a UE.
pub const BEARERS_MAX: usize = 30;
/// Most QoS flows of a UE: their identifiers have six bits (TS 38.415 clause 5.5.3.3).
pub const QOS_FLOWS_MAX: usize = 64;

const TRACE_FORMAT: Declared =
    key("", "Format of the trace; by default the first line of the file determines it.");
const REPEAT: Declared = key(
    "on",
    "Start the trace over at its end; false: after the end a mahimahi link is silent, and other formats keep their last rate.",
);
const LIMIT: Declared = key(
    "",
    "Packets that the queue holds, unless qdisc sets its own limit; default: that of the discipline.",
)
.count("packets")
.within("1", "10000000");
const UPF_QDISC: Declared = key(
    "none",
    "Queue discipline of each QoS flow at the user plane function (UPF); none: packets reach the SDAP immediately. Default limit as for sdap_qdisc.",
);
const UPF_PACER: Declared = key("vanilla", "Pacer between the queues of UPF and SDAP.");
const UPF_PACKETS: Declared =
    key("", "Most packets that leave a UPF queue in each upf_period; default: no limit.")
        .count("packets")
        .within("1", "1000000");
const UPF_PERIOD: Declared = key("1ms", "Period of the limit upf_packets.").within("1us", "10s");
const SDAP_QDISC: Declared = key(
    "taildrop",
    "Queue discipline of each QoS flow at the SDAP. Default limit: 1000 packets, or the packets that the carrier sends in 100 ms at its highest MCS if that is more.",
);
const SDAP_ORDER: Declared = key(
    "priority",
    "Order in which a bearer serves its QoS flows: strict priority, one packet of each in turn, or deficit round robin (equal bytes).",
);
const SDAP_PACKETS: Declared =
    key("", "Most packets that go from the SDAP to a bearer in each sdap_period; default: no limit.")
        .count("packets")
        .within("1", "1000000");
const SDAP_PERIOD: Declared = key("1ms", "Period of the limit sdap_packets.").within("1us", "10s");
const PACER: Declared =
    key("vanilla", "Pacer that lets packets pass from the SDAP's queues into the RLC's queue.");
const FEEDBACK_DELAY: Declared =
    key("0s", "Delay of the reports that pacers receive from the layers below.").within("0s", "10s");
const F1_OF: Declared = key(
    "none",
    "F1 interface of a split base station, between the central unit (SDAP, PDCP, pacer) and the distributed unit (RLC); none: not split.",
);
const PACER_INTERVAL: Declared =
    key("0s", "Interval at which pacers decide; 0: at every event.").within("0s", "10s");
const RLC: Declared = key("um", "Radio link control: unacknowledged, acknowledged or transparent mode.");
const PDCP: Declared = key(
    "standard",
    "Packet data convergence protocol. standard numbers packets in front of the RLC's queue and makes the UE wait for missing ones; ideal numbers them as they leave it, which no stack does. None in transparent mode and in cells that count packets.",
);
const RLC_QDISC: Declared = key("taildrop", "Queue discipline of the RLC.");
const RLC_LIMIT: Declared = key(
    "",
    "Packets or bytes that rlc_qdisc holds, unless it sets its own limit; default: that of the discipline, or the packets that the carrier sends in 100 ms if that is more.",
);
const RLC_BUFFER: Declared = key("", "Bytes that rlc_qdisc and the unsent rest of a partly sent packet may hold together, with PDCP headers; an arrival that does not fit is dropped. Default: no limit.").bytes().within("64b", "1000000000b");
const FIVE_QI: Declared =
    key("", "NR only: standardized 5QI of the QoS flow.").count("5QI").within("1", "254");
const PSDB: Declared = key(
    "",
    "NR only: PDU set delay budget (PSDB) of the QoS flow, from the first packet of a frame at the node until the UE has handed up the last. Default, if pser or psihi is given: the packet delay budget of five_qi.",
)
.within("1us", "1s");
const PSER: Declared = key(
    "",
    "NR only: bound on the PDU set error rate (PSER) of the QoS flow, to which results compare; it changes no decision.",
)
.within("0", "1");
const PSIHI: Declared = key(
    "",
    "NR only: PDU set integrated handling (PSIHI) of the QoS flow: without one of its packets a frame is of no use. Default: off.",
);
const PRBS: Declared =
    key("25", "Physical resource blocks of the carrier.").count("resource blocks").within("1", "275");
const MCS_TABLE: Declared = key("qam64", "NR only: highest modulation.");
const LAYERS: Declared = key(
    "1",
    "NR only: number of spatial layers, with rank = \"adapted\" the most; from 5 on in two codewords.",
)
.count("layers")
.within("1", "8");
const TDD: Declared = key("none", "Time division duplex (TDD): pattern of downlink slots; none: all slots.");
const CHANNEL: Declared = key("mcs:28", "Radio channel of the downlink.");
const REPORT_DELAY: Declared =
    key("0s", "Age of a channel report when the scheduler first uses it.").within("0s", "10s");
const REPORT_PERIOD: Declared =
    key("0s", "Interval between channel reports; 0: one in every TTI.").within("0s", "10s");
const OLLA: Declared = key(
    "none",
    "Outer loop link adaptation: corrects the reported channel by acknowledgements, so that a target share of first transmissions is lost.",
);
const DRX: Declared =
    key("none", "Discontinuous reception (DRX): times when the UE sleeps and receives no new block.");
const HANDOVER: Declared =
    key("none", "Handovers of the UE between two cells, with the interruption of each.");
const HANDOVER_CHANNEL: Declared = key(
    "",
    "Radio channel in the other cell; handovers alternate between both cells. Default: the channel of the first cell.",
);
const SCHEDULER: Declared = key("round_robin", "MAC scheduler, which assigns resource blocks to UEs.");
const UPLINK_CHANNEL: Declared = key("mcs:20", "Radio channel of the uplink.");
const UPLINK_QDISC: Declared = key("taildrop", "Queue discipline of each bearer at the UE.");
const UPLINK_LIMIT: Declared = key(
    "",
    "Packets or bytes that the uplink queue holds, unless the discipline sets its own limit; default: that of the discipline.",
);
const SLICE_OF: Declared =
    key("", "With a partition: slice of the UE's bearers; each bearer belongs to one slice.");

table! {
    /// `[path]`.
    pub struct Path, PathChange = "path", "the bottleneck, and the path to and from it" {
        link: Option<Link> = key("", "Link of the bottleneck, such as 10mbit; either this or trace is required.").also(&["rate", "bandwidth", "capacity"]);
        trace: Option<TraceName> = key("", "Trace that drives the link of the bottleneck; either this or link is required.").also(&["file"]);
        trace_format: Option<TraceFormat> = TRACE_FORMAT;
        repeat: bool = REPEAT;
        qdisc: Qdisc = key("taildrop", "Queue discipline of the bottleneck.").also(&["aqm", "queue", "scheduler"]);
        limit: Option<u64> = LIMIT.also(&["buffer", "queue_size", "queue_limit"]);
        rtt: Delay = key("10ms", "Round-trip time without queueing and transmission, half of it in each direction; or a delay over time, such as steps:0s@20ms+5s@60ms or trace:FILE.").within("1us", "60s").also(&["delay", "latency", "base_rtt"]);
        jitter: JitterText = key("0s", "Random delay behind the bottleneck: a time, the largest of a uniform one, or a distribution around the delay, such as normal:5ms:correlation=25%; packets keep their order without reorder=on.").within("0s", "60s");
        loss: OrNone<Loss> = key("none", "Random loss behind the bottleneck: a percentage, a model such as gilbert-elliott:p=1%:r=25%, or a percentage over time, such as steps:0s@0%+5s@2% or trace:FILE.").also(&["drop", "packet_loss"]);
        reorder: Loss = key("0%", "Packets behind the bottleneck that are held for reorder_delay, so that later ones overtake them; in the forms of loss.");
        reorder_delay: Span = key("2ms", "Time for which reordered packets are held.").within("1us", "60s");
        duplicate: Loss = key("0%", "Packets behind the bottleneck that are followed by a copy; in the forms of loss.");
        corrupt: Loss = key("0%", "Packets behind the bottleneck that are corrupted, and dropped because their checksum fails; in the forms of loss.");
        uplink: Uplink = key("48mbit", "Link of acknowledgements and of the data of uploads; none: not queued.");
        uplink_limit: u64 = key("1000", "Packets that the queue of the uplink holds, unless uplink_qdisc sets its own limit.").count("packets").within("1", "10000000");
        uplink_qdisc: Qdisc = key("taildrop", "Queue discipline of the uplink; if it is given, results have figures of its queue.");
        uplink_loss: OrNone<Loss> = key("none", "Random loss behind the uplink, in the forms of loss.");
        uplink_jitter: JitterText = key("0s", "Random delay behind the uplink, in the forms of jitter.").within("0s", "60s");
        uplink_reorder: Loss = key("0%", "Packets behind the uplink that are held for reorder_delay; in the forms of loss.");
        uplink_duplicate: Loss = key("0%", "Packets behind the uplink that are followed by a copy; in the forms of loss.");
        uplink_corrupt: Loss = key("0%", "Packets behind the uplink that are corrupted, and dropped; in the forms of loss.");
    }
}

table! {
    /// `[[path.hop]]`.
    pub struct Hop, HopChange = "path.hop", "a queue and a link in front of the bottleneck, which all flows cross in the direction of their data" {
        name: Option<Name> = key("", "Name of the hop; default: hop-1, hop-2...").fixed();
        link: Option<Link> = key("", "Link of the hop, such as 10mbit; either this or trace is required.").also(&["rate", "bandwidth", "capacity"]);
        trace: Option<TraceName> = key("", "Trace that drives the link of the hop; either this or link is required.");
        trace_format: Option<TraceFormat> = TRACE_FORMAT;
        repeat: bool = REPEAT;
        qdisc: Qdisc = key("taildrop", "Queue discipline in front of the link.").also(&["aqm", "queue"]);
        limit: Option<u64> = LIMIT;
        delay: Delay = key("0s", "One-way delay behind the link, in addition to path.rtt; or a delay over time.").within("0s", "60s").also(&["rtt", "latency"]);
    }
}

table! {
    /// `[[flow]]`.
    pub struct Flow, FlowChange = "flow", "a flow, or several equal ones" {
        name: Option<Name> = key("", "Name of the flow in results; default: flow-1, flow-2...").fixed();
        transport: Transport = key("cubic", "Transport protocol or application of sender and receiver.").also(&["cc", "congestion", "congestion_control", "tcp", "protocol"]);
        count: u64 = key("1", "Number of flows; several get the names NAME-1, NAME-2...").count("flows").within("1", "100000").also(&["flows", "number", "n"]);
        direction: Direction = key("down", "Direction of the data: down through the bottleneck, or up through the uplink; acknowledgements go the other way.");
        start: Span = key("0s", "Start time of the flow.");
        stop: Option<Span> = key("", "Time when the flow stops sending; default: end of the run.");
        start_spread: Span = key("0s", "Range of the random start times: each flow starts up to this much after start; default: see run.starts.");
        dscp: Dscp = key("be", "Differentiated services codepoint of the packets in both directions.");
        second_dscp: Option<Dscp> = key("", "Second codepoint, for a share of the data packets; acknowledgements keep dscp.");
        second_share: Option<Percent> = key("", "Probability that a data packet carries second_dscp, such as 20%; default: 0%.");
        extra_rtt: Delay = key("0s", "Additional round-trip time of this flow alone, behind the uplink; or a delay over time.").within("0s", "60s");
        access_rate: Option<Rate> = key("", "Rate of the flow's own access link, in front of the bottleneck and of the uplink; default: no access link.").within("1bit", "").also(&["rate"]);
        access_jitter: Span = key("0s", "Largest additional random delay of each data packet behind the access link; packets keep their order.").within("0s", "60s");
        discard_delay: Option<Span> = key("", "Largest one-way delay of data packets; the receiver discards later ones. Default: none are discarded.").within("1us", "60s");
        set_within: Option<Spans> = key("", "Delays for which results have the share of the flow's frames (PDU sets) that were complete within each; of a transport with frames.").within("1us", "1s");
        ue: Option<Name> = key("", "Destination in a cell: the name of a [[cell.ue]], or each for one flow to every UE.");
        qfi: Option<u8> = key("", "QFI of the UE's QoS flow that carries the flow; default: the only one, or the one that packet filters choose.").count("QFI").within("0", "63");
    }
}

table! {
    /// `[cell]`.
    pub struct Cell, CellChange = "cell", "a cell as the bottleneck, in place of path.link, path.trace and path.qdisc" {
        technology: Technology = key("lte", "Radio technology, which determines MCS tables and slots.").fixed();
        prbs: u16 = PRBS.also(&["rbs", "resource_blocks"]);
        bandwidth: Option<Bandwidth> = key("", "LTE only: bandwidth of the carrier, in place of prbs.");
        numerology: u8 = key("0", "NR only: numerology 0 to 3, for slots of 1 ms, 500, 250 or 125 us.").count("numerology").within("0", "3");
        mcs_table: McsTable = MCS_TABLE;
        layers: u8 = LAYERS;
        rank: Rank = key("fixed", "NR only: number of layers of a block. fixed: all; adapted: 1 to layers, by the UE's SNR, with fading channels and decoding = \"snr\".").also(&["ri", "mimo"]);
        tti: Option<Span> = key("", "Transmission time interval, a multiple of the slot; default: one slot.").within("1us", "1s");
        unit: QuantityUnit = key("bytes", "Unit of data; packets: each counts as 1500 bytes and is never segmented.");
        scheduler: Scheduler = SCHEDULER.also(&["mac", "mac_scheduler"]);
        partition: OrNone<Partition> = key("none", "Partition of the resource blocks among the slices, each a [[cell.slice]].");
        sharing: Sharing = key("priority", "Sharing of a UE's resource blocks among its bearers.");
        control_ttis: ControlTtis = key("none", "TTIs with less capacity because of control channels.");
        tdd: OrNone<Tdd> = TDD;
        bler: f64 = key("0", "Block error rate of first transmissions, if the MCS matches the channel.").within("0", "0.99");
        decoding: Decoding = key("steps", "Model that decides whether a transport block is lost, and the gain of retransmissions.");
        harq_rtt: Option<Span> = key("", "Time from the TTI of a lost block to the TTI of its retransmission; default: that of the technology.").within("1us", "1s");
        harq_retransmissions: u8 = key("3", "Most HARQ retransmissions; after the last one a block is lost.").count("repetitions").within("0", "30");
        harq_processes: Option<u8> = key("", "HARQ processes of a UE: blocks on the air or awaiting retransmission at a time; default: no limit.").count("processes").within("1", "32");
        decoding_delay: Option<Span> = key("", "Time from the TTI in which a block is sent until the UE has decoded it; default: that of the technology.").within("0s", "1s");
        channel: Channel = CHANNEL.also(&["cqi", "mcs", "snr"]);
        report_delay: Span = REPORT_DELAY;
        report_period: Span = REPORT_PERIOD;
        olla: OrNone<Olla> = OLLA;
        drx: OrNone<Drx> = DRX;
        handover: OrNone<Handover> = HANDOVER;
        handover_channel: Option<Channel> = HANDOVER_CHANNEL;
        n3: OrNone<Link> = key("none", "Link of the N3 interface, which packets cross before they reach the base station; none: no such link.");
        n3_overhead: u64 = key("36", "Bytes that the N3 tunnel adds to each packet (GTP-U, UDP and IP), unless the link sets its own overhead.").bytes().within("0", "1500b");
        n3_limit: u64 = key("1000", "Packets that the queue of N3 holds.").count("packets").within("1", "10000000");
        upf_qdisc: OrNone<Qdisc> = UPF_QDISC;
        upf_pacer: Pacer = UPF_PACER;
        upf_packets: Option<u32> = UPF_PACKETS;
        upf_period: Span = UPF_PERIOD;
        sdap_qdisc: Qdisc = SDAP_QDISC;
        sdap_order: SdapOrder = SDAP_ORDER;
        sdap_packets: Option<u32> = SDAP_PACKETS;
        sdap_period: Span = SDAP_PERIOD;
        pacer: Pacer = PACER;
        feedback_delay: Span = FEEDBACK_DELAY;
        f1: F1 = F1_OF;
        pacer_interval: Span = PACER_INTERVAL;
        rlc: Rlc = RLC;
        pdcp: Pdcp = PDCP;
        rlc_qdisc: Qdisc = RLC_QDISC;
        rlc_limit: Option<Limit> = RLC_LIMIT;
        rlc_buffer: Option<u64> = RLC_BUFFER;
    }
}

table! {
    /// `[cell.uplink]`.
    pub struct CellUplink, CellUplinkChange = "cell.uplink", "the uplink of the cell: scheduling requests, reports and grants, in place of path.uplink" {
        channel: Channel = UPLINK_CHANNEL.also(&["cqi", "mcs", "snr"]);
        scheduler: Scheduler = SCHEDULER.also(&["mac", "mac_scheduler"]);
        sr_period: OrNone<Span> = key("10ms", "Interval between a UE's occasions for scheduling requests, one of the technology's values; none: configured grants only.").within("1us", "10s").also(&["sr", "period"]);
        sr_offset: Span = key("0s", "Offset of the first UE's occasions; those of each further UE are one TTI later.").within("0s", "10s");
        sr_prohibit: Span = key("0s", "sr-ProhibitTimer: shortest time between two scheduling requests of a UE.").within("0s", "10s");
        sr_grant: u64 = key("512b", "Size of the grant for a scheduling request, before the base station has a buffer status report.").bytes().within("1b", "100000b");
        grant_delay: Option<Span> = key("", "Time from the TTI of a grant to the TTI of the transmission; default: that of the technology.").within("0s", "1s").also(&["k2"]);
        configured_period: Option<Span> = key("", "Interval between a UE's configured grants; default: no configured grants.").within("1us", "10s");
        configured_bytes: Option<u64> = key("", "Smallest size of a configured grant.").bytes().within("1b", "100000b");
        periodic_bsr: Span = key("10ms", "periodicBSR-Timer: a block sent this long after the last buffer status report contains a new one.").within("1us", "10s");
        retx_bsr: Span = key("320ms", "retxBSR-Timer: a UE with data sends a new request after this long without a grant.").within("1us", "100s");
        bler: f64 = key("0", "Block error rate of first transmissions, if the MCS matches the channel.").within("0", "0.99");
        harq_rtt: Option<Span> = key("", "Time from the TTI of a lost block to the TTI of its retransmission; default: that of the technology.").within("1us", "1s");
        harq_retransmissions: u8 = key("3", "Most HARQ retransmissions; after the last one a block is lost.").count("repetitions").within("0", "30");
        decoding_delay: Option<Span> = key("", "Time from the TTI in which a block or a request is sent until the base station has decoded it; default: that of the technology.").within("0s", "1s");
        rlc: Option<Rlc> = RLC.inherited().about("Radio link control of the uplink; default: that of the bearer.");
        pdcp: Option<Pdcp> = PDCP.inherited().about("PDCP of the uplink; default: that of the bearer.");
        qdisc: Qdisc = UPLINK_QDISC.also(&["aqm", "queue"]);
        limit: Option<Limit> = UPLINK_LIMIT;
    }
}

table! {
    /// `[[cell.scell]]`.
    pub struct Scell, ScellChange = "cell.scell", "a secondary cell (SCell): a further component carrier of the downlink, with the technology and the slots of the cell" {
        name: Option<Name> = key("", "Name of the secondary cell; default: scell-1, scell-2...").fixed();
        prbs: Option<u16> = PRBS.inherited().about("Physical resource blocks of this carrier; default: those of the cell.");
        mcs_table: Option<McsTable> = MCS_TABLE.inherited();
        layers: Option<u8> = LAYERS.inherited();
        tdd: Option<OrNone<Tdd>> = TDD.inherited();
        channel: Option<Channel> = key("", "Radio channel of every UE on this carrier; default: that of the UE, with random numbers of its own.").also(&["cqi", "mcs", "snr"]);
    }
}

table! {
    /// `[[cell.slice]]`.
    pub struct Slice, SliceChange = "cell.slice", "a slice of the cell: a share of its resource blocks, and the bearers that name it" {
        name: Option<Name> = key("", "Name of the slice; required.").required().fixed();
        share: Option<Share> = key("", "Share of the resource blocks for new data, such as \"25%\"; required with the partitions fp and eqp.");
        dedicated: Option<Percent> = key("", "Partition rrm: part of the resource blocks that is the slice's alone, even while it is idle (rRMPolicyDedicatedRatio); default: 0%.");
        min: Option<Percent> = key("", "Partition rrm: part of the resource blocks that the slice gets before others while it has data, dedicated ones included (rRMPolicyMinRatio); default: 0%.");
        max: Option<Share> = key("", "Partition rrm: most resource blocks of the slice (rRMPolicyMaxRatio); default: 100%.");
        scheduler: Option<Scheduler> = SCHEDULER.inherited();
    }
}

table! {
    /// `[[cell.ue]]`.
    pub struct Ue, UeChange = "cell.ue", "a UE of the cell, or several equal ones" {
        name: Option<Name> = key("", "Name of the UE; default: ue-1, ue-2...").fixed();
        count: u64 = key("1", "Number of UEs; several get the names NAME-1, NAME-2...").count("UEs").within("1", "10000");
        channel: Option<Channel> = CHANNEL.inherited();
        report_delay: Option<Span> = REPORT_DELAY.inherited();
        report_period: Option<Span> = REPORT_PERIOD.inherited();
        olla: Option<OrNone<Olla>> = OLLA.inherited();
        drx: Option<OrNone<Drx>> = DRX.inherited();
        handover: Option<OrNone<Handover>> = HANDOVER.inherited();
        handover_channel: Option<Channel> = HANDOVER_CHANNEL;
        scells: Option<u32> = key("", "Secondary cells that the UE is configured with, the first ones of the file; default: all.").count("secondary cells").within("0", "31");
        slice: Option<Name> = SLICE_OF;
        uplink_channel: Option<Channel> = UPLINK_CHANNEL.inherited();
    }
}

table! {
    /// `[[cell.ue.bearer]]`.
    pub struct Bearer, BearerChange = "cell.ue.bearer", "a data radio bearer of a UE" {
        name: Option<Name> = key("", "Name of the bearer; default: drb-1, drb-2...").fixed();
        priority: u8 = key("1", "Priority among the bearers of a UE, 1 is highest; equal ones take turns. Default: that of qci or five_qi, else 1.").count("priority").within("1", "255");
        qci: Option<u8> = key("", "LTE only: standardized QCI of the bearer; either all bearers of a UE have one, or none.").count("QCI").within("1", "254");
        five_qi: Option<u8> = FIVE_QI.about("NR only: standardized 5QI of the QoS flows without their own.");
        psdb: Option<Span> = PSDB.about("NR only: psdb of the QoS flows without their own.");
        pser: Option<f64> = PSER.about("NR only: pser of the QoS flows without their own.");
        psihi: Option<bool> = PSIHI.about("NR only: psihi of the QoS flows without their own.");
        gbr: Option<Rate> = key("", "Guaranteed bit rate, served in advance of the scheduler's decision; default: none.").within("1kbit", "");
        slice: Option<Name> = SLICE_OF.about("With a partition: slice of the bearer, in place of the UE's.");
        sdap_order: Option<SdapOrder> = SDAP_ORDER.inherited();
        sdap_packets: Option<u32> = SDAP_PACKETS;
        sdap_period: Option<Span> = SDAP_PERIOD.inherited();
        pacer: Option<Pacer> = PACER.inherited();
        feedback_delay: Option<Span> = FEEDBACK_DELAY.inherited();
        f1: Option<F1> = F1_OF.inherited();
        pacer_interval: Option<Span> = PACER_INTERVAL.inherited();
        rlc: Option<Rlc> = RLC.inherited();
        pdcp: Option<Pdcp> = PDCP.inherited();
        rlc_qdisc: Option<Qdisc> = RLC_QDISC.inherited();
        rlc_limit: Option<Limit> = RLC_LIMIT;
        rlc_buffer: Option<u64> = RLC_BUFFER;
        uplink_qdisc: Option<Qdisc> = UPLINK_QDISC.inherited();
        uplink_limit: Option<Limit> = UPLINK_LIMIT;
        uplink_pbr: Option<Rate> = key("", "Prioritised bit rate of the uplink; default: no limit, so that all data goes before bearers of lower priority.").within("1bit", "");
        uplink_bucket: Span = key("50ms", "Bucket size duration of uplink_pbr: time for which unused rate is saved.").within("1ms", "10s");
    }
}

table! {
    /// `[[cell.ue.bearer.qos_flow]]`.
    pub struct QosFlow, QosFlowChange = "cell.ue.bearer.qos_flow", "a QoS flow of a bearer" {
        qfi: Option<u8> = key("", "QoS flow identifier, unique in the UE; required.").required().count("QFI").within("0", "63").fixed();
        priority: u8 = key("1", "Priority among the bearer's QoS flows with sdap_order = \"priority\", 1 is highest; equal ones in the order of the file. Default: that of five_qi, else 1.").count("priority").within("1", "255");
        five_qi: Option<u8> = FIVE_QI;
        psdb: Option<Span> = PSDB;
        pser: Option<f64> = PSER;
        psihi: Option<bool> = PSIHI;
        upf_qdisc: Option<OrNone<Qdisc>> = UPF_QDISC.inherited();
        upf_pacer: Option<Pacer> = UPF_PACER.inherited();
        upf_packets: Option<u32> = UPF_PACKETS;
        upf_period: Option<Span> = UPF_PERIOD.inherited();
        sdap_qdisc: Option<Qdisc> = SDAP_QDISC.inherited();
    }
}

table! {
    /// `[[cell.ue.bearer.filter]]`.
    pub struct Filter, FilterChange = "cell.ue.bearer.filter", "a packet filter of a bearer: packets that the bearer carries" {
        precedence: Option<u8> = key("", "Precedence, unique in the UE: of the filters that match a packet, the one with the lowest value decides; required.").required().count("precedence").within("0", "255").fixed();
        dscp: Option<Dscps> = key("", "Codepoints that match; default: any.").fixed();
        protocol: Option<Protocol> = key("", "Protocol that matches; default: either.").fixed();
        flow: Option<Name> = key("", "Name of the [[flow]] whose packets match; default: any.").fixed();
        qfi: Option<u8> = key("", "QFI of the bearer's QoS flow that carries matching packets; default: the first one.").count("QFI").within("0", "63").fixed();
    }
}

table! {
    /// `[run]`.
    pub struct Run, RunChange = "run", "duration and seeds of the runs, and their records" {
        duration: Span = key("60s", "Simulated time of each run.").within("1ms", "1440min").also(&["time", "length", "stop", "end"]);
        warmup: Span = key("0s", "Time at the start of the run that rates and delays exclude.");
        seeds: Seeds = key("1", "Seeds of the random streams; each case runs once per seed.").fixed();
        starts: Starts = key("auto", "Start of the runs. random: each seed begins at its own place on every trace, and flows without start_spread start up to 200 ms later; fixed: all begin at the start of the trace; auto: random with several seeds, else fixed.").fixed();
        min_packet_bytes: u32 = key("0", "Smallest IP packet whose delay counts, in bytes.").bytes().within("0", "65535b");
        probe: bool = key("off", "Send small probe packets through the queue of the bottleneck at random times.");
        series: Option<Bins> = key("", "Bin width of the time series, or off; default: a 500th of the duration, rounded up to 10, 20, 50, 100... ms.");
        connections: bool = key("off", "Add the state of each connection at the end of each bin to the series: window, round-trip time, pacing rate and more.").fixed();
        packets: bool = key("off", "Write a record of every packet.");
    }
}

table! {
    /// `[[expect]]`.
    pub struct Expect, ExpectChange = "expect", "expected results" {
        claim: Option<String> = key("", "Expectation in words; required.").required().fixed();
        measure: Option<String> = key("", "Figure, as a dotted path into a case of summary.json; required.").required().fixed();
        selects as "where": Option<Labels> = key("", "Selected cases: a table of axis = label or list of labels; axes that are not named keep all labels.").fixed();
        normalise: Option<Labels> = key("", "Reference cases: a table of axis = label; each figure is divided by that of the case with these labels.").fixed();
        aggregate: Aggregate = key("mean", "Combination of the figures of the selected cases.").fixed();
        alternatives: Option<Labels> = key("", "Alternatives: a table of axis = labels; the figure is divided by the best figure of these labels.").fixed();
        best: Best = key("min", "Best figure of alternatives: the smallest or the largest.").fixed();
        min_over: Option<String> = key("", "Axis: the figure is computed for each of its labels, and the smallest is taken.").fixed();
        max_over: Option<String> = key("", "Axis: the figure is computed for each of its labels, and the largest is taken.").fixed();
        unit: Option<String> = key("", "Unit of low, high and paper, for display.").fixed();
        low: Option<f64> = key("", "Smallest accepted figure; low or high is required.").fixed();
        high: Option<f64> = key("", "Largest accepted figure; low or high is required.").fixed();
        paper: Option<f64> = key("", "Figure that a paper states.").fixed();
    }
}

/// Top-level keys and tables, with their descriptions.
pub static TOP: &[(&str, &str)] = &[
    ("title", "Title in one line."),
    ("about", "Purpose, in any number of lines."),
    ("path", "The bottleneck, and the path to and from it."),
    ("cell", "A cell of a mobile network as the bottleneck."),
    ("flow", "Flows; one table for each."),
    ("run", "Duration and seeds of the runs, and their records."),
    ("matrix", "Keys with several values; one case for each combination."),
    ("fallback", "Shipped traces that replace missing ones."),
    ("expect", "Expected results."),
    ("origin", "Command-line settings of a run; the last table of the scenario in its result folder."),
];

/// Every table.
pub static TABLES: [&Table; 13] = [
    Path::TABLE,
    Hop::TABLE,
    Cell::TABLE,
    CellUplink::TABLE,
    Scell::TABLE,
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
        defaults_are_those_of_keys::<Scell>();
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
    fn descriptions_of_keys_are_sentences() {
        for table in TABLES {
            assert!(table.keys.iter().all(|key| key.parameter.about.ends_with('.')), "{}", table.name);
        }
    }
}
