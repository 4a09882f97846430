//! What lies at one place, and what has a colour of its own: by the pixels of the plots.

use super::devtools::Page;
use super::fixture::{Fixture, texts};
use super::{PAINTED, assert_quiet, open, screenshot, start};
use qdelay_testing::test;
use serde_json::Value;

/// How many pixels of each of these colours (`r g b`) the canvas of the first plot of a kind has.
fn pixels(page: &mut Page, kind: &str, colours: &[&str]) -> Vec<u64> {
    let expression = format!(
        "(() => {{
            const {{ canvas }} = qdelayReport.plots().find((plot) => plot.kind === '{kind}');
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', {{ willReadFrequently: true }});
            copy.drawImage(canvas, 0, 0);
            const {{ data }} = copy.getImageData(0, 0, canvas.width, canvas.height);
            const counts = new Map({colours:?}.map((colour) => [colour, 0]));
            for (let at = 0; at < data.length; at += 4) {{
                const colour = `${{data[at]}} ${{data[at + 1]}} ${{data[at + 2]}}`;
                if (data[at + 3] > 200 && counts.has(colour)) counts.set(colour, counts.get(colour) + 1);
            }}
            return [...counts.values()];
        }})()"
    );
    page.eval(&expression).as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
}

#[test(Browser)]
fn what_coincides_is_seen_all_the_same() {
    let (scratch, mut page) = start("twins");
    let fixture = Fixture { twins: true, transports: texts(&["cubic", "bbr"]), ..Fixture::default() };
    open(&scratch, &mut page, &fixture);
    page.wait(PAINTED);
    let (codel, pie) = ("213 94 0", "0 158 115");
    for kind in ["plane", "cdf"] {
        let counts = pixels(&mut page, kind, &[codel, pie]);
        assert!(counts.iter().all(|count| *count > 60), "{kind}: {counts:?}");
        let (least, most) = (counts.iter().min().unwrap(), counts.iter().max().unwrap());
        assert!(most / least <= 4, "{kind}: {counts:?}");
    }
    let notes = page.eval("[...document.querySelectorAll('.notice')].map((note) => note.textContent)");
    let same = "codel and pie have equal results: every figure is equal, and their curves coincide.";
    assert!(notes.as_array().unwrap().iter().any(|note| note.as_str().unwrap().starts_with(same)), "{notes}");
    // What lies at the place of the second mark is named beside its figures.
    let place = page.eval(
        "(() => { const { canvas } = qdelayReport.plots().find(({ kind }) => kind === 'plane');
            const box = canvas.getBoundingClientRect();
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d');
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            for (let at = 0; at < data.length; at += 4) {
                if (data[at] === 213 && data[at + 1] === 94 && data[at + 2] === 0) {
                    const pixel = at / 4;
                    return [box.left + pixel % canvas.width, box.top + Math.floor(pixel / canvas.width)];
                }
            } })()",
    );
    page.mouse("mouseMoved", place[0].as_f64().unwrap(), place[1].as_f64().unwrap() + 4.0, 0, false);
    page.wait("document.querySelector('.hint').textContent.includes('Same placepie')");
    page.mouse("mouseMoved", 5.0, 5.0, 0, false);
    screenshot(&mut page, "twins");
    page.eval("document.querySelector('input[name=overlay]').click(); document.getElementById('time').scrollIntoView()");
    page.wait("qdelayReport.plots().some(({ kind, name }) => kind === 'delay' && name === 'delay overlaid')");
    page.wait(PAINTED);
    let counts = pixels(&mut page, "rate", &[codel, pie]);
    assert!(counts.iter().all(|count| *count > 60), "overlaid: {counts:?}");
    assert_quiet(&page);
}

#[test(Browser)]
fn drops_and_marks_have_no_colour_of_a_line() {
    let (scratch, mut page) = start("events");
    let qdiscs = ["taildrop", "codel", "pie", "bode", "red", "sfq", "drr", "fq_codel"];
    open(
        &scratch,
        &mut page,
        &Fixture { qdiscs: texts(&qdiscs), transports: texts(&["cubic"]), ..Fixture::default() },
    );
    for dark in [false, true] {
        page.dark(dark);
        page.eval("document.getElementById('time').scrollIntoView()");
        page.wait("qdelayReport.plots().some(({ kind }) => kind === 'backlog')");
        // Plots are drawn anew some frames after the browser said that it is dark.
        page.wait(
            "(() => { const box = document.createElement('i');
                box.style.background = getComputedStyle(document.documentElement).getPropertyValue('--drops');
                const legend = [...document.querySelectorAll('.plot-backlog .u-series')].filter((row) => row.textContent.includes('drops'));
                return legend.length > 0 && legend.every((row) => row.querySelector('.u-marker').style.background.includes(box.style.background)); })()",
        );
        let colours = page.eval(
            "(() => { const lines = [...document.querySelectorAll('.key .swatch path')].map((path) => path.getAttribute('fill'));
                const root = getComputedStyle(document.documentElement);
                const events = ['--drops', '--marks'].map((name) => root.getPropertyValue(name).trim());
                return { lines, events }; })()",
        );
        let lines = colours["lines"].as_array().unwrap();
        assert!(lines.len() >= 8, "{colours}");
        let numbers = |colour: &Value| {
            let text = colour.as_str().unwrap().trim_start_matches('#');
            [0, 2, 4].map(|at| i32::from_str_radix(&text[at..at + 2], 16).unwrap())
        };
        for event in colours["events"].as_array().unwrap() {
            let near = |line: &&Value| {
                numbers(line).iter().zip(numbers(event)).map(|(a, b)| (a - b).abs()).sum::<i32>() < 90
            };
            assert_eq!(lines.iter().find(near), None, "{event}, dark {dark}");
        }
    }
    assert_quiet(&page);
}
