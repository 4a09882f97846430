//! e5G-BDP: paces by the average throughput of the RLC buffer, and holds large packets back until late in the TTI.
//!
//! Source: 5G QoS thesis section 3.4, Algorithms 3 to 5 and the example of Figure 3.4. After each `period` the bytes that the
//! MAC took in it enter a moving average, the bandwidth. The bytes that may be in the RLC buffer ("paced bytes") grow with
//! the time since then, a little faster than the bandwidth. A packet is sent if
//!
//! * the bytes sent in this period and the backlog at its beginning do not exceed the capacity of one period (the last one, or
//!   with `capacity=best` the best of ten), and either
//! * `reduce` times the paced bytes exceed the bytes sent plus the packet, whatever the backlog; or
//! * the paced bytes reach the sum of the bytes sent, the backlog, and a part of the packet: a third, or a fifth if nothing
//!   has been sent yet or the backlog was zero.
//!
//! A bearer with nothing to send has no report, where the thesis calculates in every TTI: while the RLC buffer is empty,
//! every period without a report counts as one in which nothing was sent.
//!
//! Differences from the reference:
//! * Above an empty RLC buffer a packet may be sent from the time on that the law has named for it, also if the law is called
//!   again in a later period. In the thesis each period begins anew: a caller that polls once per period, at its beginning,
//!   never sends.
//! * Exactly at half of the TTI the paced bytes grow by the factor of the first half, as in Figure 3.4, not as in Algorithm
//!   5.
//! * The thesis gives no numbers for the average or for `reduce`: here a normalised average with one pole, and 0.65, as the
//!   second rule ignores the backlog and a value near 1 lets a standing queue form.
//! * The bytes that the MAC took are those reported, not calculated from the bytes sent and the backlog, which would include
//!   packets that the RLC buffer dropped. They are divided by the number of elapsed periods.
//! * An average below `idle` counts as zero: the average never reaches zero, and below 65 bytes a TTI a full packet would
//!   wait for ever.
//! * For a packet larger than the MTU, the part is that of the MTU.
//! * The period is 1 ms, as in the thesis, or the TTI if that is longer.

use super::bearer::BearerLaw;
use super::below::Below;
use super::parameters::{MTU, PacerSetting, SILENCE, first_time};
use super::{Eligible, Served, Waited};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};
use alloc::format;

const ALPHA: Typed<f64> =
    Typed::new("alpha", "0.7", "weight of the last period in the average of the bandwidth")
        .within("0.001", "1")
        .source("the authors' program for OpenAirInterface; the thesis has no number");
const REDUCE: Typed<f64> = Typed::new(
    "reduce",
    "0.65",
    "part of the paced bytes up to which packets go whatever is left (reduce_const)",
)
.within("0", "1")
.source("5G QoS thesis section 3.4: above 0, at most 1");
const IDLE: Typed<u64> = Typed::new(
    "idle",
    "100b",
    "an average bandwidth below this, in a period, counts as none; a twentieth of the MTU at least",
)
.unit(Unit::Bytes)
.within("0", "")
.source("the authors' program for OpenAirInterface");
const PERIOD: Typed<Option<Span>> = Typed::new(
    "period",
    "",
    "between calculations of the bandwidth; 1ms, or the TTI where it is longer, where it is not given",
)
.within("1us", "1s")
.source("5G QoS thesis section 3.4 (TTI)");
const FILL: Typed<Option<f64>> = Typed::new("fill", "", "from this part of the period on, packets also go while less is below than the best of the last ten periods \
                    carried; not where it is not given").within("0", "1").source("none: what is below at the end of a TTI and is less than it carries is lost");
const MOST: Typed<Option<u64>> = Typed::new(
    "most",
    "",
    "nothing goes while more than this is below; what the last period carried where it is not given",
)
.unit(Unit::Bytes)
.within("1", "")
.source("5G QoS thesis section 3.4 (max_bytes, what a TTI carries at the current MCS)");
const CAPACITY: Typed<str> = Typed::new(
    "capacity",
    "last",
    "where most is not given: what the last period carried (last), or the best of the last ten (best), which is what a TTI \
     without control carries at the current MCS",
)
.unit(Unit::Choice(&["last", "best"]))
.source("5G QoS thesis section 3.4 (max_bytes: the maximum capacity under the current MCS)");

