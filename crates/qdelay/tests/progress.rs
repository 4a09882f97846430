//! Progress of a command as shown on a terminal, and messages after an interrupt.
#![cfg(unix)]

use crate::common::{command, file, folder};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// Study of this many cases with this many simulated seconds each.
fn study(folder: &Path, cases: usize, seconds: usize) -> String {
    let text = format!(
        "[path]\nlink = \"5mbit\"\n[[flow]]\n[run]\nduration = \"{seconds}s\"\nseeds = [{}]\n",
        (1..=cases).map(|seed| seed.to_string()).collect::<Vec<String>>().join(", ")
    );
    file(folder, "walk-home.toml", text)
}

/// Contents of a terminal after each drawing of the program, and at the end.
struct Seen {
    frames: Vec<Vec<String>>,
    last: Vec<String>,
    status: ExitStatus,
}

const COLUMNS: usize = 100;
const CTRL_C: u8 = 3;

/// Terminal lines of 100 columns, with the features that a progress line uses.
#[derive(Default)]
struct Screen {
    lines: Vec<String>,
    row: usize,
    column: usize,
}

impl Screen {
    fn show(&mut self, text: &str) {
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            match c {
                '\r' => self.column = 0,
                '\n' => self.row += 1,
                '\u{1b}' => {
                    assert_eq!(rest.next(), Some('['), "{text:?}");
                    let mut number = String::new();
                    while let Some(digit) = rest.next_if(|c| !c.is_ascii_alphabetic()) {
                        number.push(digit);
                    }
                    let count = number.parse().unwrap_or(1);
                    match rest.next() {
                        Some('A') => self.row = self.row.saturating_sub(count),
                        Some('B') => self.row += count,
                        Some('K') => self.line().clear(),
                        Some('m' | 'h' | 'l') => {}
                        other => panic!("{other:?} in {text:?}"),
                    }
                }
                c => {
                    // Terminals wrap: a character beyond the last column begins a new line.
                    if self.column == COLUMNS {
                        (self.row, self.column) = (self.row + 1, 0);
                    }
                    let column = self.column;
                    let line = self.line();
                    let mut letters: Vec<char> = line.chars().collect();
                    letters.resize(letters.len().max(column + 1), ' ');
                    letters[column] = c;
                    *line = letters.into_iter().collect();
                    self.column += 1;
                }
            }
        }
    }
    fn line(&mut self) -> &mut String {
        let row = self.row;
        self.lines.resize(self.lines.len().max(row + 1), String::new());
        &mut self.lines[row]
    }
}

/// Runs the command with its standard error on a terminal of 100 columns, and presses Ctrl-C once a line satisfies `pressed_at`.
fn on_terminal(arguments: &[&str], pressed_at: Option<fn(&str) -> bool>) -> Seen {
    let mut master = File::from(openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap());
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = OpenOptions::new().read(true).write(true).open(name.to_str().unwrap()).unwrap();
    tcsetwinsize(&slave, Winsize { ws_row: 30, ws_col: COLUMNS as u16, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    // A new session makes the terminal the controlling one.
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(env!("CARGO_BIN_EXE_qdelay")).args(arguments).env("TERM", "xterm");
    let input = slave.try_clone().unwrap();
    let mut child = command.stdin(input).stdout(Stdio::null()).stderr(slave).spawn().unwrap();
    drop(command);
    let mut pressed_at = pressed_at;
    let (mut screen, mut frames, mut buffer) = (Screen::default(), Vec::new(), [0; 4096]);
    // Reading fails once no process has the terminal open.
    let mut pending = Vec::new();
    while let Ok(read @ 1..) = master.read(&mut buffer) {
        pending.extend_from_slice(&buffer[..read]);
        let whole = std::str::from_utf8(&pending).map_or_else(|error| error.valid_up_to(), str::len);
        let text: Vec<u8> = pending.drain(..whole).collect();
        // Several drawings may come at once; each begins at the left edge.
        for drawing in std::str::from_utf8(&text).unwrap().split_inclusive('\r') {
            screen.show(drawing);
            frames.push(screen.lines.clone());
        }
        if pressed_at.is_some_and(|is_time| screen.lines.iter().any(|line| is_time(line))) {
            pressed_at = None;
            master.write_all(&[CTRL_C]).unwrap();
        }
    }
    Seen { frames, last: screen.lines, status: child.wait().unwrap() }
}

fn assert_gone(seen: &Seen) {
    assert!(seen.last.iter().all(|line| line.trim().is_empty()), "left behind: {:?}", seen.last);
}

#[test(waits)]
fn a_study_is_named_and_leaves_no_line() {
    let folder = folder("progress");
    let scenario = study(&folder, 6, 20);
    let out = folder.join("out");
    let seen =
        on_terminal(&["run", &scenario, "--out", out.to_str().unwrap(), "--jobs", "1", "--no-report"], None);
    assert!(seen.status.success());
    let lines: Vec<&String> = seen.frames.iter().flatten().filter(|line| line.contains(" cases")).collect();
    let first = lines.first().unwrap();
    assert!(first.starts_with("walk-home: ") && first.contains(" 0/6 cases"), "{first}");
    assert!(lines.iter().all(|line| line.starts_with("walk-home: ")), "{lines:?}");
    let begun = lines.iter().take_while(|line| line.contains(" 0/6 "));
    assert!(begun.clone().all(|line| !line.contains("left")), "{:?}", begun.collect::<Vec<_>>());
    assert!(lines.iter().all(|line| !line.contains(" 0s left") && !line.contains(" 0 s left")), "{lines:?}");
    assert_gone(&seen);
}

#[test(waits)]
fn an_interrupt_leaves_one_message_and_no_line() {
    // The line is drawn at intervals, so any count after the first case may be seen first.
    let has_begun = |line: &str| line.contains("/10000 ") && !line.contains(" 0/10000 ");
    let arguments = ["compare", "--link", "10mbit", "--seed", "1..1000", "--jobs", "1"];
    let seen = on_terminal(&arguments, Some(has_begun));
    assert_eq!(seen.status.code(), Some(130));
    let text: String = seen.last.concat();
    assert!(text.starts_with("qdelay: interrupted, ") && text.ends_with("cases)"), "{:?}", seen.last);
}

#[test(waits)]
fn a_comparison_leaves_no_line() {
    let seen = on_terminal(&["compare", "--link", "10mbit", "--duration", "5s", "--seed", "1..3"], None);
    assert!(seen.status.success() && seen.frames.iter().flatten().any(|line| line.starts_with("compare: ")));
    assert_gone(&seen);
}

/// Sends an interrupt once `is_time`; returns status and message.
#[allow(clippy::disallowed_methods, reason = "nothing but time tells how far another process is")]
fn interrupted(mut child: Child, is_time: impl Fn() -> bool) -> (Option<i32>, String) {
    while !is_time() {
        assert!(child.try_wait().unwrap().is_none(), "it was done before it was interrupted");
        std::thread::sleep(Duration::from_millis(5));
    }
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), said)
}

