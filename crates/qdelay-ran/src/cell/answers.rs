//! Outcomes of transport blocks: decoding or loss, and the reaction of the cell.

use super::host::Output;
use super::{Cell, Source};
use qdelay_core::Time;

impl Cell {
    /// Decodes the blocks whose time on the air is over.
    pub(super) fn decode<S: Source>(&mut self, now: Time, source: &mut S) {
        while let Some(number) = self.blocks.decoded(now) {
            let block = self.blocks.get(number);
            if self.has_air && block.repeated == 0 {
                self.count_answer(now, number);
            }
            let block = self.blocks.get(number);
            if block.is_lost && block.repeated < self.harq.retransmissions {
                let sent = block.tti;
                let tti = self.answered_tti(sent);
                self.blocks.repeat(number, tti);
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
            let block = self.blocks.get(number);
            block.parts = parts;
            if self.harq.processes.is_some() {
                let (tti, ue) = (block.tti, block.ue);
                self.releases.push_back((self.answered_tti(tti), ue));
            }
            self.blocks.close(number);
        }
    }

    /// Counts the first transmission of block number `number`, which was decoded or lost.
    #[inline(never)]
    fn count_answer(&mut self, now: Time, number: u32) {
        let ue = self.blocks.get(number).ue as usize;
        if self.ues[ue].radio.adapts() {
            // Idle TTIs up to now are counted with the old offset, before link adaptation changes it.
            self.count_idle(self.clock.from(now));
        }
        self.ues[ue].answered(self.blocks.get(number));
    }

    /// The first TTI that can react to the outcome of a block of TTI `tti`.
    #[inline]
    fn answered_tti(&self, tti: u64) -> u64 {
        match (&self.grid.tdd, self.tdd_decoding) {
            (Some((tdd, _)), Some(decoding)) => tdd.repetition(tti, decoding),
            _ => tti + self.harq_ttis,
        }
    }

    /// Returns true if the TTI that begins at `now` is an uplink slot of time division duplex.
    pub fn is_uplink(&self, now: Time) -> bool {
        self.grid.tdd.as_ref().is_some_and(|(tdd, _)| tdd.is_uplink(self.clock.from(now)))
    }

    /// Frees the HARQ processes whose blocks were acknowledged by TTI number `tti`.
    pub(super) fn release(&mut self, tti: u64) {
        while let Some((_, ue)) = self.releases.pop_front_if(|&mut (free, _)| free <= tti) {
            if let Some(air) = &mut self.ues[ue as usize].air {
                air.release();
            }
        }
    }
}