/// Declaration of `e5g-bdp` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "e5g-bdp",
    "paces by the average of what the RLC buffer sent, large packets late in the TTI (enhanced 5G-BDP)",
)
.source("5G QoS thesis section 3.4, Algorithms 3 to 5")
.with(&[
    ALPHA.parameter(),
    REDUCE.parameter(),
    IDLE.parameter(),
    PERIOD.parameter(),
    FILL.parameter(),
    MOST.parameter(),
    CAPACITY.parameter(),
    MTU.parameter(),
    SILENCE.parameter(),
]);

/// The parameters of e5G-BDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnhancedBdpParameters {
    /// The TTI of the cell.
    pub tti: Span,
    /// Interval between calculations of the bandwidth; at least a TTI.
    pub period: Span,
    /// Weight of the last period in the average, above 0 and at most 1.
    pub alpha: f64,
    /// Part of the paced bytes up to which packets are sent whatever the backlog, 0 to 1.
    pub reduce: f64,
    /// A bandwidth below this counts as none, bytes in a period; a twentieth of the MTU at least.
    pub idle_bytes: u64,
    /// From this part of the period on, 0 to 1, packets are sent while the backlog below is less than a period can carry;
    /// `None` disables this rule.
    pub fill: Option<f64>,
    /// Nothing is sent while the backlog below exceeds this; `None` for the capacity of periods.
    pub most_bytes: Option<u64>,
    /// That is the capacity of the best of the last ten periods, in place of the last one's.
    pub is_best: bool,
    /// A full packet, bytes.
    pub mtu_bytes: u64,
}

/// The law of e5G-BDP.
#[derive(Clone, Copy, Debug)]
pub struct EnhancedBdp {
    parameters: EnhancedBdpParameters,
    /// Bytes in a period, on average.
    bandwidth: f64,
    /// Most bytes that one period carries; `None` before the first report.
    max_bytes: Option<u64>,
    /// Bytes carried in each of the last reported periods, as a ring, and the index of the next entry.
    carried_bytes: [u64; FILL_PERIODS],
    turn: usize,
    /// Sent by the gate since `last` (srs_bytes).
    sent_bytes: u64,
    /// Taken by the MAC since `last` (rms_bytes).
    taken_bytes: u64,
    /// Left in the RLC buffer at `last` (last_acc_bytes).
    left_bytes: u64,
    /// When the bandwidth was calculated (last_tti).
    last: Time,
}

impl EnhancedBdp {
    /// The law with `parameters`; weights out of their ranges are clamped.
    pub fn new(parameters: EnhancedBdpParameters) -> EnhancedBdp {
        let tti = parameters.tti.max(Span::from_nanos(1));
        let mtu_bytes = parameters.mtu_bytes.max(1);
        let parameters = EnhancedBdpParameters {
            tti,
            period: parameters.period.max(tti),
            alpha: parameters.alpha.clamp(0.0, 1.0),
            reduce: parameters.reduce.clamp(0.0, 1.0),
            fill: parameters.fill.map(|part| part.clamp(0.0, 1.0)),
            mtu_bytes,
            // With a bandwidth below a twenty-third of the MTU the paced bytes would never reach a fifth of a full packet.
            idle_bytes: parameters.idle_bytes.max(mtu_bytes / 20 + 1),
            ..parameters
        };
        EnhancedBdp {
            parameters,
            bandwidth: 0.0,
            max_bytes: None,
            carried_bytes: [0; FILL_PERIODS],
            turn: 0,
            sent_bytes: 0,
            taken_bytes: 0,
            left_bytes: 0,
            last: Time::ZERO,
        }
    }

    /// The law that `arguments` describe.
    pub(super) fn build(
        arguments: &Arguments,
        setting: &PacerSetting,
    ) -> Result<EnhancedBdp, ComponentError> {
        let tti = setting.tti();
        let period = arguments.get(&PERIOD).unwrap_or(tti.max(Span::from_millis(1)));
        if period < tti {
            let message = format!("period {period} is shorter than the TTI of {tti}");
            return Err(arguments.fail(message));
        }
        Ok(EnhancedBdp::new(EnhancedBdpParameters {
            tti,
            period,
            alpha: arguments.get(&ALPHA),
            reduce: arguments.get(&REDUCE),
            idle_bytes: arguments.get(&IDLE),
            fill: arguments.get(&FILL),
            most_bytes: arguments.get(&MOST),
            is_best: arguments.get(&CAPACITY) == "best",
            mtu_bytes: setting.mtu(arguments),
        }))
    }

