//! How far a command is: a line on standard error, only where that is a terminal, which goes when the work ends; and what
//! is said when the work is interrupted.

use crate::error::one_line;
use crate::output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle, TermLike};
use qdelay_study::engine::Progress;
use rustix::termios::tcgetwinsize;
use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

/// How often the line is drawn at most, each second.
const DRAWN_HZ: u8 = 20;
/// Wider than any line: it is this file that cuts lines.
const LINE_COLUMNS: u16 = 400;
/// At the end of the line, for what the terminal echoes for Ctrl-C.
const ECHO_COLUMNS: usize = 3;

/// Of what is run, of how many cases how many are done, and how long the rest takes. The line goes when this does.
pub struct Bar {
    line: ProgressBar,
    shown: Once,
    /// Cases that were there before: they say nothing of how long the rest takes.
    there: Arc<AtomicU64>,
}

/// How far something was when it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reached {
    /// What is run: the study.
    pub name: String,
    /// Cases that are done, with those that were there before.
    pub done: u64,
    /// All cases.
    pub all: u64,
}

impl Default for Bar {
    /// Not shown before it is known how much there is to do.
    fn default() -> Bar {
        let there = Arc::new(AtomicU64::new(0));
        let line = ProgressBar::hidden();
        let template = "{prefix}: {bar:30} {pos}/{len} cases{rest}{msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            let before = Arc::clone(&there);
            let rest = move |state: &ProgressState, out: &mut dyn fmt::Write| {
                let all = state.len().unwrap_or(0);
                // Writing to a string cannot fail.
                let _ = out.write_str(&rest(before.load(Ordering::Relaxed), state.pos(), all, state.eta()));
            };
            line.set_style(style.with_key("rest", rest));
        }
        Bar { line, shown: Once::new(), there }
    }
}

impl Bar {
    /// Shown from here on, also where there is only one case.
    pub fn show(&self) {
        self.shown.call_once(|| {
            if io::stderr().is_terminal() {
                let line = Box::new(LastLine::default());
                self.line.set_draw_target(ProgressDrawTarget::term_like_with_hz(line, DRAWN_HZ));
            }
        });
        self.line.tick();
    }

    /// What is run, where its name changes on the way.
    pub fn name(&self, name: &str) {
        self.line.set_prefix(one_line(name));
    }

    /// What else is told at the end of the line.
    pub fn tell(&self, text: &str) {
        self.line.set_message(format!(", {text}"));
    }

    /// Does `work`, which may print, with the line away.
    pub fn without(&self, work: impl FnOnce()) {
        self.line.suspend(work);
    }

    /// From here on an interrupt says this, after the line has gone; `say` is told how far the work was, if it had begun.
    pub fn when_interrupted(&self, say: impl FnOnce(Option<Reached>) -> String + Send + 'static) {
        let line = self.line.clone();
        output::when_interrupted(move || {
            // Read before the line is finished, which counts everything as done.
            let reached =
                line.length().map(|all| Reached { name: line.prefix(), done: line.position(), all });
            line.finish_and_clear();
            say(reached)
        });
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}

impl Progress for Bar {
    fn begins(&self, study: &str, cases: u64, there: u64) {
        self.name(study);
        self.there.store(there, Ordering::Relaxed);
        self.line.set_length(cases);
        self.line.set_position(there);
        self.line.reset_eta();
        if cases > 1 || self.shown.is_completed() {
            self.show();
        }
    }
    fn case_done(&self) {
        self.line.inc(1);
    }
}

/// The last line of standard error, which is a terminal. `indicatif` itself fills lines up to the edge, from where the echo of
/// Ctrl-C begins a new one, and nobody knows any more which line is to be taken away.
#[derive(Debug, Default)]
struct LastLine {
    text: Mutex<String>,
}

impl TermLike for LastLine {
    fn width(&self) -> u16 {
        LINE_COLUMNS
    }
    fn move_cursor_up(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_down(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_right(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn move_cursor_left(&self, _: usize) -> io::Result<()> {
        Ok(())
    }
    fn write_line(&self, text: &str) -> io::Result<()> {
        self.write_str(text)
    }
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).push_str(text);
        Ok(())
    }
    fn clear_line(&self) -> io::Result<()> {
        self.text.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(())
    }
    fn flush(&self) -> io::Result<()> {
        let columns = tcgetwinsize(io::stderr()).map_or(80, |size| usize::from(size.ws_col));
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let mut out = io::stderr().lock();
        write!(out, "\r\x1b[2K{}", cut(text.trim_end(), columns.saturating_sub(ECHO_COLUMNS)))?;
        out.flush()
    }
}

/// As much of a line as fits into so many columns.
fn cut(line: &str, columns: usize) -> String {
    let mut left = columns;
    let fits = |letter: &char| {
        // East Asian letters are two columns wide.
        let width = if matches!(u32::from(*letter), 0x1100..=0x115f | 0x2e80..=0xffef) { 2 } else { 1 };
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    line.chars().take_while(fits).collect()
}

/// How long the rest takes, which nobody knows before a case is done; nothing where it is less than a second.
fn rest(there: u64, done: u64, all: u64, estimate: Duration) -> String {
    if done <= there || done >= all || estimate < Duration::from_secs(1) {
        return String::new();
    }
    let seconds = estimate.as_secs();
    let text = match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds} s"),
        (hours, minutes, _) => format!("{hours} h {minutes} min"),
    };
    format!(", {text} left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_the_edge() {
        assert_eq!(cut("five: 1/2", 6), "five: ");
        assert_eq!(cut("五五五", 5), "五五");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn nobody_knows_the_rest_before_a_case_is_done() {
        let after = |done, seconds| rest(3, done, 10, Duration::from_secs(seconds));
        assert_eq!(after(3, 0), "", "cases that were there say nothing");
        assert_eq!(after(3, 7), "");
        assert_eq!(after(4, 7), ", 7 s left");
        assert_eq!(after(4, 0), "");
        assert_eq!(after(10, 7), "");
        assert_eq!(after(5, 125), ", 2 min 5 s left");
        assert_eq!(after(5, 7325), ", 2 h 2 min left");
    }
}
