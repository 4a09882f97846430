//! The rows of UEs, and what goes upwards where calls are selected.

use super::fixture::{self, Fixture, texts};
use super::{PAINTED, assert_quiet, open, report_of, screenshot, start};
use serde_json::json;
use std::fs;

#[test(Browser)]
fn each_ue_has_a_row_a_box_and_a_curve() {
    let (scratch, mut page) = start("by-ue");
    let fixture = Fixture {
        cell: true,
        ues: 12,
        groups: texts(&["call", "file"]),
        qdiscs: texts(&["taildrop", "codel"]),
        transports: texts(&["cubic"]),
        calls: true,
        ..Fixture::default()
    };
    open(&scratch, &mut page, &fixture);
    page.eval("document.getElementById('by').scrollIntoView()");
    page.wait("qdelayReport.plots().filter(({ kind }) => kind === 'by').length === 2");
    page.wait(PAINTED);
    let names = "[...document.querySelectorAll('#by tr[data-by]')].map((row) => row.dataset.by)";
    let wanted: Vec<String> = (0..24).map(|row| format!("ue-{}", row % 12 + 1)).collect();
    assert_eq!(page.eval(names), json!(wanted), "in the order of their numbers");
    assert_eq!(page.eval("document.querySelectorAll('#by .delay-box').length"), json!(24));
    assert_eq!(page.eval("qdelayReport.plots().find(({ kind }) => kind === 'by').series"), json!(12));
    let within = "[...document.querySelectorAll('#by thead th')].findIndex((head) => head.textContent.startsWith('In budget'))";
    let cell = |row: usize| {
        format!("document.querySelectorAll('#by tr[data-by]')[{row}].cells[{within}].textContent")
    };
    assert_eq!([page.eval(&cell(0)), page.eval(&cell(1))], [json!("100"), json!("50.0")]);
    screenshot(&mut page, "by-ue");
    // Groups have rows too, without anything more in the file.
    page.eval("document.querySelector('#by input[value=group]').click()");
    assert_eq!(page.eval(names), json!(["call", "file", "call", "file"]));
    page.wait("location.hash.includes('by=group')");
    page.eval("document.querySelector('[data-axis=\"path.qdisc\"] input').click()");
    page.wait("document.querySelectorAll('#by tr[data-by]').length === 2");
    assert_quiet(&page);
}

#[test(Browser)]
fn of_calls_their_score_goes_upwards() {
    let (scratch, mut page) = start("calls");
    open(
        &scratch,
        &mut page,
        &Fixture { groups: texts(&["call", "file"]), calls: true, ..Fixture::default() },
    );
    let up = "qdelayReport.plots().find(({ kind }) => kind === 'plane')?.axes[1]";
    let checked = "document.querySelector('input[name=rate]:checked').value";
    let tick = |label: &str| {
        format!(
            "[...document.querySelectorAll('[data-axis=flows] label')].find((label) => label.textContent === '{label}').querySelector('input').click()"
        )
    };
    page.wait(&format!("{up}?.startsWith('Throughput')"));
    page.eval(&tick("call"));
    assert_eq!(page.eval(checked), json!("throughput"), "all flows beside the calls");
    page.eval(&tick("all flows"));
    page.wait(&format!("{up}?.startsWith('Mean opinion score')"));
    assert_eq!(page.eval(checked), json!("mos"));
    page.wait(PAINTED);
    screenshot(&mut page, "calls");
    page.eval(&tick("file"));
    page.wait(&format!("{up}?.startsWith('Throughput')"));
    // What was chosen stays.
    page.eval("document.querySelector('input[name=rate][value=loss]').click()");
    page.wait(&format!("{up}?.startsWith('Packets lost')"));
    page.eval(&tick("file"));
    page.wait("location.hash.includes('rate=loss')");
    assert_eq!(page.eval(checked), json!("loss"));
    assert_quiet(&page);
}

#[test(Browser)]
fn rows_of_many_cases_are_a_small_part_of_the_page() {
    let (scratch, _page) = start("by-many");
    let traces: Vec<String> = (0..40).map(|number| format!("trace-{number}")).collect();
    let few = Fixture { traces, bins: 20, cell: true, ..Fixture::default() };
    let size = |fixture: &Fixture, name: &str| {
        let folder = fixture::write(&scratch.0, name, fixture);
        fs::metadata(report_of(&scratch.0, &[folder])).unwrap().len()
    };
    let (without, with) = (size(&few, "without"), size(&Fixture { ues: 40, ..few.clone() }, "with"));
    // 12,800 rows, of which 2,000 are kept.
    assert!(with > without && with - without < 500_000, "{without} {with}");
}
