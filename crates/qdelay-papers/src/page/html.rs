//! The page of a paper: markup and styles, and no program at all.

use super::data::{Data, Group};
use super::looks::{self, ANY_SCHEME};
use super::spec::{Drawing, Figures, Kind, Line, Measure, Quantity, Shade};
use super::{curves, plane, rates, rows, table, trend};
use crate::claims::Paper;
use crate::paired::PairedTable;
use crate::{Reproduction, Row, Verdict};
use qdelay_report::chart::{
    AREA, GOOD, Ink, Key, Mark, SURFACE, Sign, Stroke, WORDS, escape, key_list, number_text, palette,
};
use std::fmt::Write;
use std::path::Path;

const STYLES: [&str; 2] = [qdelay_report::STYLES, include_str!("../../assets/paper.css")];

pub fn page(
    root: &Path,
    paper: &Reproduction,
    about: Option<&Paper>,
    figures: &Figures,
    data: &Data<'_>,
) -> String {
    let drawn: Vec<(&Drawing, String)> = figures
        .figures
        .iter()
        .filter(|drawing| data.has(drawing))
        .filter_map(|drawing| Some((drawing, picture(drawing, data)?)))
        .collect();
    let mut page = qdelay_report::page_head(&paper.title, "style-src 'unsafe-inline'", &STYLES);
    page.push_str("<body class=\"paper\">\n");
    let is_drawn = |row: &Row| {
        let mut drawings = drawn.iter();
        drawings.any(|(drawing, _)| claims_of(drawing, paper).any(|known| std::ptr::eq(known, row)))
    };
    let has_others = paper.rows.iter().any(|row| !is_drawn(row));
    navigation(&mut page, paper, &drawn, has_others);
    page.push_str("<main>\n");
    header(&mut page, root, paper, about);
    for (number, table) in paper.tables.iter().enumerate() {
        changes(&mut page, number, table);
    }
    let mut told: Vec<&Row> = Vec::new();
    for (drawing, picture) in &drawn {
        let rows: Vec<&Row> = claims_of(drawing, paper).filter(|row| !is_told(&told, row)).collect();
        told.extend(&rows);
        figure(&mut page, drawing, picture, &rows);
    }
    let others: Vec<&Row> = paper.rows.iter().filter(|row| !is_told(&told, row)).collect();
    if !others.is_empty() {
        let title = if drawn.is_empty() { "Claims" } else { "Other claims" };
        let _ = write!(page, "<section id=\"others\"><h2>{title}</h2><div class=\"scroll\">");
        page.push_str(&table::claims(&others));
        page.push_str("</div></section>\n");
    }
    page.push_str("</main>\n</body>\n</html>\n");
    page
}

fn is_told(told: &[&Row], row: &Row) -> bool {
    told.iter().any(|known| std::ptr::eq(*known, row))
}

/// The target of a link.
fn id(drawing: &Drawing) -> String {
    let name = drawing.figure.as_ref().unwrap_or(&drawing.title);
    let letters = name
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    format!("figure-{}", letters.collect::<String>())
}

fn navigation(page: &mut String, paper: &Reproduction, drawn: &[(&Drawing, String)], has_others: bool) {
    page.push_str("<nav class=\"bar\" aria-label=\"Figures\"><span class=\"brand\">qdelay</span>");
    for (number, table) in paper.tables.iter().enumerate() {
        let title = escape(&table.title);
        let _ = write!(page, "<a href=\"#table-{number}\" title=\"{title}\">Table {}</a>", number + 1);
    }
    let mut charts = 0;
    for (drawing, _) in drawn {
        let title = escape(&drawing.title);
        let name = drawing.figure.as_deref().map_or_else(
            || {
                charts += 1;
                format!("Chart {charts}")
            },
            escape,
        );
        let _ = write!(page, "<a href=\"#{}\" title=\"{title}\">{name}</a>", id(drawing));
    }
    if has_others {
        page.push_str("<a href=\"#others\">Other claims</a>");
    }
    page.push_str("</nav>\n");
}

