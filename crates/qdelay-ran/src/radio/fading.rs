//! A fading channel: a signal-to-noise ratio (SNR) that varies around its mean, converted to a CQI.
//!
//! The SNR of a block of time is, in dB, the sum of
//! * a mean,
//! * shadowing: normal around 0 with a standard deviation, correlated from block to block by Gudmundson's model (Electronics
//!   Letters 27(23), 1991: exponentially; TR 36.942 and TR 38.901 7.4.4 use it too), a first-order autoregressive process,
//! * fast fading: the power of a complex normal amplitude with mean power 1 (Rayleigh fading), whose two parts are such
//!   processes too, with a shorter memory.
//!
//! The CQI is the highest whose spectral efficiency is not above `share * log2(1 + SNR)`, the attenuated Shannon bound of TR
//! 36.942 Annex A; below that of CQI 1 nothing is received. On a carrier with rank adaptation the SNR is that of one receive
//! antenna with all power, and a rank comes with the CQI ([`rank`](super::rank)). A share of 0.75 puts CQI 1 at -8 dB and CQI 15 at 22 dB, where
//! link simulations have about -7 and 23.
//!
//! | parameter | unit | meaning |
//! | --- | --- | --- |
//! | `snr` | dB | mean SNR |
//! | `deviation` | dB | standard deviation of shadowing; 0 for none |
//! | `memory` | s | time after which shadowing's correlation is 1/e |
//! | `fast` | | `rayleigh` or `none` |
//! | `coherence` | s | time after which the correlation of the amplitude is 1/e |
//! | `block` | s | time for which the SNR is constant |
//! | `share` | 1 | share of Shannon's bound that is reached |
//!
//! Cost: a few random draws for each block that passes, queried or not, so that the channel at a given time
//! does not depend on earlier queries.
//!
//! Differences from the references: the whole carrier fades uniformly, while real fading differs over the frequencies and
//! averages out on wide carriers: use `fast=none` there. Rayleigh fading's correlation decays exponentially instead of as a
//! Bessel function (Clarke's model).

use super::rank::Reports;
use super::schemes::{MAPPING, mapping, schemes};
use super::{Declared, Named, Quality, RadioError, Walk};
use crate::tables::{Carrier, CqiToMcs};
use alloc::boxed::Box;
use qdelay_core::component::{Arguments, Component, Kind, Typed, Unit};
use qdelay_core::{Random, Span, Time};

const SNR: Typed<f64> = Typed::new("snr", "15", "mean signal-to-noise ratio, dB")
    .within("-30", "80")
    .source("ours: about CQI 11");
const DEVIATION: Typed<f64> = Typed::new("deviation", "4", "standard deviation of shadowing, dB")
    .within("0", "40")
    .source("TR 38.901 Table 7.4.1-1, UMa in line of sight");
const MEMORY: Typed<Span> = Typed::new("memory", "5s", "time after which shadowing's correlation is 1/e")
    .within("1us", "")
    .source("TR 36.942: 50 m, at 10 m/s");
const FAST: Typed<str> =
    Typed::new("fast", "rayleigh", "fast fading; none suits wide carriers, which average it out")
        .unit(Unit::Choice(&["rayleigh", "none"]))
        .source("ours");
const COHERENCE: Typed<Span> =
    Typed::new("coherence", "50ms", "time after which the correlation of fast fading's amplitude is 1/e")
        .within("1us", "")
        .source("ours: a pedestrian at 2 GHz");
const BLOCK: Typed<Span> =
    Typed::new("block", "10ms", "time for which the signal is constant").within("1us", "").source("ours");
const SHARE: Typed<f64> = Typed::new("share", "0.75", "share of Shannon's bound that is reached")
    .within("0.01", "1")
    .source("TR 36.942 Annex A.1 (its 0.6 includes overhead that is counted elsewhere here)");

pub(super) static COMPONENT: Component =
    Component::new(Kind::Channel, "fading", "a signal with shadowing and Rayleigh fading, as a CQI")
        .source("TR 36.942 Annex A, TR 38.901 7.4.4")
        .with(&[
            SNR.parameter(),
            DEVIATION.parameter(),
            MEMORY.parameter(),
            FAST.parameter(),
            COHERENCE.parameter(),
            BLOCK.parameter(),
            SHARE.parameter(),
            MAPPING.parameter(),
        ]);

