//! Number of packets that a cell carries in each tick of 10 ms: the files that drove the emulator of a thesis
//! on 5G QoS.
//!
//! Source: `packets_pedestrian.txt` and `packets_train.txt` of the program Dynamic-buffer-TMC. The first line
//! is the number of values that follow, one a line. Each value is the number of packets of 1500 bytes that
//! one tick of 10 ms carries, and holds for 100 ticks, a second. The values were made from the CQIs of a
//! drive test, which [`crate::cqi`] reads if they are available.
//!
//! Memory: 4 bytes a value, up to a limit.

use crate::cqi::{CqiStep, CqiSteps};
use crate::error::{Problem, TraceError};
use crate::lines::{Body, LineParser};
use crate::rates::{DURATION_MAX, RateStep, RateSteps};
use crate::window::check_window;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Rate, Span, Time};

/// Size of a packet in bytes.
pub const PACKET_BYTES: u64 = 1500;
/// Time from one tick to the next.
pub const TICK: Span = Span::from_millis(10);
/// Time for which one value holds.
pub const HOLD: Span = Span::from_secs(1);
/// Largest number of packets in a tick: 1.2 Tbit/s would be above every cell.
const PACKETS_MAX: u32 = 100_000;
/// Largest number of values: that of the longest trace.
const VALUES_MAX: u64 = DURATION_MAX.as_nanos() / HOLD.as_nanos();
const COUNT: &str = "the number of values that follow";
const VALUE: &str = "a whole number of packets for each 10 ms";

/// The lowest and the highest CQI that give each value of the published files: ten transport blocks of 25
/// PRBs of LTE, divided by 1460 bytes, rounded down and kept within 1 and 15.
static CQIS: [(u32, u8, u8); 10] = [
    (1, 1, 3),
    (2, 4, 5),
    (3, 6, 7),
    (4, 8, 8),
    (6, 9, 10),
    (7, 11, 11),
    (9, 12, 12),
    (10, 13, 13),
    (12, 14, 14),
    (15, 15, 15),
];

/// Choice of the CQI for a value that several CQIs give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The lowest CQI.
    Lowest,
    /// The highest CQI.
    Highest,
}

/// Packets in each tick, a value for every second. At least one value, and one above 0 somewhere. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CapacitySteps {
    values: Arc<Vec<u32>>,
}

impl CapacitySteps {
    /// A trace of these values, one a second.
    ///
    /// # Errors
    /// No value, or none above 0; one above 100,000; more than fit into 49.7 days.
    pub fn new(values: Vec<u32>) -> Result<CapacitySteps, TraceError> {
        let fail = |problem| Err(TraceError::in_line(0, problem));
        if values.is_empty() {
            return fail(Problem::Empty);
        }
        if values.len() as u64 > VALUES_MAX {
            return fail(Problem::TooMany { what: "values", limit: VALUES_MAX });
        }
        if let Some(value) = values.iter().find(|&&value| value > PACKETS_MAX) {
            return Err(TraceError::too_large(0, "100000 packets", format!("{value}").as_bytes()));
        }
        if values.iter().all(|&value| value == 0) {
            return fail(Problem::NoCapacity);
        }
        Ok(CapacitySteps { values: Arc::new(values) })
    }

