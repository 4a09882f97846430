//! Tables of delays and losses: random ones beside a reading written for this test, units, and errors with their line.

use arbtest::arbitrary::{Result, Unstructured};
use qdelay_core::Span;
use qdelay_core::component::Arguments;
use qdelay_trace::csv::{Parser, UnitOf};
use qdelay_trace::{LossRate, StepValue, Steps};
use std::result;

fn read<V: StepValue>(format: &str, chunks: &[&[u8]]) -> result::Result<Steps<V>, String> {
    let arguments = Arguments::parse(&[V::TABLE], format).map_err(|error| error.to_string())?;
    let mut parser = Parser::<UnitOf<V>>::of_values(&arguments)?;
    let fed = chunks.iter().try_for_each(|chunk| parser.feed(chunk));
    fed.and_then(|()| parser.finish()).map_err(|error| error.to_string())
}

/// A row: its time in ms, the hundredths of its value, and its run.
type Row = (u64, Option<u64>, u8);

/// A table with the keys that read it.
struct Table {
    rows: Vec<Row>,
    /// Rows at equal intervals of this many ms, instead of their times.
    every: Option<u64>,
    missing: &'static str,
    is_before: bool,
    is_sorted: bool,
    run: Option<u8>,
}

fn table(u: &mut Unstructured<'_>, meanings: &[&'static str]) -> Result<Table> {
    let is_sorted = u.arbitrary()?;
    let (mut rows, mut ms) = (vec![], u.int_in_range(0..=5)?);
    for _ in 0..u.int_in_range(0..=12)? {
        ms += u.int_in_range(0..=3)?;
        let time = if is_sorted { u.int_in_range(0..=20)? } else { ms };
        let value = if u.ratio(1, 4)? { None } else { Some(u.int_in_range(0..=10_000)?) };
        rows.push((time, value, u.int_in_range(1..=2)?));
    }
    Ok(Table {
        rows,
        every: if u.ratio(1, 3)? { Some(u.int_in_range(1..=50)?) } else { None },
        missing: u.choose(meanings)?,
        is_before: u.ratio(1, 3)?,
        is_sorted,
        run: if u.ratio(1, 3)? { Some(u.int_in_range(1..=2)?) } else { None },
    })
}

/// Values of one time.
struct Moment {
    ms: u64,
    values: Vec<f64>,
    /// The value of the last row before.
    before: Option<f64>,
}

impl Table {
    fn text(&self, u: &mut Unstructured<'_>) -> Result<String> {
        let separator = *u.choose(&[",", ";", "\t"])?;
        let comma = separator != "," && u.arbitrary()?;
        let mut text = ["note", "v", "run", "t"].join(separator) + "\n";
        for (ms, value, run) in &self.rows {
            let number = match value {
                Some(value) if comma => format!("{},{:02}", value / 100, value % 100),
                Some(value) => format!("{}.{:02}", value / 100, value % 100),
                None => u.choose(&["", "NaN", "-3", "timeout"])?.to_string(),
            };
            text += &["\"a, \"\"b; c\"", &number, &run.to_string(), &ms.to_string()].join(separator);
            text += *u.choose(&["\n", "\r\n", "\n\n", "\n# comment\n"])?;
        }
        Ok(text)
    }

    fn format(&self, unit: &str) -> String {
        let times = self.every.map_or("time=t:time_unit=ms".to_string(), |ms| format!("every={ms}ms"));
        let sample = if self.is_before { ":sample=before" } else { "" };
        let order = if self.is_sorted { ":order=sort" } else { "" };
        let run = self.run.map_or(String::new(), |run| format!(":where=run={run}"));
        format!("csv:v:{times}:unit={unit}:missing={}{sample}{order}{run}", self.missing)
    }