fn start(arguments: &[&str]) -> Child {
    command(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Number of complete cases in a folder of results.
fn cases(out: &Path) -> usize {
    let entries = std::fs::read_dir(out.join("cases")).into_iter().flatten().flatten();
    entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')).count()
}

#[test(waits)]
fn an_interrupted_study_says_what_is_kept() {
    let folder = folder("progress-interrupt");
    let scenario = study(&folder, 2000, 60);
    for fresh in [&[][..], &["--fresh"]] {
        let out = folder.join(format!("out{}", fresh.len()));
        let place = out.to_str().unwrap();
        let child = start(&[&["run", &scenario, "--out", place, "--jobs", "1"], fresh].concat());
        let (status, said) = interrupted(child, || cases(&out) >= 2);
        assert_eq!(status, Some(130), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let done: usize =
            said.strip_prefix("qdelay: interrupted: ").unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((1..=cases(&out)).contains(&done), "{said}");
        let command = if fresh.is_empty() { "the same command" } else { "the same command without --fresh" };
        let end = format!(
            "of 2000 cases of walk-home are done and kept in {place}; {command} continues from there\n"
        );
        assert!(said.ends_with(&end), "{said}");
    }
}

#[test(waits)]
fn an_interrupted_comparison_says_that_nothing_is_kept() {
    let child = start(&["compare", "--link", "100mbit", "--duration", "100000s"]);
    let path = format!("/proc/{}/task", child.id());
    // Worker threads exist once cases run; the thread that waits for interrupts is one of the counted threads.
    let threads = || std::fs::read_dir(&path).map_or(0, Iterator::count);
    let (status, said) = interrupted(child, || threads() > 2);
    assert_eq!(status, Some(130), "{said}");
    assert!(said.starts_with("qdelay: interrupted, 0 of 10 cases done; nothing is kept, "), "{said}");
}

#[test(waits)]
fn an_interrupted_paper_says_what_is_kept() {
    let folder = folder("progress-paper");
    for kept in [true, false] {
        let out = folder.join("out");
        let place = out.to_str().unwrap();
        let with_out: &[&str] = if kept { &["--out", place] } else { &[] };
        let temporary = folder.join("temporary");
        std::fs::create_dir_all(&temporary).unwrap();
        let mut child = command(&[&["reproduce", "abe", "--figure", "4", "--jobs", "2"], with_out].concat());
        child.env("TMPDIR", &temporary).stdout(Stdio::null()).stderr(Stdio::piped());
        let child = child.spawn().unwrap();
        let is_under = || cases(&out.join("abe/fig4")) >= 1;
        let scratch = || std::fs::read_dir(&temporary).unwrap().flatten().next().map(|entry| entry.path());
        // Worker threads exist once cases run; the thread that waits for interrupts is one of the counted threads.
        let path = format!("/proc/{}/task", child.id());
        let has_begun = || std::fs::read_dir(&path).map_or(0, Iterator::count) > 2;
        let (status, said) = interrupted(child, || if kept { is_under() } else { has_begun() });
        assert_eq!(status, Some(130), "{said}");
        let end = if kept {
            format!("finished cases are kept in {place}; the same command continues from there\n")
        } else {
            "nothing is kept; with --out DIR the cases are kept, and the same command continues\n".to_string()
        };
        assert!(said.starts_with("qdelay: interrupted") && said.ends_with(&end), "{said}");
        assert_eq!(scratch(), None, "{said}");
    }
}
