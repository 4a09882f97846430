//! The rows of a table: values, rows without one, and their order.

use super::columns::{Columns, Missing, Times};
use super::header::{Header, shown_name};
use crate::error::{Problem, TraceError, shown};
use crate::format::time::{Clock, with_point};
use crate::format::unit::{ColumnUnit, StepsOf};
use crate::samples::{Interval, Means};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use qdelay_core::{Span, Time};

/// Number of values that an error lists where no row fits a filter.
const SEEN_MAX: usize = 8;

/// A field of the current row.
#[derive(Clone, Debug, Default)]
struct Text {
    is_set: bool,
    bytes: Vec<u8>,
}

impl Text {
    fn set(&mut self, field: &[u8]) {
        self.is_set = true;
        self.bytes.clear();
        self.bytes.extend_from_slice(field.trim_ascii());
    }
}

/// Values of the rows read so far.
#[derive(Clone, Debug)]
pub(super) struct Rows<U: ColumnUnit> {
    pub columns: Columns<U>,
    header: Header,
    means: Means<U::Sample>,
    limit: u64,
    /// Number of the line in which the row began, from 1; `line_now`: number of the current line.
    pub line: u64,
    line_now: u64,
    /// Index of the current field.
    index: usize,
    clock: Clock,
    value: Text,
    time: Text,
    /// Number of filters that the current row fits.
    fits: usize,
    /// Values of the first filter's column in rows that do not fit.
    seen: Vec<String>,
    /// Time of the last row, and its text.
    last: Option<Time>,
    last_text: Vec<u8>,
    row: u64,
    /// Time of the first row, from which bins count.
    origin: Option<Time>,
    /// Rows to sort.
    unsorted: Vec<(Time, Option<f64>)>,
    /// Number of rows without a value.
    missing: u64,
    /// Time of rows without a value, until a row of another time follows.
    blank: Option<Time>,
    /// The last value, and the time of the first row if it has none.
    held: Option<f64>,
    leading: Option<Time>,
}

impl<U: ColumnUnit> Rows<U> {
    pub fn new(columns: Columns<U>, limit: u64) -> Rows<U> {
        let clock = Clock::with_unit(columns.time_unit);
        let means = Means::with_limit(limit, columns.unit.is_sum());
        Rows {
            columns,
            header: Header::default(),
            means,
            limit,
            line: 1,
            line_now: 1,
            index: 0,
            clock,
            value: Text::default(),
            time: Text::default(),
            fits: 0,
            seen: Vec::new(),
            last: None,
            last_text: Vec::new(),
            row: 0,
            origin: None,
            unsorted: Vec::new(),
            missing: 0,
            blank: None,
            held: None,
            leading: None,
        }
    }

    /// Begins the rows below the header.
    pub fn begin(&mut self, header: Header) {
        self.clock.decimal_comma = header.separator != b',';
        self.header = header;
    }

    pub fn count_lines(&mut self, bytes: &[u8]) {
        self.line_now += bytes.iter().filter(|&&byte| byte == b'\n').count() as u64;
    }

