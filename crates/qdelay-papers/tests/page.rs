//! The page of a paper, from what was run.

use qdelay_core::Span;
use qdelay_papers::{self as papers, page};
use qdelay_study::scenario::Overrides;
use qdelay_study::traces::Library;
use qdelay_testing::Folder;
use std::fs;
use std::path::PathBuf;

#[test]
fn a_page_of_a_paper_draws_what_was_run() {
    let folder = Folder::new("paper");
    let overrides = Overrides { duration: Some(Span::from_secs(7)), ..Overrides::default() };
    let paper = papers::find("5g").unwrap();
    let library = Library::new();
    let out = Some(folder.path().to_path_buf());
    let came = papers::reproduce_with(&paper, Some("3.23"), &library, 2, &(), out, &overrides).unwrap();
    assert!(page::is_of_paper(folder.path()));
    let page = page::of(folder.path()).unwrap();
    for figure in ["3.19", "3.20", "3.21", "3.22", "3.23"] {
        assert!(page.contains(&format!("Fig. {figure}</span>")), "{figure}");
    }
    assert!(!page.contains("Fig. 3.29</span>"), "its scenario was not run");
    for row in &came.rows {
        assert!(page.contains(&row.claim), "{}", row.claim);
    }
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
    assert!(page.matches("<figure class=\"chart\">").count() >= 16);
    for wrong in ["NaN", "inf\"", "<script", " src=", "url(", "@import", "<link"] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert_eq!(page, page::of(folder.path()).unwrap());
    if let Some(keep) = std::env::var_os("QDELAY_SCREENSHOTS") {
        fs::write(PathBuf::from(keep).join("paper.html"), page).unwrap();
    }
}

#[test]
fn a_folder_without_verdicts_is_refused() {
    let folder = Folder::new("none");
    let error = page::of(folder.path()).unwrap_err().to_string();
    assert!(error.contains("reproduction.json") && error.contains("qdelay reproduce"), "{error}");
}
