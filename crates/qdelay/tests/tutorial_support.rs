//! Pages of `docs` as tests: their commands run in one shell, in a folder, and must print the text on the page.
//!
//! | block | meaning |
//! | --- | --- |
//! | `sh` | commands, none of which may fail; the last command of `sh fails` must; commands of `sh elsewhere` are not run |
//! | `rust` | a part of one of the files that the test names |
//! | `text` | output of the block before it, to the letter; `QDELAY_REGENERATE=1` writes it again |
//! | `text shape` | output except for numbers and the width of columns: packets of real programs differ from run to run |
//! | `toml mine.toml`, `rust a/b.rs` | a file with these contents |
//! | others | not run |
//!
//! A line `...` stands for any number of lines. A picture in the page that a command has made must equal the file beside the page byte for
//! byte.

use crate::common::folder;
use std::fmt::Write;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Environment of a tutorial.
#[allow(dead_code, reason = "each program of tests uses one")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A folder.
    Folder,
    /// A folder with a private network, `/run` and processes, which end with it.
    Namespace,
}

#[derive(Debug, PartialEq, Eq)]
enum Block {
    Quote { text: String },
    Commands { text: String, fails: bool },
    Output { lines: Vec<String>, is_shape: bool, at: std::ops::Range<usize> },
    File { name: String, text: String },
}

/// Blocks of a page, with the line numbers of their outputs.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize)> = None;
    let all: Vec<&str> = page.lines().collect();
    for (number, line) in all.iter().enumerate() {
        let Some(mark) = line.strip_prefix("```") else { continue };
        let Some((info, first)) = open.take() else {
            open = Some((mark, number + 1));
            continue;
        };
        let lines: Vec<String> = all[first..number].iter().map(ToString::to_string).collect();
        let text = lines.iter().fold(String::new(), |text, line| text + line + "\n");
        match info.split_once(' ').unwrap_or((info, "")) {
            ("sh", "elsewhere") => {}
            ("rust", "") => blocks.push(Block::Quote { text }),
            ("sh", option) => blocks.push(Block::Commands { text, fails: option == "fails" }),
            ("text", option) => {
                blocks.push(Block::Output { lines, is_shape: option == "shape", at: first..number });
            }
            (_, "") => {}
            (_, name) => blocks.push(Block::File { name: name.to_string(), text }),
        }
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// Line without variable parts: words with digits are `#`, lines of tables are `─`.
fn shape(line: &str) -> String {
    let word = |word: &str| {
        if word.starts_with('─') {
            "─".to_string()
        } else if word.contains(|character: char| character.is_ascii_digit()) {
            "#".to_string()
        } else {
            word.to_string()
        }
    };
    line.split_whitespace().map(word).collect::<Vec<String>>().join(" ")
}

/// Compares `printed` with `expected`, in which `...` stands for any lines.
fn fits(expected: &[String], printed: &[String]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "..." => {
            (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..]))
        }
        Some((first, rest)) => {
            printed.split_first().is_some_and(|(line, others)| first == line && fits(rest, others))
        }
    }
}

/// Follows the page of `docs` of this name, such as `tutorials/bufferbloat`, in an empty folder, with `programs` as commands beside `qdelay`.
/// `quoted` are the files of the repository that the page shows parts of.
pub fn follow(name: &str, place: Place, programs: &[PathBuf], quoted: &[&str]) {
    let page = root().join("docs").join(format!("{name}.md"));
    follow_page(&page, &folder(&format!("followed-{}", name.replace('/', "-"))), place, programs, quoted);
}

fn root() -> PathBuf {
    let crate_folder = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or(env!("CARGO_MANIFEST_DIR").into());
    Path::new(&crate_folder).join("../..")
}