    /// The average bandwidth, bytes in a period.
    pub const fn bandwidth_bytes(&self) -> f64 {
        self.bandwidth
    }

    /// The paced bytes at `now`: the bytes that may be in the RLC buffer (Algorithm 5).
    pub fn paced_bytes(&self, now: Time) -> f64 {
        let elapsed = now.since(self.last).as_nanos() as f64 / self.parameters.period.as_nanos() as f64;
        if !self.is_idle() {
            let increase = if elapsed <= 0.5 { FIRST_HALF } else { SECOND_HALF };
            increase * elapsed * self.bandwidth + (self.parameters.mtu_bytes / 7) as f64
        } else if self.left_bytes == 0 && elapsed > 0.5 {
            (self.parameters.mtu_bytes / 4) as f64
        } else {
            0.0
        }
    }

    /// The time from which packets are sent to fill the next TTI, with `queued` bytes below.
    fn filling(&self, queued: u64) -> Option<Time> {
        let part = self.parameters.fill?;
        if queued >= self.carried_bytes.iter().copied().max().unwrap_or(0) {
            return None;
        }
        let period = self.parameters.period.as_nanos();
        Some(self.last + Span::from_nanos(libm::ceil(part * period as f64) as u64))
    }

    /// Whether a report at `now` ends a period.
    fn ends_period(&self, now: Time) -> bool {
        let EnhancedBdpParameters { tti, period, .. } = self.parameters;
        now.since(self.last).as_nanos().saturating_add(tti.as_nanos() / 2) >= period.as_nanos()
    }

    fn is_idle(&self) -> bool {
        self.bandwidth < self.parameters.idle_bytes as f64
    }

    /// Ends `periods`; the bytes taken are spread over the first `spread` of them (Algorithm 4).
    fn calculate(&mut self, spread: u64, periods: u64, left_bytes: u64) {
        let average = |bandwidth: f64, bytes: f64, periods: u64| {
            let kept = match periods {
                1 => 1.0 - self.parameters.alpha,
                _ => libm::pow(1.0 - self.parameters.alpha, periods as f64),
            };
            kept * bandwidth + (1.0 - kept) * bytes
        };
        self.bandwidth = average(self.bandwidth, self.taken_bytes as f64 / spread as f64, spread);
        if periods > spread {
            self.bandwidth = average(self.bandwidth, 0.0, periods - spread);
        }
        self.left_bytes = left_bytes;
        (self.sent_bytes, self.taken_bytes) = (0, 0);
    }
}

/// Growth of the paced bytes relative to the bandwidth, in the first and in the second half of a period (Algorithm 5).
const FIRST_HALF: f64 = 1.2;
const SECOND_HALF: f64 = 1.33;
/// Number of periods over which the maximum is taken: a frame of LTE, in which some TTIs carry less than others.
const FILL_PERIODS: usize = 10;

impl BearerLaw for EnhancedBdp {
    const EVERY_TTI: bool = true;

