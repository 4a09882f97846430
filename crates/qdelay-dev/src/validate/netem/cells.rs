//! Cells: netem's words, the same in our words, and how packets are sent. Fixed before the kernel's figures were seen.

use crate::validate::attempts::is_meant;

/// Packets of a run of a cell whose packets do not wait.
const EVENTS: u32 = 400_000;
/// Packets of a run of a cell with delays.
const DELAYS: u32 = 40_000;

/// Figures of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// A constant delay: the timing of the machine.
    Control,
    /// Lost packets, and their runs.
    Loss,
    /// Packets with a changed bit, their runs, and the places of the bits.
    Corrupt,
    /// Packets that arrive twice, and their runs.
    Duplicate,
    /// Packets that arrive never, once and twice.
    Both,
    /// Packets with a copy, and the time between the two.
    Apart,
    /// Packets that do not wait for the delay, their runs, and overtaken packets.
    Reorder,
    /// Distribution of the delay, its correlation, and overtaken packets.
    Jitter,
}

impl Group {
    /// Every group, in the order of the tables, and its title.
    pub const ALL: [(Group, &'static str); 8] = [
        (Group::Control, "Control: lateness of a constant delay, microseconds."),
        (Group::Loss, "Loss: share of lost packets, length of runs of losses in packets."),
        (
            Group::Corrupt,
            "Corruption: share of changed packets, their runs; share of bits in front of the transport header.",
        ),
        (Group::Duplicate, "Duplication: share of packets that arrive twice, their runs."),
        (Group::Both, "Loss and duplication: share of packets that arrive never, once and twice."),
        (Group::Apart, "Duplication and jitter: share of packets that arrive twice, time between the two."),
        (
            Group::Reorder,
            "Reordering: share of packets sent at once, their runs; share of overtaken packets.",
        ),
        (
            Group::Jitter,
            "Jitter: delay less the given one; correlation of neighbours; share of overtaken packets.",
        ),
    ];
}

/// Cell of the comparison.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// Words of `tc qdisc add ... netem`, which are also the name of the cell.
    pub netem: &'static str,
    /// The same as options of `qdelay link`, without `--up-`: name and value.
    pub ours: &'static [(&'static str, &'static str)],
    pub group: Group,
    /// Packets of a run.
    pub packets: u32,
    /// Time between two packets, us; 0: each is sent when the one before has arrived or is lost.
    pub spacing_us: u32,
    /// The given delay and its jitter, ms.
    pub delay_ms: f64,
    pub jitter_ms: f64,
}

const fn event(group: Group, netem: &'static str, ours: &'static [(&'static str, &'static str)]) -> Cell {
    Cell { netem, ours, group, packets: EVENTS, spacing_us: 0, delay_ms: 0.0, jitter_ms: 0.0 }
}

/// A delay of 10.5 ms and a packet each millisecond, so that no delayed packet leaves together with one that is sent at once.
const fn reorder(netem: &'static str, ours: &'static [(&'static str, &'static str)]) -> Cell {
    Cell { packets: 200_000, spacing_us: 1000, delay_ms: 10.5, ..event(Group::Reorder, netem, ours) }
}

/// A delay of 300 ms, a jitter of 50 ms, and a packet each 10 ms.
const fn jitter(netem: &'static str, ours: &'static [(&'static str, &'static str)]) -> Cell {
    let cell = event(Group::Jitter, netem, ours);
    Cell { packets: DELAYS, spacing_us: 10_000, delay_ms: 300.0, jitter_ms: 50.0, ..cell }
}

/// A jitter of seconds: twice the jitter is no small part of 2^32 ns, the range of netem's random numbers.
const fn long(jitter_ms: f64, netem: &'static str, ours: &'static [(&'static str, &'static str)]) -> Cell {
    Cell { delay_ms: 3000.0, jitter_ms, ..jitter(netem, ours) }
}

