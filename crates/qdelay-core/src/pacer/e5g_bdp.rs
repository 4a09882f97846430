//! e5G-BDP: paces by the average throughput of the RLC buffer, and holds large packets back until late in the
//! TTI.
//!
//! Source: 5G QoS thesis section 3.4, Algorithms 3 to 5 and the example of Figure 3.4. After each `period`
//! the bytes that the MAC took in it enter a moving average, the bandwidth. The bytes that may be in the RLC
//! buffer ("paced bytes") grow with the time since then, a little faster than the bandwidth. A packet is sent
//! if
//!
//! * the bytes sent in this period and the backlog at its beginning do not exceed the capacity of one period
//!   (the last one, or with `capacity=best` the best of ten), and either
//! * `reduce` times the paced bytes exceed the bytes sent plus the packet, at any backlog; or
//! * the paced bytes reach the sum of the bytes sent, the backlog, and a part of the packet: a third, or a
//!   fifth if nothing has been sent yet or the backlog was zero.
//!
//! On a channel that gives bytes, such as a trace, a TTI without capacity ends no period either, and the next period is
//! expected to last as long. With periods of a TTI a trace with an opportunity in every tenth TTI would let one packet
//! through in each.
//!
//! With time division duplex (TDD) and no `period` given, a period is the time from one slot in which the
//! bearer can be served to the next: the report of an uplink slot ends no period. Bandwidth and capacity are
//! scaled to the next slot, since a special slot carries less.
//!
//! A bearer with nothing to send has no report, where the thesis calculates in every TTI: while the RLC
//! buffer is empty, every period without a report counts as one in which nothing was sent.
//!
//! Differences from the reference:
//! * Above an empty RLC buffer a packet may be sent from the time on that the law has named for it, also if
//!   the law is called again in a later period. In the thesis each period begins anew: a caller that polls
//!   once per period, at its beginning, never sends.
//! * `average=program` is the average of the authors' later program for OpenAirInterface, whose weights sum to more than 1.
//! * Exactly at half of the TTI the paced bytes grow by the factor of the first half, as in Figure 3.4, not
//!   as in Algorithm 5.
//! * The thesis gives no numbers for the average or for `reduce`: here a normalised average with one pole,
//!   and 0.65, as the second rule ignores the backlog and a value near 1 lets a standing queue form.
//! * The bytes that the MAC took are those reported, not calculated from the bytes sent and the backlog,
//!   which would include packets that the RLC buffer dropped. They are divided by the number of elapsed
//!   periods.
//! * An average below `idle` counts as zero: the average never reaches zero, and below 65 bytes a TTI a full
//!   packet would wait for ever.
//! * For a packet larger than the MTU, the part is that of the MTU.
//! * The paced bytes grow by a third of the bandwidth from period to period, from one packet on after a
//!   pause. Where a period carries more than ten full packets, this growth takes tens of TTIs, and a sender
//!   that is limited by its window uses 80% of its throughput without a pacer (273 resource blocks, four
//!   layers). By default such a period is therefore filled up late (`fill`). The thesis's testbed carries 1.5
//!   packets in a TTI; `fill=1` is its law on any carrier.
//! * The period is a TTI, as in the thesis, whose TTI is 1 ms; with TDD it follows the slots. With its 1 ms in
//!   slots of 125 us a packet would wait for up to four slots below. The thesis has no TDD. With its periods (`period=1ms`) a pattern such as `DDDSU` in slots of 0.5 ms has one
//!   to two slots in each: the capacity of one period does not predict the next, and an uplink slot at its
//!   end, taken for the capacity of a TTI, would let no more than one packet through.
//! * With a longer `period` and TDD, the capacity of a period is that of its last slot with downlink data, as
//!   if all slots were whole: the capacity of a TTI at the current MCS. A period without such a slot keeps
//!   the capacity of the period before.

use super::bearer::BearerLaw;
use super::below::Below;
use super::opportunities::Opportunities;
use super::parameters::{MTU, PacerSetting, SILENCE, first_time};
use super::{Eligible, Served, TddSlot, Waited};
use crate::component::{Arguments, Component, ComponentError, Kind, Typed, Unit};
use crate::{Span, Time};
use alloc::format;

