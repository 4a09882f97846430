//! Figures of a run of either side, from the packets that arrived.

use super::cells::{Cell, Group};

/// Bytes of a frame in front of the transport header: Ethernet and IPv4.
pub const HEADERS: usize = 34;
/// Quantiles of a delay, and of the lateness of the control cell.
const QUANTILES: [f64; 6] = [0.05, 0.25, 0.5, 0.75, 0.95, 0.99];
const CONTROL_QUANTILES: [f64; 4] = [0.01, 0.5, 0.99, 1.0];
/// Place of the median of the control cell among its figures.
pub const CONTROL_MEDIAN: usize = 1;

impl Group {
    /// Names of the figures, with their units.
    pub const fn measures(self) -> &'static [&'static str] {
        match self {
            Group::Control => &["p1 us", "p50 us", "p99 us", "max us"],
            Group::Loss | Group::Duplicate => &["share %", "mean run", "run p50", "run p95", "run p99"],
            Group::Corrupt => &["share %", "mean run", "run p50", "run p95", "run p99", "in headers %"],
            Group::Both => &["never %", "once %", "twice %"],
            Group::Apart => &["share %", "apart mean ms", "apart p50 ms", "apart p95 ms"],
            Group::Reorder => &["share %", "mean run", "run p50", "run p95", "run p99", "overtaken %"],
            Group::Jitter => &[
                "mean ms",
                "p5 ms",
                "p25 ms",
                "p50 ms",
                "p75 ms",
                "p95 ms",
                "p99 ms",
                CORRELATION,
                "overtaken %",
            ],
        }
    }
}

/// Correlation of the delays of neighbours.
pub const CORRELATION: &str = "correlation";

/// Packet that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number of the packet, from 0 on; a copy has the same.
    pub number: u32,
    /// Time since the packet was sent.
    pub delay_ns: i64,
    /// Byte of the frame in which a bit is changed.
    pub changed: Option<usize>,
}

/// Packets of a run, in order of arrival.
#[derive(Clone, Debug, Default)]
pub struct Log {
    pub sent: u32,
    pub arrivals: Vec<Arrival>,
}

/// Figures of a run, in the order of the names of its group.
pub type Figures = Vec<f64>;

impl Log {
    /// Figures of the cell's group.
    pub fn figures(&self, cell: &Cell) -> Figures {
        match cell.group {
            Group::Control => {
                let mut late: Vec<f64> = self.delays_ms().map(|ms| (ms - cell.delay_ms) * 1000.0).collect();
                late.sort_by(f64::total_cmp);
                CONTROL_QUANTILES.map(|share| quantile(&late, share)).to_vec()
            }
            Group::Loss => runs(&self.packets(|count, _| count == 0)),
            Group::Corrupt => {
                let is_changed =
                    |_, arrival: Option<&Arrival>| arrival.is_some_and(|packet| packet.changed.is_some());
                let places = || self.arrivals.iter().filter_map(|packet| packet.changed);
                let in_headers = percent(places().filter(|byte| *byte < HEADERS).count(), places().count());
                with(runs(&self.packets(is_changed)), [in_headers])
            }
            Group::Duplicate => runs(&self.packets(|count, _| count > 1)),
            Group::Both => [0, 1, 2].map(|wanted| share(&self.packets(|count, _| count == wanted))).to_vec(),
            Group::Apart => {
                let mut apart = self.apart_ms();
                apart.sort_by(f64::total_cmp);
                let times = [mean(&apart), quantile(&apart, 0.5), quantile(&apart, 0.95)];
                with(vec![share(&self.packets(|count, _| count > 1))], times)
            }
            Group::Reorder => {
                let limit_ns = (cell.delay_ms * 1e6 / 2.0) as i64;
                let is_at_once =
                    |_, arrival: Option<&Arrival>| arrival.is_some_and(|packet| packet.delay_ns < limit_ns);
                with(runs(&self.packets(is_at_once)), [self.overtaken()])
            }
            Group::Jitter => {
                let mut delays: Vec<f64> = self.delays_ms().map(|ms| ms - cell.delay_ms).collect();
                delays.sort_by(f64::total_cmp);
                let quantiles = QUANTILES.map(|share| quantile(&delays, share));
                with(with(vec![mean(&delays)], quantiles), [self.correlation(), self.overtaken()])
            }
        }
    }

    fn delays_ms(&self) -> impl Iterator<Item = f64> {
        self.arrivals.iter().map(|packet| packet.delay_ns as f64 / 1e6)
    }

    /// Flag of each sent packet: true if it is meant, by the number of its arrivals and the first of them.
    fn packets(&self, is_meant: impl Fn(u32, Option<&Arrival>) -> bool) -> Vec<bool> {
        let mut seen = vec![(0, None); self.sent as usize];
        for packet in &self.arrivals {
            if let Some((count, first)) = seen.get_mut(packet.number as usize) {
                *count += 1;
                first.get_or_insert(packet);
            }
        }
        seen.into_iter().map(|(count, first)| is_meant(count, first)).collect()
    }

    /// Time between the two arrivals of each packet that arrived twice.
    fn apart_ms(&self) -> Vec<f64> {
        let mut first = vec![None; self.sent as usize];
        let mut apart = Vec::new();
        for packet in &self.arrivals {
            match first.get_mut(packet.number as usize) {
                Some(first @ None) => *first = Some(packet.delay_ns),
                Some(Some(first)) => apart.push((packet.delay_ns - *first) as f64 / 1e6),
                None => {}
            }
        }
        apart
    }

    /// Percentage of the packets that arrive after a later one (RFC 4737, section 3).
    fn overtaken(&self) -> f64 {
        let mut next = 0;
        let mut count = 0;
        for packet in &self.arrivals {
            if packet.number >= next { next = packet.number + 1 } else { count += 1 }
        }
        percent(count, self.arrivals.len())
    }