    fn next_eligible(&mut self, below: &mut Below, now: Time, size_bytes: u64) -> Eligible {
        self.catch_up(below, now);
        // An empty buffer starts another period by itself; otherwise a report ends the period.
        let end = self.last + self.parameters.period;
        let otherwise = if below.is_empty() { end } else { below.deadline() };
        let queued = self.sent_bytes.saturating_add(self.left_bytes);
        let filling = self.filling(queued).unwrap_or(Time::NEVER);
        if now >= filling {
            return Eligible::Now;
        }
        let otherwise = otherwise.min(filling);
        if self.max_bytes.is_some_and(|most| queued > most) {
            return Eligible::At(otherwise);
        }
        let part = if self.sent_bytes != 0 && self.left_bytes != 0 { 3 } else { 5 };
        let extra = size_bytes.min(self.parameters.mtu_bytes) / part;
        let whole = self.sent_bytes.saturating_add(size_bytes) as f64;
        let begun = queued.saturating_add(extra) as f64;
        let reduce = self.parameters.reduce;
        let may_go = |time: Time| {
            let paced = self.paced_bytes(time);
            paced * reduce > whole || begun <= paced
        };
        if may_go(now) || below.is_promised(now, size_bytes) {
            return Eligible::Now;
        }
        // The time from which the paced bytes suffice: in the first half, at its end, where they jump, or in the second half.
        let period = self.parameters.period.as_nanos() as f64;
        let half = libm::floor(period / 2.0) + 1.0;
        let first = if self.is_idle() {
            half
        } else {
            let needed = begun.min(if reduce > 0.0 { whole / reduce } else { f64::INFINITY });
            let bytes = (needed - (self.parameters.mtu_bytes / 7) as f64) / self.bandwidth;
            let early = bytes / FIRST_HALF * period;
            if early < half { early } else { half.max(bytes / SECOND_HALF * period) }
        };
        let time = first_time(self.last, first, may_go);
        if time <= now || time > otherwise || !may_go(time) {
            return Eligible::At(otherwise);
        }
        below.promise(time, size_bytes);
        Eligible::At(time)
    }
    /// Ends the elapsed periods that had no report.
    fn catch_up(&mut self, below: &mut Below, now: Time) {
        if below.forget(now) {
            self.calculate(1, 1, 0);
            self.last = now;
        }
        let period = self.parameters.period;
        if below.is_empty() && now.since(self.last) >= period {
            let periods = now.since(self.last).as_nanos() / period.as_nanos();
            self.calculate(1, periods, 0);
            self.last += period * periods;
        }
    }
    fn forwarded(&mut self, below: &mut Below, now: Time, bytes: u64) {
        self.catch_up(below, now);
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
    }
    fn served(&mut self, below: &mut Below, now: Time, served: &Served) {
        self.catch_up(below, now);
        self.taken_bytes = self.taken_bytes.saturating_add(served.sent_bytes);
        if !self.ends_period(now) {
            return;
        }
        let EnhancedBdpParameters { tti, period, .. } = self.parameters;
        let (tti, period) = (tti.as_nanos(), period.as_nanos());
        let capacity = if period == tti {
            served.capacity_bytes
        } else {
            let capacity = u128::from(served.capacity_bytes) * u128::from(period) / u128::from(tti);
            u64::try_from(capacity).unwrap_or(u64::MAX)
        };
        if let Some(carried) = self.carried_bytes.get_mut(self.turn) {
            *carried = capacity;
        }
        let best = || self.carried_bytes.iter().copied().max().unwrap_or(0);
        let carries = if self.parameters.is_best { best() } else { capacity };
        self.max_bytes = Some(self.parameters.most_bytes.unwrap_or(carries));
        self.turn = (self.turn + 1) % FILL_PERIODS;
        let periods = (now.since(self.last).as_nanos().saturating_add(period / 2) / period).max(1);
        self.calculate(periods, periods, served.remaining_bytes);
        self.last = now;
    }
    /// After the first such report that ends a period, nothing goes while more is left than `most`, or anything at all.
    fn may_wait(&self, _: &Below, waited: &Waited, _: u64) -> bool {
        let queued = self.sent_bytes.saturating_add(self.left_bytes);
        self.parameters.fill.is_none()
            && !self.parameters.is_best
            && waited.remaining_bytes > self.parameters.most_bytes.unwrap_or(0)
            && (self.ends_period(waited.first) || self.max_bytes.is_some_and(|most| queued > most))
    }
    fn waited(&mut self, below: &mut Below, waited: &Waited, _: bool) -> u64 {
        let EnhancedBdpParameters { tti, period, alpha, .. } = self.parameters;
        if period != tti || tti != waited.tti || waited.count == 0 || !self.ends_period(waited.first) {
            return 0;
        }
        self.served(below, waited.first, &waited.report());
        // Each of the others ends one period more, in which nothing was carried.
        let others = waited.count - 1;
        for _ in 0..others {
            let before = self.bandwidth;
            self.bandwidth = (1.0 - alpha) * before;
            if self.bandwidth == before {
                break;
            }
        }
        for _ in 0..others.min(FILL_PERIODS as u64) {
            if let Some(carried) = self.carried_bytes.get_mut(self.turn) {
                *carried = 0;
            }
            self.turn = (self.turn + 1) % FILL_PERIODS;
        }
        self.turn = (self.turn + (others.saturating_sub(FILL_PERIODS as u64) % FILL_PERIODS as u64) as usize)
            % FILL_PERIODS;
        self.last = waited.last();
        waited.count
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Asked, ms, parse, refused, served, us};
    use super::super::{AnyPacer, OverBearer, Pacer};
    use super::*;
    use alloc::string::ToString;

