//! The E-model: from the parameters of a telephone connection to the rating R.
//!
//! R = Ro - Is - Id - Ie,eff + A. Ro is the signal-to-noise ratio. Three impairments are subtracted: Is, simultaneous with speech; Id, by delay
//! (talker echo, listener echo, and delay without echo); Ie,eff, by codec and lost packets. A is the advantage of access.
//!
//! Source: ITU-T G.107, clauses 7.1 to 7.7 (narrowband). Symbols of the Recommendation stand beside the fields; defaults are
//! those of its Table 3.
//!
//! # Differences from the reference
//!
//! * Delay sensitivity sT and minimum perceivable delay mT have their default values, 1 and 100 ms.
//!
//! Below 200 ms most of Id is the talker echo at the default TELR of 65 dB.

use libm::{exp, log10, pow, sqrt};

/// Parameters of a telephone connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EModel {
    /// Send loudness rating, SLR, dB.
    pub send_loudness: f64,
    /// Receive loudness rating, RLR, dB.
    pub receive_loudness: f64,
    /// Sidetone masking rating, STMR, dB.
    pub sidetone: f64,
    /// D-value of the telephone at the send side, Ds.
    pub send_d: f64,
    /// D-value of the telephone at the receive side, Dr.
    pub receive_d: f64,
    /// Talker echo loudness rating, TELR, dB.
    pub talker_echo: f64,
    /// Weighted echo path loss, WEPL, dB.
    pub echo_path_loss: f64,
    /// Mean one-way delay of the echo path, T, ms.
    pub echo_delay_ms: f64,
    /// Round trip delay in a four-wire loop, Tr, ms.
    pub round_trip_ms: f64,
    /// Absolute delay of a connection without echo, Ta, ms.
    pub absolute_delay_ms: f64,
    /// Quantizing distortion units, qdu.
    pub quantizing: f64,
    /// Equipment impairment without loss, Ie.
    pub codec_impairment: f64,
    /// Robustness against packet loss, Bpl.
    pub loss_robustness: f64,
    /// Probability of packet loss, Ppl, per cent.
    pub loss_percent: f64,
    /// Burst ratio BurstR: mean length of loss bursts over that of random losses; 1 for random losses.
    pub burst_ratio: f64,
    /// Circuit noise referred to the 0 dBr point, Nc, dBm0p.
    pub circuit_noise: f64,
    /// Noise floor at the receive side, Nfor, dBmp.
    pub noise_floor: f64,
    /// Room noise at the send side, Ps, dB(A).
    pub send_room: f64,
    /// Room noise at the receive side, Pr, dB(A).
    pub receive_room: f64,
    /// Advantage factor, A; 10 for a mobile user in a vehicle.
    pub advantage: f64,
}

impl Default for EModel {
    fn default() -> Self {
        EModel {
            send_loudness: 8.0,
            receive_loudness: 2.0,
            sidetone: 15.0,
            send_d: 3.0,
            receive_d: 3.0,
            talker_echo: 65.0,
            echo_path_loss: 110.0,
            echo_delay_ms: 0.0,
            round_trip_ms: 0.0,
            absolute_delay_ms: 0.0,
            quantizing: 1.0,
            codec_impairment: 0.0,
            loss_robustness: 4.3,
            loss_percent: 0.0,
            burst_ratio: 1.0,
            circuit_noise: -70.0,
            noise_floor: -64.0,
            send_room: 35.0,
            receive_room: 35.0,
            advantage: 0.0,
        }
    }
}

/// Rating R and its components.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rating {
    /// Basic signal-to-noise ratio, Ro.
    pub basic: f64,
    /// Simultaneous impairment, Is.
    pub simultaneous: f64,
    /// Impairment by talker echo, Idte.
    pub talker_echo: f64,
    /// Impairment by listener echo, Idle.
    pub listener_echo: f64,
    /// Impairment by delay without echo, Idd.
    pub delay: f64,
    /// Effective equipment impairment by codec and lost packets, Ie,eff.
    pub equipment: f64,
    /// Rating R: at most 100 for a narrowband connection; may be negative.
    pub r: f64,
}

impl EModel {
    /// The same connection with a mouth-to-ear delay, ms, that applies to echo in both directions (T = Ta = Tr / 2).
    pub fn with_delay_ms(self, delay_ms: f64) -> EModel {
        EModel { echo_delay_ms: delay_ms, absolute_delay_ms: delay_ms, round_trip_ms: 2.0 * delay_ms, ..self }
    }

    /// Rates the connection.
    pub fn rating(&self) -> Rating {
        let noise = self.noise();
        let basic = 15.0 - 1.5 * (self.send_loudness + noise);
        let sidetone = self.sidetone_impairment();
        let simultaneous = self.loudness_impairment(noise) + sidetone + self.quantizing_impairment(basic);
        let talker_echo = self.talker_echo_impairment(noise, sidetone);
        let listener_echo = self.listener_echo_impairment(basic);
        let delay = delay_impairment(self.absolute_delay_ms);
        let equipment = self.equipment_impairment();
        let r = basic - simultaneous - talker_echo - listener_echo - delay - equipment + self.advantage;
        Rating { basic, simultaneous, talker_echo, listener_echo, delay, equipment, r }
    }