/// A fading channel; see the module for each field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fading {
    /// Mean SNR, dB.
    pub snr_db: f64,
    /// Standard deviation of shadowing, dB; 0 or more.
    pub deviation_db: f64,
    /// Correlation time of shadowing; above 0.
    pub memory: Span,
    /// True with fast fading.
    pub rayleigh: bool,
    /// Correlation time of the amplitude of fast fading; above 0.
    pub coherence: Span,
    /// Time for which the SNR is constant; at least 1 us.
    pub block: Span,
    /// Share of Shannon's bound, above 0 up to 1.
    pub share: f64,
    /// The MCS for each CQI, as in [`Cqi`](super::Cqi).
    pub mapping: Option<CqiToMcs>,
}

impl Default for Fading {
    /// The defaults of the component `fading`.
    fn default() -> Fading {
        Fading::build(&Arguments::defaults(&COMPONENT))
    }
}

impl Fading {
    /// Checks the ranges of all fields.
    pub(super) fn check(&self) -> Result<(), RadioError> {
        let number = |what, found, expected| Err(RadioError::Number { what, found, expected });
        let span = |what, found, expected| Err(RadioError::Span { what, found, expected });
        if !(-30.0..=80.0).contains(&self.snr_db) {
            return number("mean SNR", self.snr_db, "-30 to 80 dB");
        }
        if !(0.0..=40.0).contains(&self.deviation_db) {
            return number("deviation of shadowing", self.deviation_db, "0 to 40 dB");
        }
        if !(self.share > 0.0 && self.share <= 1.0) {
            return number("share of Shannon's bound", self.share, "above 0, at most 1");
        }
        if self.memory.is_zero() {
            return span("memory of shadowing", self.memory, "above 0");
        }
        if self.coherence.is_zero() {
            return span("coherence time", self.coherence, "above 0");
        }
        if self.block < Span::from_micros(1) {
            return span("length of a block", self.block, "at least 1us");
        }
        Ok(())
    }
}

impl Named for Fading {
    fn build(arguments: &Arguments) -> Fading {
        Fading {
            snr_db: arguments.get(&SNR),
            deviation_db: arguments.get(&DEVIATION),
            memory: arguments.get(&MEMORY),
            rayleigh: arguments.get(&FAST) == "rayleigh",
            coherence: arguments.get(&COHERENCE),
            block: arguments.get(&BLOCK),
            share: arguments.get(&SHARE),
            mapping: mapping(arguments),
        }
    }
}

impl Declared for Fading {
    type Walk = FadedCqi;

    fn start(&self, carrier: &Carrier, seed: u64, name: &str) -> Result<FadedCqi, RadioError> {
        self.check()?;
        let reports = Reports::new(carrier, self.share, &schemes(carrier, self.mapping)?);
        Ok(FadedCqi(Box::new(Faded::new(self, reports, seed, name))))
    }
    fn is_constant(&self) -> bool {
        false
    }
    fn has_snr(&self) -> bool {
        true
    }
    fn share(&self) -> f64 {
        self.share
    }
}

/// The quality for the CQI of a fading channel.
#[derive(Clone, Debug)]
pub(crate) struct FadedCqi(Box<Faded>);

impl Walk for FadedCqi {
    fn quality_at(&mut self, now: Time) -> Quality {
        self.0.quality(now)
    }
    fn snr_db(&mut self, now: Time) -> Option<f64> {
        self.0.quality(now);
        Some(10.0 * libm::log10(self.0.snr()))
    }
}

/// A running fading channel.
#[derive(Clone, Debug)]
pub(super) struct Faded {
    fading: Fading,
    reports: Reports,
    random: Random,
    /// Coefficients by which each process is carried over from block to block.
    keep_shadow: Keep,
    keep_fast: Keep,
    /// Standard normal processes: shadowing, and both parts of the amplitude.
    shadow: f64,
    amplitude: [f64; 2],
    /// Number of the block of the current state; `next_block`: beginning of the next one; `quality`: that of the block.
    block: u64,
    next_block: Time,
    quality: Quality,
}

/// Coefficients of a process from one block to the next.
#[derive(Clone, Copy, Debug)]
struct Keep {
    part: f64,
    /// Factor on a new standard normal number, such that the variance stays 1.
    rest: f64,
}

