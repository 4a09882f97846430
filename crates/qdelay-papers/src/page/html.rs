//! The page of a paper: markup and styles, and no program at all.

use super::chart::{class, escape, number_text};
use super::data::{Data, Group};
use super::spec::{Drawing, Figures, Kind, Mark, Quantity};
use super::{curves, plane, rates, rows, table};
use crate::changes::ChangeTable;
use crate::{Reproduction, Row, Verdict};
use std::fmt::Write;
use std::path::Path;

const STYLES: [&str; 2] = [qdelay_report::STYLES, include_str!("../../assets/paper.css")];

pub fn page(root: &Path, paper: &Reproduction, authors: &str, figures: &Figures, data: &Data<'_>) -> String {
    let drawn: Vec<(&Drawing, String)> = figures
        .figures
        .iter()
        .filter(|drawing| data.has(drawing))
        .filter_map(|drawing| Some((drawing, picture(drawing, data)?)))
        .collect();
    let mut page = String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page.push_str(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
         base-uri 'none'; form-action 'none'\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"generator\" \
         content=\"qdelay\">\n",
    );
    let _ = writeln!(page, "<title>{}</title>", escape(&paper.title));
    for style in STYLES {
        let _ = writeln!(page, "<style>\n{}\n</style>", style.trim_end());
    }
    page.push_str("</head>\n<body class=\"paper\">\n");
    let is_drawn = |row: &Row| {
        let mut drawings = drawn.iter();
        drawings.any(|(drawing, _)| claims_of(drawing, paper).any(|known| std::ptr::eq(known, row)))
    };
    let has_others = paper.rows.iter().any(|row| !is_drawn(row));
    navigation(&mut page, paper, &drawn, has_others);
    page.push_str("<main>\n");
    header(&mut page, root, paper, authors);
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

/// What a link goes to.
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

fn header(page: &mut String, root: &Path, paper: &Reproduction, authors: &str) {
    let _ = write!(
        page,
        "<header class=\"top\"><h1>{}</h1><p class=\"meta\">{}",
        escape(&paper.title),
        escape(authors)
    );
    for verdict in Verdict::ALL {
        let count = paper.count(verdict);
        if count > 0 {
            let _ = write!(
                page,
                " {}",
                table::pill(verdict).replacen(verdict.name(), &format!("{count} {}", verdict.name()), 1)
            );
        }
    }
    page.push_str("</p>");
    for (wanted, used) in &paper.stand_ins {
        let _ = write!(
            page,
            "<p class=\"notice\">{} stands in for {}, which was not at hand.</p>",
            escape(used),
            escape(wanted)
        );
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

fn changes(page: &mut String, number: usize, table: &ChangeTable) {
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
    let wide =
        drawing.each || drawing.panels.len() > 1 || drawing.kind == Some(Kind::Table) || rows.is_empty();
    let _ = write!(page, "<section id=\"{}\"><h2>", id(drawing));
    if let Some(figure) = &drawing.figure {
        let word = if drawing.kind == Some(Kind::Table) { "" } else { "Fig. " };
        let _ = write!(page, "<span class=\"soft\">{word}{}</span> ", escape(figure));
    }
    let _ = write!(page, "{}</h2>", escape(&drawing.title));
    if !drawing.note.is_empty() {
        let _ = write!(page, "<p class=\"about\">{}</p>", escape(&drawing.note));
    }
    let _ = write!(
        page,
        "<div class=\"{}\"><div class=\"pictures\">{picture}</div>",
        if wide { "stacked" } else { "beside" }
    );
    if !rows.is_empty() {
        let _ = write!(page, "<div class=\"scroll\">{}</div>", table::claims(rows));
    }
    page.push_str("</div></section>\n");
}

/// Key and panels of a figure; none where no case has what it shows.
fn picture(drawing: &Drawing, data: &Data<'_>) -> Option<String> {
    let panels: Vec<(Drawing, Vec<Group>)> = drawing
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
    let mut pictures: Vec<(String, String)> = Vec::new();
    for (panel, groups) in &panels {
        match panel.kind? {
            Kind::Plane => pictures.extend(plane::draw(panel, groups).map(|one| (panel.title.clone(), one))),
            Kind::Cdf => {
                pictures.extend(curves::distributions(panel, groups).map(|one| (panel.title.clone(), one)))
            }
            Kind::Rates => pictures.extend(rates::rates(panel, groups).map(|one| (panel.title.clone(), one))),
            Kind::Density => {
                pictures.extend(rates::density(panel, groups).map(|one| (panel.title.clone(), one)))
            }
            Kind::Boxes => pictures.extend(rows::boxes(panel, groups).map(|one| (panel.title.clone(), one))),
            Kind::Bars => pictures.extend(rows::bars(panel, groups).map(|one| (panel.title.clone(), one))),
            Kind::Dots => pictures.extend(rows::dots(panel, groups).map(|one| (panel.title.clone(), one))),
            Kind::Time if panel.each => {
                let each = groups
                    .iter()
                    .filter_map(|group| Some((group.scheme.name.clone(), curves::time(panel, group)?)));
                pictures.extend(each);
            }
            Kind::Time => {
                let one = groups.first().and_then(|group| curves::time(panel, group));
                pictures.extend(one.map(|one| (panel.title.clone(), one)));
            }
            Kind::Table => {}
        }
    }
    if pictures.is_empty() {
        return None;
    }
    let mut text = key(drawing, &panels);
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

/// What lines and marks stand for, where the picture does not say it itself.
fn key(drawing: &Drawing, panels: &[(Drawing, Vec<Group<'_>>)]) -> String {
    let mut items: Vec<(String, String)> = Vec::new();
    let has_paper = panels.iter().any(|(panel, _)| !panel.paper.is_empty());
    let swatch = |inner: &str, width: u32| {
        format!(
            "<svg class=\"swatch\" width=\"{width}\" height=\"12\" viewBox=\"0 0 {width} 12\" aria-hidden=\"true\">{inner}</svg>"
        )
    };
    let mark = |mark: Mark, class: &str| {
        swatch(&format!("<path class=\"{class}\" d=\"{}\"/>", mark.path(8.0, 6.0, 4.2)), 16)
    };
    let line = |class: &str, dash: &str| {
        let dash = if dash == "none" { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        swatch(&format!("<path class=\"{class}\"{dash} d=\"M1 6H25\"/>"), 26)
    };
    match drawing.kind {
        Some(Kind::Plane) => {
            items.push((mark(Mark::Circle, "mark s7"), "mean of all runs".to_string()));
            items.push((mark(Mark::Circle, "dot s7"), "each run".to_string()));
            if has_paper {
                items.push((mark(Mark::Circle, "hollow s7"), "the paper".to_string()));
            }
        }
        Some(Kind::Rates) => {
            let mut lines: Vec<(&str, usize)> = Vec::new();
            let mut schemes: Vec<(&str, Mark)> = Vec::new();
            for (panel, groups) in panels {
                lines.extend(panel.lines.iter().map(|line| (line.title.as_str(), line.colour)));
                schemes.extend(groups.iter().map(|group| (group.scheme.name.as_str(), group.scheme.mark)));
            }
            let mut seen: Vec<&str> = Vec::new();
            for (name, colour) in lines {
                if !seen.contains(&name) {
                    seen.push(name);
                    items.push((line(&format!("curve s{}", colour % 8), "none"), name.to_string()));
                }
            }
            for (name, mark) in schemes {
                if !seen.contains(&name) {
                    seen.push(name);
                    items.push((line("curve s7", mark.dash()), name.to_string()));
                }
            }
        }
        Some(Kind::Cdf | Kind::Density) => {
            let mut seen: Vec<&str> = Vec::new();
            for group in panels.iter().flat_map(|(_, groups)| groups) {
                if !seen.contains(&group.scheme.name.as_str()) {
                    seen.push(&group.scheme.name);
                    let class = format!("curve {}", class(group.scheme));
                    items.push((line(&class, group.scheme.mark.dash()), group.scheme.name.clone()));
                }
            }
        }
        Some(Kind::Boxes) => items.push((
            swatch("<path class=\"stem s7\" d=\"M1 6H31\"/><rect class=\"box s7\" x=\"8\" y=\"1.5\" width=\"15\" height=\"9\"/><path class=\"median s7\" d=\"M14 1.5V10.5\"/>", 32),
            "range, quartiles, and median (figure)".to_string(),
        )),
        Some(Kind::Bars) => {
            items.push((line("whisker", "none"), "least to largest run".to_string()));
            if has_paper {
                items.push((mark(Mark::Diamond, "paper"), "the paper".to_string()));
            }
        }
        Some(Kind::Dots) => {
            // A panel has the figure's where it has none of its own.
            let measures = panels.first().map_or(&drawing.measures, |(panel, _)| &panel.measures);
            for (at, measure) in measures.iter().enumerate() {
                let kind = if at == 0 { "mark s7" } else { "hollow s7" };
                items.push((mark(rows::mark(at), kind), measure.title.clone()));
            }
        }
        Some(Kind::Time) => {
            let mut seen: Vec<&str> = Vec::new();
            let lines = panels.iter().flat_map(|(panel, _)| panel.lines.iter().map(move |line| (line, panel.lines.len())));
            for (quantity, among) in lines {
                if seen.contains(&quantity.title.as_str()) || quantity.title.is_empty() {
                    continue;
                }
                seen.push(&quantity.title);
                let class = match quantity.series {
                    Quantity::CapacityBytes | Quantity::CapacityPackets if among > 1 => "capacity",
                    Quantity::RlcBytesMax | Quantity::RlcPacketsMax => "thin faint s7",
                    _ => "thin s7",
                };
                items.push((line(class, "none"), quantity.title.clone()));
            }
        }
        Some(Kind::Table) | None => {}
    }
    if items.is_empty() {
        return String::new();
    }
    let items = items.iter().map(|(swatch, text)| format!("<li>{swatch}{}</li>", escape(text)));
    format!("<ul class=\"key\" aria-label=\"Key\">{}</ul>", items.collect::<String>())
}
