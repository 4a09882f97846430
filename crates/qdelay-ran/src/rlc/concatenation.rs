//! LTE's PDUs: segments of several packets in one (TS 36.322 clauses 5.1.2.1, 5.1.3.1 and 6.2.1).

use super::chains::{Chain, Chains, Places};
use super::header::{LTE_LI_MAX, lte_indicators_bytes};
use super::intake::{Bite, Intake};
use super::ledger::{Ledger, SduId};
use super::setting::MacHeader;
use super::{Common, Receiver, Supply, Transmitted};
use qdelay_core::Time;
use qdelay_core::qdisc::Backlog;

/// Index of a PDU among those of a bearer.
pub(super) type PduId = u32;

/// A data field of a PDU. It holds an SDU once for each of its elements.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pdu {
    elements: Chain,
    /// Bytes of the data field.
    pub bytes: u32,
    holders: u32,
}

/// All PDUs of a bearer, reused.
#[derive(Clone, Debug, Default)]
pub(super) struct Pdus {
    pdus: Places<Pdu>,
    elements: Chains<Bite>,
    /// True after an SDU that is longer than a length indicator can express.
    long_sdus: bool,
}

impl Pdus {
    /// Builds a PDU of at most `limit_bytes` with a header of `fixed_bytes` and length indicators, held once.
    /// Returns its index and its size with header; `None` if there is no data, or no room for a byte of it.
    pub fn fill<S: Supply>(
        &mut self,
        ledger: &mut Ledger,
        intake: &mut Intake,
        (now, fixed_bytes, limit_bytes): (Time, u64, u64),
        supply: &mut S,
        done: &mut Transmitted,
    ) -> Option<(PduId, u64)> {
        let room = limit_bytes.checked_sub(fixed_bytes + 1)? + 1;
        intake.open(ledger, supply)?;
        let mut pdu = Pdu { elements: Chain::EMPTY, bytes: 0, holders: 1 };
        let mut header_bytes = 0;
        loop {
            // The previous element needs an indicator if another one follows.
            let with_indicators = lte_indicators_bytes(pdu.elements.len() as u64);
            let used = with_indicators + u64::from(pdu.bytes);
            if used >= room || intake.open(ledger, supply).is_none() {
                break;
            }
            let Some(bite) = intake.take_segment(ledger, now, room - used, supply, done) else { break };
            header_bytes = with_indicators;
            let bytes = bite.to - bite.from;
            self.elements.push(&mut pdu.elements, bite);
            pdu.bytes += bytes;
            if u64::from(bytes) > LTE_LI_MAX {
                self.long_sdus = true;
                break;
            }
            if !bite.last {
                break;
            }
        }
        Some((self.pdus.add(pdu), fixed_bytes + header_bytes + u64::from(pdu.bytes)))
    }

    /// Records that an SDU of `sdu_bytes` has been queued.
    pub fn announce(&mut self, sdu_bytes: u64) {
        self.long_sdus |= sdu_bytes > LTE_LI_MAX;
    }

    /// Bytes of a grant that the open packet and `queue` would fill, with MAC's subheaders.
    pub fn wanted_bytes(
        &self,
        ledger: &Ledger,
        intake: &Intake,
        fixed_bytes: u64,
        mac: MacHeader,
        queue: Backlog,
    ) -> u64 {
        let data = intake.rest_bytes(ledger) + intake.queued_bytes(queue);
        let elements = queue.packets + u64::from(intake.is_open());
        if elements == 0 {
            return 0;
        }
        let pdu = fixed_bytes + lte_indicators_bytes(elements - 1) + data;
        // Further PDUs, required by long elements or by MAC's length field: each may pad its indicators too.
        let further = pdu / 32_768 + if self.long_sdus { data / (LTE_LI_MAX + 1) } else { 0 };
        pdu + mac.bytes(pdu) + further * (fixed_bytes + 1 + mac.bytes(u64::MAX))
    }

    #[inline]
    pub fn get(&self, id: PduId) -> &Pdu {
        self.pdus.get(id)
    }

    /// The elements of the PDU, in their order.
    #[inline]
    pub fn elements(&self, id: PduId) -> impl Iterator<Item = &Bite> {
        self.elements.iter(self.pdus.get(id).elements)
    }

