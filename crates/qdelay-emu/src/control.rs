//! Requests to the data thread, which carries packets: take a sample, replace the link's settings, stop.
//!
//! Any number of threads hold a [`Control`]. The data thread holds the [`Inbox`]: its alarm wakes the thread, which serves
//! pending requests between two iterations of its loop. The data thread never waits for a lock: while another thread adds a
//! request, the data thread continues; the alarm that follows the addition makes it serve the request.

use crate::clock::Clock;
use crate::device::Device;
use crate::drive::Driver;
use crate::emulator::{Replaced, Tap};
use crate::metrics::HasMetrics;
use crate::snapshot::{LinkSettings, Sample, Snapshot};
use qdelay_core::Time;
use qdelay_path::stack::{Adjustment, Plan};
use qdelay_record::Recorder;
use rustix::event::{EventfdFlags, eventfd};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A request to the data thread.
enum Request {
    Sample(SyncSender<Box<Sample>>),
    Replace(Box<Plan>, Arc<LinkSettings>, SyncSender<Result<Replaced, String>>),
    Adjust(Box<Change>, SyncSender<Result<Time, String>>),
    Reset(Option<u16>, SyncSender<(Time, usize)>),
    Changes(SyncSender<Vec<Changed>>),
    Settings(SyncSender<Arc<LinkSettings>>),
    Stop,
}

/// A change of some parts, as the user wrote it.
#[derive(Clone, Debug)]
pub struct Change {
    /// The parts.
    pub adjustment: Adjustment,
    /// The settings afterwards, for the live view.
    pub settings: Arc<LinkSettings>,
    /// The change as text, for the log.
    pub what: String,
}

/// A line of the log of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The time on the path since when it holds.
    pub time: Time,
    /// The change as text.
    pub what: String,
}

/// Maximum number of changes that are kept for the log.
const CHANGES_MAX: usize = 100_000;

/// Error: the data thread has ended, and the link with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkEnded;

impl fmt::Display for LinkEnded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the link has ended")
    }
}
impl std::error::Error for LinkEnded {}

#[derive(Debug)]
struct Shared {
    /// Pending requests; `None` once the data thread has ended.
    requests: Mutex<Option<Vec<Request>>>,
    bell: OwnedFd,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Request::Sample(_) => "Sample",
            Request::Replace(..) => "Replace",
            Request::Adjust(..) => "Adjust",
            Request::Reset(..) => "Reset",
            Request::Changes(..) => "Changes",
            Request::Settings(..) => "Settings",
            Request::Stop => "Stop",
        })
    }
}

impl Shared {
    fn ring(&self) {
        // A full counter means that the alarm is raised already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

/// A handle for requests to the data thread. Clones refer to the same thread.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

/// The data thread's end of the request queue; when it is dropped, requests through every [`Control`] fail with [`LinkEnded`].
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
    settings: Arc<LinkSettings>,
    reloads: u64,
    changes: Vec<Changed>,
}

/// Action that [`Inbox::serve`] asks of the owner of the data thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopAction {
    /// Continue the loop.
    Continue,
    /// Stop the loop.
    Stop,
}

/// Creates a control handle for a data thread that runs `settings`, and the inbox for that thread.
///
/// # Errors
/// The process is out of file descriptors.
pub fn control(settings: LinkSettings) -> io::Result<(Control, Inbox)> {
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let shared = Arc::new(Shared { requests: Mutex::new(Some(Vec::new())), bell });
    Ok((
        Control { shared: shared.clone() },
        Inbox { shared, settings: Arc::new(settings), reloads: 0, changes: Vec::new() },
    ))
}

impl Control {
    /// Takes a sample; returns when the data thread has served the request.
    ///
    /// # Errors
    /// The link has ended.
    pub fn sample(&self) -> Result<Box<Sample>, LinkEnded> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Sample(reply), &answer)
    }

    /// Replaces the running plan by `plan`, described by `settings`; no packet is lost. Returns which parts differed.
    ///
    /// # Errors
    /// Outer error: the link has ended. Inner error: the reason why the plan cannot run; the previous plan stays in use.
    pub fn replace(&self, plan: Plan, settings: LinkSettings) -> Result<Result<Replaced, String>, LinkEnded> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Replace(Box::new(plan), Arc::new(settings), reply), &answer)
    }

    /// Makes `change`, and returns the time on the path since when it holds.
    ///
    /// # Errors
    /// Outer error: the link has ended. Inner error: the part that cannot be changed, and why; nothing has changed.
    pub fn adjust(&self, change: Change) -> Result<Result<Time, String>, LinkEnded> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Adjust(Box::new(change), reply), &answer)
    }

    /// Resets the TCP connections with `port` at either end, or all; returns the time on the path, and how many.
    ///
    /// # Errors
    /// The link has ended.
    pub fn reset(&self, port: Option<u16>) -> Result<(Time, usize), LinkEnded> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Reset(port, reply), &answer)
    }

    /// The current settings.
    ///
    /// # Errors
    /// The link has ended.
    pub fn settings(&self) -> Result<Arc<LinkSettings>, LinkEnded> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Settings(reply), &answer)
    }

    /// The changes so far, in the order of time.
    ///
    /// # Errors
    /// The link has ended.
    pub fn changes(&self) -> Result<Vec<Changed>, LinkEnded> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Changes(reply), &answer)
    }

    /// Requests the end of the loop, and returns without waiting for the end.
    ///
    /// # Errors
    /// The link has ended already.
    pub fn stop(&self) -> Result<(), LinkEnded> {
        self.send(Request::Stop)
    }

    fn send(&self, request: Request) -> Result<(), LinkEnded> {
        let mut requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.as_mut().ok_or(LinkEnded)?.push(request);
        drop(requests);
        self.shared.ring();
        Ok(())
    }

    fn ask<A>(&self, request: Request, answer: &Receiver<A>) -> Result<A, LinkEnded> {
        self.send(request)?;
        answer.recv().map_err(|_| LinkEnded)
    }
}