    /// Correlation of the delays of neighbours.
    fn correlation(&self) -> f64 {
        let mut delays = vec![f64::NAN; self.sent as usize];
        for packet in &self.arrivals {
            if let Some(delay) = delays.get_mut(packet.number as usize) {
                *delay = packet.delay_ns as f64;
            }
        }
        let mean = mean(&delays);
        let product = |pair: &[f64]| (pair[0] - mean) * (pair[1] - mean);
        let covariance: f64 = delays.windows(2).map(product).sum();
        covariance / delays.iter().map(|delay| (delay - mean).powi(2)).sum::<f64>()
    }
}

fn with<const N: usize>(mut figures: Figures, more: [f64; N]) -> Figures {
    figures.extend(more);
    figures
}

/// Percentage of the packets that are meant.
fn share(is_meant: &[bool]) -> f64 {
    percent(is_meant.iter().filter(|is| **is).count(), is_meant.len())
}

/// Share of the packets that are meant, and mean and quantiles of the lengths of their runs.
fn runs(is_meant: &[bool]) -> Figures {
    let mut lengths: Vec<usize> =
        is_meant.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
    let count: usize = lengths.iter().sum();
    lengths.sort_unstable();
    let quantiles = [0.5, 0.95, 0.99].map(|share| grouped_quantile(&lengths, share));
    with(vec![share(is_meant), count as f64 / lengths.len() as f64], quantiles)
}

/// Quantile of sorted whole numbers as of grouped data: the share of the values up to a number grows evenly from the number before, so that
/// a small change of shares changes the quantile a little.
fn grouped_quantile(sorted: &[usize], share: f64) -> f64 {
    let wanted = share * sorted.len() as f64;
    let mut before = 0.0;
    for group in sorted.chunk_by(|a, b| a == b) {
        let size = group.len() as f64;
        if before + size >= wanted {
            return group[0] as f64 - 1.0 + (wanted - before) / size;
        }
        before += size;
    }
    f64::NAN
}

/// Quantile of sorted numbers, between the two nearest.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * sorted.len().saturating_sub(1) as f64;
    let [below, above] = [place.floor(), place.ceil()].map(|at| sorted.get(at as usize).copied());
    let (Some(below), Some(above)) = (below, above) else { return f64::NAN };
    below + (above - below) * place.fract()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}

#[cfg(test)]
mod tests {
    use super::super::cells::CELLS;
    use super::*;

    fn cell(group: Group) -> Cell {
        *CELLS.iter().find(|cell| cell.group == group).unwrap()
    }

    fn log(sent: u32, arrivals: &[(u32, i64, Option<usize>)]) -> Log {
        let arrival = |&(number, ms, changed): &(u32, i64, Option<usize>)| Arrival {
            number,
            delay_ns: ms * 1_000_000,
            changed,
        };
        Log { sent, arrivals: arrivals.iter().map(arrival).collect() }
    }

    fn of(log: &Log, group: Group, name: &str) -> f64 {
        let place = group.measures().iter().position(|own| *own == name).unwrap();
        let figures = log.figures(&cell(group));
        assert_eq!(figures.len(), group.measures().len());
        figures[place]
    }

    #[test]
    fn runs_and_copies_are_counted() {
        // Packets 1, 2 and 5 are lost; 3 is changed in its header, 6 comes twice.
        let seen = log(
            8,
            &[(0, 1, None), (3, 1, Some(7)), (4, 1, None), (6, 1, Some(40)), (6, 3, None), (7, 1, None)],
        );
        assert_eq!((of(&seen, Group::Loss, "share %"), of(&seen, Group::Loss, "mean run")), (37.5, 1.5));
        assert_eq!(of(&seen, Group::Loss, "run p50"), 1.0);
        assert_eq!(of(&seen, Group::Corrupt, "share %"), 25.0);
        assert_eq!(of(&seen, Group::Corrupt, "in headers %"), 50.0);
        assert_eq!(of(&seen, Group::Duplicate, "share %"), 12.5);
        let both = ["never %", "once %", "twice %"].map(|name| of(&seen, Group::Both, name));
        assert_eq!(both, [37.5, 50.0, 12.5]);
        assert_eq!(of(&seen, Group::Apart, "apart mean ms"), 2.0);
    }

    #[test]
    fn delays_and_order() {
        // 2 and 1 come behind 3.
        let seen = log(4, &[(0, 310, None), (3, 290, None), (2, 305, None), (1, 315, None)]);
        assert_eq!((of(&seen, Group::Jitter, "mean ms"), of(&seen, Group::Jitter, "p50 ms")), (5.0, 7.5));
        assert_eq!(of(&seen, Group::Jitter, "overtaken %"), 50.0);
        // Deviations 5, 10, 0 and -15: products 50, 0 and 0 of squares 350.
        assert!((of(&seen, Group::Jitter, CORRELATION) - 50.0 / 350.0).abs() < 1e-12);
        let late = log(4, &[(0, 1, None), (1, 11, None), (3, 1, None), (2, 11, None)]);
        assert_eq!(
            (of(&late, Group::Reorder, "share %"), of(&late, Group::Reorder, "overtaken %")),
            (50.0, 25.0)
        );
    }

    #[test]
    fn grouped_quantiles_lie_between_whole_numbers() {
        let lengths = [1, 1, 1, 1, 2, 2, 2, 4];
        let all = [0.25, 0.5, 0.75, 0.9375].map(|share| grouped_quantile(&lengths, share));
        assert_eq!(all, [0.5, 1.0, 1.0 + 2.0 / 3.0, 3.5]);
        assert!(grouped_quantile(&[], 0.5).is_nan());
    }
}
