//! Figures of marks, bars and boxes.

use super::chosen::{Chosen, Entry};
use super::layout::{Look, begin, keys};
use super::lines::box_percentiles;
use super::measure::{Figure, Spread, distributions};
use super::{Drawn, Wanted};
use crate::chart::{
    self, Anchor, Below, Key, Mark, Medium, NEUTRAL, Placed, RADIUS, Rectangle, SURFACE, Scale, Sheet, Sign,
    Stroke, TEXT, WORDS, number_text,
};
use qdelay_study::InputError;

/// The place of delays of 0 on a logarithmic axis, ms.
const LEAST_MS: f64 = 0.01;
/// Lines of intervals, points, and half of the length of their ends.
const INTERVAL: f64 = 0.7;
const CAP: f64 = 1.7;
/// An interval that is shorter, points, is within the line or mark that it is of.
const SHORTEST: f64 = 2.0;
/// Least extent of an axis of rates, over the largest.
const NARROW: f64 = 0.05;
/// Radius of a mark, and growth of the second mark of a pile; points.
const MARK: f64 = RADIUS * 1.25;
const RING: f64 = 1.8;
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
pub(super) fn plane(chosen: &Chosen, measure: &str, (request, medium): Wanted) -> Result<Drawn, InputError> {
    let (of_x, of_y) = (Figure::named(measure), Figure::named("throughput"));
    let places = on_plane(chosen, measure)?;
    let log = request.log;
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
        |look, _| Sign::Mark(look.mark, look.ink, look.ink),
        |_, inside| Sign::Mark(Mark::Circle, NEUTRAL, inside),
    );
    let (mut sheet, Placed { x, y, .. }) = begin(
        chosen,
        (request, medium),
        "Throughput and delay",
        &signs,
        Below::Scale(x, &of_x.title),
        (y, &of_y.title),
    )?;
    for (entry, delay, rate) in &places {
        let ink = Look::for_entry(chosen, entry).ink;
        let (at, up) = (x.at(least(delay.mean)), y.at(rate.mean));
        if delay.half.is_some() {
            sheet.line(
                (x.at(least(delay.low())), up),
                (x.at(delay.high()), up),
                Stroke::solid(ink, INTERVAL),
            );
            sheet.line((at, y.at(rate.low())), (at, y.at(rate.high())), Stroke::solid(ink, INTERVAL));
        }
    }
    let middles: Vec<(f64, f64)> =
        places.iter().map(|(_, delay, rate)| (x.at(least(delay.mean)), y.at(rate.mean))).collect();
    let piles = chart::piles(&middles, SAME_PLACE);
    for pile in &piles {
        // Marks at one place are rings around each other; from below.
        for (depth, &at) in pile.iter().enumerate().rev() {
            let look = Look::for_entry(chosen, places[at].0);
            let radius = MARK + chart::ring(depth, pile.len(), RING);
            // A white edge keeps marks apart that overlap.
            sheet.mark(look.mark, middles[at], radius, SURFACE, Stroke::solid(SURFACE, 2.0));
            sheet.mark(look.mark, middles[at], radius, look.inside, Stroke::solid(look.ink, 0.9));
            let (_, delay, rate) = &places[at];
            sheet.add_hint(&format!("{} Mbit/s, {} ms", number_text(rate.mean), number_text(delay.mean)));
        }
    }
    // A figure of a paper has its caption, and less room.
    if sheet.medium == Medium::File {
        let labels = |pile: &[usize]| apart(chosen, &pile.iter().map(|&at| places[at].0).collect::<Vec<_>>());
        name_piles(&mut sheet, &piles, &middles, labels, [x.from, y.to, x.to, y.from]);
    }
    Ok(Drawn { sheet, left_out: chosen.entries.len() - places.len() })
}

/// Labels of entries on the axes on which they differ.
fn apart(chosen: &Chosen, entries: &[&Entry]) -> Vec<String> {
    let labels: Vec<Vec<&str>> = entries.iter().map(|entry| chosen.labels(entry)).collect();
    let differs = |axis: usize| labels.windows(2).any(|pair| pair[0][axis] != pair[1][axis]);
    let label = |labels: &Vec<&str>| {
        let own = labels.iter().enumerate().filter(|(axis, _)| differs(*axis)).map(|(_, label)| *label);
        own.collect::<Vec<&str>>().join(" \u{b7} ")
    };
    labels.iter().map(label).collect()
}

/// Writes the names of marks that lie in one pile beside it.
fn name_piles(
    sheet: &mut Sheet,
    piles: &[Vec<usize>],
    middles: &[(f64, f64)],
    labels: impl Fn(&[usize]) -> Vec<String>,
    inside: Rectangle,
) {
    let edge = MARK + 1.0;
    let mut taken: Vec<Rectangle> =
        middles.iter().map(|(x, y)| [x - edge, y - edge, x + edge, y + edge]).collect();
    for pile in piles.iter().filter(|pile| pile.len() > 1) {
        let name = chart::name_of_pile(&labels(pile));
        let name = sheet.cut_text(&name, TEXT, (inside[2] - inside[0]) / 2.0);
        let size = (sheet.text_width(&name, TEXT), TEXT + 1.5);
        let radius = MARK + 2.5 + chart::ring(pile.len() - 1, pile.len(), RING);
        let (left, top) = chart::place_beside(middles[pile[0]], radius, size, inside, &taken);
        taken.push([left, top, left + size.0, top + size.1]);
        sheet.label((left, top + TEXT - 0.5), Anchor::Start, (TEXT, WORDS), &name);
    }
}