    fn law(text: &str) -> OverBearer<EnhancedBdp> {
        match parse(text) {
            AnyPacer::EnhancedBdp(law) => law,
            other => panic!("{other:?}"),
        }
    }
    /// The state of Figure 3.4: 1000 bytes a TTI, 600 left, at 5 ms.
    fn figure() -> OverBearer<EnhancedBdp> {
        let mut law = law("e5g-bdp");
        law.last = ms(4);
        law.bandwidth = 1000.0;
        law.below.forwarded(ms(4), 1600);
        law.on_signal(ms(5), served(2289, 1000, 600));
        assert_eq!((law.left_bytes, law.sent_bytes, law.last), (600, 0, ms(5)));
        assert!((law.bandwidth - 1000.0).abs() < 1e-9);
        law.bandwidth = 1000.0;
        law
    }

    #[test]
    fn the_example_of_figure_3_4() {
        let mut law = figure();
        let quarters = [5250, 5500, 5750, 6000].map(us);
        let paced = quarters.map(|time| law.paced_bytes(time));
        for (paced, expected) in paced.into_iter().zip([514.0, 814.0, 1211.5, 1544.0]) {
            assert!((paced - expected).abs() < 1e-9, "{paced} is not {expected}");
        }
        // 600 left and a fifth of the packet are 900 bytes.
        assert_ne!(law.ask(quarters[0], 1500), Eligible::Now);
        assert_ne!(law.ask(quarters[1], 1500), Eligible::Now);
        // The small one: 640 bytes.
        assert_eq!(law.ask(quarters[2], 200), Eligible::Now);
        law.forwarded(quarters[2], 200);
        // The large one again: 200 + 600 + 500 bytes; the paced 1300 are there from 0.8165 of the TTI on.
        assert_eq!(law.ask(quarters[2], 1500), Eligible::At(Time::from_nanos(5_816_542)));
        assert_eq!(law.ask(quarters[3] - Span::from_nanos(1), 1500), Eligible::Now);
    }

    #[test]
    fn the_time_is_found_in_either_half_and_at_the_jump_between_them() {
        let mut law = figure();
        law.parameters.reduce = 0.0;
        // 600 + 20 bytes: 406 / 1200 of the TTI.
        assert_eq!(law.ask(ms(5), 100), Eligible::At(Time::from_nanos(5_338_334)));
        // 600 + 200 bytes: 586 / 1200; 600 + 240: at half there are 814, right behind 879.
        assert_eq!(law.ask(ms(5), 1000), Eligible::At(Time::from_nanos(5_488_334)));
        assert_eq!(law.ask(ms(5), 1200), Eligible::At(Time::from_nanos(5_500_001)));
        // 600 + 300 bytes: 686 / 1330.
        assert_eq!(law.ask(ms(5), 1500), Eligible::At(Time::from_nanos(5_515_790)));
    }

    #[test]
    fn what_is_left_does_not_hold_back_what_the_reduced_pace_covers() {
        let mut law = figure();
        law.left_bytes = 2000;
        // More than 100 of 0.65 x paced at once: 139; more than 200: 307.69 paced, 93.69 / 1200.
        assert_eq!(law.ask(ms(5), 100), Eligible::Now);
        assert_eq!(law.ask(ms(5), 200), Eligible::At(Time::from_nanos(5_078_077)));
        law.parameters.reduce = 0.0;
        assert_eq!(law.ask(ms(5), 100), Eligible::At(Time::from_nanos(6_357_895)), "if the report is late");
    }

    /// A TTI with control, of 1569 bytes, leaves 2000: more than it carried, and less than the one before it, up to the tenth after that.
    #[test]
    fn the_best_of_ten_ttis_is_what_may_be_below() {
        let left = |text: &str, others: u64| {
            let mut law = law(text);
            law.below.forwarded(ms(0), 50_000);
            law.on_signal(ms(1), served(2289, 2289, 2000));
            (2..2 + others).for_each(|at| law.on_signal(ms(at), served(1569, 1569, 2000)));
            law.bandwidth = 2000.0;
            law.ask(ms(1 + others) + Span::from_micros(900), 100)
        };
        assert_ne!(left("e5g-bdp", 1), Eligible::Now);
        assert_eq!(left("e5g-bdp:capacity=best", 1), Eligible::Now);
        assert_eq!(left("e5g-bdp:capacity=best", 9), Eligible::Now);
        assert_ne!(left("e5g-bdp:capacity=best", 10), Eligible::Now);
    }