    /// Overall loudness rating, OLR.
    fn loudness(&self) -> f64 {
        self.send_loudness + self.receive_loudness
    }

    /// Sum of all noise referred to the 0 dBr point, No, dBm0p (clause 7.2).
    fn noise(&self) -> f64 {
        let at_sender = self.send_room - self.loudness() - self.send_d - 14.0;
        let sent = self.send_room - self.send_loudness - self.send_d - 100.0 + 0.004 * at_sender * at_sender;
        let listener_sidetone = self.sidetone + self.receive_d;
        let room = self.receive_room + 10.0 * log10(1.0 + power_ratio((10.0 - listener_sidetone) / 10.0));
        let received = self.receive_loudness - 121.0 + room + 0.008 * (room - 35.0) * (room - 35.0);
        let floor = self.noise_floor + self.receive_loudness;
        let sum = [self.circuit_noise, sent, received, floor].map(|level| power_ratio(level / 10.0));
        10.0 * log10(sum.iter().sum())
    }

    /// Impairment by too low an overall loudness rating, Iolr (clause 7.3): the connection is too loud.
    fn loudness_impairment(&self, noise: f64) -> f64 {
        let x = (self.loudness() + 0.2 * (64.0 + noise - self.receive_loudness)) / 8.0;
        20.0 * (root(8.0, x) - x)
    }

    /// Impairment by non-optimum sidetone, Ist (clause 7.3).
    fn sidetone_impairment(&self) -> f64 {
        let echo = exp(-self.echo_delay_ms / 4.0) * power_ratio(-self.talker_echo / 10.0);
        let masked = -10.0 * log10(power_ratio(-self.sidetone / 10.0) + echo);
        12.0 * root(8.0, (masked - 13.0) / 6.0)
            - 28.0 * root(35.0, (masked + 1.0) / 19.4)
            - 13.0 * root(13.0, (masked - 3.0) / 33.0)
            + 29.0
    }

    /// Impairment by quantizing distortion, Iq (clause 7.3).
    fn quantizing_impairment(&self, basic: f64) -> f64 {
        let q = 37.0 - 15.0 * log10(self.quantizing);
        let g = 1.07 + 0.258 * q + 0.0602 * q * q;
        let y = (basic - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
        let z = 46.0 / 30.0 - g / 40.0;
        15.0 * log10(1.0 + power_ratio(y) + power_ratio(z))
    }

    /// Impairment by talker echo, Idte (clause 7.4), corrected for STMR below 9 dB and above 20 dB.
    fn talker_echo_impairment(&self, noise: f64, sidetone: f64) -> f64 {
        let delay = self.echo_delay_ms;
        let mut echo = self.talker_echo - 40.0 * log10((1.0 + delay / 10.0) / (1.0 + delay / 150.0))
            + 6.0 * exp(-0.3 * delay * delay);
        if self.sidetone < 9.0 {
            echo += sidetone / 2.0;
        }
        let bearable = -1.5 * (noise - self.receive_loudness);
        let half = (bearable - (80.0 + 2.5 * (echo - 14.0))) / 2.0;
        let mut impairment = (half + sqrt(half * half + 100.0) - 1.0) * (1.0 - exp(-delay));
        if delay < 1.0 {
            // Echo of less than 1 ms is perceived as sidetone.
            impairment = 0.0;
        }
        if self.sidetone > 20.0 {
            return sqrt(impairment * impairment + sidetone * sidetone);
        }
        impairment
    }

    /// Impairment by listener echo, Idle (clause 7.4).
    fn listener_echo_impairment(&self, basic: f64) -> f64 {
        let echo = 10.5 * (self.echo_path_loss + 7.0) * pow(self.round_trip_ms + 1.0, -0.25);
        let half = (basic - echo) / 2.0;
        half + sqrt(half * half + 169.0)
    }

    /// Effective equipment impairment, Ie,eff (clause 7.5).
    fn equipment_impairment(&self) -> f64 {
        if self.loss_percent <= 0.0 {
            return self.codec_impairment;
        }
        let loss = self.loss_percent;
        self.codec_impairment
            + (95.0 - self.codec_impairment) * loss / (loss / self.burst_ratio + self.loss_robustness)
    }
}

/// Impairment by absolute delay without echo, Idd (clause 7.4); 0 up to 100 ms.
pub fn delay_impairment(delay_ms: f64) -> f64 {
    if delay_ms <= 100.0 {
        return 0.0;
    }
    let x = log10(delay_ms / 100.0) / log10(2.0);
    25.0 * (root(6.0, x) - 3.0 * root(6.0, x / 3.0) + 2.0)
}

/// Power ratio of a level in bels.
fn power_ratio(bels: f64) -> f64 {
    pow(10.0, bels)
}

/// `n`-th root of 1 + x^n.
fn root(n: f64, x: f64) -> f64 {
    pow(1.0 + pow(x, n), 1.0 / n)
}