/// Entries side by side: groups by the other axes, each with a place for each colour.
struct Groups {
    names: Vec<String>,
    keys: Vec<Key>,
    /// The group of each entry, and its place in the group.
    places: Vec<(usize, usize)>,
    /// Places in a group.
    width: usize,
}

impl Groups {
    fn new(chosen: &Chosen) -> Groups {
        let names = if chosen.has_others() {
            chosen.other_labels().to_vec()
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
            keys(chosen, |look, _| Sign::Box(look.hatch, look.ink), |_, _| Sign::Area(SURFACE))
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
        // A fifth of each group stays free, and more beside a lone bar.
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
    for stroke in [Stroke::solid(SURFACE, INTERVAL * 3.0), Stroke::solid(WORDS, INTERVAL)] {
        sheet.line((middle, low), (middle, high), stroke.clone());
        for end in [low, high] {
            sheet.line((middle - cap, end), (middle + cap, end), stroke.clone());
        }
    }
}

pub(super) fn bars(chosen: &Chosen, measure: &str, (request, medium): Wanted) -> Result<Drawn, InputError> {
    let figure = Figure::named(measure);
    let found = figure.all(measure, chosen)?;
    let groups = Groups::new(chosen);
    let tops = || found.iter().flatten().flat_map(|value| [value.mean, value.high()]);
    let bottoms = || found.iter().flatten().flat_map(|value| [value.mean, value.low()]);
    let y = if request.log {
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
    let (mut sheet, Placed { x, y, frame }) = begin(
        chosen,
        (request, medium),
        &figure.title,
        &groups.keys,
        Below::Names(&groups.names),
        (y, &figure.title),
    )?;
    let zero = if request.log { frame.bottom } else { y.at(0.0) };
    for (at, (entry, value)) in chosen.entries.iter().zip(&found).enumerate() {
        let Some(value) = value else { continue };
        let look = Look::for_entry(chosen, entry);
        let (left, right) = groups.ends(at, &x);
        let end = y.at(value.mean);
        sheet.bar([left, end.min(zero), right, end.max(zero)], look.hatch, look.ink);
        if value.half.is_some() {
            let low = if request.log { value.low().max(y.low) } else { value.low() };
            let cap = CAP.min((right - left) / 3.0);
            interval(&mut sheet, (left + right) / 2.0, y.at(low), y.at(value.high()), cap);
        }
    }
    sheet.line((frame.left, zero), (frame.right, zero), Stroke::solid(WORDS, 0.6));
    Ok(Drawn { sheet, left_out: found.iter().filter(|value| value.is_none()).count() })
}

/// Quartiles, and the 5th and 95th percentile.
pub(super) fn boxes(chosen: &Chosen, measure: &str, (request, medium): Wanted) -> Result<Drawn, InputError> {
    let (distributions, title) = distributions(measure, chosen)?;
    let found: Vec<Option<[Spread; 5]>> =
        distributions.iter().map(|cdf| cdf.as_ref().and_then(box_percentiles)).collect();
    let groups = Groups::new(chosen);
    let least = |value: f64| if request.log { value.max(LEAST_MS) } else { value.max(0.0) };
    let all = || found.iter().flatten().flatten().flat_map(|value| [value.mean, value.mean]).map(least);
    let highs = found.iter().flatten().map(|five| five[2].high().max(five[4].mean));
    let y = if request.log { Scale::around(all(), true, 0.05) } else { Scale::from_zero(highs) };
    let (mut sheet, Placed { x, y, .. }) =
        begin(chosen, (request, medium), title, &groups.keys, Below::Names(&groups.names), (y, title))?;
    for (at, (entry, five)) in chosen.entries.iter().zip(&found).enumerate() {
        let Some(five) = five else { continue };
        let means = five.map(|value| value.mean);
        let look = Look::for_entry(chosen, entry);
        let (left, right) = groups.ends(at, &x);
        let [low, first, middle, third, high] = means.map(|value| y.at(least(value)));
        let (centre, cap) = ((left + right) / 2.0, (right - left) / 5.0);
        for (from, to) in [(low, first), (third, high)] {
            sheet.line((centre, from), (centre, to), Stroke::solid(look.ink, 0.8));
        }
        for end in [low, high] {
            sheet.line((centre - cap, end), (centre + cap, end), Stroke::solid(look.ink, 0.8));
        }
        sheet.bar([left, third, right, first], look.hatch, look.ink);
        for stroke in [Stroke::solid(SURFACE, 2.6), Stroke::solid(WORDS, 1.3)] {
            sheet.line((left, middle), (right, middle), stroke);
        }
        if five[2].half.is_some() {
            let (low, high) = (y.at(least(five[2].low())), y.at(least(five[2].high())));
            interval(&mut sheet, centre, low, high, CAP.min(cap));
        }
    }
    Ok(Drawn { sheet, left_out: found.iter().filter(|five| five.is_none()).count() })
}