/// Follows the page in this file in the folder `work` of `outer`, which may hold files of an earlier page.
pub fn follow_page(page_file: &Path, outer: &Path, place: Place, programs: &[PathBuf], quoted: &[&str]) {
    let root = root();
    let pages = page_file.parent().unwrap();
    let page =
        fs::read_to_string(page_file).unwrap_or_else(|error| panic!("{}: {error}", page_file.display()));
    let blocks = blocks(&page);
    let sources: String = quoted.iter().map(|file| fs::read_to_string(root.join(file)).unwrap()).collect();

    let [work, bin, out] = ["work", "bin", "out"].map(|name| outer.join(name));
    let _ = fs::remove_dir_all(&bin);
    let _ = fs::remove_dir_all(&out);
    for folder in [&work, &bin, &out] {
        fs::create_dir_all(folder).unwrap();
    }
    symlink(env!("CARGO_BIN_EXE_qdelay"), bin.join("qdelay")).unwrap();
    for program in programs {
        symlink(program, bin.join(program.file_name().unwrap())).unwrap();
    }

    let mut script = format!("set -uE\ncd '{}'\n", work.display());
    if place == Place::Namespace {
        script.insert_str(0, "ip link set lo up\nmount -t tmpfs none /run\nmkdir -p /run/netns\n");
    }
    for (number, block) in blocks.iter().enumerate() {
        match block {
            Block::Commands { text, fails } => {
                let (file, code) = (out.join(number.to_string()), 10 + number);
                let group = format!("{{\n{text}}} > '{}' 2>&1 < /dev/null", file.display());
                let _ = if *fails {
                    writeln!(script, "trap - ERR\nif {group}; then exit {code}; fi")
                } else {
                    // A failing command in the middle of a block is noticed too.
                    writeln!(script, "trap 'exit {code}' ERR\n{group}")
                };
            }
            Block::File { name, text } => {
                let path = format!("'{name}'");
                let _ = writeln!(
                    script,
                    "mkdir -p \"$(dirname {path})\"\ncat > {path} <<'END_OF_FILE'\n{text}END_OF_FILE"
                );
            }
            Block::Output { .. } | Block::Quote { .. } => {}
        }
    }
    script += "trap - ERR\nkill $(jobs -p) 2>/dev/null\nexit 0\n";
    let script_file = outer.join("script");
    fs::write(&script_file, &script).unwrap();

    let mut command = match place {
        Place::Folder => Command::new("bash"),
        Place::Namespace => {
            let mut command = Command::new("unshare");
            command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "bash"]);
            command
        }
    };
    let path = std::env::var("PATH").unwrap_or_default();
    command.arg(&script_file).env("PATH", format!("{}:{path}", bin.display()));
    command.env("HOME", outer).env("COLUMNS", "100").env_remove("QDELAY_TRACES");
    let output = command.output().unwrap();
    let printed = |number: usize| fs::read_to_string(out.join(number.to_string())).unwrap_or_default();
    let all = || {
        let of = |number: usize| format!("--- block {number}\n{}", printed(number));
        (0..blocks.len()).filter(|number| out.join(number.to_string()).exists()).map(of).collect::<String>()
    };
    assert!(
        output.status.success(),
        "{}: {:?}\n{}\n{}",
        page_file.display(),
        output.status,
        String::from_utf8_lossy(&output.stderr),
        all()
    );

    let is_renewed = std::env::var_os("QDELAY_REGENERATE").is_some();
    let mut lines: Vec<String> = page.lines().map(ToString::to_string).collect();
    let mut last = 0;
    let mut changes = Vec::new();
    for (number, block) in blocks.iter().enumerate() {
        match block {
            Block::Commands { .. } => last = number,
            Block::File { .. } => {}
            Block::Quote { text } => {
                assert!(sources.contains(text.as_str()), "no file of the repository has:\n{text}")
            }
            Block::Output { lines: expected, is_shape, at } => {
                let came: Vec<String> =
                    printed(last).lines().map(|line| line.trim_end().to_string()).collect();
                let shapes = |lines: &[String]| lines.iter().map(|line| shape(line)).collect::<Vec<String>>();
                let is_right =
                    if *is_shape { fits(&shapes(expected), &shapes(&came)) } else { fits(expected, &came) };
                let has_gaps = expected.iter().any(|line| line.trim() == "...");
                // A page that is being written has but dots.
                let is_open = expected.len() == 1 && has_gaps;
                if is_renewed && (is_open || !is_right && !*is_shape && !has_gaps) {
                    changes.push((at.clone(), came));
                } else {
                    assert!(
                        is_right,
                        "{}, line {}: printed was\n{}\ninstead of\n{}",
                        page_file.display(),
                        at.start,
                        came.join("\n"),
                        expected.join("\n")
                    );
                }
            }
        }
    }
    for (at, came) in changes.into_iter().rev() {
        lines.splice(at, came);
    }
    if is_renewed {
        fs::write(page_file, lines.join("\n") + "\n").unwrap();
    }
    pictures(&page, pages, &work, is_renewed);
}

/// Every picture of the page exists, and equals the one that a command made.
fn pictures(page: &str, pages: &Path, work: &Path, is_renewed: bool) {
    let names: Vec<&str> =
        page.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(name, _)| name).collect();
    let is_picture = |name: &&&str| name.ends_with(".svg") || name.ends_with(".png");
    let names: Vec<&&str> = names.iter().filter(is_picture).collect();
    // Pages about algorithms and tutorials have pictures.
    assert!(!names.is_empty() || pages.ends_with("docs"), "the page has no picture");
    for name in names {
        let [shown, made] = [pages.join(name), work.join(name)];
        if is_renewed && made.exists() {
            fs::copy(&made, &shown).unwrap();
        }
        let shown = fs::read(&shown).unwrap_or_else(|error| panic!("{name}: {error}"));
        if made.exists() {
            assert!(
                fs::read(&made).unwrap() == shown,
                "{name} is not as the commands make it: QDELAY_REGENERATE=1 renews it"
            );
        }
    }
}

/// A page with blocks of `sh` has to be followed; `docs/sweeps.md` has a separate test, because its commands need a cluster.
#[test]
fn every_page_with_commands_is_followed() {
    let tests = [include_str!("tutorials.rs"), include_str!("tutorials_real.rs")].concat();
    let docs = root().join("docs");
    for folder in ["", "tutorials/"] {
        let entries = fs::read_dir(docs.join(folder)).unwrap();
        for file in entries
            .map(|entry| entry.unwrap().path())
            .filter(|file| file.extension().is_some_and(|e| e == "md"))
        {
            let name = format!("{folder}{}", file.file_stem().unwrap().to_str().unwrap());
            let has_commands = blocks(&fs::read_to_string(&file).unwrap())
                .iter()
                .any(|block| matches!(block, Block::Commands { .. }));
            assert!(
                !has_commands || name == "sweeps" || tests.contains(&format!("follow(\"{name}\"")),
                "no test follows docs/{name}.md"
            );
        }
    }
}

#[test]
fn shapes_leave_out_what_differs() {
    assert_eq!(shape("down    9.90  99.0  8.6 -"), "down # # # -");
    assert_eq!(shape("───────"), shape("──"));
    let lines = |text: &str| text.lines().map(ToString::to_string).collect::<Vec<String>>();
    assert!(fits(&lines("a\n...\nc"), &lines("a\nb\nb\nc")));
    assert!(fits(&lines("a\n..."), &lines("a")));
    assert!(!fits(&lines("a\n...\nc"), &lines("a\nb")));
    assert!(!fits(&lines("a"), &lines("a\nb")));
}