fn header(page: &mut String, root: &Path, paper: &Reproduction, about: Option<&Paper>) {
    let rows: Vec<&Row> = paper.rows.iter().collect();
    let count = match rows.len() {
        1 => "1 claim".to_string(),
        count => format!("{count} claims"),
    };
    let _ = write!(
        page,
        "<header class=\"top\"><h1>{}</h1><p class=\"verdicts\"><b>{count}</b>{}</p><p class=\"meta\">",
        escape(&paper.title),
        verdicts(&rows)
    );
    if let Some(Paper { authors, venue, doi, .. }) = about {
        page.push_str(&escape(authors));
        if !venue.is_empty() {
            let _ = write!(page, " \u{b7} {}", escape(venue));
        }
        if !doi.is_empty() {
            let doi = escape(doi);
            let _ = write!(page, " \u{b7} <a href=\"https://doi.org/{doi}\">doi:{doi}</a>");
        }
    }
    page.push_str("</p>");
    page.push_str(&key_list(&[
        Key::new(filled(Mark::Circle), "ours"),
        Key::new(hollow(Mark::Diamond, WORDS), "the paper\u{2019}s figure"),
        Key::new(Sign::Area(GOOD.tint(0.25)), "accepted"),
    ]));
    for (wanted, used) in &paper.stand_ins {
        let _ = write!(
            page,
            "<p class=\"notice\">{} stands in for {}, which was not at hand.</p>",
            escape(used),
            escape(wanted)
        );
    }
    if let Some(note) = paper.seeds.note() {
        let _ = write!(page, "<p class=\"notice\">{}</p>", escape(note));
    }
    for setting in &paper.settings {
        let (title, text) = (escape(&setting.cause), escape(&setting.text()));
        let _ = write!(page, "<p class=\"about\" title=\"{title}\">Setting {text}</p>");
    }
    let mut scenarios: Vec<&str> = paper.rows.iter().filter_map(|row| row.scenario.as_deref()).collect();
    scenarios.sort_unstable();
    scenarios.dedup();
    scenarios.retain(|name| root.join(name).join("summary.json").is_file());
    if !scenarios.is_empty() {
        page.push_str("<p class=\"about\">All figures of each study: ");
        for (at, name) in scenarios.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            let _ = write!(page, "{comma}<a href=\"{}/report.html\">{}</a>", escape(name), escape(name));
        }
        page.push_str(".</p>");
    }
    page.push_str("</header>\n");
}

/// The number of claims of each verdict.
fn verdicts(rows: &[&Row]) -> String {
    let mut text = String::new();
    for verdict in Verdict::ALL {
        let count = rows.iter().filter(|row| row.verdict == verdict).count();
        if count > 0 {
            let name = format!("{count} {}", verdict.name());
            let _ = write!(text, " {}", table::pill(verdict).replacen(verdict.name(), &name, 1));
        }
    }
    text
}

fn changes(page: &mut String, number: usize, table: &PairedTable) {
    let _ = write!(
        page,
        "<section id=\"table-{number}\"><h2>{}</h2><p class=\"about\">{} In percent: for who makes the choice, and below for \
         whoever fares worst of the others. \u{b1}: 95% interval over seeds. A star: beyond chance, and at least {}%. Red: it \
         pays and harms others; green: it costs who makes it and nobody else; grey: one of both.</p>",
        escape(&table.title),
        escape(&table.note),
        number_text(table.least * 100.0)
    );
    page.push_str(&table::changes(table));
    page.push_str("</section>\n");
}

fn claims_of<'a>(drawing: &'a Drawing, paper: &'a Reproduction) -> impl Iterator<Item = &'a Row> {
    let is_of = |row: &&Row| {
        row.figure.as_ref().is_some_and(|figure| match drawing.claims.is_empty() {
            true => drawing.figure.as_ref() == Some(figure),
            false => drawing.claims.contains(figure),
        })
    };
    paper.rows.iter().filter(is_of)
}

