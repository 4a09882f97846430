//! `qdelay live SOCKET`: a view over the whole terminal, a line for each interval if there is no terminal, or JSON.

use crate::error::{Failure, one_line};
use crate::live::control::client::Client;
use crate::live::history::History;
use crate::live::view;
use crate::output;
use qdelay_core::Span;
use qdelay_emu::snapshot::Snapshot;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::fmt::Write as _;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;

/// Maximum reaction time to a key.
const KEY_WAIT: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
/// Number of columns if there is no terminal.
const COLUMNS: usize = 80;
/// Exit status after SIGINT (128 + 2).
const INTERRUPTED: u8 = 130;

/// Options of `qdelay live`.
#[derive(Clone, Debug)]
pub struct Options {
    /// Path of the control socket.
    pub socket: PathBuf,
    /// Interval between two snapshots.
    pub interval: Span,
    /// Prints one snapshot and exits.
    pub once: bool,
    /// Prints JSON, a line for each snapshot.
    pub json: bool,
}

/// Shows the link at the other end of the socket.
///
/// # Errors
/// No process serves the socket, or the user interrupts the view.
pub fn run(options: &Options) -> Result<(), Failure> {
    let mut client = Client::connect(&options.socket)?;
    client.watch(options.interval.as_millis())?;
    if options.once {
        return once(&mut client, options);
    }
    if options.json || !isatty(io::stdout()) {
        return lines(&mut client, options.json);
    }
    whole(client, options)
}

/// Prints the second snapshot, because the interval of the first is all the time before.
fn once(client: &mut Client, options: &Options) -> Result<(), Failure> {
    let Some(first) = client.next_snapshot()? else {
        return Err(Failure::Check("the link has ended".to_string()));
    };
    let snapshot = client.next_snapshot()?.unwrap_or(first);
    if options.json {
        let text =
            serde_json::to_string_pretty(&snapshot).map_err(|error| Failure::Check(error.to_string()))?;
        return output::print(&(text + "\n"));
    }
    let lines = view::report(&snapshot, COLUMNS);
    output::print(
        &lines
            .iter()
            .map(|line| line.render(COLUMNS, false).trim_end().to_string() + "\n")
            .collect::<String>(),
    )
}

fn lines(client: &mut Client, json: bool) -> Result<(), Failure> {
    output::exit_when_interrupted();
    while let Some(snapshot) = client.next_snapshot()? {
        let line =
            if json { serde_json::to_string(&snapshot).unwrap_or_default() } else { view::plain(&snapshot) };
        output::print(&(line + "\n"))?;
    }
    Ok(())
}

fn whole(mut client: Client, options: &Options) -> Result<(), Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        // Without the handler the signal ends the process without restoring the terminal.
        let _ = signal_hook::flag::register(signal, interrupted.clone());
    }
    let (tell, snapshots) = channel();
    let read = move || {
        loop {
            let next = client.next_snapshot();
            let is_last = !matches!(next, Ok(Some(_)));
            if tell.send(next).is_err() || is_last {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("socket".into())
        .spawn(read)
        .map_err(|error| Failure::input("qdelay live", error))?;
    let screen = Screen::enter();
    let (mut history, mut latest): (History, Option<Snapshot>) = (History::default(), None);
    let source = one_line(&options.socket.display().to_string());
    let mut size = (0, 0);
    let failure = loop {
        match snapshots.try_recv() {
            Ok(Ok(Some(snapshot))) => {
                history.push(&snapshot);
                latest = Some(snapshot);
                size = (0, 0);
                continue;
            }
            Ok(Ok(None)) | Err(TryRecvError::Disconnected) => break None,
            Ok(Err(failure)) => break Some(failure),
            Err(TryRecvError::Empty) => {}
        }
        let now = window();
        if let (true, Some(snapshot)) = (size != now, &latest) {
            size = now;
            screen.paint(&view::screen(snapshot, &history, &source, now.0, now.1), now.0);
        }
        if interrupted.load(Ordering::Relaxed) {
            break Some(Failure::Status(INTERRUPTED));
        }
        match key() {
            Some(b'q' | b'Q' | 0x1b) => return Ok(()),
            Some(3) => break Some(Failure::Status(INTERRUPTED)),
            _ => {}
        }
    };
    drop(screen);
    if let Some(failure) = failure {
        return Err(failure);
    }
    // The last snapshot stays on the screen.
    if let Some(snapshot) = latest {
        output::print(&format!("{}\nthe link has ended\n", view::plain(&snapshot)))?;
    }
    Ok(())
}

/// Columns and rows of the terminal.
fn window() -> (usize, usize) {
    tcgetwinsize(io::stdout()).map_or((COLUMNS, 24), |size| (size.ws_col.into(), size.ws_row.into()))
}

/// Returns a key, if one is pressed within [`KEY_WAIT`].
fn key() -> Option<u8> {
    let stdin = io::stdin();
    if !isatty(&stdin) {
        let _ = poll(&mut [], Some(&KEY_WAIT));
        return None;
    }
    let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
    if poll(&mut fds, Some(&KEY_WAIT)).is_ok_and(|ready| ready > 0) {
        let mut key = [0];
        // A closed terminal reads as the end of input, which is treated as an interrupt.
        return match stdin.lock().read(&mut key) {
            Ok(1) => Some(key[0]),
            _ => Some(3),
        };
    }
    None
}

/// Alternate screen without a cursor, with unbuffered keys; dropping it restores the terminal.
struct Screen {
    modes: Option<Termios>,
    has_colour: bool,
}

impl Screen {
    fn enter() -> Screen {
        let modes = tcgetattr(io::stdin()).ok();
        if let Some(mut raw) = modes.clone() {
            raw.make_raw();
            let _ = tcsetattr(io::stdin(), OptionalActions::Now, &raw);
        }
        write("\x1b[?1049h\x1b[?25l\x1b[2J");
        let has_colour = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let before = std::panic::take_hook();
        let saved = modes.clone();
        // A panic ends the process without dropping values, so the hook restores the terminal.
        std::panic::set_hook(Box::new(move |info| {
            leave(saved.as_ref());
            before(info);
        }));
        Screen { modes, has_colour }
    }

    fn paint(&self, lines: &[super::text::Line], width: usize) {
        let mut text = String::new();
        for (row, line) in (1..).zip(lines) {
            let _ = write!(text, "\x1b[{row};1H\x1b[2K{}", line.render(width, self.has_colour));
        }
        text.push_str("\x1b[J");
        write(&text);
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave(self.modes.as_ref());
    }
}

fn leave(modes: Option<&Termios>) {
    write("\x1b[?25h\x1b[?1049l");
    if let Some(modes) = modes {
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
    }
}

fn write(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