impl Keep {
    fn new(part: f64) -> Keep {
        Keep { part, rest: libm::sqrt(1.0 - part * part) }
    }
}

impl Faded {
    pub(super) fn new(fading: &Fading, reports: Reports, seed: u64, name: &str) -> Faded {
        let mut random = Random::derive(seed, name, "fading");
        let keep = |memory: Span| Keep::new(libm::exp(-fading.block.as_secs_f64() / memory.as_secs_f64()));
        let (shadow, amplitude) = (random.normal(), [random.normal(), random.normal()]);
        let mut faded = Faded {
            fading: *fading,
            reports,
            random,
            keep_shadow: keep(fading.memory),
            keep_fast: keep(fading.coherence),
            shadow,
            amplitude,
            block: 0,
            next_block: Time::ZERO + fading.block,
            quality: Quality::Outage,
        };
        faded.quality = faded.reports.at(faded.snr());
        faded
    }

    /// The SNR of the block, as a ratio.
    fn snr(&self) -> f64 {
        let fading = &self.fading;
        let slow = libm::exp10((fading.snr_db + fading.deviation_db * self.shadow) / 10.0);
        let [a, b] = self.amplitude;
        let fast = if fading.rayleigh { (a * a + b * b) / 2.0 } else { 1.0 };
        slow * fast
    }

    /// The quality at `now`.
    pub(super) fn quality(&mut self, now: Time) -> Quality {
        if now < self.next_block {
            return self.quality;
        }
        let block = now.as_nanos() / self.fading.block.as_nanos().max(1);
        let mut step = |state: &mut f64, keep: Keep| {
            *state = keep.part * *state + keep.rest * self.random.normal();
        };
        while self.block < block {
            if self.fading.deviation_db > 0.0 {
                step(&mut self.shadow, self.keep_shadow);
            }
            if self.fading.rayleigh {
                self.amplitude.iter_mut().for_each(|part| step(part, self.keep_fast));
            }
            self.block += 1;
        }
        // A span saturates at the end of time, which is never reached.
        self.next_block = Time::ZERO + self.fading.block * self.block.saturating_add(1);
        self.quality = self.reports.at(self.snr());
        self.quality
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn carrier() -> Carrier {
        Carrier::lte(25).unwrap()
    }
    fn faded(fading: &Fading, seed: u64, name: &str) -> Faded {
        let schemes = schemes(&carrier(), fading.mapping).unwrap();
        Faded::new(fading, Reports::new(&carrier(), fading.share, &schemes), seed, name)
    }
    /// The CQI of a quality; 0 in an outage. Each CQI of LTE has its own MCS.
    fn cqi(quality: Quality) -> u8 {
        let Quality::Rung(rung) = quality else { return 0 };
        let is_meant = |cqi: &u8| carrier().mcs(CqiToMcs::Oai, *cqi) == Some(carrier().mcs_of(rung));
        (1..=15).find(is_meant).unwrap()
    }
    fn blocks(fading: &Fading, count: u64) -> Vec<f64> {
        let mut faded = faded(fading, 1, "ue");
        let at = |n: u64| Time::ZERO + fading.block * n;
        (0..count)
            .map(|n| {
                faded.quality(at(n));
                faded.snr()
            })
            .collect()
    }
    fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
        let count = values.len() as f64;
        values.sum::<f64>() / count
    }

    #[test]
    fn thresholds_are_where_the_cqi_changes() {
        let carrier = carrier();
        let thresholds: Vec<f64> =
            (1..=15).map(|cqi| 2_f64.powf(carrier.cqi_efficiency(cqi) / 0.75) - 1.0).collect();
        assert!(thresholds.is_sorted());
        for (at_least, &snr) in (1..).zip(&thresholds) {
            let snr_db = 10.0 * libm::log10(snr);
            let constant = Fading { deviation_db: 0.0, rayleigh: false, ..Fading::default() };
            let at = |off: f64| {
                let fading = Fading { snr_db: snr_db + off, ..constant };
                cqi(faded(&fading, 1, "ue").quality(Time::ZERO))
            };
            assert_eq!((at(0.001), at(-0.001)), (at_least, at_least - 1));
        }
        let db = |snr: f64| 10.0 * libm::log10(snr);
        assert!((db(thresholds[0]) + 8.2).abs() < 0.1, "{}", db(thresholds[0]));
        assert!((db(thresholds[14]) - 22.3).abs() < 0.1, "{}", db(thresholds[14]));
    }