fn figure(page: &mut String, drawing: &Drawing, picture: &str, rows: &[&Row]) {
    let _ = write!(page, "<section id=\"{}\"><h2>", id(drawing));
    if let Some(figure) = &drawing.figure {
        let word = if drawing.kind == Some(Kind::Table) { "" } else { "Fig. " };
        let _ = write!(page, "<span class=\"soft\">{word}{}</span> ", escape(figure));
    }
    let _ = write!(page, "{}</h2>", escape(&drawing.title));
    if !rows.is_empty() {
        let _ = write!(page, "<p class=\"verdicts\">{}</p>", verdicts(rows));
    }
    if !drawing.note.is_empty() {
        let _ = write!(page, "<p class=\"about\">{}</p>", escape(&drawing.note));
    }
    let _ = write!(page, "<div class=\"stacked\"><div class=\"pictures\">{picture}</div>");
    if !rows.is_empty() {
        let _ = write!(page, "<div class=\"scroll\">{}</div>", table::claims(rows));
    }
    page.push_str("</div></section>\n");
}

/// Key and panels of a figure; none where no case has what it shows.
fn picture(drawing: &Drawing, data: &Data<'_>) -> Option<String> {
    let mut panels: Vec<(Drawing, Vec<Group>)> = drawing
        .complete()
        .into_iter()
        .map(|panel| {
            let groups = data.groups(&panel);
            (panel, groups)
        })
        .collect();
    if drawing.kind == Some(Kind::Table) {
        return table::schemes(&panels);
    }
    curves::same_scales(&mut panels);
    let mut pictures: Vec<(String, String)> = Vec::new();
    for (panel, groups) in &panels {
        let one = match panel.kind? {
            Kind::Plane => plane::draw(panel, groups),
            Kind::Cdf => curves::distributions(panel, groups),
            Kind::Rates => rates::rates(panel, groups),
            Kind::Density => rates::density(panel, groups),
            Kind::Boxes => rows::boxes(panel, groups),
            Kind::Bars => rows::bars(panel, groups),
            Kind::Dots => rows::dots(panel, groups),
            Kind::Trend => trend::draw(panel, groups),
            Kind::Time if panel.each => {
                let of = |group: &Group| Some((group.scheme.name.clone(), curves::time(panel, group)?));
                pictures.extend(groups.iter().filter_map(of));
                None
            }
            Kind::Time => groups.first().and_then(|group| curves::time(panel, group)),
            Kind::Table => None,
        };
        pictures.extend(one.map(|one| (panel.title.clone(), one)));
    }
    if pictures.is_empty() {
        return None;
    }
    let mut text = key_list(&key(drawing, &panels));
    let small = if panels.iter().any(|(panel, _)| panel.each) { " small" } else { "" };
    let grid = if pictures.len() > 1 { format!("panels{small}") } else { "panel-one".to_string() };
    let _ = write!(text, "<div class=\"{grid}\">");
    for (title, picture) in pictures {
        let title = if title.is_empty() {
            String::new()
        } else {
            format!("<figcaption>{}</figcaption>", escape(&title))
        };
        let _ = write!(text, "<figure class=\"chart\">{title}{picture}</figure>");
    }
    text.push_str("</div>");
    Some(text)
}

/// The sign of marks of any scheme.
fn filled(mark: Mark) -> Sign {
    Sign::Mark(mark, palette(ANY_SCHEME), palette(ANY_SCHEME))
}

fn hollow(mark: Mark, ink: Ink) -> Sign {
    Sign::Mark(mark, ink, SURFACE)
}

