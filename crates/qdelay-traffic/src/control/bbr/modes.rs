//! The modes of BBR and their gains (Linux `bbr_update_cycle_phase`, `bbr_check_full_bw_reached`, `bbr_check_drain`,
//! `bbr_update_min_rtt`, `bbr_update_gains`).

use super::{
    Bbr, CWND_GAIN, CYCLE, DRAIN_GAIN, FULL_BW_GROWTH, FULL_BW_ROUNDS, HIGH_GAIN, MIN_CWND, MIN_RTT_SECONDS,
    Mode, PROBE_RTT_MILLIS, UNIT, delivered_micros,
};
use crate::control::{AckSample, Connection, Window};

impl Bbr {
    pub(super) fn enter_probe_bandwidth(&mut self, connection: &Connection) {
        self.mode = Mode::ProbeBandwidth;
        self.phase = self.next_phase.take().unwrap_or(0);
        self.phase_start = delivered_micros(connection);
    }

    pub(super) fn update_phase(&mut self, connection: &Connection, sample: &AckSample) {
        if self.mode == Mode::ProbeBandwidth && self.phase_is_over(connection, sample) {
            self.phase = (self.phase + 1) % CYCLE.len() as u8;
            self.phase_start = delivered_micros(connection);
        }
    }

    pub(super) fn phase_is_over(&self, connection: &Connection, sample: &AckSample) -> bool {
        let elapsed = delivered_micros(connection).saturating_sub(self.phase_start);
        let long_enough = elapsed > u64::from(self.min_rtt);
        if self.pacing_gain == UNIT {
            return long_enough;
        }
        let in_flight = || self.in_network_at_departure(connection, sample.prior_in_flight);
        let target = |gain| self.target_in_flight(self.bandwidth.get(), gain, connection.mss);
        if self.pacing_gain > UNIT {
            // Until the data in flight reflects the gain, unless the buffer cannot hold that much.
            long_enough && (sample.losses > 0 || in_flight() >= target(self.pacing_gain))
        } else {
            // Until the queue of the probe is drained.
            long_enough || in_flight() <= target(UNIT)
        }
    }

    pub(super) fn check_full_pipe(&mut self, sample: &AckSample) {
        if self.full_bw_reached || !self.round_start || sample.is_app_limited {
            return;
        }
        let growth = (u64::from(self.full_bw) * u64::from(FULL_BW_GROWTH)) >> 8;
        if u64::from(self.bandwidth.get()) >= growth {
            self.full_bw = self.bandwidth.get();
            self.full_bw_rounds = 0;
            return;
        }
        self.full_bw_rounds += 1;
        self.full_bw_reached = self.full_bw_rounds >= FULL_BW_ROUNDS;
    }

    pub(super) fn check_drain(&mut self, connection: &Connection, window: &mut Window) {
        let target = |bbr: &Bbr| bbr.target_in_flight(bbr.bandwidth.get(), UNIT, connection.mss);
        if self.mode == Mode::Startup && self.full_bw_reached {
            self.mode = Mode::Drain;
            window.ssthresh = target(self);
        }
        if self.mode == Mode::Drain
            && self.in_network_at_departure(connection, connection.in_flight) <= target(self)
        {
            self.enter_probe_bandwidth(connection);
        }
    }

    pub(super) fn update_min_rtt(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        sample: &AckSample,
    ) {
        let tick = self.jiffies.ticks(connection.now);
        let hz = u64::from(self.jiffies.hz());
        let expired = tick > self.min_rtt_tick + MIN_RTT_SECONDS * hz;
        if let Some(rtt) = sample.rtt {
            let rtt = u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX);
            if rtt < self.min_rtt || (expired && !sample.is_ack_delayed) {
                self.min_rtt = rtt;
                self.min_rtt_tick = tick;
            }
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRoundTrip {
            self.mode = Mode::ProbeRoundTrip;
            self.save_cwnd(window);
            self.probe_rtt_done = None;
        }
        self.marks_app_limited = self.mode == Mode::ProbeRoundTrip;
        if self.mode == Mode::ProbeRoundTrip {
            self.probe_round_trip(connection, window, tick);
        }
        if sample.acked_sacked > 0 {
            self.idle_restart = false;
        }
    }

    pub(super) fn probe_round_trip(&mut self, connection: &Connection, window: &mut Window, tick: u64) {
        if self.probe_rtt_done.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.check_probe_round_trip_done(connection, window, tick);
            }
        } else if connection.in_flight <= MIN_CWND {
            let ticks = (PROBE_RTT_MILLIS * u64::from(self.jiffies.hz())).div_ceil(1_000);
            self.probe_rtt_done = Some(tick + ticks);
            self.probe_rtt_round_done = false;
            self.round_end = connection.delivered;
        }
    }

    pub(super) fn check_probe_round_trip_done(
        &mut self,
        connection: &Connection,
        window: &mut Window,
        tick: u64,
    ) {
        if self.probe_rtt_done.is_none_or(|done| tick <= done) {
            return;
        }
        self.min_rtt_tick = tick;
        window.cwnd = window.cwnd.max(self.prior_cwnd);
        if self.full_bw_reached {
            self.enter_probe_bandwidth(connection);
        } else {
            self.mode = Mode::Startup;
        }
    }

    pub(super) fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBandwidth if self.is_policed() => (UNIT, CWND_GAIN),
            Mode::ProbeBandwidth => (CYCLE[usize::from(self.phase) % CYCLE.len()], CWND_GAIN),
            Mode::ProbeRoundTrip => (UNIT, UNIT),
        };
    }
}
