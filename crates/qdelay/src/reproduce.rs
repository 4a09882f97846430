//! `qdelay reproduce`: checks a paper's claims against our figures.

use crate::cli::Reproduce;
use crate::report;
use crate::run::jobs;
use qdelay_core::component::Registry;
use qdelay_papers::paired::{PairedCell, PairedRow, PairedTable};
use qdelay_papers::{self as papers, Reproduction, Row, RunContext, SeedShare, Verdict};
use qdelay_study::traces::Library;
use qdelay_terminal::error::{Failure, one_line};
use qdelay_terminal::output::{self, eprintln_line};
use qdelay_terminal::progress::{Bar, StudyProgress};
use qdelay_terminal::text_table::{self, Column};
use std::fmt::Write;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// Unknown paper or figure, unreadable trace, failed audit, or missed claim.
pub fn run(options: &Reproduce, registry: &Registry) -> Result<(), Failure> {
    let library = Library::for_scenario(None, &options.traces);
    let seeds = if options.quick { SeedShare::Quick } else { SeedShare::All };
    let known = RunContext { library: &library, registry: registry.clone(), commit: crate::commit(), seeds };
    let bar = Bar::default();
    let out = options.out.clone();
    let figure = options.figure.as_deref();
    let kept_in = options.out.as_ref().map(|out| out.display().to_string());
    bar.when_interrupted(move |reached| interrupted(reached, kept_in));
    let reproduction = papers::reproduce(&options.paper, figure, known, jobs(options.jobs), &bar, out)?;
    drop(bar);
    for (wanted, used) in &reproduction.stand_ins {
        eprintln_line(&format!("{} is not available; {} is used instead", one_line(wanted), one_line(used)));
    }
    let reports =
        options.out.as_deref().map_or(Ok(Vec::new()), |out| reports(out, &reproduction, registry))?;
    let mut text = if options.json { reproduction.json() } else { table(&reproduction) };
    if !options.json {
        for report in reports {
            let _ = writeln!(text, "report: {}", one_line(&report));
        }
    }
    output::print(&text)?;
    match reproduction.count(Verdict::Miss) {
        0 => Ok(()),
        missed => Err(Failure::Check(format!(
            "{missed} of {} claims are missed; expected none",
            reproduction.rows.len()
        ))),
    }
}

/// Message after an interrupted paper.
fn interrupted(reached: Option<StudyProgress>, kept_in: Option<String>) -> String {
    let Some(StudyProgress { name, done, all }) = reached else {
        return "interrupted before any case was run".to_string();
    };
    let kept = match kept_in {
        Some(out) => format!("finished cases are kept in {out}; the same command continues from there"),
        None => {
            "nothing is kept; with --out DIR the cases are kept, and the same command continues".to_string()
        }
    };
    format!("interrupted at {name}, {done} of {all} cases done; {kept}")
}

/// Writes the page of the paper, and one for each scenario that was run.
fn reports(out: &Path, reproduction: &Reproduction, registry: &Registry) -> Result<Vec<String>, Failure> {
    let mut scenarios: Vec<&str> =
        reproduction.rows.iter().filter_map(|row| row.scenario.as_deref()).collect();
    scenarios.dedup();
    let page = out.join("report.html");
    report::write(&[out.to_path_buf()], &page, registry)?;
    let mut pages = vec![page.display().to_string()];
    for scenario in scenarios {
        let folder = out.join(scenario);
        let page = folder.join("report.html");
        // Scenarios whose claims were all skipped were not run and have no page.
        if folder.join("summary.json").is_file() && !pages.contains(&page.display().to_string()) {
            report::write(&[folder], &page, registry)?;
            pages.push(page.display().to_string());
        }
    }
    Ok(pages)
}

