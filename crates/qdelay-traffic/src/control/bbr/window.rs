//! BBR's congestion window (Linux `bbr_set_cwnd`, `bbr_set_cwnd_to_recover_or_restore`, `bbr_save_cwnd`).

use super::{Bbr, BbrKernel, INITIAL_CWND, MIN_CWND, Mode};
use crate::control::{AckSample, Connection, Recovery, Window};

impl Bbr {
    pub(super) fn set_cwnd(&mut self, connection: &Connection, window: &mut Window, sample: &AckSample) {
        let mut cwnd = window.cwnd;
        if sample.acked_sacked > 0 {
            let conserved = self.recover(connection, &mut cwnd, sample);
            if !conserved {
                cwnd = self.approach_target(connection, cwnd, sample.acked_sacked);
            }
        }
        debug_assert!(cwnd >= 1, "no window");
        window.cwnd = cwnd.min(window.clamp);
        if self.mode == Mode::ProbeRoundTrip {
            window.cwnd = window.cwnd.min(MIN_CWND);
        }
    }

    /// New window on the way to the target, segments: grows by slow start; is reduced to the target at once if the pipe was full.
    pub(super) fn approach_target(&self, connection: &Connection, cwnd: u32, acked: u32) -> u32 {
        let bdp = self.bdp(self.bw(), self.cwnd_gain);
        let allows = self.full_bw_reached && self.kernel == BbrKernel::V6_12;
        let addition = if allows { self.aggregation.addition(self.bw()) } else { 0 };
        let target = self.with_batches(bdp.saturating_add(addition), self.cwnd_gain, connection.mss);
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || connection.delivered < u64::from(INITIAL_CWND) {
            grown
        } else {
            cwnd
        };
        cwnd.max(MIN_CWND)
    }

    /// Subtracts losses from the window; returns whether packet conservation applies, in the first round trip of recovery: one segment
    /// is sent per acknowledged one. Restores the window afterwards.
    pub(super) fn recover(&mut self, connection: &Connection, cwnd: &mut u32, sample: &AckSample) -> bool {
        let (before, now) = (self.prior_recovery, connection.recovery);
        let flying = connection.in_flight.saturating_add(sample.acked_sacked);
        if sample.losses > 0 {
            *cwnd = cwnd.saturating_sub(sample.losses).max(1);
        }
        if now == Recovery::Fast && before != Recovery::Fast {
            self.packet_conservation = true;
            self.round_end = connection.delivered;
            *cwnd = flying;
        } else if before >= Recovery::Fast && now < Recovery::Fast {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.prior_recovery = now;
        if self.packet_conservation {
            *cwnd = (*cwnd).max(flying);
        }
        self.packet_conservation
    }

    /// Stores the window to return to after recovery or ProbeRTT; if the window is already reduced, keeps the largest.
    pub(super) fn save_cwnd(&mut self, window: &Window) {
        let whole = self.prior_recovery < Recovery::Fast && self.mode != Mode::ProbeRoundTrip;
        self.prior_cwnd = if whole { window.cwnd } else { self.prior_cwnd.max(window.cwnd) };
    }
}
