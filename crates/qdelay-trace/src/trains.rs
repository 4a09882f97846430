//! Packet trains: what a link that was idle before does with a short burst (CellReplay, Sentosa et al., NSDI 2025: the recording under
//! light load).
//!
//! A line is a train, in milliseconds separated by blanks: when it was sent, the delay of its first packet (the base delay), and for
//! each of its packets the time from the delivery of the first one to its own, so that the first of these is 0:
//!
//! ```text
//! 0 24 0 0 1 3 3
//! 250 31 0 2 2 4 5
//! ```
//!
//! Times increase. The base delay between two trains is interpolated. The last line ends the recording, whose first train follows then: of
//! it only the time and the base delay are used.

use crate::error::{Problem, TraceError};
use crate::format::number::read_number;
use crate::lines::{Body, LineParser};
use crate::window::{DURATION_MAX, check_window};
use alloc::sync::Arc;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Most packets of all trains together.
pub const PACKETS_MAX: u64 = 50_000_000;
/// Largest time from the first packet of a train to another, and largest base delay.
const DELAY_MAX_MS: f64 = 60_000.0;
const DELAY_MAX_TEXT: &str = "60000 ms";

/// A train: where it stands among the packets of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Train {
    start: Span,
    base: Span,
    /// The range of its offsets among those of all.
    first: u32,
    end: u32,
}

/// Recorded trains: at least two. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trains {
    trains: Arc<Vec<Train>>,
    /// Microseconds from the first packet of a train to each of its packets, train by train; not decreasing within one.
    offsets: Arc<Vec<u32>>,
}

impl Trains {
    /// The time of the last line, after which the recording starts over.
    pub fn period(&self) -> Span {
        self.trains.last().map_or(Span::ZERO, |train| train.start)
    }
    /// The number of trains that can be replayed: all but the last.
    pub fn count(&self) -> usize {
        self.trains.len() - 1
    }
    /// The smallest base delay.
    pub fn least(&self) -> Span {
        self.trains.iter().map(|train| train.base).min().unwrap_or_default()
    }
    /// The train that holds at `place` of the recording, which starts over at its end.
    pub fn find(&self, place: Span) -> usize {
        let within = self.within(place);
        self.trains[..self.count()].partition_point(|train| train.start <= within).saturating_sub(1)
    }
    /// The base delay at `place`, between that of the train `index` and that of the next one. Before the first train its own holds.
    pub fn base(&self, index: usize, place: Span) -> Span {
        let (this, next) = (self.trains[index], self.trains[index + 1]);
        let passed = self.within(place).saturating_sub(this.start).as_nanos();
        let length = (next.start - this.start).as_nanos().max(1);
        let share = |delay: u64| (u128::from(delay) * u128::from(passed) / u128::from(length)) as u64;
        let (rise, fall) = (next.base.saturating_sub(this.base), this.base.saturating_sub(next.base));
        (this.base + Span::from_nanos(share(rise.as_nanos())))
            .saturating_sub(Span::from_nanos(share(fall.as_nanos())))
    }
    /// The number of packets of the train `index`.
    pub fn packets(&self, index: usize) -> usize {
        self.offsets(index).len()
    }
    /// The time from the first packet of the train `index` to the packet `packet`, which it has.
    pub fn offset(&self, index: usize, packet: usize) -> Span {
        Span::from_micros(u64::from(self.offsets(index)[packet]))
    }
    fn offsets(&self, index: usize) -> &[u32] {
        let Train { first, end, .. } = self.trains[index];
        &self.offsets[first as usize..end as usize]
    }
    /// The part from `start` on that lasts for `length`. It begins with the train that holds at `start`, and ends with the base delay at
    /// its end.
    ///
    /// # Errors
    /// An empty part, or one that does not begin and end within the recording.
    pub fn window(&self, start: Span, length: Span) -> Result<Trains, TraceError> {
        check_window(start, length, self.period())?;
        let end = start + length;
        let (from, to) = (self.find(start), self.find(end - Span::from_nanos(1)));
        let mut trains: Vec<Train> = self.trains[from..=to].to_vec();
        trains.iter_mut().for_each(|train| train.start = train.start.saturating_sub(start));
        if let Some(first) = trains.first_mut() {
            first.base = self.base(from, start);
        }
        let base = if end == self.period() { self.trains[self.count()].base } else { self.base(to, end) };
        trains.push(Train { start: length, base, ..self.trains[to] });
        Ok(Trains { trains: Arc::new(trains), offsets: Arc::clone(&self.offsets) })
    }
    fn within(&self, place: Span) -> Span {
        Span::from_nanos(place.as_nanos() % self.period().as_nanos().max(1))
    }
}

