//! Our impairments and jitter, from the text of their options, with the packets of a cell.

use super::cells::Cell;
use super::figures::{Arrival, Figures, Log};
use super::guest::{ETHERNET, FRAME};
use qdelay_core::units::parse_span;
use qdelay_core::{Packet, Random, Span, Time};
use qdelay_emu::frame;
use qdelay_path::{DelaySpec, ImpairmentSpec, LossModel, NodeId, NodeSpec, Observer, Path, PathBuilder};
use qdelay_study::traces::jitter::JitterText;

/// Seeds of our runs, from 1 on.
const SEEDS: u64 = 32;
/// Handles of copies are those of their packets and this.
const COPY: u64 = 1 << 40;

/// Figures of a cell by seed.
///
/// # Errors
/// An option that the path does not know; the message is one line.
pub fn measure(cell: &Cell) -> Result<Vec<Figures>, String> {
    let (impairment, delay) = specs(cell)?;
    (1..=SEEDS).map(|seed| Ok(run(cell, impairment.clone(), delay.clone(), seed)?.figures(cell))).collect()
}

/// Settings of a cell's impairment and of the delay behind it.
fn specs(cell: &Cell) -> Result<(ImpairmentSpec, DelaySpec), String> {
    let loss = |text: &str| {
        LossModel::parse(text)
            .and_then(|arguments| LossModel::build(&arguments))
            .map_err(|error| error.message)
    };
    let span = |text: &str| parse_span(text).map_err(|error| error.to_string());
    let mut impairment = ImpairmentSpec::default();
    let mut delay = DelaySpec::constant(Span::ZERO);
    for (key, value) in cell.ours {
        match *key {
            "loss" => impairment.loss = loss(value)?,
            "corrupt" => impairment.corrupt = loss(value)?,
            "duplicate" => impairment.duplicate = loss(value)?,
            "reorder" => impairment.reorder = loss(value)?,
            "reorder-delay" => impairment.reorder_delay = span(value)?,
            "delay" => delay.span = span(value)?,
            "jitter" => {
                let jitter = JitterText::parse(value)?.without_file();
                delay.jitter = jitter.ok_or_else(|| format!("{value}: needs a file; expected none"))?;
            }
            _ => return Err(format!("'{key}' is no option of these cells")),
        }
    }
    Ok((impairment, delay))
}

/// Sends the packets of a run through the impairment and the delay, in the order that paths have.
fn run(cell: &Cell, impairment: ImpairmentSpec, delay: DelaySpec, seed: u64) -> Result<Log, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", cell.netem);
    let mut path = PathBuilder::new()
        .node("impairment", NodeSpec::Impairment(impairment))
        .node("delay", NodeSpec::Delay(delay))
        .node("exit", NodeSpec::Exit)
        .chain(&["impairment", "delay", "exit"])
        .build(seed)
        .map_err(|error| failed(&error))?;
    let entry = path.node("impairment").ok_or_else(|| failed(&"the path has no entry"))?;
    let mut seen = Receiver::new(cell, seed);
    // Packets without spacing arrive at once, so the time between them means nothing.
    let spacing_ns = 1000 * u64::from(cell.spacing_us.max(1));
    for number in 0..u64::from(cell.packets) {
        let now = Time::from_nanos(number * spacing_ns);
        poll_until(&mut path, now, &mut seen).map_err(|error| failed(&error))?;
        let packet = Packet { handle: number, arrival: now, bytes: FRAME as u32, ..Packet::default() };
        path.ingress(now, entry, packet, &mut seen).map_err(|error| failed(&error))?;
    }
    poll_until(&mut path, Time::NEVER, &mut seen).map_err(|error| failed(&error))?;
    path.audit().map_err(|error| failed(&error))?;
    Ok(seen.log)
}

fn poll_until(path: &mut Path, until: Time, seen: &mut Receiver) -> Result<(), qdelay_path::PathError> {
    while path.next_deadline() <= until && path.next_deadline() < Time::NEVER {
        path.poll(path.next_deadline(), seen)?;
    }
    Ok(())
}

/// Host of the path: it carries the packets' bytes, and makes copies.
struct Receiver {
    log: Log,
    spacing_ns: u64,
    /// Changed byte of each corrupted packet.
    changed: Vec<Option<usize>>,
    bits: Random,
}

impl Receiver {
    fn new(cell: &Cell, seed: u64) -> Receiver {
        Receiver {
            log: Log { sent: cell.packets, arrivals: Vec::with_capacity(cell.packets as usize) },
            spacing_ns: 1000 * u64::from(cell.spacing_us.max(1)),
            changed: vec![None; cell.packets as usize],
            bits: Random::derive(seed, "corrupt", "bit"),
        }
    }
}

impl Observer for Receiver {
    fn corrupted(&mut self, _: Time, _: NodeId, packet: &Packet) -> bool {
        // An IPv4 packet behind its Ethernet header, of as many bytes as the kernel's frames.
        let mut bytes = [0; FRAME - ETHERNET];
        bytes[0] = 0x45;
        let plain = bytes;
        frame::corrupt(&mut bytes, |bits| self.bits.below(bits));
        let place = bytes.iter().zip(plain).position(|(after, before)| *after != before);
        self.changed[(packet.handle & !COPY) as usize] = place.map(|place| ETHERNET + place);
        true
    }
    fn duplicated(&mut self, _: Time, _: NodeId, packet: &Packet) -> Option<u64> {
        Some(packet.handle | COPY)
    }
    fn delivered(&mut self, now: Time, _: NodeId, packet: &Packet) {
        let number = packet.handle & !COPY;
        let delay_ns = now.as_nanos() as i64 - (number * self.spacing_ns) as i64;
        let changed = self.changed[number as usize];
        self.log.arrivals.push(Arrival { number: number as u32, delay_ns, changed });
    }
}

#[cfg(test)]
mod tests {
    use super::super::cells::CELLS;
    use super::*;

    #[test]
    fn every_cell_can_be_run() {
        for cell in CELLS {
            let short = Cell { packets: 500, ..*cell };
            let (impairment, delay) = specs(&short).unwrap();
            let log = run(&short, impairment, delay, 1).unwrap();
            assert!(log.figures(&short).iter().all(|value| value.is_finite()), "{}", cell.netem);
        }
    }
}