const ALPHA: Typed<f64> =
    Typed::new("alpha", "0.7", "weight of the last period in the average of the bandwidth")
        .within("0.001", "1")
        .source("the authors' program for OpenAirInterface; the thesis has no number");
const AVERAGE: Typed<str> = Typed::new(
    "average",
    "pole",
    "moving average: of one pole, normalised (pole), or of the last period and the three averages before (program)",
)
.unit(Unit::Choice(&["pole", "program"]))
.source("5G QoS thesis section 3.4 (EWMA); the authors' program for OpenAirInterface");
const REDUCE: Typed<f64> = Typed::new(
    "reduce",
    "0.65",
    "part of the paced bytes up to which packets are sent at any RLC backlog (reduce_const)",
)
.within("0", "1")
.source("5G QoS thesis section 3.4: above 0, at most 1");
const IDLE: Typed<u64> = Typed::new(
    "idle",
    "100b",
    "average bandwidth, in bytes a period, below which it counts as zero; at least a twentieth of the MTU",
)
.unit(Unit::Bytes)
.within("0", "")
.source("the authors' program for OpenAirInterface");
const PERIOD: Typed<Option<Span>> = Typed::new(
    "period",
    "",
    "time between calculations of the bandwidth, at least a TTI; default: the TTI, over F1-U at least 1ms; with time division \
     duplex, from one slot with downlink data to the next",
)
.within("1us", "1s")
.source("5G QoS thesis section 3.4 (TTI)");
const FILL: Typed<Option<f64>> = Typed::new(
    "fill",
    "",
    "part of the period from which on packets are also sent while the RLC backlog is below the most that one of the last ten \
     periods carried; default: 0.9 if a period can carry more than ten full packets, otherwise 1 (never)",
)
.within("0", "1")
.source("none: a TTI that finds less data than it can carry loses the rest of its capacity");
const MOST: Typed<Option<u64>> = Typed::new(
    "most",
    "",
    "RLC backlog above which nothing is sent; default: the bytes that the last period carried",
)
.unit(Unit::Bytes)
.within("1", "")
.source("5G QoS thesis section 3.4 (max_bytes, the capacity of a TTI at the current MCS)");
const CAPACITY: Typed<str> = Typed::new(
    "capacity",
    "last",
    "default of most: the bytes that the last period carried (last), or the most of the last ten periods (best), which is \
     the capacity of a TTI without control channels at the current MCS",
)
.unit(Unit::Choice(&["last", "best"]))
.source("5G QoS thesis section 3.4 (max_bytes: the maximum capacity under the current MCS)");

/// Declaration of `e5g-bdp` and its parameters.
pub static COMPONENT: Component = Component::new(
    Kind::Pacer,
    "e5g-bdp",
    "paces by the average throughput of the RLC buffer, large packets late in the TTI (enhanced 5G-BDP)",
)
.source("5G QoS thesis section 3.4, Algorithms 3 to 5")
.with(&[
    ALPHA.parameter(),
    AVERAGE.parameter(),
    REDUCE.parameter(),
    IDLE.parameter(),
    PERIOD.parameter(),
    FILL.parameter(),
    MOST.parameter(),
    CAPACITY.parameter(),
    MTU.parameter(),
    SILENCE.parameter(),
]);

/// Form of the average of the bandwidth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Average {
    /// One pole: `alpha` of the last period, the rest of the average before.
    Pole,
    /// The authors' program: `alpha` of the last period, and `1 - alpha`, its square and its cube of the three averages before. The
    /// weights sum to more than 1: at 0.7, a constant bandwidth is estimated a fifth too high.
    Program,
}

/// The parameters of e5G-BDP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EnhancedBdpParameters {
    /// The TTI of the cell.
    pub tti: Span,
    /// Interval between calculations of the bandwidth; at least a TTI.
    pub period: Span,
    /// True with time division duplex and no `period` given: a period lasts from one slot in which the bearer
    /// can be served to the next; `period` is then the period of a bearer without data.
    pub follows_slots: bool,
    /// True if a TTI without capacity is no service opportunity and ends no period.
    pub skips_empty: bool,
    /// Weight of the last period in the average, above 0 and at most 1.
    pub alpha: f64,
    /// Form of the average.
    pub average: Average,
    /// Part of the paced bytes up to which packets are sent whatever the backlog, 0 to 1.
    pub reduce: f64,
    /// Bandwidth in bytes a period below which it counts as zero; at least a twentieth of the MTU.
    pub idle_bytes: u64,
    /// Part of the period, 0 to 1, from which on packets are sent while the backlog below is less than a
    /// period can carry; `None` disables this rule.
    pub fill: Option<f64>,
    /// Backlog below, in bytes, above which nothing is sent; `None` for the capacity of periods.
    pub most_bytes: Option<u64>,
    /// True if that capacity is the best of the last ten periods instead of the last one's.
    pub is_best: bool,
    /// Size of a full packet, bytes.
    pub mtu_bytes: u64,
}

