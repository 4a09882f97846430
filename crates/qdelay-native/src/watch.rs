//! Calls that do not return. Code of a shared object cannot be stopped safely inside this process: it may hold anything. So one
//! thread looks at all laws once in a second, and ends the program where one has been in the same call too long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};
use std::thread;
use std::time::Duration;

/// Number of checks, one in a second, that find the same call and then end the program. Checks count, not time: a program that was
/// stopped meanwhile made no checks while the law did not run.
const LOOKS: u32 = 10;
/// The exit status of a program that is ended so, as for other input that cannot be used.
const STATUS: i32 = 2;

/// Description of the call, by the program around it.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The case that this thread runs; `None` outside of cases.
    pub case: fn() -> Option<String>,
    /// Tells the user one line.
    pub report: fn(&str),
}

impl Context {
    /// No cases; lines go to standard error.
    pub const PLAIN: Context = Context { case: || None, report: |line| eprintln!("qdelay: {line}") };
}

/// One law, as it is watched.
struct Slot {
    /// Odd while a call is under way.
    steps: AtomicU64,
    case: Option<String>,
    law: &'static str,
    report: fn(&str),
}

/// Watches the calls of one law. A clone is another law.
pub struct Watch {
    law: &'static str,
    context: Context,
    slot: Option<Arc<Slot>>,
    steps: u64,
}

impl Clone for Watch {
    fn clone(&self) -> Watch {
        Watch::new(self.law, self.context)
    }
}

impl Watch {
    pub fn new(law: &'static str, context: Context) -> Watch {
        Watch { law, context, slot: None, steps: 0 }
    }

    /// A call begins.
    #[inline]
    pub fn begin(&mut self) {
        self.steps += 1;
        match &self.slot {
            Some(slot) => slot.steps.store(self.steps, Ordering::Relaxed),
            None => self.appear(),
        }
    }

    /// It has returned.
    #[inline]
    pub fn end(&mut self) {
        self.steps += 1;
        if let Some(slot) = &self.slot {
            slot.steps.store(self.steps, Ordering::Relaxed);
        }
    }

    /// Says at once what is wrong where no case will say it at its end.
    pub fn report(&self, message: &str) {
        if (self.context.case)().is_none() {
            (self.context.report)(&format!("{message}; packets pass from now on"));
        }
    }

    /// At the first call, which is of the thread that will make all.
    #[cold]
    fn appear(&mut self) {
        let steps = AtomicU64::new(self.steps);
        let slot =
            Arc::new(Slot { steps, case: (self.context.case)(), law: self.law, report: self.context.report });
        lock().push((Arc::downgrade(&slot), 0, 0));
        self.slot = Some(slot);
        static BEGIN: Once = Once::new();
        // Without the thread nothing is watched, and all else works.
        BEGIN.call_once(|| drop(thread::Builder::new().name("laws".to_string()).spawn(watch_calls)));
    }
}

/// Every law that has been called and still exists, with its last steps, and how often they were seen.
static LAWS: Mutex<Vec<(Weak<Slot>, u64, u32)>> = Mutex::new(Vec::new());

fn lock() -> std::sync::MutexGuard<'static, Vec<(Weak<Slot>, u64, u32)>> {
    LAWS.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(clippy::disallowed_methods, reason = "a thread that looks once in a second")]
fn watch_calls() {
    loop {
        thread::sleep(Duration::from_secs(1));
        let mut stuck = None;
        lock().retain_mut(|(slot, seen, times)| {
            let Some(slot) = slot.upgrade() else { return false };
            let steps = slot.steps.load(Ordering::Relaxed);
            *times = if steps == *seen && steps % 2 == 1 { *times + 1 } else { 0 };
            *seen = steps;
            if *times >= LOOKS {
                stuck = Some(slot);
            }
            true
        });
        if let Some(slot) = stuck {
            let case = slot.case.as_ref().map(|case| format!("case {case}: ")).unwrap_or_default();
            (slot.report)(&format!(
                "{case}{}: a call has not returned for {LOOKS} s, and cannot be stopped; the program ends",
                slot.law
            ));
            std::process::exit(STATUS);
        }
    }
}