    pub fn skip_line_ends<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let ends = chunk.iter().take_while(|&&byte| byte == b'\n' || byte == b'\r').count();
        let (skipped, rest) = chunk.split_at(ends);
        self.count_lines(skipped);
        if !rest.is_empty() {
            self.line = self.line_now;
        }
        rest
    }

    /// Returns true if the current field is used.
    pub fn needs_field(&self) -> bool {
        let Header { value, time, filters, .. } = &self.header;
        self.index == *value || Some(self.index) == *time || filters.contains(&self.index)
    }

    /// Keeps a field, because a filter to the right of it may leave the row out.
    pub fn field(&mut self, field: &[u8]) {
        let index = self.index;
        self.index += 1;
        if Some(index) == self.header.time {
            self.time.set(field);
        }
        if index == self.header.value {
            self.value.set(field);
        }
        for (at, (place, (_, value))) in self.header.filters.iter().zip(&self.columns.filters).enumerate() {
            if *place != index {
                continue;
            }
            if field.trim_ascii() == value.as_bytes() {
                self.fits += 1;
            } else if at == 0 && self.seen.len() < SEEN_MAX {
                let shown = shown_name(field);
                if !self.seen.contains(&shown) {
                    self.seen.push(shown);
                }
            }
        }
    }

    pub fn end(&mut self) -> Result<(), TraceError> {
        self.index = 0;
        let fits = core::mem::take(&mut self.fits) == self.columns.filters.len();
        let has_value = core::mem::take(&mut self.value.is_set);
        let has_time = core::mem::take(&mut self.time.is_set);
        if !fits {
            return Ok(());
        }
        let value = if has_value { self.read_value()? } else { self.absent(&self.columns.value)? };
        let time = match &self.columns.times {
            Times::Every(step) => Time::ZERO + *step * self.row,
            Times::Column(column) if !has_time => return self.short(column),
            Times::Column(_) => self.read_time()?,
        };
        // At equal intervals a row that is left out takes no time.
        if value.is_some() || self.columns.missing != Missing::Skip {
            self.row += 1;
        }
        if self.columns.is_sorted {
            return self.keep(time, value);
        }
        self.place(time, value).map_err(|problem| TraceError::in_line(self.line, problem))
    }

    fn short<T>(&self, column: &str) -> Result<T, TraceError> {
        let column = shown_name(column.as_bytes());
        Err(TraceError::in_line(self.line, Problem::ShortRow { column }))
    }

    /// The value of a row that ends before it.
    fn absent(&self, column: &str) -> Result<Option<f64>, TraceError> {
        if self.columns.missing == Missing::Refuse { self.short(column) } else { Ok(None) }
    }

    /// The value; `None` if there is none and a row without one has a meaning.
    fn read_value(&self) -> Result<Option<f64>, TraceError> {
        let mut point = [0; 40];
        let text = match self.clock.decimal_comma {
            true => with_point(&self.value.bytes, &mut point),
            false => &self.value.bytes,
        };
        match self.columns.unit.read(self.line, text) {
            Ok(value) => Ok(Some(value)),
            Err(TraceError { problem: Problem::Unexpected { expected, found }, line }) => {
                match self.columns.missing {
                    Missing::Refuse => Err(TraceError::in_line(
                        line,
                        Problem::NoValue { quantity: U::QUANTITY, expected, found },
                    )),
                    _ => Ok(None),
                }
            }
            Err(error) => Err(error),
        }
    }

    fn read_time(&mut self) -> Result<Time, TraceError> {
        let time = self.clock.read(self.line, &self.time.bytes)?;
        if !self.columns.is_sorted && self.last.is_some_and(|last| time < last) {
            let problem =
                Problem::RowBefore { before: shown(&self.last_text), found: shown(&self.time.bytes) };
            return Err(TraceError::in_line(self.line, problem));
        }
        self.last = Some(time);
        core::mem::swap(&mut self.last_text, &mut self.time.bytes);
        Ok(time)
    }

    fn keep(&mut self, time: Time, value: Option<f64>) -> Result<(), TraceError> {
        if self.unsorted.len() as u64 >= self.limit {
            let problem = Problem::TooMany { what: "samples", limit: self.limit };
            return Err(TraceError::in_line(self.line, problem));
        }
        self.unsorted.push((time, value));
        Ok(())
    }

    /// The beginning of the bin that `time` is in. Bins without a row that lie before it have nothing.
    fn begin_bin(&mut self, time: Time, bin: Span) -> Result<Time, Problem> {
        let origin = *self.origin.get_or_insert(time);
        let begin = origin + bin * (time.since(origin).as_nanos() / bin.as_nanos().max(1));
        match self.means.pending_time() {
            Some(last) if last + bin < begin => self.means.add(last + bin, 0.0)?,
            _ => {}
        }
        Ok(begin)
    }

    /// Adds a row whose time is not before that of the last one.
    fn place(&mut self, time: Time, value: Option<f64>) -> Result<(), Problem> {
        let time = match self.columns.bin {
            Some(bin) => self.begin_bin(time, bin)?,
            None => time,
        };
        if self.blank.is_some_and(|blank| blank != time) {
            self.end_blank()?;
        }
        let Some(value) = value else {
            self.missing += 1;
            let has_value = self.means.pending_time() == Some(time);
            if self.columns.missing != Missing::Skip && !has_value {
                self.blank = Some(time);
            }
            return Ok(());
        };
        self.blank = None;
        if let Some(leading) = self.leading.take()
            && leading < time
        {
            self.means.add(leading, value)?;
        }
        self.held = Some(value);
        self.means.add(time, value)
    }

    /// Gives a time without a value its meaning.
    fn end_blank(&mut self) -> Result<(), Problem> {
        let Some(time) = self.blank.take() else { return Ok(()) };
        match (self.columns.missing, self.held) {
            (Missing::Zero, _) => self.means.add(time, 0.0),
            (Missing::Hold, Some(value)) => self.means.add(time, value),
            (Missing::Hold, None) => {
                self.leading.get_or_insert(time);
                Ok(())
            }
            (Missing::Skip | Missing::Refuse, _) => Ok(()),
        }
    }

    /// Ends the table; returns the steps, and lines about rows without a value.
    pub fn finish(mut self) -> Result<(StepsOf<U>, Vec<String>), TraceError> {
        let line = self.line;
        let at = |problem| TraceError::in_line(line, problem);
        let mut unsorted = core::mem::take(&mut self.unsorted);
        unsorted.sort_by_key(|(time, _)| *time);
        unsorted.into_iter().try_for_each(|(time, value)| self.place(time, value)).map_err(at)?;
        self.end_blank().map_err(at)?;
        self.check_empty().map_err(at)?;
        let notes = self.notes();
        let every = match self.columns.times {
            Times::Every(step) => Some(step * self.row),
            Times::Column(_) => None,
        };
        let last = self.means.pending_time();
        let every = match (self.columns.bin, last, self.origin) {
            (Some(bin), Some(last), Some(origin)) => Some(last.since(origin) + bin),
            _ => every,
        };
        let samples = self.means.finish().map_err(at)?;
        let steps = match self.columns.interval {
            Interval::Before => samples.finish_before(line)?,
            Interval::After => samples.finish(line, every)?,
        };
        Ok((self.columns.unit.finish(steps).map_err(at)?, notes))
    }

    /// Explains a table without any value.
    fn check_empty(&self) -> Result<(), Problem> {
        match (self.means.is_empty(), self.columns.filters.first()) {
            (true, _) if self.missing > 0 => {
                Err(Problem::NoValues { quantity: U::QUANTITY, rows: self.missing })
            }
            (true, Some((column, value))) if !self.seen.is_empty() => Err(Problem::NoRow {
                wanted: format!(
                    "'{}' in column '{}'",
                    shown_name(value.as_bytes()),
                    shown_name(column.as_bytes())
                ),
                known: self.seen.join(", "),
            }),
            _ => Ok(()),
        }
    }

    fn notes(&self) -> Vec<String> {
        let done = match self.columns.missing {
            Missing::Hold => "held",
            Missing::Zero => "read as 0",
            Missing::Skip | Missing::Refuse => "left out",
        };
        let rows = if self.missing == 1 { "row" } else { "rows" };
        let note = || format!("{} {rows} without a value {done}", self.missing);
        (self.missing > 0).then(note).into_iter().collect()
    }
}
