//! Outcomes of transport blocks: decoding or loss, and the reaction of the cell.

use super::component::Component;
use super::host::Output;
use super::{Cell, Source};
use qdelay_core::Time;

impl Cell {
    /// Decodes the blocks whose time on the air is over.
    pub(super) fn decode<S: Source>(&mut self, now: Time, source: &mut S) {
        self.decode_carrier(now, source);
        for number in 1..self.carriers() {
            self.on_carrier(number, |cell| cell.decode_carrier(now, source));
        }
    }

    /// Decodes the blocks of the carrier in turn.
    #[inline]
    fn decode_carrier<S: Source>(&mut self, now: Time, source: &mut S) {
        while let Some(number) = self.carrier.blocks.decoded(now) {
            let block = self.carrier.blocks.get(number);
            if self.has_air && block.repeated == 0 {
                self.count_answer(now, number);
            }
            let block = self.carrier.blocks.get(number);
            if block.is_lost && block.repeated < self.harq.retransmissions {
                let sent = block.tti;
                let tti = self.answered_tti(sent);
                self.carrier.blocks.repeat(number, tti);
                continue;
            }
            let (is_lost, parts) = (block.is_lost, core::mem::take(&mut block.parts));
            for &(bearer, id) in &parts {
                let bearer = bearer as usize;
                let (rlc, mut output) = (&mut self.rlcs[bearer], Output { source, bearer });
                if is_lost {
                    rlc.lost(now, id, &mut output);
                } else {
                    rlc.received(now, id, &mut output);
                }
                // A reception changes timers only, not the data to send.
                self.set_timer(bearer);
            }
            let block = self.carrier.blocks.get(number);
            block.parts = parts;
            if self.harq.processes.is_some() {
                let (tti, ue) = (block.tti, block.ue);
                self.carrier.releases.push_back((self.answered_tti(tti), ue));
            }
            self.carrier.blocks.close(number);
        }
    }

    /// Counts the first transmission of block number `number`, which was decoded or lost.
    #[inline(never)]
    fn count_answer(&mut self, now: Time, number: u32) {
        let ue = self.carrier.blocks.get(number).ue as usize;
        if self.carrier.links[ue].radio.adapts() {
            // Idle TTIs up to now are counted with the old offset, before link adaptation changes it.
            self.count_idle(self.clock.from(now));
        }
        let Component { links, blocks, grid, .. } = &mut self.carrier;
        self.ues[ue].answered(&mut links[ue], blocks.get(number), &grid.carrier);
    }

    /// The first TTI that can react to the outcome of a block of TTI `tti`.
    #[inline]
    fn answered_tti(&self, tti: u64) -> u64 {
        match (&self.carrier.grid.tdd, self.tdd_decoding) {
            (Some((tdd, _)), Some(decoding)) => tdd.repetition(tti, decoding),
            _ => tti + self.harq_ttis,
        }
    }

    /// Returns true if the TTI that begins at `now` is an uplink slot of time division duplex.
    pub fn is_uplink(&self, now: Time) -> bool {
        self.carrier.grid.tdd.as_ref().is_some_and(|(tdd, _)| tdd.is_uplink(self.clock.from(now)))
    }
}
