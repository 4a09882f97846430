//! The files of a result folder, as a report reads them: parts of the input, each after a line `=== NAME`, are the folder's
//! `summary.json`, the `run.json` and `case.json` (the `summary.json`) of its only case `0`, and a paper's `reproduction.json`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qdelay_papers::page;
use qdelay_report::{self as report, Options};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A folder of this process, in memory where the system has such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let folder = base.join(format!("qdelay-fuzz-{}", std::process::id()));
    fs::create_dir_all(folder.join("cases/0")).expect("a folder for results");
    folder
});

fuzz_target!(|text: &str| {
    for part in text.split("=== ").skip(1) {
        let (name, contents) = part.split_once('\n').unwrap_or((part, ""));
        let place = match name.trim() {
            "summary.json" => "summary.json",
            "run.json" => "cases/0/run.json",
            "case.json" => "cases/0/summary.json",
            "reproduction.json" => "reproduction.json",
            _ => continue,
        };
        fs::write(FOLDER.join(place), contents).expect("a file of a result");
    }
    let folders = [FOLDER.clone()];
    for result in [
        report::html(&folders, &Options::default()),
        report::html(&folders, &Options { series_bins: 10, ..Options::default() }),
        page::from_folder(&FOLDER),
    ] {
        if let Err(error) = result {
            let line = error.to_string();
            assert!(!line.contains('\n') && line.contains("expected"), "{line}");
        }
    }
    if let Ok(pictures) = report::svg(&folders, &Options::default()) {
        assert!(pictures.iter().all(|(_, picture)| picture.contains("<svg")));
    }
    for place in ["summary.json", "cases/0/run.json", "cases/0/summary.json", "reproduction.json"] {
        let _ = fs::remove_file(FOLDER.join(place));
    }
});