impl Inbox {
    /// A descriptor that becomes readable when requests are pending, for [`Waiter`](crate::wait::Waiter).
    ///
    /// # Errors
    /// The process is out of file descriptors.
    pub fn alarm(&self) -> io::Result<OwnedFd> {
        self.shared.bell.try_clone()
    }

    /// Number of replacements of the settings so far.
    pub fn reloads(&self) -> u64 {
        self.reloads
    }
    /// The changes so far, in the order of time.
    pub fn changes(&self) -> &[Changed] {
        &self.changes
    }
    /// The current settings.
    pub fn settings(&self) -> &Arc<LinkSettings> {
        &self.settings
    }

    /// Serves pending requests. Call it when the alarm is readable; a call at any other time has no effect.
    pub fn serve<C, D, R, T>(&mut self, driver: &mut Driver<C, D, R, T>) -> LoopAction
    where
        C: Clock,
        D: Device,
        R: Recorder,
        T: Tap + HasMetrics,
    {
        // Clear the alarm before taking the requests: a request added later raises it again.
        let _ = rustix::io::read(&self.shared.bell, &mut [0_u8; 8]);
        let requests = match self.shared.requests.try_lock() {
            Ok(mut requests) => requests.as_mut().map(std::mem::take).unwrap_or_default(),
            Err(_) => return LoopAction::Continue,
        };
        let mut action = LoopAction::Continue;
        for request in requests {
            match request {
                Request::Sample(reply) => {
                    let sample = Sample::collect(driver, self.settings.clone(), self.reloads);
                    // The caller may have stopped waiting.
                    let _ = reply.try_send(Box::new(sample));
                }
                Request::Replace(plan, settings, reply) => {
                    let replaced = driver.replace(*plan).map_err(|error| error.to_string());
                    if replaced.is_ok() {
                        self.settings = settings;
                        self.reloads += 1;
                    }
                    let _ = reply.try_send(replaced);
                }
                Request::Adjust(change, reply) => {
                    let Change { adjustment, settings, what } = *change;
                    let done = driver.adjust(&adjustment).map(|(time, _)| time);
                    if let Ok(time) = done {
                        self.settings = settings;
                        self.note(time, what);
                    }
                    let _ = reply.try_send(done);
                }
                Request::Reset(port, reply) => {
                    let (time, count) = driver.reset(port);
                    let what = port.map_or("all".to_string(), |port| format!("port {port}"));
                    self.note(time, format!("reset {what}: {count} connections"));
                    let _ = reply.try_send((time, count));
                }
                Request::Settings(reply) => {
                    let _ = reply.try_send(self.settings.clone());
                }
                Request::Changes(reply) => {
                    let _ = reply.try_send(self.changes.clone());
                }
                Request::Stop => action = LoopAction::Stop,
            }
        }
        action
    }
}

impl Inbox {
    fn note(&mut self, time: Time, what: String) {
        if self.changes.len() < CHANGES_MAX {
            self.changes.push(Changed { time, what });
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // Dropping a pending request closes its reply channel, so that its caller fails with `LinkEnded`.
        let left = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(left);
    }
}

/// Takes snapshots, each of which covers the interval since the one before.
#[derive(Debug)]
pub struct Sampler {
    control: Control,
    before: Option<Box<Sample>>,
}

impl Sampler {
    /// Creates a sampler of the link that `control` refers to.
    pub fn new(control: Control) -> Sampler {
        Sampler { control, before: None }
    }

    /// Takes a snapshot now; its interval began at the previous snapshot, or at the start of the link.
    ///
    /// # Errors
    /// The link has ended.
    pub fn snapshot(&mut self) -> Result<Snapshot, LinkEnded> {
        let now = self.control.sample()?;
        let snapshot = Snapshot::between(self.before.as_deref(), &now);
        self.before = Some(now);
        Ok(snapshot)
    }
}
