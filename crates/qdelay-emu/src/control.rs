//! Talking to the thread that carries packets: asking for samples, replacing what runs, stopping.
//!
//! Any number of threads have a [`Control`]; the data thread has the [`Inbox`], whose alarm ends its waits, and serves what was
//! asked for between two turns. It never waits for anybody: where another thread is just writing a request down, it comes back
//! when that one rings again.

use crate::clock::Clock;
use crate::device::Device;
use crate::drive::Driver;
use crate::emulator::{Replaced, Tap};
use crate::metrics::HasMetrics;
use crate::plan::Plan;
use crate::snapshot::{Sample, Settings, Snapshot};
use qdelay_record::Recorder;
use rustix::event::{EventfdFlags, eventfd};
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// What the data thread is asked for.
enum Request {
    Sample(SyncSender<Box<Sample>>),
    Replace(Box<Plan>, Arc<Settings>, SyncSender<Result<Replaced, String>>),
    Stop,
}

/// There is no data thread any more: the link has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl fmt::Display for Gone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the link has ended")
    }
}
impl std::error::Error for Gone {}

#[derive(Debug)]
struct Shared {
    /// `None` once the data thread has ended.
    requests: Mutex<Option<Vec<Request>>>,
    bell: OwnedFd,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Request::Sample(_) => "Sample",
            Request::Replace(..) => "Replace",
            Request::Stop => "Stop",
        })
    }
}

impl Shared {
    fn ring(&self) {
        // A counter that is full rings already.
        let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
    }
}

/// A line to the data thread. Clones are lines to the same one.
#[derive(Clone, Debug)]
pub struct Control {
    shared: Arc<Shared>,
}

/// The data thread's end; when it is dropped, every [`Control`] gets [`Gone`].
#[derive(Debug)]
pub struct Inbox {
    shared: Arc<Shared>,
    settings: Arc<Settings>,
    reloads: u64,
}

/// What was asked for that the data thread's owner has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Nothing: go on.
    GoOn,
    /// To stop.
    Stop,
}

/// A line to a data thread that runs `settings`, and its end there.
///
/// # Errors
/// The kernel has no more descriptors.
pub fn control(settings: Settings) -> io::Result<(Control, Inbox)> {
    let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    let shared = Arc::new(Shared { requests: Mutex::new(Some(Vec::new())), bell });
    Ok((Control { shared: shared.clone() }, Inbox { shared, settings: Arc::new(settings), reloads: 0 }))
}

impl Control {
    /// A sample, as soon as the data thread comes to it.
    ///
    /// # Errors
    /// The link has ended.
    pub fn sample(&self) -> Result<Box<Sample>, Gone> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Sample(reply), &answer)
    }

    /// Runs `plan` from now on, which is called `settings`; no packet is lost by it. Says what differed.
    ///
    /// # Errors
    /// The link has ended; or, inside, why the plan cannot run: what ran before goes on.
    pub fn replace(&self, plan: Plan, settings: Settings) -> Result<Result<Replaced, String>, Gone> {
        let (reply, answer) = sync_channel(1);
        self.ask(Request::Replace(Box::new(plan), Arc::new(settings), reply), &answer)
    }

    /// Asks for the end; does not wait for it.
    ///
    /// # Errors
    /// It has ended already.
    pub fn stop(&self) -> Result<(), Gone> {
        self.send(Request::Stop)
    }

    fn send(&self, request: Request) -> Result<(), Gone> {
        let mut requests = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.as_mut().ok_or(Gone)?.push(request);
        drop(requests);
        self.shared.ring();
        Ok(())
    }

    fn ask<A>(&self, request: Request, answer: &Receiver<A>) -> Result<A, Gone> {
        self.send(request)?;
        answer.recv().map_err(|_| Gone)
    }
}

impl Inbox {
    /// What becomes readable when there is something to serve, for [`Waiter`](crate::wait::Waiter).
    ///
    /// # Errors
    /// The kernel has no more descriptors.
    pub fn alarm(&self) -> io::Result<OwnedFd> {
        self.shared.bell.try_clone()
    }

    /// How often what runs was replaced.
    pub fn reloads(&self) -> u64 {
        self.reloads
    }
    /// What runs.
    pub fn settings(&self) -> &Arc<Settings> {
        &self.settings
    }

    /// Serves what was asked for. To be called when the alarm is readable; at any other time it does nothing.
    pub fn serve<C, D, R, T>(&mut self, driver: &mut Driver<C, D, R, T>) -> Wish
    where
        C: Clock,
        D: Device,
        R: Recorder,
        T: Tap + HasMetrics,
    {
        // Before looking: whoever writes a request down afterwards rings again.
        let _ = rustix::io::read(&self.shared.bell, &mut [0_u8; 8]);
        let requests = match self.shared.requests.try_lock() {
            Ok(mut requests) => requests.as_mut().map(std::mem::take).unwrap_or_default(),
            Err(_) => return Wish::GoOn,
        };
        let mut wish = Wish::GoOn;
        for request in requests {
            match request {
                Request::Sample(reply) => {
                    let sample = Sample::take(driver, self.settings.clone(), self.reloads);
                    // Nobody may be waiting for it any more.
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
                Request::Stop => wish = Wish::Stop,
            }
        }
        wish
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // What was not served is dropped, which answers it.
        let left = self.shared.requests.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(left);
    }
}

/// Makes snapshots whose intervals are from one to the next.
#[derive(Debug)]
pub struct Sampler {
    control: Control,
    before: Option<Box<Sample>>,
}

impl Sampler {
    /// Of the link that `control` leads to.
    pub fn new(control: Control) -> Sampler {
        Sampler { control, before: None }
    }

    /// A snapshot of now; its interval began at the one before, or at the start.
    ///
    /// # Errors
    /// The link has ended.
    pub fn snapshot(&mut self) -> Result<Snapshot, Gone> {
        let now = self.control.sample()?;
        let snapshot = Snapshot::between(self.before.as_deref(), &now);
        self.before = Some(now);
        Ok(snapshot)
    }
}