/// The law of e5G-BDP.
#[derive(Clone, Copy, Debug)]
pub struct EnhancedBdp {
    parameters: EnhancedBdpParameters,
    /// Average bandwidth, in bytes a period.
    bandwidth: f64,
    /// The averages before, in the order in which the authors' program keeps them: three periods ago, two.
    earlier: [f64; 2],
    /// Capacity of one period in bytes; `None` before the first report.
    max_bytes: Option<u64>,
    /// Bytes that the last reported periods could have carried: of a frame of LTE, in which some TTIs carry less than others.
    carried: Opportunities,
    /// Capacity of the whole carrier in the next slot, and in a whole slot, in bytes; used with time division
    /// duplex.
    next_carries: u32,
    whole_carries: u32,
    /// Bytes that the gate sent since `last` (srs_bytes).
    sent_bytes: u64,
    /// Bytes that the MAC took since `last` (rms_bytes).
    taken_bytes: u64,
    /// Bytes left in the RLC buffer at `last` (last_acc_bytes).
    left_bytes: u64,
    /// Time at which the bandwidth was calculated (last_tti).
    last: Time,
    /// Time from `last` to the end of the period: `period`, or with time division duplex the time until the
    /// next slot.
    length: Span,
    /// Bytes that the last slot with downlink data in this period could have carried as a whole slot; used
    /// with time division duplex and a given `period`.
    slot_bytes: Option<u64>,
    /// TTIs without capacity that were reported in this period; counted where these end no period.
    empty: u32,
}

