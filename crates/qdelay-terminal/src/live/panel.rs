//! A panel at the foot of the terminal while a command runs above it: `qdelay link --live`.
//!
//! On a terminal the last rows are reserved for the panel: a scroll region (DECSTBM) keeps the command's output above these rows, and
//! the window size that the kernel reports to programs is smaller by as many rows, so that full-screen programs do not use them
//! either. Both are restored at the end, and after a panic; after `kill -9` the user has to run `reset`. If standard error is not a
//! terminal, a line is written each second instead.

use super::history::History;
use super::view;
use crate::output::eprintln_line;
use qdelay_emu::control::{Control, Sampler};
use qdelay_emu::snapshot::Snapshot;
use rustix::process::getpgrp;
use rustix::termios::{LocalModes, Winsize, isatty, tcgetattr, tcgetpgrp, tcgetwinsize, tcsetwinsize};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Interval between two updates of the panel.
const PICTURE: Duration = Duration::from_millis(250);
/// Interval between two lines if there is no terminal.
const LINE: Duration = Duration::from_secs(1);
/// Minimum width of a terminal with a panel, in columns.
const COLUMNS_MIN: u16 = 20;

/// Shows the state of a link until it is dropped. The [`Inbox`](qdelay_emu::control::Inbox) has to be dropped before the panel.
#[derive(Debug)]
pub struct Panel {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Panel {
    /// Reserves the panel's rows at once, so that a command that is started next finds the final window size.
    ///
    /// # Errors
    /// No thread can be started.
    pub fn start(control: Control) -> io::Result<Panel> {
        let foot = isatty(io::stderr()).then(Foot::reserve);
        let (stop, stopped) = channel::<()>();
        let show = move || {
            let mut sampler = Sampler::new(control);
            let mut shown = Shown { foot, history: History::default() };
            let every = if shown.foot.is_some() { PICTURE } else { LINE };
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Ok(snapshot) = sampler.snapshot() else { return };
                shown.show(&snapshot);
            }
        };
        let thread = thread::Builder::new().name("live".into()).spawn(show)?;
        Ok(Panel { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Panel {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Shown {
    foot: Option<Foot>,
    history: History,
}

impl Shown {
    fn show(&mut self, snapshot: &Snapshot) {
        self.history.push(snapshot);
        match &mut self.foot {
            Some(foot) => foot.paint(snapshot, &self.history),
            None => eprintln_line(&view::plain(snapshot)),
        }
    }
}

/// The terminal's layout before the panel; the thread that restores it takes this value.
static BEFORE: Mutex<Option<Layout>> = Mutex::new(None);

/// The rows of a terminal, divided between the command and the panel.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Window size of the whole terminal.
    whole: Winsize,
    /// Number of rows of the panel.
    foot: u16,
}

impl Layout {
    fn new(whole: Winsize) -> Layout {
        let foot = if whole.ws_col < COLUMNS_MIN { 0 } else { view::panel_rows(whole.ws_row) };
        Layout { whole, foot }
    }
    /// Number of rows of the command.
    fn top(&self) -> u16 {
        self.whole.ws_row.saturating_sub(self.foot)
    }
    /// Window size reported to the command.
    fn command_size(&self) -> Winsize {
        let Winsize { ws_row, ws_col, ws_xpixel, ws_ypixel } = self.whole;
        let height = u32::from(ws_ypixel) * u32::from(self.top()) / u32::from(ws_row).max(1);
        Winsize { ws_row: self.top(), ws_col, ws_xpixel, ws_ypixel: height as u16 }
    }
}

/// The panel's rows at the foot of standard error, which is a terminal.
struct Foot {
    layout: Layout,
    has_colour: bool,
}

impl Foot {
    fn reserve() -> Foot {
        static HOOK: Once = Once::new();
        // A panic ends the process without dropping values, so the hook restores the terminal.
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                before(info);
            }));
        });
        let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let size = tcgetwinsize(io::stderr()).unwrap_or(Winsize {
            ws_row: 0,
            ws_col: 0,
            ws_xpixel: 0,
            ws_ypixel: 0,
        });
        let mut foot = Foot { layout: Layout::new(size), has_colour };
        foot.arrange(size);
        foot
    }

    /// Divides a terminal of this size into the rows of command and panel.
    fn arrange(&mut self, whole: Winsize) {
        self.layout = Layout::new(whole);
        let Layout { foot, .. } = self.layout;
        if foot > 0 {
            let mut text = String::new();
            // Scrolling moves the contents of the panel's rows up, together with the cursor, which keeps its column.
            text.push_str("\x1b7\x1b[r\x1b8");
            (0..foot).for_each(|_| text.push_str("\x1bD"));
            let _ = write!(text, "\x1b[{foot}A\x1b7\x1b[1;{}r\x1b8", self.layout.top());
            write(&text);
            let _ = tcsetwinsize(io::stderr(), self.layout.command_size());
        }
        *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(self.layout);
    }

    fn paint(&mut self, snapshot: &Snapshot, history: &History) {
        if would_stop_us() {
            return;
        }
        if let Ok(size) = tcgetwinsize(io::stderr()) {
            let command_size = self.layout.command_size();
            // A size other than the one set here is the terminal's new real size.
            if (size.ws_row, size.ws_col) != (command_size.ws_row, command_size.ws_col) {
                self.arrange(size);
            }
        }
        let Layout { whole, foot } = self.layout;
        if foot == 0 {
            return;
        }
        let width = usize::from(whole.ws_col);
        // The scroll region is set each time, because programs that have ended may have reset it.
        let mut text = format!("\x1b7\x1b[1;{}r", self.layout.top());
        for (row, line) in (self.layout.top() + 1..).zip(view::panel(snapshot, history, width, foot)) {
            let _ = write!(text, "\x1b[{row};1H\x1b[0m\x1b[2K{}", line.render(width, self.has_colour));
        }
        text.push_str("\x1b8");
        write(&text);
    }
}

impl Drop for Foot {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the whole terminal; only the first call has an effect.
fn restore() {
    // If the lock is held, another thread is painting for the last time, or has panicked while holding it.
    let Ok(Some(layout)) = BEFORE.try_lock().map(|mut before| before.take()) else { return };
    if layout.foot == 0 {
        return;
    }
    let mut text = "\x1b7\x1b[r".to_string();
    for row in layout.top() + 1..=layout.whole.ws_row {
        let _ = write!(text, "\x1b[{row};1H\x1b[0m\x1b[2K");
    }
    text.push_str("\x1b8");
    // If the terminal was resized meanwhile, its new size is kept.
    let is_ours = tcgetwinsize(io::stderr()).is_ok_and(|size| size.ws_row == layout.command_size().ws_row);
    if is_ours {
        let _ = tcsetwinsize(io::stderr(), layout.whole);
    }
    if !would_stop_us() {
        write(&text);
    }
}

/// True if writing to the terminal would stop this process and its data thread: another process group is in the foreground, and
/// `tostop` is set.
fn would_stop_us() -> bool {
    let is_set = tcgetattr(io::stderr()).is_ok_and(|modes| modes.local_modes.contains(LocalModes::TOSTOP));
    is_set && tcgetpgrp(io::stderr()).is_ok_and(|group| group != getpgrp())
}

/// Writes `text` in one call, so that the command's output does not come in between. A closed terminal is not an error.
fn write(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