/// All cells.
pub const CELLS: &[Cell] = &[
    Cell { group: Group::Control, jitter_ms: 0.0, ..jitter("delay 300ms", &[("delay", "300ms")]) },
    event(Group::Loss, "loss 10%", &[("loss", "10%")]),
    event(Group::Loss, "loss 10% 25%", &[("loss", "10%:correlation=25%:variant=netem")]),
    event(Group::Loss, "loss 20% 50%", &[("loss", "20%:correlation=50%:variant=netem")]),
    event(Group::Loss, "loss 30% 75%", &[("loss", "30%:correlation=75%:variant=netem")]),
    event(Group::Loss, "loss gemodel 5% 25%", &[("loss", "gilbert-elliott:p=5%:r=25%")]),
    event(
        Group::Loss,
        "loss gemodel 2% 10% 70% 0.5%",
        &[("loss", "gilbert-elliott:p=2%:r=10%:bad=70%:good=0.5%")],
    ),
    event(Group::Loss, "loss gemodel 10%", &[("loss", "gilbert-elliott:p=10%:r=90%")]),
    event(Group::Corrupt, "corrupt 10%", &[("corrupt", "10%")]),
    event(Group::Corrupt, "corrupt 20% 50%", &[("corrupt", "20%:correlation=50%:variant=netem")]),
    event(Group::Duplicate, "duplicate 10%", &[("duplicate", "10%")]),
    event(Group::Duplicate, "duplicate 20% 50%", &[("duplicate", "20%:correlation=50%:variant=netem")]),
    // The words of the loss make tc send the correlation of the copies, too.
    event(
        Group::Duplicate,
        "loss 0% 1% duplicate 20% 50%",
        &[("duplicate", "20%:correlation=50%:variant=netem")],
    ),
    event(Group::Both, "loss 20% duplicate 20%", &[("loss", "20%"), ("duplicate", "20%")]),
    Cell {
        group: Group::Apart,
        ..jitter(
            "delay 300ms 50ms duplicate 20%",
            &[("delay", "300ms"), ("jitter", "uniform:50ms:reorder=on:variant=netem"), ("duplicate", "20%")],
        )
    },
    reorder("delay 10.5ms reorder 25%", &[("reorder", "75%"), ("reorder-delay", "10.5ms")]),
    reorder(
        "delay 10.5ms reorder 25% 50%",
        &[("reorder", "75%:correlation=50%:variant=netem"), ("reorder-delay", "10.5ms")],
    ),
    jitter("delay 300ms 50ms", &[("delay", "300ms"), ("jitter", "uniform:50ms:reorder=on:variant=netem")]),
    jitter(
        "delay 300ms 50ms 25%",
        &[("delay", "300ms"), ("jitter", "uniform:50ms:correlation=25%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 50%",
        &[("delay", "300ms"), ("jitter", "uniform:50ms:correlation=50%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 75%",
        &[("delay", "300ms"), ("jitter", "uniform:50ms:correlation=75%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms distribution normal",
        &[("delay", "300ms"), ("jitter", "normal:50ms:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 25% distribution normal",
        &[("delay", "300ms"), ("jitter", "normal:50ms:correlation=25%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 50% distribution normal",
        &[("delay", "300ms"), ("jitter", "normal:50ms:correlation=50%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 75% distribution normal",
        &[("delay", "300ms"), ("jitter", "normal:50ms:correlation=75%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms distribution pareto",
        &[("delay", "300ms"), ("jitter", "pareto:50ms:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 25% distribution pareto",
        &[("delay", "300ms"), ("jitter", "pareto:50ms:correlation=25%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 50% distribution pareto",
        &[("delay", "300ms"), ("jitter", "pareto:50ms:correlation=50%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 75% distribution pareto",
        &[("delay", "300ms"), ("jitter", "pareto:50ms:correlation=75%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms distribution paretonormal",
        &[("delay", "300ms"), ("jitter", "paretonormal:50ms:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 25% distribution paretonormal",
        &[("delay", "300ms"), ("jitter", "paretonormal:50ms:correlation=25%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 50% distribution paretonormal",
        &[("delay", "300ms"), ("jitter", "paretonormal:50ms:correlation=50%:reorder=on:variant=netem")],
    ),
    jitter(
        "delay 300ms 50ms 75% distribution paretonormal",
        &[("delay", "300ms"), ("jitter", "paretonormal:50ms:correlation=75%:reorder=on:variant=netem")],
    ),
    long(
        1500.0,
        "delay 3s 1500ms",
        &[("delay", "3s"), ("jitter", "uniform:1500ms:reorder=on:variant=netem")],
    ),
    long(
        2000.0,
        "delay 3s 2s 50%",
        &[("delay", "3s"), ("jitter", "uniform:2s:correlation=50%:reorder=on:variant=netem")],
    ),
];

/// The control cell, and the cells whose names have all words of one of `only`.
pub fn chosen(only: &[String]) -> Vec<Cell> {
    let cells = CELLS.iter().filter(|cell| cell.group == Group::Control || is_meant(only, cell.netem));
    cells.copied().collect()
}