/// Reads recorded trains.
pub type Parser = LineParser<Lines>;

/// Reads recorded trains in memory.
///
/// # Errors
/// Errors of [`LineParser::feed`] and [`LineParser::finish`].
pub fn parse(text: &[u8]) -> Result<Trains, TraceError> {
    Parser::new().whole(text)
}

/// The trains of the lines read so far.
#[derive(Clone, Debug, Default)]
pub struct Lines {
    trains: Vec<Train>,
    offsets: Vec<u32>,
}

impl Body for Lines {
    type Trace = Trains;
    const LINE_BYTES_MAX: usize = 1024 * 1024;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
        let mut next = |expected: &'static str| match words.next() {
            Some(word) => read_number(number, expected, word).map(|ms| (ms, word)),
            None => Err(TraceError::unexpected(number, expected, line)),
        };
        let (time, word) = next("the time of a train in ms")?;
        if time > DURATION_MAX.as_millis() as f64 {
            return Err(TraceError::too_large(number, crate::window::DURATION_MAX_TEXT, word));
        }
        let start = Span::from_nanos(libm::round(time * 1e6) as u64);
        let (base, word) = next("a time and the delay of the first packet, both in ms")?;
        if base > DELAY_MAX_MS {
            return Err(TraceError::too_large(number, DELAY_MAX_TEXT, word));
        }
        let base = Span::from_nanos(libm::round(base * 1e6) as u64);
        if let Some(before) = self.trains.last().filter(|before| before.start >= start) {
            let seconds = |span| crate::window::seconds(Time::ZERO + span);
            let problem = Problem::Decreasing { before: seconds(before.start), found: seconds(start) };
            return Err(TraceError::in_line(number, problem));
        }
        let (first, mut last) = (self.offsets.len() as u32, None);
        for word in words {
            const EXPECTED: &str =
                "times from the first packet of the train in ms, which begin with 0 and do not decrease";
            let ms = read_number(number, EXPECTED, word)?;
            if ms > DELAY_MAX_MS {
                return Err(TraceError::too_large(number, DELAY_MAX_TEXT, word));
            }
            // Within 26 bits.
            let micros = libm::round(ms * 1e3) as u32;
            if micros < last.unwrap_or(0) || last.is_none() && micros > 0 {
                return Err(TraceError::unexpected(number, EXPECTED, word));
            }
            last = Some(micros);
            if self.offsets.len() as u64 == PACKETS_MAX {
                let problem = Problem::TooMany { what: "packets of trains", limit: PACKETS_MAX };
                return Err(TraceError::in_line(number, problem));
            }
            self.offsets.push(micros);
        }
        if last.is_none() {
            return Err(TraceError::unexpected(
                number,
                "a time, a base delay and a time for each packet of the train",
                line,
            ));
        }
        self.trains.push(Train { start, base, first, end: self.offsets.len() as u32 });
        Ok(())
    }

    fn finish(self, line: u64) -> Result<Trains, TraceError> {
        if self.trains.len() < 2 {
            return Err(TraceError::unexpected(
                line,
                "two trains or more, in a line each",
                b"the end of the file",
            ));
        }
        Ok(Trains { trains: Arc::new(self.trains), offsets: Arc::new(self.offsets) })
    }
}