    /// Packets in each tick, a value for every second.
    pub fn values(&self) -> &[u32] {
        &self.values
    }
    /// Duration of one round.
    pub fn period(&self) -> Span {
        HOLD * self.values.len() as u64
    }
    /// Bytes of the tick that begins at or last before `at`, in the round that lasts from 0 to the period; 0
    /// after it.
    pub fn tick_bytes(&self, at: Time) -> u64 {
        let second = usize::try_from(at.as_nanos() / HOLD.as_nanos()).unwrap_or(usize::MAX);
        self.values.get(second).map_or(0, |&value| u64::from(value) * PACKET_BYTES)
    }
    /// The part from `start` on that lasts for `length`, both whole seconds, as a separate trace.
    ///
    /// # Errors
    /// An empty part, one that does not begin and end at a second within the trace, or one without any
    /// packet.
    pub fn window(&self, start: Span, length: Span) -> Result<CapacitySteps, TraceError> {
        check_window(start, length, self.period())?;
        if !whole(start) || !whole(length) {
            const EXPECTED: &str = "a window of whole seconds, because each value holds for a second";
            return Err(TraceError::unexpected(0, EXPECTED, format!("{start} for {length}").as_bytes()));
        }
        let count = |span: Span| usize::try_from(span.as_nanos() / HOLD.as_nanos()).unwrap_or(usize::MAX);
        CapacitySteps::new(self.values.iter().skip(count(start)).take(count(length)).copied().collect())
    }
    /// The CQIs from which the values were made, up to ties: they drive a cell in bytes, without the file's
    /// rounding to whole packets.
    ///
    /// # Errors
    /// A value that the published files do not have.
    pub fn cqis(&self, tie: Tie) -> Result<CqiSteps, TraceError> {
        let cqi = |value: u32| {
            let row = CQIS.iter().find(|(packets, ..)| *packets == value);
            row.map(|&(_, lowest, highest)| if tie == Tie::Lowest { lowest } else { highest })
        };
        let mut steps = Vec::new();
        for (second, &value) in (0..).zip(self.values.iter()) {
            const EXPECTED: &str = "1, 2, 3, 4, 6, 7, 9, 10, 12 or 15 packets, the values of LTE's CQIs";
            let fail = || TraceError::unexpected(0, EXPECTED, format!("{value}").as_bytes());
            let start = Time::ZERO + HOLD * second;
            steps.push(CqiStep { start, cqi: cqi(value).ok_or_else(fail)? });
        }
        CqiSteps::new(steps, self.period())
    }
    /// The same bytes spread evenly: 1.2 Mbit/s for each packet of a tick.
    ///
    /// # Errors
    /// None for a valid trace.
    pub fn rates(&self) -> Result<RateSteps, TraceError> {
        const TICKS_A_SECOND: u64 = 100;
        let mut steps: Vec<RateStep> = Vec::new();
        for (second, &value) in (0..).zip(self.values.iter()) {
            let rate = Rate::from_bps(u64::from(value) * PACKET_BYTES * 8 * TICKS_A_SECOND);
            if steps.last().is_none_or(|last| last.rate != rate) {
                steps.push(RateStep { start: Time::ZERO + HOLD * second, rate });
            }
        }
        RateSteps::new(steps, self.period())
    }
}

fn whole(span: Span) -> bool {
    span.as_nanos().is_multiple_of(HOLD.as_nanos())
}

/// Reads such a file, of values for up to 49.7 days by default. It refuses a line that is no whole number, a
/// number that is too large, and more or fewer values than the first line announces.
pub type Parser = LineParser<Values>;

impl Parser {
    /// A reader that refuses a file of more than `limit` values.
    pub const fn with_limit(limit: u64) -> Parser {
        LineParser::with_body(Values { count: None, limit, values: Vec::new() })
    }
}

/// Reads a complete file in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse(text: &[u8]) -> Result<CapacitySteps, TraceError> {
    Parser::new().whole(text)
}

/// Values of the lines read so far.
#[derive(Clone, Debug)]
pub struct Values {
    count: Option<u64>,
    limit: u64,
    values: Vec<u32>,
}

impl Default for Values {
    fn default() -> Values {
        Values { count: None, limit: VALUES_MAX, values: Vec::new() }
    }
}

impl Body for Values {
    type Trace = CapacitySteps;
    const LINE_BYTES_MAX: usize = 64;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(());
        }
        let Some(count) = self.count else {
            let count = read(number, COUNT, line)?;
            if count > self.limit {
                return Err(TraceError::in_line(
                    number,
                    Problem::TooMany { what: "values", limit: self.limit },
                ));
            }
            self.count = Some(count);
            return Ok(());
        };
        if self.values.len() as u64 >= count {
            const EXPECTED: &str = "the end, because the first line announces no more values";
            return Err(TraceError::unexpected(number, EXPECTED, line));
        }
        match u32::try_from(read(number, VALUE, line)?) {
            Ok(value) if value <= PACKETS_MAX => self.values.push(value),
            _ => return Err(TraceError::too_large(number, "100000 packets", line)),
        }
        Ok(())
    }

    fn finish(self, line: u64) -> Result<CapacitySteps, TraceError> {
        let found = self.values.len() as u64;
        if self.count.is_some_and(|count| count > found) {
            const EXPECTED: &str = "as many values as the first line announces";
            return Err(TraceError::unexpected(line, EXPECTED, format!("{found}").as_bytes()));
        }
        CapacitySteps::new(self.values).map_err(|error| TraceError::in_line(line, error.problem))
    }
}