    /// Adds a holder.
    #[inline]
    pub fn hold(&mut self, id: PduId) {
        self.pdus.get_mut(id).holders += 1;
    }

    /// Removes a holder; the last one releases its SDUs.
    pub fn release<R: Receiver>(&mut self, id: PduId, ledger: &mut Ledger, receiver: &mut R) {
        let pdu = self.pdus.get_mut(id);
        pdu.holders -= 1;
        if pdu.holders == 0 {
            for element in self.elements.iter(pdu.elements) {
                ledger.release(element.sdu, receiver);
            }
            self.elements.clear(&mut pdu.elements);
            self.pdus.remove(id);
        }
    }

    /// The size with header of the bytes `from..to` of the data field, with a header of `fixed_bytes`, if it
    /// is at most `limit_bytes`; otherwise that of as many bytes as fit. Returns the end and the size; `None`
    /// if not one byte fits.
    pub fn segment(
        &self,
        id: PduId,
        (from, to): (u32, u32),
        fixed_bytes: u64,
        limit_bytes: u64,
    ) -> Option<(u32, u64)> {
        let (mut offset, mut indicators, mut end, mut header_bytes) = (0, 0, from, fixed_bytes);
        for element in self.elements(id) {
            let (start, stop) = (offset, offset + element.to - element.from);
            offset = stop;
            if stop <= from {
                continue;
            }
            if start >= to {
                break;
            }
            // Each element but the last needs a length indicator, so the header grows with the elements that
            // fit.
            let used = fixed_bytes + lte_indicators_bytes(indicators) + u64::from(end - from);
            if used >= limit_bytes {
                break;
            }
            header_bytes = fixed_bytes + lte_indicators_bytes(indicators);
            let whole = stop.min(to) - end;
            let taken = (limit_bytes - used).min(u64::from(whole)) as u32;
            end += taken;
            indicators += 1;
            if taken < whole {
                break;
            }
        }
        (end > from).then_some((end, header_bytes + u64::from(end - from)))
    }

    /// Number of PDUs with a holder.
    #[cfg(test)]
    pub fn held(&self) -> usize {
        self.pdus.used()
    }
}

/// Reassembles packets from data fields in order. Holds the open SDU.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InSequence {
    open: Option<(SduId, u32)>,
}

impl InSequence {
    /// Passes the bytes `from..to` of the data field of `id`, the next in order. Delivers complete packets; ignores packets
    /// without a beginning.
    pub fn feed<R: Receiver>(
        &mut self,
        (pdus, common): (&Pdus, &mut Common),
        now: Time,
        id: PduId,
        (from, to): (u32, u32),
        receiver: &mut R,
    ) {
        let mut offset = 0;
        for element in pdus.elements(id) {
            let start = offset;
            offset += element.to - element.from;
            let (first, end) = (start.max(from), offset.min(to));
            if first >= end {
                continue;
            }
            let (first, end_of_bite) = (element.from + first - start, element.from + end - start);
            let whole = element.last && end == offset;
            if first == 0 {
                self.gap(&mut common.ledger, receiver);
            } else if self.open != Some((element.sdu, first)) {
                self.gap(&mut common.ledger, receiver);
                common.ledger.doom(element.sdu, super::REASSEMBLY);
                continue;
            }
            if whole {
                common.hand_up(element.sdu, now, receiver);
                self.gap(&mut common.ledger, receiver);
            } else if first == 0 && common.ledger.is_doomed(element.sdu) {
                // The end of this SDU has been seen before: sequence numbers have wrapped around.
            } else {
                if first == 0 {
                    common.ledger.hold(element.sdu);
                }
                self.open = Some((element.sdu, end_of_bite));
            }
        }
    }

    /// Drops the open SDU: the next data does not follow the last.
    pub fn gap<R: Receiver>(&mut self, ledger: &mut Ledger, receiver: &mut R) {
        if let Some((sdu, _)) = self.open.take() {
            ledger.doom(sdu, super::REASSEMBLY);
            ledger.release(sdu, receiver);
        }
    }
}
