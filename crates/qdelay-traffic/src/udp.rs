//! Datagram sources: constant rate, on-off, and the probe that measures a queue from outside.

use qdelay_core::{Random, Rate, Span, Time};

/// When datagrams leave and how large they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UdpConfig {
    /// Rate while on, in bits of IP packets per second.
    pub rate: Rate,
    /// IP packet size in bytes.
    pub bytes: u32,
    /// Mean length of the on periods; [`Span::MAX`] for always on.
    pub on: Span,
    /// Mean length of the off periods.
    pub off: Span,
    /// Whether period lengths are exponential, or constant.
    pub exponential: bool,
}

/// How the gaps between a source's datagrams are made.
#[derive(Clone, Copy, Debug)]
enum Gaps {
    OnOff { config: UdpConfig, on_until: Time },
    Uniform { low: Span, high: Span },
}

/// A source of datagrams.
#[derive(Clone, Debug)]
pub struct UdpSource {
    gaps: Gaps,
    bytes: u32,
    random: Random,
    next: Time,
    sent: u64,
}

impl UdpSource {
    /// Constant rate, or on-off.
    pub fn new(config: UdpConfig, start: Time, mut random: Random) -> UdpSource {
        let on = period(config.on, config.exponential, &mut random);
        let gaps = Gaps::OnOff { config, on_until: start + on };
        UdpSource { gaps, bytes: config.bytes, random, next: start, sent: 0 }
    }

    /// A probe: packets of `bytes` at gaps uniform between `low` and `high`.
    pub fn probe(bytes: u32, low: Span, high: Span, start: Time, random: Random) -> UdpSource {
        UdpSource { gaps: Gaps::Uniform { low, high }, bytes, random, next: start, sent: 0 }
    }

    /// When the next datagram leaves.
    pub fn next_deadline(&self) -> Time {
        self.next
    }
    /// Datagrams sent.
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// The size of the datagram that leaves now, if one is due.
    pub fn poll(&mut self, now: Time) -> Option<u32> {
        if now < self.next {
            return None;
        }
        self.sent += 1;
        match &mut self.gaps {
            Gaps::Uniform { low, high } => {
                let width = high.saturating_sub(*low).as_nanos();
                self.next += *low + Span::from_nanos(self.random.below(width.saturating_add(1)));
            }
            Gaps::OnOff { config, on_until } => {
                self.next += config.rate.time_for(u64::from(self.bytes));
                if self.next >= *on_until {
                    let off = period(config.off, config.exponential, &mut self.random);
                    self.next = *on_until + off;
                    *on_until = self.next + period(config.on, config.exponential, &mut self.random);
                }
            }
        }
        Some(self.bytes)
    }
}

fn period(mean: Span, exponential: bool, random: &mut Random) -> Span {
    if mean == Span::MAX || !exponential {
        return mean;
    }
    Span::from_secs_f64(mean.as_secs_f64() * random.exponential())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(mut source: UdpSource, seconds: u64) -> u64 {
        let end = Time::ZERO + Span::from_secs(seconds);
        while source.next_deadline() < end {
            let now = source.next_deadline();
            assert!(source.poll(now).is_some());
        }
        source.sent()
    }

    const CONFIG: UdpConfig = UdpConfig {
        rate: Rate::from_bps(1_000_000),
        bytes: 1250,
        on: Span::MAX,
        off: Span::ZERO,
        exponential: false,
    };

    #[test]
    fn rates() {
        let random = || Random::derive(1, "udp", "test");
        assert_eq!(count(UdpSource::new(CONFIG, Time::ZERO, random()), 10), 1000);
        let half = UdpConfig { on: Span::from_millis(500), off: Span::from_millis(500), ..CONFIG };
        assert_eq!(count(UdpSource::new(half, Time::ZERO, random()), 10), 500);
        let random_half = UdpConfig { exponential: true, ..half };
        let sent = count(UdpSource::new(random_half, Time::ZERO, random()), 2000) as f64;
        assert!((sent / 100_000.0 - 1.0).abs() < 0.1, "{sent}");
        let probe = UdpSource::probe(64, Span::from_millis(5), Span::from_millis(15), Time::ZERO, random());
        let sent = count(probe, 100) as f64;
        assert!((sent / 10_000.0 - 1.0).abs() < 0.02, "{sent}");
    }
}
