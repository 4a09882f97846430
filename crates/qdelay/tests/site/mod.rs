//! The documentation as a site: `docs/site/build` makes it, and fails where a page is in no part of the navigation, where Sphinx warns, or where a link of the
//! site or of the repository's Markdown leads nowhere. The playground and other slow parts are left out. The built site is checked in a
//! browser.

#[allow(dead_code, reason = "tests of other crates use the rest")]
mod devtools;

use crate::architecture::root;
use crate::common::folder;
use devtools::Page;
use qdelay_testing::{Need, skip};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::{env, fs};

/// Prefix of the script's message about a missing program.
const LACKS: i32 = 77;

/// The site, or the missing programs. Built once, by the first test that needs it.
static SITE: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    let out = folder("site").join("html");
    let output = Command::new(root().join("docs/site/build"))
        .arg("--quick")
        .arg(&out)
        .env("QDELAY_COMMAND", env!("CARGO_BIN_EXE_qdelay"))
        .output()
        .expect("bash runs");
    let (said, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(LACKS) {
        return Err(said.lines().last().unwrap_or_default().to_string());
    }
    assert!(output.status.success(), "{said}\n{errors}");
    Ok(out)
});

fn site() -> &'static Path {
    match &*SITE {
        Ok(site) => site,
        Err(lacks) => skip(Need::Python, lacks.as_str()),
    }
}

#[test(Site)]
fn the_site_is_built_and_its_links_lead_somewhere() {
    let site = site();
    let page =
        |name: &str| fs::read_to_string(site.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    // Generated pages equal the command's output.
    assert!(page("reference/qdisc.html").contains("longest sojourn that is served"));
    assert!(page("reference/command-run.html").contains("--seeds"));
    assert!(page("reference/scenarios-demo.html").contains("demo/first"));
    assert!(page("tutorials/bufferbloat.html").contains("href=\"program-behind-a-link.html\""));
    assert!(page("code/crates/qdelay-core/src/qdisc/bode.rs.html").contains("BoDe"));
}

/// Search words of readers, and the page that explains them: it must be among the first three results, with the words in the shown
/// sentence.
const SEARCHES: [(&str, &str); 12] = [
    ("intervals", "measures"),
    ("p95", "glossary"),
    ("ECN", "glossary"),
    ("MOS", "voice"),
    ("jitter", "algorithms/impairments"),
    ("mm-link", "from-mahimahi"),
    ("which queue for a game", "which"),
    ("bufferbloat", "tutorials/bufferbloat"),
    ("RPM", "measures"),
    ("trace format", "scenarios"),
    ("drop reasons", "measures"),
    ("cite", "cite"),
];

/// The cited version is that of the workspace.
#[test]
fn the_citation_has_the_version() {
    let read = |name: &str| fs::read_to_string(root().join(name)).expect(name);
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("CITATION.cff", format!("\nversion: {version}\n")),
        ("docs/cite.md", format!("version = {{{version}}}")),
    ] {
        assert!(read(file).contains(&line), "{file}: expected {version}");
    }
}

/// Saves a screenshot if `QDELAY_SCREENSHOTS` names a folder.
fn screenshot(page: &mut Page, name: &str) {
    let Some(folder) = env::var_os("QDELAY_SCREENSHOTS") else { return };
    fs::create_dir_all(&folder).unwrap();
    let picture = devtools::base64(&page.screenshot(false));
    fs::write(Path::new(&folder).join(format!("site-{}.png", name.replace('/', "-"))), picture).unwrap();
}

#[test(Site)]
fn pages_fit_a_phone_and_a_search_works_from_the_disk() {
    let Some(program) = devtools::find() else {
        skip(Need::Browser, "no Chromium in PATH, and QDELAY_BROWSER names none");
    };
    let site = site();
    let mut page = Page::open(&program, &folder("site-profile"), 1200, 900);
    let open = |page: &mut Page, name: &str| {
        page.go(&site.join(name).display().to_string());
        page.wait("document.readyState === 'complete'");
    };
    for name in [
        "index",
        "first-hour",
        "from-mahimahi",
        "algorithms/codel",
        "tutorials/bufferbloat",
        "lying",
        "reference/qdisc",
    ] {
        for width in [1200, 400] {
            page.resize(width, 900);
            open(&mut page, &format!("{name}.html"));
            let beside =
                page.eval("document.documentElement.scrollWidth - document.documentElement.clientWidth");
            assert_eq!(beside, json!(0), "{name} at {width} pixels: to be scrolled sideways");
            for dark in [false, true] {
                page.dark(dark);
                // Text and background have enough contrast in both schemes.
                let lightness = "(name) => getComputedStyle(document.body)[name].match(/\\d+/g).slice(0, 3).map(Number).reduce((sum, part) => sum + part) / 765";
                let apart = page
                    .eval(&format!("Math.abs(({lightness})('color') - ({lightness})('backgroundColor'))"));
                assert!(apart.as_f64().is_some_and(|apart| apart > 0.6), "{name}, dark {dark}: {apart}");
                screenshot(&mut page, &format!("{name}-{width}-{}", if dark { "dark" } else { "light" }));
            }
            page.dark(false);
        }
        assert_eq!(page.complaints(), Vec::<String>::new(), "{name}");
        let others: Vec<String> = page
            .requests()
            .into_iter()
            .filter(|url| !url.starts_with("file:") && !url.starts_with("data:"))
            .collect();
        assert_eq!(others, Vec::<String>::new(), "{name} asks others");
    }
    // The key that opens the search from any page.
    page.key("/");
    page.wait("document.activeElement?.type === 'search' || document.activeElement?.name === 'q'");
    for (words, wanted) in SEARCHES {
        open(&mut page, &format!("search.html?q={}", words.replace(' ', "+")));
        page.wait(
            "document.querySelector('#search-results .search-summary')?.textContent.includes('finished')",
        );
        let found = page.eval("[...document.querySelectorAll('#search-results li')].slice(0, 3).map((item) => [item.querySelector('a').getAttribute('href'), item.querySelectorAll('p mark').length])");
        let is_wanted = |item: &Value| {
            item[0].as_str().is_some_and(|href| href.split(['.', '#']).next() == Some(wanted))
                && item[1].as_u64() > Some(0)
        };
        assert!(
            found.as_array().is_some_and(|items| items.iter().any(is_wanted)),
            "'{words}': expected {wanted}, found {found}"
        );
        screenshot(&mut page, &format!("search-{}", words.replace(' ', "-")));
    }
}
