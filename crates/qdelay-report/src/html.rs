//! The page as one file: styles, uPlot, our script and the data.
//!
//! User text never becomes markup: the title is escaped, the data is in elements that browsers do not execute and that no text in
//! it can end, and the program writes text only as text. The page's policy allows no request
//! and no script other than those that carry its nonce, so that even a fault in that could not do anything.

use super::chart::escape;
use super::document::Document;

const STYLES: [&str; 2] = [include_str!("../assets/vendor/uPlot.min.css"), super::STYLES];

/// In the order they run; each sees the names of those before it.
const SCRIPTS: [&str; 19] = [
    // Its licence asks for its text in every copy.
    concat!(
        "/*\n",
        include_str!("../assets/vendor/uPlot.LICENSE"),
        "*/\n",
        include_str!("../assets/vendor/uPlot.iife.min.js")
    ),
    include_str!("../assets/js/chart.js"),
    include_str!("../assets/js/base.js"),
    include_str!("../assets/js/study.js"),
    include_str!("../assets/js/plot.js"),
    include_str!("../assets/js/together.js"),
    include_str!("../assets/js/plane.js"),
    include_str!("../assets/js/cdf.js"),
    include_str!("../assets/js/series.js"),
    include_str!("../assets/js/viewers.js"),
    include_str!("../assets/js/tables.js"),
    include_str!("../assets/js/table.js"),
    include_str!("../assets/js/differences.js"),
    include_str!("../assets/js/stages.js"),
    include_str!("../assets/js/slices.js"),
    include_str!("../assets/js/parts.js"),
    include_str!("../assets/js/by.js"),
    include_str!("../assets/js/address.js"),
    include_str!("../assets/js/page.js"),
];

/// The head of a page that may load nothing but what `policy` allows.
pub fn head(title: &str, policy: &str, styles: &[&str]) -> String {
    let mut head = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; {policy}; base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"qdelay\">\n<title>{}</title>\n",
        escape(title)
    );
    for style in styles {
        head.push_str(&format!("<style>\n{}\n</style>\n", style.trim_end()));
    }
    head + "</head>\n"
}

pub(super) fn page(document: &Document) -> String {
    let nonce = nonce(document);
    let policy = format!("img-src data: blob:; style-src 'unsafe-inline'; script-src 'nonce-{nonce}'");
    let mut page = head(&document.title, &policy, &STYLES);
    page.push_str(
        "<body>\n<noscript>This report draws its plots with JavaScript, which is off here.</noscript>\n",
    );
    page.push_str("<div id=\"report\"></div>\n");
    data(&mut page, "data", &document.main);
    document.parts.iter().for_each(|(id, content)| data(&mut page, id, content));
    for script in SCRIPTS {
        // A module of the playground too: here its names are those of all scripts.
        let script = script.trim_end().replace("\nexport ", "\n");
        page.push_str(&format!("<script nonce=\"{nonce}\">\n{script}\n</script>\n"));
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// JSON in an element that browsers do not execute. `<` occurs only inside of texts, where it is written as an escape, so the
/// data can neither end the element nor open a comment.
fn data(page: &mut String, id: &str, json: &str) {
    page.push_str(&format!("<script type=\"application/json\" id=\"{id}\">"));
    page.push_str(&json.replace('<', "\\u003c"));
    page.push_str("</script>\n");
}

/// A hash of all data (FNV-1a, 64 bits), which cannot be predicted by a label.
fn nonce(document: &Document) -> String {
    let parts = document.parts.iter().map(|(_, content)| content.as_str());
    let texts = [document.title.as_str(), document.main.as_str()].into_iter().chain(parts);
    let hash = texts.flat_map(str::bytes).fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}
