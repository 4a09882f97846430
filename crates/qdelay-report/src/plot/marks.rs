//! Figures of marks, bars and boxes.

use super::Drawn;
use super::chosen::{Chosen, Entry};
use super::key::{Key, Sign};
use super::layout::{Begun, Below, Look, RADIUS, bar, begin, keys};
use super::lines::box_percentiles;
use super::measure::{Figure, Spread, distributions};
use super::sheet::{BLACK, NEUTRAL, Sheet, Stroke, WHITE};
use crate::chart::{self, Mark, Scale};
use qdelay_study::InputError;

/// Where delays of 0 are on a logarithmic axis, ms.
const LEAST_MS: f64 = 0.01;
/// Lines of intervals, points, and half of the length of their ends.
const INTERVAL: f64 = 0.7;
const CAP: f64 = 1.7;
/// An interval that is shorter, points, is within the line or mark that it is of.
const SHORTEST: f64 = 2.0;
/// Least extent of an axis of rates, over the largest.
const NARROW: f64 = 0.05;
/// Marks closer than that, points, are drawn as rings.
const SAME_PLACE: f64 = 1.5;

/// Entries with a measure and their throughput.
pub(super) fn on_plane<'c, 'a>(
    chosen: &'c Chosen<'a>,
    measure: &str,
) -> Result<Vec<(&'c Entry<'a>, Spread, Spread)>, InputError> {
    let delays = Figure::named(measure).all(measure, chosen)?;
    let rates = Figure::named("throughput").all("throughput", chosen)?;
    let found = chosen.entries.iter().zip(delays.into_iter().zip(rates));
    Ok(found.filter_map(|(entry, (delay, rate))| Some((entry, delay?, rate?))).collect())
}

/// Throughput upwards and a measure to the right.
pub(super) fn plane(chosen: &Chosen, measure: &str, drawing: &super::Request) -> Result<Drawn, InputError> {
    let (of_x, of_y) = (Figure::named(measure), Figure::named("throughput"));
    let places = on_plane(chosen, measure)?;
    let log = drawing.log;
    let least = |value: f64| if log { value.max(LEAST_MS) } else { value };
    let ends = places.iter().flat_map(|(_, delay, _)| [least(delay.low()), least(delay.high())]);
    let mut x = Scale::around(ends, log, 0.06);
    let mut y = Scale::around(places.iter().flat_map(|(_, _, rate)| [rate.low(), rate.high()]), false, 0.1);
    // Differences of less than that are none to look at.
    let least_extent = NARROW * y.high.abs().max(y.low.abs());
    let missing = (least_extent - (y.high - y.low)).max(0.0) / 2.0;
    (y.low, y.high) = ((y.low - missing).max(0.0), y.high + missing);
    if !log {
        x.low = x.low.max(0.0);
    }
    let signs = keys(
        chosen,
        |look, _| Sign::Mark(look.mark, look.colour, look.colour),
        |_, inside| Sign::Mark(Mark::Circle, NEUTRAL, inside),
    );
    let Begun { mut sheet, x, y, .. } = begin(
        chosen,
        (drawing.size.points(), drawing.title()),
        "Throughput and delay",
        &signs,
        &Below::Scale(x, &of_x.title),
        (y, &of_y.title),
    )?;
    for (entry, delay, rate) in &places {
        let colour = Look::of(chosen, entry).colour;
        let (at, up) = (x.at(least(delay.mean)), y.at(rate.mean));
        if delay.half.is_some() {
            sheet.line(
                (x.at(least(delay.low())), up),
                (x.at(delay.high()), up),
                Stroke::of(colour, INTERVAL),
            );
            sheet.line((at, y.at(rate.low())), (at, y.at(rate.high())), Stroke::of(colour, INTERVAL));
        }
    }
    let middles: Vec<(f64, f64)> =
        places.iter().map(|(_, delay, rate)| (x.at(least(delay.mean)), y.at(rate.mean))).collect();
    let scaled: Vec<(f64, f64)> = middles
        .iter()
        .map(|(x, y)| (x * chart::SAME_PLACE / SAME_PLACE, y * chart::SAME_PLACE / SAME_PLACE))
        .collect();
    for pile in chart::piles(&scaled) {
        // Marks at one place are rings around each other; from below.
        for (depth, &at) in pile.iter().enumerate().rev() {
            let look = Look::of(chosen, places[at].0);
            let radius = RADIUS * 1.25 + depth as f64 * 1.8;
            // A white edge keeps marks apart that overlap.
            sheet.mark(look.mark, middles[at], radius, WHITE, Stroke::of(WHITE, 2.0));
            sheet.mark(look.mark, middles[at], radius, look.inside, Stroke::of(look.colour, 0.9));
        }
    }
    Ok(Drawn { sheet, left_out: chosen.entries.len() - places.len() })
}

