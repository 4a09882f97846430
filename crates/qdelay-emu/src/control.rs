//! Requests to the data thread, which carries packets: take a sample, replace or change the path's settings, stop.
//!
//! Any number of threads hold a [`Control`]. The data thread holds the [`Inbox`]: its [`Wake`] wakes the thread, which serves pending
//! requests between two iterations of its loop, on a path that is [`Controlled`]. The data thread never waits for a lock: while another
//! thread adds a request, the data thread continues; the wake-up that follows the addition makes it serve the request.

use crate::replace::Replaced;
use crate::snapshot::{LinkSettings, Sample, Snapshot};
use qdelay_core::Time;
use qdelay_path::stack::{Adjustment, Plan};
use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// Wakes the data thread.
pub trait Wake: fmt::Debug + Send + Sync {
    /// Lets the thread's wait end; called after a request was added.
    fn wake(&self);
    /// Clears the wake-up; called before pending requests are taken.
    fn clear(&self) {}
}

/// A running path that its data thread serves requests on.
pub trait Controlled {
    /// Takes a sample of the path, whose settings are `settings` after `reloads` replacements.
    fn sample(&mut self, settings: Arc<LinkSettings>, reloads: u64) -> Sample;
    /// Replaces the parts that differ from `plan`.
    ///
    /// # Errors
    /// The part that cannot be replaced, and why; nothing has changed.
    fn replace(&mut self, plan: Plan) -> Result<Replaced, String>;
    /// Makes a change, and returns the time on the path since when it holds.
    ///
    /// # Errors
    /// The part that cannot be changed, and why; nothing has changed.
    fn adjust(&mut self, adjustment: &Adjustment) -> Result<Time, String>;
    /// Resets the TCP connections with `port` at either end, or all; returns the time on the path, and how many.
    fn reset(&mut self, port: Option<u16>) -> (Time, usize);
}

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
    wake: Arc<dyn Wake>,
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

/// A handle for requests to the data thread. Clones refer to the same thread.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

/// The data thread's end of the request queue; when it is dropped, requests through every [`Control`] fail with [`LinkEnded`].
#[derive(Debug)]
pub struct Inbox<W> {
    shared: Arc<Shared>,
    wake: Arc<W>,
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

/// Creates a control handle for a data thread that runs `settings` and that `wake` wakes, and the inbox for that thread.
pub fn control<W: Wake + 'static>(settings: LinkSettings, wake: W) -> (Control, Inbox<W>) {
    let wake = Arc::new(wake);
    let shared = Arc::new(Shared { requests: Mutex::new(Some(Vec::new())), wake: wake.clone() });
    let settings = Arc::new(settings);
    (Control { shared: shared.clone() }, Inbox { shared, wake, settings, reloads: 0, changes: Vec::new() })
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

    /// Lets the data thread's wait end.
    pub fn wake(&self) {
        self.shared.wake.wake();
    }

    fn send(&self, request: Request) -> Result<(), LinkEnded> {
        let mut requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.as_mut().ok_or(LinkEnded)?.push(request);
        drop(requests);
        self.wake();
        Ok(())
    }

    fn ask<A>(&self, request: Request, answer: &Receiver<A>) -> Result<A, LinkEnded> {
        self.send(request)?;
        answer.recv().map_err(|_| LinkEnded)
    }
}

impl<W: Wake> Inbox<W> {
    /// The wake-up of the data thread.
    pub fn wake(&self) -> &W {
        &self.wake
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

    /// Serves pending requests on `path`. Call it after a wake-up; a call at any other time has no effect.
    pub fn serve(&mut self, path: &mut impl Controlled) -> LoopAction {
        // Clear the wake-up before taking the requests: a request added later causes another.
        self.wake.clear();
        let requests = match self.shared.requests.try_lock() {
            Ok(mut requests) => requests.as_mut().map(std::mem::take).unwrap_or_default(),
            Err(_) => return LoopAction::Continue,
        };
        let mut action = LoopAction::Continue;
        for request in requests {
            match request {
                Request::Sample(reply) => {
                    let sample = path.sample(self.settings.clone(), self.reloads);
                    // The caller may have stopped waiting.
                    let _ = reply.try_send(Box::new(sample));
                }
                Request::Replace(plan, settings, reply) => {
                    let replaced = path.replace(*plan);
                    if replaced.is_ok() {
                        self.settings = settings;
                        self.reloads += 1;
                    }
                    let _ = reply.try_send(replaced);
                }
                Request::Adjust(change, reply) => {
                    let Change { adjustment, settings, what } = *change;
                    let done = path.adjust(&adjustment);
                    if let Ok(time) = done {
                        self.settings = settings;
                        self.note(time, what);
                    }
                    let _ = reply.try_send(done);
                }
                Request::Reset(port, reply) => {
                    let (time, count) = path.reset(port);
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

    fn note(&mut self, time: Time, what: String) {
        if self.changes.len() < CHANGES_MAX {
            self.changes.push(Changed { time, what });
        }
    }
}

impl<W> Drop for Inbox<W> {
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