/// Default of `fill`.
fn usual_fill(setting: &PacerSetting, period: Span) -> Option<f64> {
    let in_tti = u128::from(setting.peak_bytes.unwrap_or(0));
    let in_period = in_tti * u128::from(period.as_nanos()) / u128::from(setting.tti().as_nanos());
    (in_period > u128::from(10 * setting.mtu_bytes)).then_some(0.9)
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
            earlier: [0.0; 2],
            max_bytes: None,
            carried: Opportunities::default(),
            next_carries: 1,
            whole_carries: 1,
            sent_bytes: 0,
            taken_bytes: 0,
            left_bytes: 0,
            last: Time::ZERO,
            length: parameters.period,
            slot_bytes: None,
            empty: 0,
        }
    }

    /// The law that `arguments` describe.
    pub(super) fn build(
        arguments: &Arguments,
        setting: &PacerSetting,
    ) -> Result<EnhancedBdp, ComponentError> {
        let tti = setting.tti();
        // Over F1-U there are no reports of the cell's slots.
        let is_slot = arguments.get(&PERIOD).is_none_or(|period| period == tti);
        let follows_slots = setting.tdd_opportunity.is_some() && setting.split.is_none() && is_slot;
        // Over F1-U the reports of shorter periods come together.
        let usual = if setting.split.is_none() { tti } else { tti.max(Span::from_millis(1)) };
        let period = arguments.get(&PERIOD).unwrap_or(usual);
        if period < tti {
            let message = format!("period {period} is shorter than the TTI of {tti}");
            return Err(arguments.fail(message));
        }
        Ok(EnhancedBdp::new(EnhancedBdpParameters {
            tti,
            period,
            follows_slots,
            skips_empty: setting.is_sparse && setting.split.is_none() && !follows_slots,
            alpha: arguments.get(&ALPHA),
            average: if arguments.get(&AVERAGE) == "program" { Average::Program } else { Average::Pole },
            reduce: arguments.get(&REDUCE),
            idle_bytes: arguments.get(&IDLE),
            fill: arguments.get(&FILL).or(usual_fill(setting, period)),
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
        let elapsed = now.since(self.last).as_nanos() as f64 / self.length.as_nanos() as f64;
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
        if queued >= self.best_bytes() {
            return None;
        }
        let length = self.length.as_nanos();
        Some(self.last + Span::from_nanos(libm::ceil(part * length as f64) as u64))
    }

    /// Returns true if a report at `now` ends a period.
    fn ends_period(&self, now: Time) -> bool {
        let EnhancedBdpParameters { tti, period, .. } = self.parameters;
        now.since(self.last).as_nanos().saturating_add(tti.as_nanos() / 2) >= period.as_nanos()
    }

    /// Handles a report with fixed periods: ends the period if it is over.
    fn served_in_period(&mut self, now: Time, served: &Served) {
        if let Some(slot) = served.tdd.filter(|slot| slot.is_downlink()) {
            self.whole_carries = self.whole_carries.max(slot.carries);
            let whole = TddSlot { next_carries: self.whole_carries, ..slot };
            self.slot_bytes = Some(whole.in_next(served.capacity_bytes));
        }
        if self.parameters.skips_empty && served.capacity_bytes == 0 {
            self.empty = self.empty.saturating_add(1);
            return;
        }
        if !self.ends_period(now) {
            return;
        }
        let period = self.parameters.period.as_nanos();
        if let Some(capacity_bytes) = self.capacity_of_period(served) {
            self.carried(capacity_bytes, capacity_bytes);
        }
        let ttis_without = self.parameters.tti * u64::from(self.empty);
        let counted = now.since(self.last).saturating_sub(ttis_without).as_nanos();
        let periods = (counted.saturating_add(period / 2) / period).max(1);
        self.calculate(periods, periods, served.remaining_bytes);
        self.last = now;
        if self.parameters.skips_empty {
            // The next opportunity is expected after as many TTIs without one.
            self.length = self.parameters.period + ttis_without;
        }
        self.empty = 0;
    }

    /// Bytes that the period which `served` ends could have carried, by its last TTI with any capacity;
    /// `None` if no slot in it had any.
    fn capacity_of_period(&mut self, served: &Served) -> Option<u64> {
        let EnhancedBdpParameters { tti, period, .. } = self.parameters;
        let bytes = match served.tdd {
            None => served.capacity_bytes,
            Some(_) => self.slot_bytes.take()?,
        };
        let capacity = u128::from(bytes) * u128::from(period.as_nanos()) / u128::from(tti.as_nanos());
        Some(u64::try_from(capacity).unwrap_or(u64::MAX))
    }

    /// Bytes that the current period carries by the best of the last ten.
    fn best_bytes(&self) -> u64 {
        let best = self.carried.best().unwrap_or(0);
        if !self.parameters.follows_slots || self.next_carries == self.whole_carries {
            return best;
        }
        let bytes = u128::from(best) * u128::from(self.next_carries) / u128::from(self.whole_carries.max(1));
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }

    /// Handles the report of a slot, where a period lasts from one slot in which the bearer can be served to
    /// the next.
    fn served_slot(&mut self, now: Time, served: &Served, slot: TddSlot) {
        if !slot.is_downlink() {
            // A period continues through an uplink slot.
            self.length = (now + slot.next).since(self.last).max(Span::from_nanos(1));
            return;
        }
        self.next_carries = slot.next_carries;
        self.whole_carries = self.whole_carries.max(slot.carries).max(slot.next_carries);
        self.carried(served.capacity_bytes, slot.in_next(served.capacity_bytes));
        self.calculate(1, 1, served.remaining_bytes);
        let part = f64::from(slot.next_carries) / f64::from(slot.carries);
        // The slots of one pattern scale the bandwidth down and up again by the same factor; the bound is for
        // other reports.
        self.bandwidth = (self.bandwidth * part).min(u64::MAX as f64);
        (self.last, self.length) = (now, slot.next.max(Span::from_nanos(1)));
    }

    /// Records that a period could have carried `carried_bytes`, from which the next one is expected to carry
    /// `next_bytes`.
    fn carried(&mut self, carried_bytes: u64, next_bytes: u64) {
        self.carried.push(carried_bytes);
        let carries = if self.parameters.is_best { self.best_bytes() } else { next_bytes };
        self.max_bytes = Some(self.parameters.most_bytes.unwrap_or(carries));
    }

    fn is_idle(&self) -> bool {
        self.bandwidth < self.parameters.idle_bytes as f64
    }

    /// The average of the authors' program with a period of `bytes`. It rotates its list of averages to the left and then writes the new
    /// one in front, so that the average of two periods ago has the smallest weight.
    fn average_of_four(&mut self, bytes: f64) {
        let [three_ago, two_ago] = self.earlier;
        let (alpha, rest) = (self.parameters.alpha, 1.0 - self.parameters.alpha);
        let before = self.bandwidth;
        self.bandwidth =
            alpha * bytes + rest * before + rest * rest * three_ago + rest * rest * rest * two_ago;
        self.earlier = [two_ago, before];
    }

    /// Ends `periods`; the bytes taken are spread over the first `spread` of them (Algorithm 4).
    fn calculate(&mut self, spread: u64, periods: u64, left_bytes: u64) {
        if self.parameters.average == Average::Program {
            let bytes = self.taken_bytes as f64 / spread.max(1) as f64;
            for period in 0..periods.min(spread.saturating_add(FORGOTTEN)) {
                self.average_of_four(if period < spread { bytes } else { 0.0 });
            }
            self.left_bytes = left_bytes;
            (self.sent_bytes, self.taken_bytes) = (0, 0);
            return;
        }
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
/// Number of periods without bytes after which the average of the authors' program is zero for every bandwidth.
const FORGOTTEN: u64 = 2000;

impl BearerLaw for EnhancedBdp {
    const EVERY_TTI: bool = true;

    fn next_eligible(&mut self, below: &mut Below, now: Time, size_bytes: u64) -> Eligible {
        self.catch_up(below, now);
        // An empty buffer starts another period by itself; otherwise a report ends the period.
        let end = self.last + self.length;
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
        let period = self.length.as_nanos() as f64;
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
        let period = if self.parameters.skips_empty { self.length } else { self.parameters.period };
        if below.forget(now) {
            self.calculate(1, 1, 0);
            (self.last, self.length, self.empty) = (now, period, 0);
        }
        let end = self.last + self.length;
        if below.is_empty() && now >= end {
            let further = now.since(end).as_nanos() / period.as_nanos();
            self.calculate(1, further + 1, 0);
            (self.last, self.length, self.empty) = (end + period * further, period, 0);
        }
    }
    fn forwarded(&mut self, below: &mut Below, now: Time, bytes: u64) {
        self.catch_up(below, now);
        self.sent_bytes = self.sent_bytes.saturating_add(bytes);
    }
    fn served(&mut self, below: &mut Below, now: Time, served: &Served) {
        self.catch_up(below, now);
        self.taken_bytes = self.taken_bytes.saturating_add(served.sent_bytes);
        match served.tdd {
            Some(slot) if self.parameters.follows_slots => self.served_slot(now, served, slot),
            _ => self.served_in_period(now, served),
        }
    }
    /// Reports may wait after the first one that ends a period while more is left than `most`, or anything at
    /// all: nothing is sent then.
    fn may_wait(&self, _: &Below, waited: &Waited, _: u64) -> bool {
        let queued = self.sent_bytes.saturating_add(self.left_bytes);
        self.parameters.fill.is_none()
            && self.parameters.average == Average::Pole
            && !self.parameters.skips_empty
            && !self.parameters.is_best
            && waited.remaining_bytes > self.parameters.most_bytes.unwrap_or(0)
            && (self.ends_period(waited.first) || self.max_bytes.is_some_and(|most| queued > most))
    }
    fn waited(&mut self, below: &mut Below, waited: &Waited, _: bool) -> u64 {
        let EnhancedBdpParameters { tti, period, alpha, .. } = self.parameters;
        let is_simple = self.parameters.average == Average::Pole && !self.parameters.skips_empty;
        let is_timely = period == tti && tti == waited.tti && self.ends_period(waited.first);
        if !is_simple || !is_timely || waited.count == 0 {
            return 0;
        }
        self.served(below, waited.first, &waited.report());
        // Each other report ends one more period, in which nothing was carried.
        let others = waited.count - 1;
        for _ in 0..others {
            let before = self.bandwidth;
            self.bandwidth = (1.0 - alpha) * before;
            if self.bandwidth == before {
                break;
            }
        }
        self.carried.push_repeated(0, others);
        self.last = waited.last();
        waited.count
    }
}

#[cfg(test)]
mod tests;