/// Entries side by side: groups by the other axes, each with a place for each colour.
struct Groups {
    names: Vec<String>,
    keys: Vec<Key>,
    /// Of each entry: its group, and its place in it.
    places: Vec<(usize, usize)>,
    /// Places in a group.
    width: usize,
}

impl Groups {
    fn of(chosen: &Chosen) -> Groups {
        let names = if chosen.has_others() {
            chosen.other_labels()
        } else {
            chosen.entries.iter().map(|entry| chosen.colour_label(entry)).collect()
        };
        let mut colours: Vec<String> = Vec::new();
        for entry in &chosen.entries {
            let label = chosen.colour_label(entry);
            if !colours.contains(&label) {
                colours.push(label);
            }
        }
        let place = |(at, entry): (usize, &Entry)| {
            if !chosen.has_others() {
                return (at, 0);
            }
            let label = chosen.colour_label(entry);
            (chosen.other(entry), colours.iter().position(|known| *known == label).unwrap_or_default())
        };
        let places = chosen.entries.iter().enumerate().map(place).collect();
        let width = if chosen.has_others() { colours.len().max(1) } else { 1 };
        let keys = if chosen.has_others() {
            keys(chosen, |look, _| Sign::Box(look.hatch, look.colour), |_, _| Sign::Area(WHITE))
                .into_iter()
                .filter(|key| matches!(key.sign, Sign::Box(..)))
                .collect()
        } else {
            Vec::new()
        };
        Groups { names, keys, places, width }
    }

    /// Left and right end of an entry's place.
    fn ends(&self, entry: usize, x: &Scale) -> (f64, f64) {
        let (group, place) = self.places[entry];
        // Of each group a fifth is left free, and of a lone bar more.
        let free = if self.width == 1 { 0.4 } else { 0.2 };
        let share = (1.0 - free) / self.width as f64;
        let begin = group as f64 + free / 2.0 + place as f64 * share;
        let gap = if self.width == 1 { 0.0 } else { 0.06 * share };
        (x.at(begin + gap), x.at(begin + share - gap))
    }
}

/// A line with ends, from `low` to `high`.
fn interval(sheet: &mut Sheet, middle: f64, low: f64, high: f64, cap: f64) {
    if (high - low).abs() < SHORTEST {
        return;
    }
    for stroke in [Stroke::of(WHITE, INTERVAL * 3.0), Stroke::of(BLACK, INTERVAL)] {
        sheet.line((middle, low), (middle, high), stroke.clone());
        for end in [low, high] {
            sheet.line((middle - cap, end), (middle + cap, end), stroke.clone());
        }
    }
}

