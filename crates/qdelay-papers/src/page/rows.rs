//! A row for each scheme: bars, boxes, or several measures as dots.

use super::curves::delay_title;
use super::data::{Group, delay_at, mean, pooled};
use super::spec::{Drawing, Measure, Source};
use super::table::figure_text;
use qdelay_report::chart::{Mark, Picture, Scale, text_width};

const WIDTH: f64 = 560.0;
const ROW: f64 = 27.0;
/// Room to the right of the axis, above the rows and below them.
const RIGHT: f64 = 62.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 42.0;
const THICK: f64 = 7.0;
/// How far above ours the paper's marks are.
const ABOVE: f64 = 9.0;

/// Where rows are.
struct Rows {
    count: usize,
    /// Room for the longest name.
    left: f64,
}

impl Rows {
    fn of(groups: &[&Group]) -> Rows {
        let widest = groups.iter().map(|group| text_width(&group.scheme.name, 12.0)).fold(0.0, f64::max);
        Rows { count: groups.len(), left: widest + 18.0 }
    }
    fn height(&self) -> f64 {
        TOP + self.count as f64 * ROW + BOTTOM
    }
    fn bottom(&self) -> f64 {
        self.height() - BOTTOM
    }
    fn middle(&self, row: usize) -> f64 {
        TOP + (row as f64 + 0.5) * ROW
    }
    /// A picture with the axis below and a name at each row.
    fn picture(&self, groups: &[&Group], x: Scale, title: &str) -> (Picture, Scale) {
        let mut picture = Picture::new(WIDTH, self.height(), title);
        let x = x.between(self.left, WIDTH - RIGHT);
        picture.x_axis(x, TOP, self.bottom(), title);
        for (row, group) in groups.iter().enumerate() {
            let at = (self.left - 9.0, self.middle(row) + 4.0);
            picture.text(at, "end", &format!("name {}", group.scheme.class()), &group.scheme.name);
        }
        (picture, x)
    }
}

/// The mean of a measure, the least and largest of its cases, and the paper's.
pub fn bars(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let measure = drawing.measures.first()?;
    let of = |group| Some((group, mean(&Group::figures(group, measure))?, group.figures(measure)));
    let found: Vec<(&Group, f64, Vec<f64>)> = groups.iter().filter_map(of).collect();
    let paper = |group: &Group| drawing.paper.get(&group.scheme.name).and_then(|at| at.first()).copied();
    let all = || found.iter().flat_map(|(group, _, cases)| cases.iter().copied().chain(paper(group)));
    let x = if measure.log { Scale::around(all(), true, 0.08) } else { Scale::from_zero(all()) };
    if found.is_empty() {
        return None;
    }
    let names: Vec<&Group> = found.iter().map(|found| found.0).collect();
    let rows = Rows::of(&names);
    let (mut picture, x) = rows.picture(&names, x, &measure.with_unit());
    for (row, (group, middle, cases)) in found.iter().enumerate() {
        let (y, class) = (rows.middle(row), group.scheme.class());
        picture.rectangle((x.from, y - THICK), (x.at(*middle), y + THICK), &format!("column {class}"));
        let (low, high) =
            cases.iter().fold((*middle, *middle), |(low, high), case| (low.min(*case), high.max(*case)));
        picture.line((x.at(low), y), (x.at(high), y), "whisker");
        if let Some(paper) = paper(group) {
            let hint = format!("{}, the paper: {}", group.scheme.name, figure_text(paper));
            picture.mark(Mark::Diamond, (x.at(paper), y), 5.0, "paper", &hint);
        }
        let text = figure_text(*middle);
        let mut left = x.at(high) + 8.0;
        let meets = |at: f64, left: f64| at + 7.0 > left && at - 7.0 < left + text_width(&text, 12.0);
        if let Some(at) = paper(group).map(|paper| x.at(paper)).filter(|at| meets(*at, left)) {
            left = at + 10.0;
        }
        picture.text((left, y + 4.0), "start", "value", &text);
    }
    Some(picture.of_page())
}

