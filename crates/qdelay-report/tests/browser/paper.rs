//! The report on paper: by the pixels of the page as it is laid out for print, and of a PDF.

use super::fixture::Fixture;
use super::{PAINTED, assert_quiet, open, start};
use qdelay_testing::{Need, skip, test};
use std::path::Path;
use std::process::Command;
use std::{env, fs};

/// Of each plot in a picture of the whole page: its kind, and the share of its columns of pixels in which something has a colour.
const COLOURED: &str = "(async () => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + PICTURE;
    await image.decode();
    const copy = new OffscreenCanvas(image.width, image.height).getContext('2d', { willReadFrequently: true });
    copy.drawImage(image, 0, 0);
    return [...document.querySelectorAll('.plot-body')].map((body) => {
        const box = body.getBoundingClientRect();
        const [width, height] = [Math.floor(box.width), Math.floor(box.height)];
        const { data } = copy.getImageData(Math.round(box.left + scrollX), Math.round(box.top + scrollY), width, height);
        const columns = new Set();
        for (let at = 0; at < data.length; at += 4) {
            const parts = [data[at], data[at + 1], data[at + 2]];
            if (Math.max(...parts) - Math.min(...parts) > 60) columns.add((at / 4) % width);
        }
        return [body.frame.spec.kind, columns.size / width, box.right <= document.documentElement.clientWidth];
    }); })()";

#[test(Browser)]
fn paper_has_every_plot_whole_and_light() {
    let (scratch, mut page) = start("paper");
    open(&scratch, &mut page, &Fixture::default());
    let wide = page.eval("qdelayReport.plots()[0].canvas.width").as_u64().unwrap();
    for (dark, window) in [(false, 1400), (true, 1400), (false, 420)] {
        page.resize(window, 1000);
        page.dark(dark);
        page.wait(PAINTED);
        // As browsers do it: the page is told, and then laid out on paper.
        page.eval("dispatchEvent(new Event('beforeprint'))");
        page.paper(Some(718));
        let picture = page.screenshot(true);
        let found = page.eval(&COLOURED.replace("PICTURE", &format!("'{picture}'")));
        let plots = found.as_array().unwrap();
        assert_eq!(plots.len(), 2 + 3 * 8);
        for plot in plots {
            // Eight marks are in few columns; lines are in all but those of the axis and of an empty queue.
            let least = if plot[0] == "plane" { 0.05 } else { 0.4 };
            assert!(plot[1].as_f64().unwrap() >= least, "dark {dark}, window {window}: {found}");
            assert_eq!(plot[2], true, "within the paper: {found}");
        }
        if let Some(folder) = env::var_os("QDELAY_SCREENSHOTS") {
            let name = format!("paper-{window}-{}.png.base64", if dark { "dark" } else { "light" });
            fs::write(Path::new(&folder).join(name), picture).unwrap();
        }
        page.eval("dispatchEvent(new Event('afterprint'))");
        page.paper(None);
        page.wait(&format!("qdelayReport.plots()[0]?.canvas.width === {wide}"));
    }
    assert_quiet(&page);
}

/// Pixels of a PPM (P6) that have a colour.
fn coloured(picture: &[u8]) -> usize {
    let mut at = 0;
    for _ in 0..4 {
        at += picture[at..].iter().position(u8::is_ascii_whitespace).unwrap() + 1;
    }
    let has_colour = |pixel: &&[u8]| pixel.iter().max().unwrap() - pixel.iter().min().unwrap() > 60;
    picture[at..].chunks_exact(3).filter(has_colour).count()
}

#[test(Browser)]
fn a_pdf_has_the_lines_over_time() {
    let (scratch, mut page) = start("pdf");
    if Command::new("pdftoppm").arg("-v").output().is_err() {
        skip(Need::Tools, "no pdftoppm (poppler-utils) in PATH");
    }
    open(&scratch, &mut page, &Fixture::default());
    let (file, pages) = (scratch.0.join("page.pdf"), scratch.0.join("pages"));
    fs::write(&file, page.pdf()).unwrap();
    fs::create_dir_all(&pages).unwrap();
    let mut command = Command::new("pdftoppm");
    assert!(command.args(["-r", "96"]).arg(&file).arg(pages.join("p")).status().unwrap().success());
    let pages = fs::read_dir(&pages).unwrap();
    let all: usize = pages.map(|page| coloured(&fs::read(page.unwrap().path()).unwrap())).sum();
    // The lines of 24 plots over time, of about 300 pixels each, are most of what has a colour.
    assert!(all > 24 * 300 * 4, "{all} pixels have a colour");
    assert_quiet(&page);
}