/// The meaning of lines and marks, if the picture has no legend.
fn key(drawing: &Drawing, panels: &[(Drawing, Vec<Group<'_>>)]) -> Vec<Key> {
    let any = palette(ANY_SCHEME);
    let line = |stroke: Stroke, label: &str| Key::new(Sign::Line(stroke, None), label);
    let paper = |sign| {
        let has_paper = panels.iter().any(|(panel, _)| !panel.paper.is_empty());
        has_paper.then(|| Key::new(sign, "the paper"))
    };
    let bounds = || {
        let has_bounds = panels.iter().any(|(panel, _)| !panel.bounds.is_empty());
        has_bounds.then(|| line(looks::bound(), "the paper's bound"))
    };
    let groups = || panels.iter().flat_map(|(_, groups)| groups);
    let lines = || panels.iter().flat_map(|(panel, _)| panel.lines.iter().map(move |line| (panel, line)));
    match drawing.kind {
        Some(Kind::Plane) => {
            let case = Sign::Mark(Mark::Circle, SURFACE, any.tint(0.6));
            [Key::new(filled(Mark::Circle), "mean of all runs"), Key::new(case, "each run")]
                .into_iter()
                .chain(paper(hollow(Mark::Circle, any)))
                .collect()
        }
        Some(Kind::Rates) => {
            let of_line =
                |(_, own): (_, &Line)| line(Stroke::solid(palette(own.colour), looks::LINE), &own.title);
            let of_scheme = |group: &Group| {
                let dash = group.scheme.mark.dash();
                line(Stroke::dashed(any, looks::LINE, dash), &group.scheme.name)
            };
            lines().map(of_line).chain(groups().map(of_scheme)).collect()
        }
        Some(Kind::Cdf | Kind::Density) => groups()
            .map(|Group { scheme, .. }| line(looks::curve(scheme), &scheme.name))
            .chain(bounds())
            .collect(),
        Some(Kind::Boxes) => [Key::new(Sign::Quartiles(any), "range, quartiles, and median (figure)")]
            .into_iter()
            .chain(paper(hollow(Mark::Diamond, WORDS)))
            .collect(),
        Some(Kind::Bars) => [line(Stroke::solid(WORDS, 1.0), "least to largest run")]
            .into_iter()
            .chain(paper(hollow(Mark::Diamond, WORDS)))
            .collect(),
        Some(Kind::Dots) => {
            // A panel has the figure's where it has none of its own.
            let measures = panels.first().map_or(&drawing.measures, |(panel, _)| &panel.measures);
            let of_measure = |(at, measure): (usize, &Measure)| {
                let mark = Mark::at_place(at);
                Key::new(if at == 0 { filled(mark) } else { hollow(mark, any) }, &measure.title)
            };
            measures.iter().enumerate().map(of_measure).chain(paper(hollow(Mark::Circle, WORDS))).collect()
        }
        Some(Kind::Trend) => {
            let measures = panels.iter().flat_map(|(panel, _)| &panel.measures);
            let run = Sign::Mark(Mark::Circle, SURFACE, any.tint(0.5));
            measures
                .map(|own| line(Stroke::solid(palette(own.colour), looks::LINE), &own.title))
                .chain([Key::new(run, "each run")])
                .collect()
        }
        Some(Kind::Time) => lines()
            .filter(|(_, own)| !own.title.is_empty())
            .map(|(panel, own)| {
                if own.series == Quantity::Capacity {
                    return Key::new(Sign::Area(AREA), &own.title);
                }
                line(curves::look(own, panel.lines.len(), any).0, &own.title)
            })
            .chain(bounds())
            .chain(panels.iter().find_map(|(panel, _)| panel.shade).map(|shade| {
                let label = match shade {
                    Shade::Freezes => "picture frozen",
                    Shade::Stalls => "the viewer waits",
                };
                Key::new(Sign::Area(looks::span_ink()), label)
            }))
            .collect(),
        Some(Kind::Table) | None => Vec::new(),
    }
}