/// Quartiles, median and range of a delay.
pub fn boxes(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let source = drawing.source.unwrap_or(Source::Queue);
    let of = |group| {
        let curve = pooled(&Group::distributions(group, source, &drawing.group));
        let at = |percent| delay_at(&curve, percent);
        (!curve.is_empty()).then(|| (group, [curve[0].0, at(25.0), at(50.0), at(75.0), at(100.0)]))
    };
    let found: Vec<(&Group, [f64; 5])> = groups.iter().filter_map(of).collect();
    let paper = |group: &Group| drawing.paper.get(&group.scheme.name).and_then(|at| at.first()).copied();
    let all = || found.iter().flat_map(|(group, box_)| box_.iter().copied().chain(paper(group)));
    let is_log = drawing.log.unwrap_or(false);
    let x = if is_log { Scale::around(all(), true, 0.05) } else { Scale::from_zero(all()) };
    if found.is_empty() {
        return None;
    }
    let names: Vec<&Group> = found.iter().map(|found| found.0).collect();
    let rows = Rows::of(&names);
    let (mut picture, x) = rows.picture(&names, x, delay_title(drawing));
    for (row, (group, [low, first, middle, third, high])) in found.iter().enumerate() {
        let (y, class) = (rows.middle(row), group.scheme.class());
        picture.line((x.at(*low), y), (x.at(*high), y), &format!("stem {class}"));
        for end in [low, high] {
            picture.line((x.at(*end), y - 4.0), (x.at(*end), y + 4.0), &format!("stem {class}"));
        }
        picture.rectangle((x.at(*first), y - THICK), (x.at(*third), y + THICK), &format!("box {class}"));
        picture.line((x.at(*middle), y - THICK), (x.at(*middle), y + THICK), &format!("median {class}"));
        if let Some(paper) = paper(group) {
            let hint = format!("{}, the paper: {}", group.scheme.name, figure_text(paper));
            picture.mark(Mark::Diamond, (x.at(paper), y), 5.0, "paper", &hint);
        }
        let text = figure_text(*middle);
        picture.text((x.at(*high) + 7.0, y + 4.0), "start", "value", &text);
    }
    Some(picture.of_page())
}

/// Each measure as a mark: the first filled, the others hollow, and a line between.
pub fn dots(drawing: &Drawing, groups: &[Group<'_>]) -> Option<String> {
    let of = |group| {
        let figure = |measure: &Measure| mean(&Group::figures(group, measure));
        drawing.measures.iter().map(figure).collect::<Option<Vec<f64>>>().map(|figures| (group, figures))
    };
    let found: Vec<(&Group, Vec<f64>)> = groups.iter().filter_map(of).collect();
    let first = drawing.measures.first()?;
    let paper = |group: &Group| drawing.paper.get(&group.scheme.name).cloned().unwrap_or_default();
    let all: Vec<f64> =
        found.iter().flat_map(|(group, figures)| figures.iter().copied().chain(paper(group))).collect();
    if found.is_empty() {
        return None;
    }
    let has_negative = all.iter().any(|figure| *figure < 0.0);
    let x = match (first.log, has_negative) {
        (true, _) => Scale::around(all.iter().copied(), true, 0.1),
        (false, false) => Scale::from_zero(all.iter().copied()),
        // With the zero among them.
        (false, true) => Scale::around(all.iter().copied().chain([0.0]), false, 0.05),
    };
    let names: Vec<&Group> = found.iter().map(|found| found.0).collect();
    let rows = Rows::of(&names);
    let title = if drawing.title_x.is_empty() { first.with_unit() } else { drawing.title_x.clone() };
    let (mut picture, x) = rows.picture(&names, x, &title);
    if has_negative && !first.log {
        picture.line((x.at(0.0), TOP), (x.at(0.0), rows.bottom()), "axis");
    }
    for (row, (group, figures)) in found.iter().enumerate() {
        let (y, class) = (rows.middle(row), group.scheme.class());
        let nothing = (f64::INFINITY, f64::NEG_INFINITY);
        let range = figures.iter().fold(nothing, |(low, high), at| (at.min(low), at.max(high)));
        picture.line((x.at(range.0), y), (x.at(range.1), y), &format!("stem {class}"));
        for (at, (figure, measure)) in figures.iter().zip(&drawing.measures).enumerate().rev() {
            let kind = if at == 0 { "mark" } else { "hollow" };
            let hint = format!(
                "{}, {}: {} {}",
                group.scheme.name,
                measure.title,
                figure_text(*figure),
                measure.unit
            );
            picture.mark(Mark::of(at), (x.at(*figure), y), 5.6, &format!("{kind} {class}"), &hint);
        }
        // Above ours, so that both are seen where they are equal.
        for (at, (value, measure)) in paper(group).iter().zip(&drawing.measures).enumerate().rev() {
            let hint = format!(
                "{}, the paper, {}: {} {}",
                group.scheme.name,
                measure.title,
                figure_text(*value),
                measure.unit
            );
            picture.mark(Mark::of(at), (x.at(*value), y - ABOVE), 3.6, "paper", &hint);
        }
        picture.text((x.at(range.1) + 10.0, y + 4.0), "start", "value", &figure_text(range.1));
    }
    Some(picture.of_page())
}