    /// Start and value of each step, and the period, in ms; `None` for a table that is refused.
    fn expected(&self) -> Option<(Vec<(u64, f64)>, u64)> {
        let mut rows: Vec<Row> = self
            .rows
            .iter()
            .copied()
            .filter(|(_, _, run)| self.run.is_none_or(|wanted| *run == wanted))
            .collect();
        if self.missing == "refuse" && rows.iter().any(|(_, value, _)| value.is_none()) {
            return None;
        }
        if self.missing == "skip" {
            rows.retain(|(_, value, _)| value.is_some());
        }
        match self.every {
            Some(every) => (0..).zip(&mut rows).for_each(|(number, row)| row.0 = number * every),
            None => rows.sort_by_key(|(ms, ..)| *ms),
        }
        let mut moments: Vec<Moment> = vec![];
        let mut before = None;
        for (ms, value, _) in &rows {
            if moments.last().is_none_or(|last| last.ms != *ms) {
                moments.push(Moment { ms: *ms, values: vec![], before });
            }
            let value = value.map(|hundredths| hundredths as f64 / 100.0);
            moments.last_mut()?.values.extend(value);
            before = value.or(before);
        }
        let mut steps: Vec<(u64, f64)> = vec![];
        for (place, moment) in moments.iter().enumerate() {
            let value = match (moment.values.is_empty(), moment.before) {
                (false, _) => mean(&moment.values),
                (true, _) if self.missing == "zero" => 0.0,
                (true, Some(before)) => before,
                // The rows before the first value are one step.
                (true, None) if place == 0 => first_row(&moments)?,
                (true, None) => continue,
            };
            steps.push((moment.ms - moments[0].ms, value));
        }
        let last = steps.last()?.0;
        if self.is_before {
            let values: Vec<f64> = steps.iter().skip(1).map(|(_, value)| *value).collect();
            let shifted: Vec<(u64, f64)> = steps.iter().map(|(ms, _)| *ms).zip(values).collect();
            return (!shifted.is_empty()).then_some((shifted, last));
        }
        let interval = match (self.every, steps.len()) {
            (Some(every), _) => every,
            (None, 1) => return None,
            (None, count) => last - steps[count - 2].0,
        };
        Some((steps, last + interval))
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The first row with a value.
fn first_row(moments: &[Moment]) -> Option<f64> {
    moments.iter().find_map(|moment| moment.values.first().copied())
}

/// Checks tables of `V`, of which `number` gives the number in the unit of the file.
fn check<V: StepValue>(meanings: &[&'static str], unit: &str, number: fn(&V) -> f64) {
    qdelay_testing::fuzz::fuzz(2.0, |u| {
        let table = table(u, meanings)?;
        let text = table.text(u)?;
        let format = table.format(unit);
        let whole = read::<V>(&format, &[text.as_bytes()]);
        let (begin, end) = text.as_bytes().split_at(u.int_in_range(0..=text.len())?);
        assert_eq!(
            format!("{whole:?}"),
            format!("{:?}", read::<V>(&format, &[begin, end])),
            "{format}\n{text}"
        );
        match (whole, table.expected()) {
            (Ok(steps), Some((expected, period))) => {
                assert_eq!(steps.period(), Span::from_millis(period), "{format}\n{text}");
                let found: Vec<(u64, f64)> = steps
                    .steps()
                    .iter()
                    .map(|step| (step.start.as_nanos() / 1_000_000, number(&step.value)))
                    .collect();
                let is_same = |((ms, value), (wanted_ms, wanted)): (&(u64, f64), &(u64, f64))| {
                    ms == wanted_ms && (value - wanted).abs() < 1.1e-6
                };
                assert!(
                    found.len() == expected.len() && found.iter().zip(&expected).all(is_same),
                    "{format}\n{text}\n{found:?}\n{expected:?}"
                );
            }
            (Err(error), None) => {
                assert!(error.starts_with("line ") && error.contains("expected"), "{error}")
            }
            (found, expected) => panic!("{format}\n{text}\n{found:?}\n{expected:?}"),
        }
        Ok(())
    });
}

#[test]
fn random_tables_of_delays_are_read_as_written() {
    check::<Span>(&["refuse", "hold", "skip"], "ms", |delay| delay.as_nanos() as f64 / 1e6);
}

#[test]
fn random_tables_of_losses_are_read_as_written() {
    check::<LossRate>(&["refuse", "hold", "zero", "skip"], "percent", |loss| loss.0 * 100.0);
}

#[test]
fn delays_and_losses_have_units() {
    let delay = |unit: &str, number: &str| {
        let steps = read::<Span>(&format!("csv:v:unit={unit}"), &[format!("v\n{number}\n").as_bytes()]);
        steps.map(|steps| steps.least().as_nanos())
    };
    for (unit, number) in [("ms", "20.5"), ("s", "0.0205"), ("us", "20500"), ("ns", "20500000")] {
        assert_eq!(delay(unit, number), Ok(20_500_000), "{unit}");
    }
    assert_eq!(delay("s", "60"), Ok(60_000_000_000));
    for (unit, number) in [("s", "60.1"), ("ms", "60001"), ("ns", "1e300")] {
        assert!(delay(unit, number).unwrap_err().contains("at most 60000 ms (60 s); 'unit' reads"), "{unit}");
    }
    let loss = |unit: &str, number: &str| {
        let steps = read::<LossRate>(&format!("csv:v:unit={unit}"), &[format!("v\n{number}\n").as_bytes()]);
        steps.map(|steps| steps.least().0)
    };
    // The double next to the decimal text, in either unit.
    for (percent, ratio) in [("7", "0.07"), ("29", "0.29"), ("0.1", "0.001"), ("100", "1")] {
        assert_eq!(
            (loss("percent", percent), loss("ratio", ratio)),
            (ratio.parse().map_err(|_| "".to_string()), loss("percent", percent))
        );
    }
    assert!(
        loss("ratio", "1.5").unwrap_err().starts_with("line 2: '1.5' is too large; expected at most 100%")
    );
}

#[test]
fn errors_name_the_line_and_the_quantity() {
    let delay = |format: &str, text: &str| read::<Span>(format, &[text.as_bytes()]).unwrap_err();
    assert_eq!(
        delay("csv:rtt:time=t", "t,rtt\n0,20\n1,lost\n"),
        "line 3: expected a delay in ms, 0 or more, found 'lost'; missing=hold or skip gives rows without a delay a meaning"
    );
    assert!(delay("csv:rtt:missing=hold", "rtt\n-\n").contains("none of 1 rows has a delay"));
    assert_eq!(delay("csv:rtt", "t,delay\n0,20\n"), "line 1: no column 'rtt'; expected one of t, delay");
    assert!(delay("csv:rtt:time=t", "t,rtt\n1,20\n0,20\n").starts_with("line 3: time 0 is before 1"));
    assert!(delay("csv:rtt:missing=zero", "").contains("missing"));
    assert!(delay("csv:rtt:unit=mbit", "").contains("unit"));
    assert!(delay("csv", "").contains("no column"));
    let loss = |format: &str, text: &str| read::<LossRate>(format, &[text.as_bytes()]).unwrap_err();
    assert!(
        loss("csv:p", "p\n1\nx\n").starts_with(
            "line 3: expected a loss in percent, 0 to 100, found 'x'; missing=hold, zero or skip"
        )
    );
    assert!(loss("csv:p:missing=skip", "p\nx\ny\n").contains("none of 2 rows has a loss"));
    assert!(loss("csv:p:unit=ms", "").contains("unit"));
}