pub(super) fn bars(chosen: &Chosen, measure: &str, drawing: &super::Request) -> Result<Drawn, InputError> {
    let figure = Figure::named(measure);
    let found = figure.all(measure, chosen)?;
    let groups = Groups::of(chosen);
    let tops = || found.iter().flatten().flat_map(|value| [value.mean, value.high()]);
    let bottoms = || found.iter().flatten().flat_map(|value| [value.mean, value.low()]);
    let y = if drawing.log {
        // A bar has no beginning there: the axis begins at a power of ten below.
        let low = bottoms().filter(|value| *value > 0.0).fold(f64::INFINITY, f64::min);
        let low = if low.is_finite() { libm::pow(10.0, libm::floor(libm::log10(low))) } else { 0.1 };
        let high = tops().fold(low * 10.0, f64::max);
        Scale::new(low, high * 1.15, true)
    } else if bottoms().any(|value| value < 0.0) {
        Scale::around(tops().chain(bottoms()).chain([0.0]), false, 0.05)
    } else {
        Scale::from_zero(tops())
    };
    let Begun { mut sheet, x, y, frame } = begin(
        chosen,
        (drawing.size.points(), drawing.title()),
        &figure.title,
        &groups.keys,
        &Below::Names(&groups.names),
        (y, &figure.title),
    )?;
    let zero = if drawing.log { frame.bottom } else { y.at(0.0) };
    for (at, (entry, value)) in chosen.entries.iter().zip(&found).enumerate() {
        let Some(value) = value else { continue };
        let look = Look::of(chosen, entry);
        let (left, right) = groups.ends(at, &x);
        let end = y.at(value.mean);
        bar(&mut sheet, [left, end.min(zero), right, end.max(zero)], look.hatch, look.colour);
        if value.half.is_some() {
            let low = if drawing.log { value.low().max(y.low) } else { value.low() };
            let cap = CAP.min((right - left) / 3.0);
            interval(&mut sheet, (left + right) / 2.0, y.at(low), y.at(value.high()), cap);
        }
    }
    sheet.line((frame.left, zero), (frame.right, zero), Stroke::of(BLACK, 0.6));
    Ok(Drawn { sheet, left_out: found.iter().filter(|value| value.is_none()).count() })
}

/// Quartiles, and the 5th and 95th percentile.
pub(super) fn boxes(chosen: &Chosen, measure: &str, drawing: &super::Request) -> Result<Drawn, InputError> {
    let (distributions, title) = distributions(measure, chosen)?;
    let found: Vec<Option<[Spread; 5]>> =
        distributions.iter().map(|cdf| cdf.as_ref().and_then(box_percentiles)).collect();
    let groups = Groups::of(chosen);
    let least = |value: f64| if drawing.log { value.max(LEAST_MS) } else { value.max(0.0) };
    let all = || found.iter().flatten().flatten().flat_map(|value| [value.mean, value.mean]).map(least);
    let highs = found.iter().flatten().map(|five| five[2].high().max(five[4].mean));
    let y = if drawing.log { Scale::around(all(), true, 0.05) } else { Scale::from_zero(highs) };
    let Begun { mut sheet, x, y, .. } = begin(
        chosen,
        (drawing.size.points(), drawing.title()),
        title,
        &groups.keys,
        &Below::Names(&groups.names),
        (y, title),
    )?;
    for (at, (entry, five)) in chosen.entries.iter().zip(&found).enumerate() {
        let Some(five) = five else { continue };
        let means = five.map(|value| value.mean);
        let look = Look::of(chosen, entry);
        let (left, right) = groups.ends(at, &x);
        let [low, first, middle, third, high] = means.map(|value| y.at(least(value)));
        let (centre, cap) = ((left + right) / 2.0, (right - left) / 5.0);
        for (from, to) in [(low, first), (third, high)] {
            sheet.line((centre, from), (centre, to), Stroke::of(look.colour, 0.8));
        }
        for end in [low, high] {
            sheet.line((centre - cap, end), (centre + cap, end), Stroke::of(look.colour, 0.8));
        }
        bar(&mut sheet, [left, third, right, first], look.hatch, look.colour);
        for stroke in [Stroke::of(WHITE, 2.6), Stroke::of(BLACK, 1.3)] {
            sheet.line((left, middle), (right, middle), stroke);
        }
        if five[2].half.is_some() {
            let (low, high) = (y.at(least(five[2].low())), y.at(least(five[2].high())));
            interval(&mut sheet, centre, low, high, CAP.min(cap));
        }
    }
    Ok(Drawn { sheet, left_out: found.iter().filter(|five| five.is_none()).count() })
}