fn read(line: u64, expected: &'static str, text: &[u8]) -> Result<u64, TraceError> {
    let digits = text.iter().all(u8::is_ascii_digit);
    let number = core::str::from_utf8(text).ok().filter(|_| digits).and_then(|text| text.parse().ok());
    number.ok_or_else(|| TraceError::unexpected(line, expected, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString};
    use alloc::vec;

    fn message(text: &str) -> String {
        parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn the_first_line_counts_the_others() {
        for text in ["3\n6\n0\n15\n", "3\r\n6\r\n0\r\n15", "\n3\n\n6\n0\n15\n\n"] {
            let trace = parse(text.as_bytes()).unwrap();
            assert_eq!((trace.values(), trace.period()), ([6, 0, 15].as_slice(), Span::from_secs(3)));
        }
    }

    #[test]
    fn every_error_says_what_was_expected() {
        assert!(message("").contains("line 1: the trace is empty"));
        assert!(message("2\n6\n").contains("expected as many values as the first line announces, found '1'"));
        assert!(message("1\n6\n7\n").contains("line 3: expected the end"));
        assert!(message("x\n").contains("the number of values that follow, found 'x'"));
        assert!(message("1\n-6\n").contains("a whole number of packets for each 10 ms"));
        assert!(message("1\n100001\n").contains("at most 100000 packets"));
        assert!(message("1\n99999999999999999999\n").contains("a whole number of packets"));
        assert!(message("4294968\n").contains("more than 4294967 values"));
        assert!(message("2\n0\n0\n").contains("nothing could ever be delivered"));
        assert!(message(&"1".repeat(65)).contains("longer than 64 bytes"));
    }

    #[test]
    fn ticks_and_rates_carry_the_same_bytes() {
        let trace = CapacitySteps::new(vec![6, 6, 1]).unwrap();
        let at = |ms: u64| trace.tick_bytes(Time::from_nanos(ms * 1_000_000));
        assert_eq!([at(0), at(1999), at(2000), at(2999), at(3000)], [9000, 9000, 1500, 1500, 0]);
        let rates = trace.rates().unwrap();
        assert_eq!(rates.steps().len(), 2);
        assert_eq!(rates.steps()[0].rate, Rate::from_bps(7_200_000));
        let ticks: u64 = (0..300).map(|tick| at(tick * 10)).sum();
        assert_eq!((rates.mean_mbps() * 3.0 * 1e6 / 8.0) as u64, ticks);
    }

    #[test]
    fn values_give_their_cqis_up_to_ties() {
        let trace = CapacitySteps::new(vec![1, 2, 3, 4, 6, 7, 9, 10, 12, 15]).unwrap();
        let cqis = |tie| trace.cqis(tie).unwrap().spans().map(|(cqi, _)| cqi).collect::<Vec<_>>();
        assert_eq!(cqis(Tie::Lowest), [1, 4, 6, 8, 9, 11, 12, 13, 14, 15]);
        assert_eq!(cqis(Tie::Highest), [3, 5, 7, 8, 10, 11, 12, 13, 14, 15]);
        let other = CapacitySteps::new(vec![5]).unwrap().cqis(Tie::Lowest).unwrap_err();
        assert!(other.to_string().contains("found '5'"));
    }

    #[test]
    fn windows_cover_whole_seconds() {
        let trace = CapacitySteps::new((1..=10).collect()).unwrap();
        let window = |from, length| trace.window(Span::from_millis(from), Span::from_millis(length));
        assert_eq!(window(2000, 3000).unwrap().values(), [3, 4, 5]);
        assert_eq!(window(0, 10_000).unwrap(), trace);
        assert!(window(500, 1000).unwrap_err().to_string().contains("whole seconds"));
        assert!(window(8000, 3000).unwrap_err().to_string().contains("ends within the trace"));
        assert!(window(0, 0).is_err());
    }
}