/// Delays of packets by their size, in addition to those of a train's packets: lines of a size in bytes and a delay in ms, which may be
/// below 0. Between two sizes it is interpolated; below the first and above the last one it is theirs. Cloning is cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeDelays(Arc<Vec<(u32, i64)>>);

impl SizeDelays {
    /// Nanoseconds for a packet of `bytes`.
    pub fn at(&self, bytes: u32) -> i64 {
        let above = self.0.partition_point(|(size, _)| *size <= bytes);
        match (above.checked_sub(1).map(|below| self.0[below]), self.0.get(above)) {
            (Some((low, first)), Some(&(high, second))) => {
                let share = i128::from(second - first) * i128::from(bytes - low) / i128::from(high - low);
                first + share as i64
            }
            (Some((_, delay)), None) | (None, Some(&(_, delay))) => delay,
            (None, None) => 0,
        }
    }
}

/// Reads delays by size.
pub type SizeParser = LineParser<SizeLines>;

/// The lines read so far.
#[derive(Clone, Debug, Default)]
pub struct SizeLines(Vec<(u32, i64)>);

impl Body for SizeLines {
    type Trace = SizeDelays;
    const LINE_BYTES_MAX: usize = 1024;

    fn read_line(&mut self, number: u64, line: &[u8]) -> Result<(), TraceError> {
        const EXPECTED: &str =
            "a size in bytes, larger than the one before, and a delay in ms, such as 100 -1.5";
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return Ok(());
        }
        let unexpected = || TraceError::unexpected(number, EXPECTED, line);
        let text = core::str::from_utf8(line).map_err(|_| unexpected())?;
        let mut words = text.split_ascii_whitespace();
        let (Some(size), Some(delay), None) = (words.next(), words.next(), words.next()) else {
            return Err(unexpected());
        };
        let size: u32 = size.parse().map_err(|_| unexpected())?;
        let delay: f64 = delay.parse().map_err(|_| unexpected())?;
        let is_next = self.0.last().is_none_or(|(before, _)| *before < size);
        // A NaN is within no range.
        if !is_next || size > 65_535 || !(-DELAY_MAX_MS..=DELAY_MAX_MS).contains(&delay) {
            return Err(unexpected());
        }
        self.0.push((size, libm::round(delay * 1e6) as i64));
        Ok(())
    }

    fn finish(self, line: u64) -> Result<SizeDelays, TraceError> {
        match self.0.is_empty() {
            true => Err(TraceError::in_line(line, Problem::Empty)),
            false => Ok(SizeDelays(Arc::new(self.0))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString};
    use qdelay_core::Random;

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    #[test]
    fn trains_have_times_delays_and_packets() {
        let trains = parse(b"# light\n0 24 0 0 1.5\r\n250\t30 0\n\n1000 20 0 7\n").unwrap();
        assert_eq!((trains.count(), trains.period(), trains.least()), (2, ms(1000), ms(20)));
        assert_eq!((trains.packets(0), trains.packets(1)), (3, 1));
        assert_eq!(trains.offset(0, 2), Span::from_micros(1500));
        let found = |at| (trains.find(at), trains.base(trains.find(at), at));
        assert_eq!(found(ms(0)), (0, ms(24)));
        assert_eq!(found(ms(125)), (0, ms(27)));
        assert_eq!(found(ms(250)), (1, ms(30)));
        assert_eq!(found(ms(999)), (1, ms(30) - Span::from_nanos(10_000_000 * 749 / 750)));
        // The recording starts over.
        assert_eq!(found(ms(1125)), (0, ms(27)));
        // The first base delay holds before the first train.
        let late = parse(b"10 5 0\n20 15 0\n").unwrap();
        assert_eq!(late.base(late.find(ms(3)), ms(3)), ms(5));
    }

    /// The trains and base delays of a window are those of the whole at the same times.
    #[test]
    fn a_window_is_a_part_of_the_whole() {
        let whole = parse(b"0 24 0 0 1\n250 30 0\n400 10 0 7\n1000 20 0\n").unwrap();
        for (start, length) in [(0, 1000), (100, 100), (240, 300), (250, 150), (399, 2), (999, 1), (0, 1)] {
            let part = whole.window(ms(start), ms(length)).unwrap();
            assert_eq!(part.period(), ms(length));
            for at in 0..length * 4 {
                let (place, there) =
                    (Span::from_micros(at * 250), Span::from_micros(start * 1000 + at * 250));
                let (index, expected) = (part.find(place), whole.find(there));
                assert_eq!(part.packets(index), whole.packets(expected), "{start} {length} {at}");
                let (found, base) =
                    (part.base(index, place).as_nanos(), whole.base(expected, there).as_nanos());
                assert!(found.abs_diff(base) <= 1, "{start} {length} {at}: {found} {base}");
            }
        }
        assert!(whole.window(ms(900), ms(101)).is_err() && whole.window(ms(1), ms(0)).is_err());
    }

    #[test]
    fn what_is_no_train_is_refused_with_its_line() {
        let error = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        for (text, place) in [
            ("0 24 0\n", "two trains"),
            ("0\n", "line 1"),
            ("0 24\n", "for each packet"),
            ("0 24 0\n0 24 0\n", "line 2"),
            ("0 24 1\n", "begin with 0"),
            ("0 24 0 2 1\n", "do not decrease"),
            ("0 -1 0\n", "line 1"),
            ("0 70000 0\n", "60000 ms"),
            ("0 1 0 70000\n", "60000 ms"),
            ("5000000000000 1 0\n", "49.7 days"),
            ("0,24,0\n", "line 1"),
            ("", "two trains"),
        ] {
            assert!(error(text).contains(place), "{text:?}: {}", error(text));
        }
    }

    /// Random recordings, found again by a walk over all lines with floating point.
    #[test]
    fn trains_are_found_as_a_walk_finds_them() {
        for seed in 0..40 {
            let random = &mut Random::derive(seed, "trains", "draws");
            let (mut text, mut lines, mut start) = (String::new(), Vec::new(), 0);
            for _ in 0..2 + random.below(9) {
                let (base, packets) = (random.below(80), 1 + random.below(5));
                text += &format!("{start} {base}");
                (0..packets).for_each(|packet| text += &format!(" {}", packet * 2));
                text += "\n";
                lines.push((start, base, packets));
                start += 1 + random.below(400);
            }
            let trains = parse(text.as_bytes()).unwrap();
            let period = lines[lines.len() - 1].0;
            for _ in 0..200 {
                let at = random.below(3 * period * 1_000_000);
                let place = Span::from_nanos(at);
                let within = (at % (period * 1_000_000)) as f64 / 1e6;
                let index = (0..lines.len() - 1).rfind(|&i| lines[i].0 as f64 <= within).unwrap();
                assert_eq!(trains.find(place), index);
                assert_eq!(trains.packets(index) as u64, lines[index].2);
                let (this, next) = (lines[index], lines[index + 1]);
                let share = (within - this.0 as f64) / (next.0 - this.0) as f64;
                let base = this.1 as f64 + share * (next.1 as f64 - this.1 as f64);
                let found = trains.base(index, place).as_nanos() as f64 / 1e6;
                assert!((found - base).abs() < 1e-5, "{found} {base}");
            }
        }
    }

    #[test]
    fn delays_by_size_are_interpolated() {
        let sizes = SizeParser::new().whole(b"100 -2\n200 0\n400 1.5\n").unwrap();
        let at = |bytes| sizes.at(bytes) as f64 / 1e6;
        assert_eq!([40, 100, 150, 200, 300, 400, 1400].map(at), [-2.0, -2.0, -1.0, 0.0, 0.75, 1.5, 1.5]);
        let error = |text: &str| SizeParser::new().whole(text.as_bytes()).unwrap_err().to_string();
        for text in ["100\n", "100 1 2\n", "x 1\n", "100 NaN\n", "100 1\n100 2\n", "70000 1\n"] {
            assert!(error(text).contains("such as 100 -1.5"), "{text:?}: {}", error(text));
        }
        assert!(SizeParser::new().whole(b"").is_err());
    }
}