    /// Mean and variance of Rayleigh power are 1, and the share of blocks below a level is that of the exponential
    /// distribution; the amplitude's correlation decays by e in a coherence time, that of the power by e squared.
    #[test]
    fn rayleigh_power_is_exponential() {
        let fading = Fading { snr_db: 0.0, deviation_db: 0.0, ..Fading::default() };
        let power = blocks(&fading, 400_000);
        let m = mean(power.iter().copied());
        let variance = mean(power.iter().map(|x| (x - m) * (x - m)));
        assert!((m - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{m} {variance}");
        for level in [0.1, 0.5, 1.0, 2.0] {
            let share = mean(power.iter().map(|&x| f64::from(u8::from(x < level))));
            assert!((share - (1.0 - libm::exp(-level))).abs() < 0.01, "{level}: {share}");
        }
        let lag = 5;
        let pairs = power.iter().zip(&power[lag..]).map(|(a, b)| (a - m) * (b - m)).collect::<Vec<_>>();
        let correlation = mean(pairs.into_iter()) / variance;
        assert!((correlation - libm::exp(-2.0)).abs() < 0.02, "{correlation}");
    }

    #[test]
    fn shadowing_is_normal_in_db_with_its_memory() {
        let fading = Fading { rayleigh: false, memory: Span::from_millis(200), ..Fading::default() };
        let db: Vec<f64> = blocks(&fading, 400_000).into_iter().map(|snr| 10.0 * libm::log10(snr)).collect();
        let m = mean(db.iter().copied());
        let variance = mean(db.iter().map(|x| (x - m) * (x - m)));
        assert!((m - 15.0).abs() < 0.1 && (libm::sqrt(variance) - 4.0).abs() < 0.1, "{m} {variance}");
        let pairs = db.iter().zip(&db[20..]).map(|(a, b)| (a - m) * (b - m)).collect::<Vec<_>>();
        let correlation = mean(pairs.into_iter()) / variance;
        assert!((correlation - libm::exp(-1.0)).abs() < 0.03, "{correlation}");
    }

    /// The state at a given time does not depend on earlier queries, and streams depend on seed and name.
    #[test]
    fn the_state_does_not_depend_on_earlier_queries() {
        let fading = Fading::default();
        let ask = |seed, name, every: u64| -> Vec<u8> {
            let mut faded = faded(&fading, seed, name);
            let at = |n: u64| Time::from_nanos(n * 1_000_000);
            (0..10_000).step_by(every as usize).map(|n| cqi(faded.quality(at(n)))).collect()
        };
        let each = ask(1, "a", 1);
        let some: Vec<u8> = each.iter().copied().step_by(137).collect();
        assert_eq!(ask(1, "a", 137), some);
        assert!(each.chunks(10).all(|block| block.iter().all(|cqi| *cqi == block[0])));
        assert_ne!(ask(2, "a", 137), some);
        assert_ne!(ask(1, "b", 137), some);
    }

    #[test]
    fn without_variation_it_is_constant() {
        let fading = Fading { deviation_db: 0.0, rayleigh: false, ..Fading::default() };
        assert!(blocks(&fading, 100).iter().all(|snr| (10.0 * libm::log10(*snr) - 15.0).abs() < 1e-9));
        let deep = Fading { snr_db: -20.0, ..fading };
        assert_eq!(faded(&deep, 1, "ue").quality(Time::ZERO), Quality::Outage);
    }

    #[test]
    fn values_out_of_range_are_refused() {
        let usual = Fading::default();
        assert_eq!(usual.check(), Ok(()));
        let wrong = [
            Fading { snr_db: f64::NAN, ..usual },
            Fading { snr_db: 81.0, ..usual },
            Fading { deviation_db: -1.0, ..usual },
            Fading { share: 0.0, ..usual },
            Fading { share: 1.1, ..usual },
            Fading { memory: Span::ZERO, ..usual },
            Fading { coherence: Span::ZERO, ..usual },
            Fading { block: Span::from_nanos(999), ..usual },
        ];
        assert!(wrong.iter().all(|fading| fading.check().is_err()));
    }
}
