//! Offset and drift between two clocks, from packets with a time of each.
//!
//! The difference of the two times of a packet, second clock minus first, is the clock offset plus the delay where the packet goes forth, and
//! the offset minus the delay where it goes back. Delays are never negative, so the offset lies below all differences forth and above all
//! differences back. Between these bounds the estimate assumes that the smallest delays of both directions are equal, as NTP does (RFC 5905,
//! section 8); the distance of the bounds is the smallest round trip, and half of it the largest error.
//!
//! **Drift.** With clocks of different speed the bounds are lines: below the points forth, above the points back. Moon, Skelly and Towsley
//! ("Estimation and removal of clock skew from network delay measurements", INFOCOM 1999, section 3) choose the line below all points of one
//! direction whose summed distance to the points is smallest, a linear program. Its optimum lies at an edge of the lower convex hull. Here
//! the two lines have one slope, and the sum is that of the mean distances of both directions, so that a busy direction counts no more than
//! its acknowledgements. The result is concave in the slope, and has its maximum at the slope of an edge of one of the hulls.
//!
//! A route that changes, or a queue that grows during the whole measurement, tilts the line of one direction only; it is no drift. The drift is
//! therefore removed only if the lines of each direction alone have slopes of one sign, of which the smaller is at least half of the larger
//! (`AGREEMENT`), if it exceeds what the smallest delays scatter by (`SCATTERS`), and if a clock can have it (`DRIFT_MAX_PPM`).

use serde::Serialize;

/// Smallest share of the larger slope of a direction's own line that the smaller must have.
const AGREEMENT: f64 = 0.5;
/// Smallest change of the offset over the measurement, in medians of the smallest distances of tenths of the time to their line.
const SCATTERS: f64 = 4.0;
/// Smallest change of the offset in nanoseconds that is told from the resolution of times (microseconds in pcap).
const RESOLUTION: f64 = 2_000.0;
/// Largest drift of a clock, in parts per million: twice what NTP corrects (RFC 5905, section 11.3: 500).
const DRIFT_MAX_PPM: f64 = 1_000.0;
const PPM: f64 = 1e6;
const NANOS_PER_MS: f64 = 1e6;

/// Relation of a second clock to a first: an offset that grows with time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Clocks {
    /// Time of the second clock minus that of the first when the second shows `since`, in nanoseconds.
    offset: i64,
    /// Growth of the offset, in nanoseconds per nanosecond of the second clock.
    drift: f64,
    since: i64,
}

impl Clocks {
    /// Clocks of equal speed; the second is `offset` nanoseconds ahead.
    pub const fn constant(offset: i64) -> Clocks {
        Clocks { offset, drift: 0.0, since: 0 }
    }
    /// Offset at the beginning, in nanoseconds.
    pub const fn offset(&self) -> i64 {
        self.offset
    }
    /// Time of the first clock when the second shows `second`, both in nanoseconds.
    pub fn to_first(&self, second: i64) -> i64 {
        let grown = (self.drift * (i128::from(second) - i128::from(self.since)) as f64).round() as i64;
        second.saturating_sub(self.offset).saturating_sub(grown)
    }
}

/// Estimated relation of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    #[serde(skip)]
    pub clocks: Clocks,
    /// Clock offset of the second capture relative to the first, at its first packet.
    pub offset_ms: f64,
    /// Largest error of the offset: half of the smallest round trip. The error is half the difference of the smallest delays.
    pub within_ms: f64,
    /// Drift that is removed, in parts per million; positive where the second clock runs faster. 0 where none is.
    pub drift_ppm: f64,
    /// Growth of the offset from the first to the last packet by this drift.
    pub drift_ms: f64,
    /// Slope of the line of each direction alone, forth and back, in parts per million.
    pub envelopes_ppm: [f64; 2],
    /// The slopes exceed what the smallest delays scatter by, but differ from each other or from any clock's drift.
    pub is_unclear: bool,
}

/// Reason why the offset cannot be estimated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NoEstimate {
    /// All packets go one way, or their direction is not known.
    OneWay,
    /// The smallest delays of both directions add up to less than 0; their sum in milliseconds.
    NegativeRoundTrip(f64),
}

impl NoEstimate {
    /// The error of an option `--offset auto`.
    pub fn message(&self) -> String {
        match self {
            NoEstimate::OneWay => "auto: no direction has packets beside a direction known to be the other; expected traffic both ways, whose \
                smallest delays tell the offset; without it, measure the offset (ntpdate -q, chronyc) and give it, such as --offset 3.2ms"
                .to_string(),
            NoEstimate::NegativeRoundTrip(ms) => format!(
                "auto: the smallest delays of both ways add up to {ms:.3} ms, which is below 0; expected clocks that were not set during the \
                 measurement; give the offset, such as --offset 3.2ms"
            ),
        }
    }
}

/// A packet by both clocks: time of the first and of the second, in nanoseconds.
pub type Times = (i64, i64);