    #[test]
    fn more_than_a_tti_carries_is_held_back() {
        let mut law = figure();
        law.max_bytes = Some(800);
        law.bandwidth = 5000.0;
        assert_eq!(law.ask(us(5900), 201), Eligible::Now);
        law.forwarded(us(5900), 201);
        assert_eq!(law.ask(us(5900), 40), Eligible::At(ms(25)), "its silence");
        law.on_signal(ms(6), served(0, 0, 0));
        assert_eq!(law.max_bytes, Some(0));
        assert_eq!(law.ask(ms(6), 40), Eligible::Now, "nothing was sent and nothing is left");
    }

    #[test]
    fn the_most_that_is_below_may_be_given() {
        for (text, most) in [("e5g-bdp", 700), ("e5g-bdp:most=2289b", 2289)] {
            let mut law = law(text);
            law.forwarded(us(500), 1500);
            law.on_signal(ms(1), served(700, 700, 800));
            assert_eq!(law.max_bytes, Some(most), "{text}");
            assert_eq!(law.carried_bytes[0], 700, "the carried bytes are independent of `most`");
        }
    }

    #[test]
    fn the_bandwidth_is_an_average() {
        let mut law = law("e5g-bdp:alpha=0.25");
        law.forwarded(us(500), 1500);
        law.on_signal(ms(1), served(2289, 1000, 500));
        assert_eq!((law.bandwidth, law.left_bytes), (250.0, 500));
        law.on_signal(ms(2), served(2289, 500, 0));
        assert_eq!(law.bandwidth, 312.5);
        // Two TTIs without a report, one with, of 400 bytes.
        law.forwarded(us(4500), 400);
        assert!((law.bandwidth - 312.5 * 0.5625).abs() < 1e-9 && law.last == ms(4));
        law.on_signal(ms(5), served(2289, 400, 0));
        assert!((law.bandwidth - (312.5 * 0.421_875 + 100.0)).abs() < 1e-9);
        // A report that is a TTI late covers two TTIs.
        law.forwarded(us(5500), 400);
        law.on_signal(ms(7), served(2289, 400, 0));
        let expected = (312.5 * 0.421_875 + 100.0) * 0.5625 + 0.4375 * 200.0;
        assert!((law.bandwidth - expected).abs() < 1e-9);
    }

    #[test]
    fn without_a_bandwidth_an_empty_buffer_takes_a_packet_in_the_second_half() {
        let mut law = law("e5g-bdp");
        assert_eq!(law.ask(us(7200), 1500), Eligible::At(Time::from_nanos(7_500_001)));
        assert_eq!(law.ask(Time::from_nanos(7_500_001), 1500), Eligible::Now);
        law.forwarded(us(7600), 1500);
        assert_eq!(law.ask(us(7700), 40), Eligible::At(us(27_600)), "1500 of 375 went");
        // A bandwidth of 99 bytes a TTI counts as none, 100 bytes do not; the buffer is not empty.
        law.on_signal(ms(8), served(2289, 1, 1499));
        law.bandwidth = 99.9;
        assert_eq!((law.paced_bytes(us(8900)), law.ask(us(8900), 40)), (0.0, Eligible::At(ms(28))));
        law.bandwidth = 100.0;
        assert!((law.paced_bytes(us(9000)) - 347.0).abs() < 1e-9);
    }

    #[test]
    fn a_small_bandwidth_starves_nobody() {
        for bandwidth in [0.0, 20.0, 64.0, 99.0, 100.0, 120.0] {
            for size in [40, 1500, 60_000] {
                let mut law = law("e5g-bdp");
                law.bandwidth = bandwidth;
                law.last = ms(10);
                let mut now = ms(10);
                while let Eligible::At(time) = law.ask(now, size) {
                    now = time;
                }
                assert!(now <= ms(11), "{size} bytes at {bandwidth} bytes a TTI went at {now}");
            }
        }
    }

