//! Model of the sender's rate by the steps of sections 4.2 to 4.4 and 8.2.1. Times in s.

use super::throughput;

pub struct Model {
    pub s: f64,
    pub b: f64,
    pub least_timeout: f64,
    pub w_init: f64,
    pub x: f64,
    pub x_inst: f64,
    samples: Vec<f64>,
    p: f64,
    recover_rate: f64,
    tld: f64,
    pub x_recv_set: Vec<(f64, f64)>,
    pub timer: Option<f64>,
    pub damping: bool,
    sent_since: bool,
    not_limited: [f64; 2],
    t_new: f64,
    t_next: f64,
}

impl Model {
    pub fn new(s: f64, b: f64, least_timeout: f64, w_init: f64, damping: bool) -> Model {
        Model {
            s,
            b,
            least_timeout,
            w_init,
            x: s,
            x_inst: s,
            samples: Vec::new(),
            p: 0.0,
            recover_rate: 0.0,
            tld: -1.0,
            x_recv_set: Vec::new(),
            timer: None,
            damping,
            sent_since: false,
            not_limited: [-1.0; 2],
            t_new: -1.0,
            t_next: -1.0,
        }
    }

    /// Round trip R from the list of all samples, s.
    pub fn r(&self) -> f64 {
        self.samples.iter().copied().reduce(|r, sample| 0.9 * r + 0.1 * sample).unwrap_or(0.0)
    }

    fn r_sqmean(&self) -> f64 {
        self.samples.iter().map(|sample| sample.sqrt()).reduce(|r, root| 0.9 * r + 0.1 * root).unwrap_or(0.0)
    }

    fn x_bps(&self) -> f64 {
        throughput(self.s, self.r(), self.p, self.b, self.least_timeout)
    }

    fn max_x_recv(&self) -> f64 {
        self.x_recv_set.iter().map(|(rate, _)| *rate).fold(0.0, f64::max)
    }

    pub fn sent(&mut self, now: f64, limited: bool) {
        if self.timer.is_none() {
            self.timer = Some(now + 2.0);
        }
        self.sent_since = true;
        if limited {
            if self.not_limited[0] <= self.t_new {
                self.not_limited[0] = now;
            } else if self.not_limited[1] <= self.t_next {
                self.not_limited[1] = now;
            }
        }
    }

    fn maximize(&mut self, now: f64, x_recv: f64) {
        self.x_recv_set.push((x_recv, now));
        self.x_recv_set.retain(|(rate, _)| rate.is_finite());
        self.x_recv_set = vec![(self.max_x_recv(), now)];
    }

    fn step_4(&mut self, now: f64, recv_limit: f64) {
        if self.p > 0.0 {
            self.x = self.x_bps().min(recv_limit).max(self.s / 64.0);
        } else if now - self.tld >= 0.999 * self.r() {
            self.x = (2.0 * self.x).min(recv_limit).max(self.recover_rate);
            self.tld = now;
        }
    }

    pub fn on_feedback(&mut self, now: f64, t_recvdata: f64, t_delay: f64, x_recv: f64, p: f64) {
        let sample = now - t_recvdata - t_delay;
        self.samples.push(sample);
        if self.samples.len() == 1 {
            self.recover_rate = self.w_init / sample;
            self.x = self.recover_rate;
            self.tld = now;
            self.x_recv_set = vec![(f64::INFINITY, now)];
        }
        let rto = (4.0 * self.r()).max(2.0 * self.s / self.x);
        self.t_new = t_recvdata;
        self.t_next = now;
        let t_old = self.t_new - self.r();
        let limited = self.not_limited.iter().any(|at| t_old < *at && *at <= self.t_new);
        if self.not_limited[0] <= self.t_new && self.not_limited[1] > self.t_new {
            self.not_limited[0] = self.not_limited[1];
        }
        let p_prev = core::mem::replace(&mut self.p, p);
        let recv_limit = if !limited && p > p_prev {
            for (rate, _) in &mut self.x_recv_set {
                *rate /= 2.0;
            }
            self.maximize(now, 0.85 * x_recv);
            self.max_x_recv()
        } else if !limited {
            self.maximize(now, x_recv);
            2.0 * self.max_x_recv()
        } else {
            self.x_recv_set.push((x_recv, now));
            let r = self.r();
            self.x_recv_set.retain(|(_, at)| now - at <= 2.0 * r);
            2.0 * self.max_x_recv()
        };
        self.step_4(now, recv_limit);
        self.x_inst = self.x;
        if self.damping {
            self.x_inst = (self.x * self.r_sqmean() / sample.sqrt()).max(self.s / 64.0);
        }
        self.timer = Some(now + rto);
        self.sent_since = false;
    }

    pub fn on_no_feedback(&mut self, now: f64) {
        let x_recv = self.max_x_recv();
        let idle = !self.sent_since;
        let has_rtt = !self.samples.is_empty();
        let is_low = (self.p > 0.0 && x_recv < self.recover_rate)
            || (self.p == 0.0 && self.x < 2.0 * self.recover_rate);
        if !has_rtt && !idle {
            self.x = (self.x / 2.0).max(self.s / 64.0);
        } else if (is_low || !has_rtt) && idle {
        } else if self.p == 0.0 {
            self.x = (self.x / 2.0).max(self.s / 64.0);
        } else {
            let timer_limit = if self.x_bps() > 2.0 * x_recv { x_recv } else { self.x_bps() / 2.0 };
            let timer_limit = timer_limit.max(self.s / 64.0);
            self.x_recv_set = vec![(timer_limit / 2.0, now)];
            self.step_4(now, 2.0 * self.max_x_recv());
        }
        self.x_inst = self.x;
        self.timer = Some(now + (4.0 * self.r()).max(2.0 * self.s / self.x));
        self.sent_since = false;
    }
}