/// Estimates offset and drift of the second clock from packets forth (first end to second) and back.
///
/// # Errors
/// A direction without packets, or smallest delays that contradict each other.
pub fn estimate(forth: &[Times], back: &[Times]) -> Result<Estimate, NoEstimate> {
    let both = || forth.iter().chain(back);
    let (Some(since), Some((first, second))) = (both().map(|(_, second)| *second).min(), both().next())
    else {
        return Err(NoEstimate::OneWay);
    };
    if forth.is_empty() || back.is_empty() {
        return Err(NoEstimate::OneWay);
    }
    let middle = i128::from(*second) - i128::from(*first);
    // Differences from a common beginning and a common offset are exact as f64 for 104 days.
    let point = |(first, second): &Times| {
        let difference = i128::from(*second) - i128::from(*first) - middle;
        ((i128::from(*second) - i128::from(since)) as f64, difference as f64)
    };
    let forth = Points::new(forth.iter().map(point).collect());
    // Seen from below, with differences and slopes of the opposite sign.
    let back = Points::new(back.iter().map(point).map(|(time, difference)| (time, -difference)).collect());
    let duration = forth.end().max(back.end());
    let slopes = [slope(&[(&forth, 1.0)]), slope(&[(&back, -1.0)])];
    let common = slope(&[(&forth, 1.0), (&back, -1.0)]);
    let scatter = scatter(&forth, &back, common, duration);
    let exceeds = |slope: f64| slope.abs() * duration > SCATTERS * scatter + RESOLUTION;
    let [smaller, larger] = match slopes.map(f64::abs) {
        [one, other] if one <= other => [one, other],
        [one, other] => [other, one],
    };
    let agree = slopes[0] * slopes[1] > 0.0 && smaller >= AGREEMENT * larger;
    let is_possible = common.abs() * PPM <= DRIFT_MAX_PPM;
    let is_drift = agree && is_possible && exceeds(common);
    let drift = if is_drift { common } else { 0.0 };
    let (above, below) = (forth.least(drift), -back.least(-drift));
    if above < below {
        return Err(NoEstimate::NegativeRoundTrip((above - below) / NANOS_PER_MS));
    }
    let offset =
        (middle + (above / 2.0 + below / 2.0).round() as i128).clamp(i64::MIN.into(), i64::MAX.into()) as i64;
    Ok(Estimate {
        clocks: Clocks { offset, drift, since },
        offset_ms: offset as f64 / NANOS_PER_MS,
        within_ms: (above - below) / 2.0 / NANOS_PER_MS,
        drift_ppm: drift * PPM,
        drift_ms: drift * duration / NANOS_PER_MS,
        envelopes_ppm: slopes.map(|slope| slope * PPM),
        is_unclear: !is_drift && slopes.iter().any(|slope| exceeds(*slope)),
    })
}

/// Points of a direction with their lower convex hull.
struct Points {
    all: Vec<(f64, f64)>,
    hull: Vec<(f64, f64)>,
    mean_time: f64,
}

impl Points {
    /// Points in any order; at least one.
    fn new(mut all: Vec<(f64, f64)>) -> Points {
        all.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1)));
        let mut hull: Vec<(f64, f64)> = Vec::new();
        for point in &all {
            // Of points with one time the lowest comes first, and is the only one that a line from below can touch.
            if hull.last().is_some_and(|last| last.0 == point.0) {
                continue;
            }
            while let [.., before, last] = hull.as_slice()
                && rise(*before, *last) >= rise(*before, *point)
            {
                hull.pop();
            }
            hull.push(*point);
        }
        let mean_time = all.iter().map(|(time, _)| time / all.len() as f64).sum();
        Points { all, hull, mean_time }
    }
    fn end(&self) -> f64 {
        self.all.last().map_or(0.0, |(time, _)| *time)
    }
    /// Height at time 0 of the highest line of this slope below all points.
    fn least(&self, slope: f64) -> f64 {
        self.hull.iter().map(|(time, difference)| difference - slope * time).fold(f64::INFINITY, f64::min)
    }
}

fn rise(one: (f64, f64), other: (f64, f64)) -> f64 {
    (other.1 - one.1) / (other.0 - one.0)
}

/// Slope of the lines below the points, of each direction with its sign, whose summed mean distance to the points is smallest.
fn slope(directions: &[(&Points, f64)]) -> f64 {
    let edges = |(points, sign): &(&Points, f64)| {
        let sign = *sign;
        points.hull.windows(2).map(move |edge| sign * rise(edge[0], edge[1])).collect::<Vec<_>>()
    };
    let mut slopes: Vec<f64> = directions.iter().flat_map(edges).collect();
    slopes.sort_by(f64::total_cmp);
    // The mean of the points' heights is the same for every slope.
    let height = |slope: f64| -> f64 {
        let of =
            |(points, sign): &(&Points, f64)| points.least(sign * slope) + sign * slope * points.mean_time;
        directions.iter().map(of).sum()
    };
    // Concave: the first place from which the height no longer grows.
    let (mut low, mut high) = (0, slopes.len().saturating_sub(1));
    while low < high {
        let middle = low + (high - low) / 2;
        match height(slopes[middle]) < height(slopes[middle + 1]) {
            true => low = middle + 1,
            false => high = middle,
        }
    }
    slopes.get(low).copied().unwrap_or(0.0)
}

/// Median over tenths of the time and both directions of the smallest distance to the line of this slope.
fn scatter(forth: &Points, back: &Points, slope: f64, duration: f64) -> f64 {
    let mut distances = Vec::new();
    for (points, slope) in [(forth, slope), (back, -slope)] {
        let least = points.least(slope);
        let mut tenths = [f64::INFINITY; 10];
        for (time, difference) in &points.all {
            let tenth = ((time / duration * 10.0) as usize).min(9);
            tenths[tenth] = tenths[tenth].min(difference - slope * time - least);
        }
        distances.extend(tenths.into_iter().filter(|distance| distance.is_finite()));
    }
    distances.sort_by(f64::total_cmp);
    distances.get(distances.len() / 2).copied().unwrap_or(0.0)
}