    #[test]
    fn whoever_looks_once_in_a_period_sends_at_the_second_look() {
        // Polling periods that divide a TTI, multiples of it, and others; from 5.4 ms on the odd ones poll at almost the same
        // phase of each TTI.
        for polling in [50, 100, 200, 250, 500, 1000, 2000, 3000, 10_000, 370, 999, 1001, 7_777] {
            for phase in [0, 400, 500, 501] {
                for bandwidth in [0.0, 100.0, 2289.0] {
                    let mut law = law("e5g-bdp");
                    (law.bandwidth, law.last) = (bandwidth, ms(5));
                    let mut look = ms(5) + Span::from_micros(phase);
                    while law.ask(look, 1500) != Eligible::Now {
                        look += Span::from_micros(polling);
                    }
                    let most = ms(5) + Span::from_micros(phase + 1000 + polling);
                    assert!(look < most, "{polling} us, {phase} us in, {bandwidth} bytes: {look}");
                    law.forwarded(look, 1500);
                }
            }
        }
    }

    #[test]
    fn a_promise_is_for_no_larger_packet_and_ends_with_a_report() {
        let mut law = law("e5g-bdp:reduce=0");
        (law.bandwidth, law.last) = (100.0, ms(5));
        // 500 bytes: more than 100, a fifth of the packet, must be paced, and the 214 at the beginning suffice; 1500 need
        // 300, at 86 / 133.
        assert_eq!(law.ask(us(5100), 500), Eligible::Now);
        assert_eq!(law.ask(us(5100), 1400), Eligible::At(Time::from_nanos(5_500_001)));
        assert_ne!(law.clone().ask(us(6100), 1500), Eligible::Now);
        assert_eq!(law.clone().ask(us(6100), 1400), Eligible::Now);
        law.on_signal(ms(6), served(2289, 0, 0));
        assert_ne!(law.ask(us(6100), 1400), Eligible::Now);
    }

    #[test]
    fn periods_longer_than_a_tti_gather_its_reports() {
        let setting = PacerSetting { tti: Span::from_micros(250), ..PacerSetting::default() };
        let Ok(AnyPacer::EnhancedBdp(mut law)) = AnyPacer::parse("e5g-bdp", &setting) else { panic!() };
        law.forwarded(us(100), 3000);
        for (at, left) in [(250, 2400), (500, 1800), (750, 1200)] {
            law.on_signal(us(at), served(700, 600, left));
            assert_eq!((law.bandwidth, law.left_bytes, law.last), (0.0, 0, Time::ZERO));
        }
        law.on_signal(us(1000), served(700, 600, 600));
        assert!((law.bandwidth - 0.7 * 2400.0).abs() < 1e-9);
        assert_eq!((law.left_bytes, law.max_bytes, law.last), (600, Some(2800), ms(1)));
        // Bytes taken before the bearer became idle count in the period in which they were taken.
        law.on_signal(us(1250), served(700, 600, 0));
        law.ask(us(3100), 1500);
        assert_eq!(law.last, ms(3));
        assert!((law.bandwidth - (0.7 * 600.0 + 0.3 * 1680.0) * 0.3).abs() < 1e-9);
        let error = AnyPacer::parse("e5g-bdp:period=100us", &setting).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("period 100us is shorter than the TTI of 250us"));
    }

    #[test]
    fn fill_tops_up_late_what_the_best_of_ten_periods_would_carry() {
        let mut law = law("e5g-bdp:fill=0.9");
        law.forwarded(ms(0), 60_000);
        law.on_signal(ms(1), served(2289, 2289, 57_711));
        assert_eq!(law.filling(2289), None);
        assert_eq!(law.filling(2288), Some(us(1900)));
        // A TTI with less capacity: 2288 bytes are too much for the average, and more than the last TTI carried.
        law.on_signal(ms(2), served(1569, 1569, 2288));
        assert_eq!(law.ask(us(2800), 1500), Eligible::At(us(2900)));
        assert_eq!(law.ask(us(2900), 1500), Eligible::Now);
        law.forwarded(us(2900), 1);
        assert_eq!(law.ask(us(2900), 1500), Eligible::At(ms(22)), "its silence");
        // Ten such TTIs later the larger one has left the maximum.
        for tti in 3..=10 {
            law.on_signal(ms(tti), served(1569, 1569, 1569));
        }
        assert_eq!(law.filling(1569), Some(us(10_900)));
        law.on_signal(ms(11), served(1569, 1569, 1569));
        assert_eq!((law.filling(1569), law.filling(1568)), (None, Some(us(11_900))));
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(refused("e5g-bdp:fill=1.01").contains("0 to 1"));
        assert!(refused("e5g-bdp:reduce=1.5").contains("0 to 1"));
    }
}