fn table(reproduction: &Reproduction) -> String {
    let mut text = format!("{}\n\n", one_line(&reproduction.title));
    let mut causes: Vec<&str> = Vec::new();
    let mut rows = Vec::new();
    for row in &reproduction.rows {
        let mut verdict = row.verdict.name().to_string();
        match (row.verdict, row.factor, row.with_setting) {
            (Verdict::Better, Some(factor), _) => {
                let _ = write!(verdict, " ({}x)", number(factor));
            }
            (_, _, Some(with)) => {
                let _ = write!(verdict, " ({})", number(with));
            }
            _ => {}
        }
        if let Some(cause) = &row.cause {
            let place = causes.iter().position(|known| known == cause).unwrap_or_else(|| {
                causes.push(cause);
                causes.len() - 1
            });
            let _ = write!(verdict, " [{}]", place + 1);
        }
        rows.push(cells(row, verdict));
    }
    let columns = [
        Column::right("figure"),
        Column::left("section"),
        Column::wrapped("claim"),
        Column::right("paper"),
        Column::right("ours"),
        Column::right("accepted"),
        Column::left("unit"),
        Column::right("margin"),
        Column::left("verdict"),
    ];
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}\n", text_table::table(&columns, rows));
    if !causes.is_empty() {
        let rows = causes.iter().enumerate();
        let rows = rows.map(|(place, cause)| vec![format!("[{}]", place + 1), one_line(cause)]).collect();
        let _ = writeln!(text, "{}", text_table::table(&[Column::right(""), Column::wrapped("cause")], rows));
    }
    text.push_str(&legend(reproduction));
    let _ = writeln!(text, "\n{}", reproduction.counts());
    if let Some(note) = reproduction.seeds.note() {
        let _ = writeln!(text, "{note}");
    }
    for table in &reproduction.tables {
        let _ = write!(text, "\n{}", changes(table));
    }
    text
}

/// Notes on the values in brackets, and effects of settings beyond the rows that they explain.
fn legend(reproduction: &Reproduction) -> String {
    let mut text = String::new();
    if reproduction.count(Verdict::Better) > 0 {
        text.push_str(
            "\nbetter: out of bounds on the good side, by a factor of at most two; brackets: our figure over the paper's.\n",
        );
    }
    if reproduction.rows.iter().any(|row| row.setting.is_some()) {
        text.push_str("\nexplained, or a miss with a figure in brackets: the bracket has our figure under the setting that the cause names.\n");
    }
    for setting in &reproduction.settings {
        let _ = writeln!(text, "{}", one_line(&setting.text()));
    }
    text
}

/// Table with two lines a cell: the flow that makes the choice, and the other flow that loses most.
fn changes(table: &PairedTable) -> String {
    let mut columns = vec![Column::named(one_line(&table.rows_are))];
    columns.extend(table.columns.iter().map(|name| Column::named(one_line(name))));
    let cell = |cell: &Option<PairedCell>| {
        let text = |cell: &PairedCell| format!("{}\n{}", cell.own.text(), one_line(&cell.harm_text()));
        cell.as_ref().map_or("-".to_string(), text)
    };
    let row = |row: &PairedRow| {
        let name = std::iter::once(one_line(&row.name));
        name.chain(row.cells.iter().map(cell)).collect()
    };
    let rows: Vec<Vec<String>> = table.rows.iter().map(row).collect();
    format!(
        "{}\n\n{}\n\nIn percent: upper line, the flow that makes the choice; lower line, the other flow that loses most. ±: 95% \
         interval over seeds; a star: beyond chance, and at least {}%.\n",
        one_line(&table.title),
        text_table::table(&columns, rows),
        number(table.least * 100.0)
    )
}

fn cells(row: &Row, verdict: String) -> Vec<String> {
    let accepted = match (row.low, row.high) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        (Some(low), None) => format!("≥ {}", number(low)),
        (None, Some(high)) => format!("≤ {}", number(high)),
        (None, None) => String::new(),
    };
    vec![
        row.figure.clone().unwrap_or_default(),
        one_line(&row.section),
        one_line(&row.claim),
        row.paper.map(number).unwrap_or_default(),
        row.value.map(number).unwrap_or_default(),
        accepted,
        one_line(&row.unit),
        row.margin.map(percent).unwrap_or_default(),
        verdict,
    ]
}

/// Distance to a bound, in percent of the bound.
fn percent(share: f64) -> String {
    match (share * 100.0, share.abs()) {
        (_, size) if size >= 10.0 => format!("{}1000%", if share < 0.0 { "< -" } else { "> " }),
        (percent, size) if size >= 0.1 => format!("{percent:.0}%"),
        (percent, _) => format!("{percent:.1}%"),
    }
}

/// Number with three digits, the precision of figures in a paper's text.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => trimmed(format!("{value:.1}")),
        size if size >= 1.0 => trimmed(format!("{value:.2}")),
        _ => trimmed(format!("{value:.3}")),
    }
}

/// Number without trailing zeros.
fn trimmed(number: String) -> String {
    number.trim_end_matches('0').trim_end_matches('.').to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        for (value, text) in
            [(170.4, "170"), (20.0, "20"), (2.5, "2.5"), (0.4, "0.4"), (0.0, "0"), (-1.25, "-1.25")]
        {
            assert_eq!(number(value), text);
        }
        for (share, text) in
            [(0.254, "25%"), (0.0026, "0.3%"), (-0.031, "-3.1%"), (44.0, "> 1000%"), (-12.0, "< -1000%")]
        {
            assert_eq!(percent(share), text);
        }
    }
}
