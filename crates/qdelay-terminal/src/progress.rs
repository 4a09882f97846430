//! Progress of a command: a line on standard error, only if standard error is a terminal, which disappears when the work ends; and
//! the message for an interrupt.

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

/// Maximum redraws per second.
const DRAWN_HZ: u8 = 20;
/// Width of the line for `indicatif`, above that of any line, because this module truncates lines itself.
const LINE_COLUMNS: u16 = 400;
/// Number of columns reserved at the end of the line for the terminal's echo of Ctrl-C.
const ECHO_COLUMNS: usize = 3;

/// Progress line with the name of the study, the number of finished cases and the remaining time. The line disappears when the bar is
/// dropped.
pub struct Bar {
    line: ProgressBar,
    shown: Once,
    /// Number of cases finished before this run, which the estimate of the remaining time excludes.
    there: Arc<AtomicU64>,
}

/// Progress of a study at an interrupt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudyProgress {
    /// Name of the study.
    pub name: String,
    /// Number of finished cases, including those of earlier runs.
    pub done: u64,
    /// Number of all cases.
    pub all: u64,
}

impl Default for Bar {
    /// Creates a bar that is hidden until the number of cases is known.
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
    /// Shows the line from now on, even for a single case.
    pub fn show(&self) {
        self.shown.call_once(|| {
            if io::stderr().is_terminal() {
                let line = Box::new(LastLine::default());
                self.line.set_draw_target(ProgressDrawTarget::term_like_with_hz(line, DRAWN_HZ));
            }
        });
        self.line.tick();
    }

    /// Sets the name of the study, if the name changes during the work.
    pub fn set_name(&self, name: &str) {
        self.line.set_prefix(one_line(name));
    }

    /// Sets a message at the end of the line.
    pub fn set_message(&self, text: &str) {
        self.line.set_message(format!(", {text}"));
    }

    /// Runs `work`, which may print, while the line is hidden.
    pub fn suspend(&self, work: impl FnOnce()) {
        self.line.suspend(work);
    }

    /// Registers `say`, whose text an interrupt prints after the line has disappeared; `say` gets the progress, if the work has begun.
    pub fn when_interrupted(&self, say: impl FnOnce(Option<StudyProgress>) -> String + Send + 'static) {
        let line = self.line.clone();
        output::when_interrupted(move || {
            // The count is read before finishing the line, which sets all cases to finished.
            let reached =
                line.length().map(|all| StudyProgress { name: line.prefix(), done: line.position(), all });
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
        self.set_name(study);
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
    fn warns(&self, line: &str) {
        self.line.suspend(|| output::eprintln_line(line));
    }
}

/// Last line of standard error, which is a terminal. `indicatif` itself fills lines up to the edge, where the echo of Ctrl-C wraps to
/// a new line, so that the wrong line would be cleared.
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

/// Truncates a line to a number of columns.
fn cut(line: &str, columns: usize) -> String {
    let mut left = columns;
    let fits = |letter: &char| {
        // East Asian characters are two columns wide.
        let width = if matches!(u32::from(*letter), 0x1100..=0x115f | 0x2e80..=0xffef) { 2 } else { 1 };
        let fits = width <= left;
        left = left.saturating_sub(width);
        fits
    };
    line.chars().take_while(fits).collect()
}

/// Estimated remaining time as text; empty before a case has finished, and for less than a second.
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
    fn lines_are_truncated_at_the_edge() {
        assert_eq!(cut("five: 1/2", 6), "five: ");
        assert_eq!(cut("五五五", 5), "五五");
        assert_eq!(cut("", 0), "");
    }

    #[test]
    fn remaining_time_is_unknown_before_a_case_is_done() {
        let after = |done, seconds| rest(3, done, 10, Duration::from_secs(seconds));
        assert_eq!(after(3, 0), "", "cases of earlier runs give no estimate");
        assert_eq!(after(3, 7), "");
        assert_eq!(after(4, 7), ", 7 s left");
        assert_eq!(after(4, 0), "");
        assert_eq!(after(10, 7), "");
        assert_eq!(after(5, 125), ", 2 min 5 s left");
        assert_eq!(after(5, 7325), ", 2 h 2 min left");
    }
}
