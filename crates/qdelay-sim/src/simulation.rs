//! A run that its caller holds: advanced to a time, observed, changed, and recorded.

use crate::Outcome;
use crate::held::Held;
use crate::run::{Run, RunError};
use crate::scenario::Scenario;
use qdelay_core::component::{Arguments, ComponentError};
use qdelay_core::qdisc::{AnyQdisc, Qdisc};
use qdelay_core::{Span, Time};
use qdelay_path::{AnyLink, Count, Counters, NodeId, Path};
use qdelay_record::Recorder;
use qdelay_traffic::experience::Experience;

/// Runs `scenario` to its end.
///
/// # Errors
/// The scenario cannot be built, or the audit of the path fails.
pub fn run(scenario: &Scenario) -> Result<Outcome, RunError> {
    Simulation::new(scenario)?.finish()
}

/// Runs `scenario` to its end, and records every packet in `recorder`.
///
/// # Errors
/// Errors of [`run`].
pub fn run_recorded(scenario: &Scenario, recorder: &mut impl Recorder) -> Result<Outcome, RunError> {
    Simulation::with_recorder(scenario, recorder)?.finish()
}

/// A run that its caller advances to a time, observes, changes, and advances further. The outcome is that of [`run`] for any
/// division into steps. It owns its recorder, which is notified of each packet that ends; `()` records nothing.
///
/// ```
/// use qdelay_core::component::Arguments;
/// use qdelay_core::qdisc::{self, AnyQdisc};
/// use qdelay_core::{Rate, Span, Time};
/// use qdelay_path::Line;
/// use qdelay_sim::{Bottleneck, FlowSpec, Scenario, Simulation};
/// use qdelay_traffic::transport::{self, TransportConfig};
///
/// let cubic = TransportConfig::build(&Arguments::parse(transport::COMPONENTS, "cubic").unwrap()).unwrap();
/// let qdisc = Arguments::parse(qdisc::COMPONENTS, "taildrop").unwrap();
/// let bottleneck = Bottleneck::link(qdisc, Line::new(Rate::from_mbps(10.0), 0));
/// let mut scenario = Scenario::new(bottleneck, Span::from_millis(40), Span::from_secs(10));
/// scenario.flows.push(FlowSpec::new("cubic", cubic));
/// let mut simulation = Simulation::new(&scenario).unwrap();
/// simulation.advance_to(Time::ZERO + Span::from_secs(5)).unwrap();
/// let full = simulation.backlog().packets;
/// simulation.replace_qdisc(AnyQdisc::parse("codel").unwrap()).unwrap();
/// simulation.advance_to(Time::ZERO + Span::from_secs(8)).unwrap();
/// assert!(simulation.backlog().packets < full);
/// let outcome = simulation.finish().unwrap();
/// assert_eq!(outcome.flows.len(), 1);
/// ```
pub struct Simulation<'a, R = ()> {
    run: Run<'a>,
    recorder: R,
}

/// The progress of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowProgress {
    /// Application bytes that its receiver has.
    pub delivered_bytes: u64,
    /// The smoothed round trip time of its sender, where it has one.
    pub smoothed_rtt: Option<Span>,
}

/// Sums at the bottleneck since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    /// Packets that left the link, with their IP bytes.
    pub left: Count,
    /// Dropped by the queue.
    pub dropped: Count,
    /// Marked by the queue.
    pub marked: Count,
    /// Packets whose delay counts: those that left after the warm-up and are not too small.
    pub measured: u64,
    /// The sum of their delays in the queue, departure less arrival, in nanoseconds.
    pub delay_nanos: u128,
    /// Capacity of the link so far, in bytes on the link.
    pub offered_bytes: u64,
}

impl<'a> Simulation<'a> {
    /// The run of `scenario` before its first event.
    ///
    /// # Errors
    /// The scenario cannot be built.
    pub fn new(scenario: impl Into<Held<'a>>) -> Result<Self, RunError> {
        Simulation::with_recorder(scenario, ())
    }
}

impl<'a, R: Recorder> Simulation<'a, R> {
    /// The run of `scenario` before its first event; `recorder` is notified of every packet before the call returns in which it ends.
    ///
    /// # Errors
    /// The scenario cannot be built.
    pub fn with_recorder(scenario: impl Into<Held<'a>>, recorder: R) -> Result<Self, RunError> {
        Ok(Simulation { run: Run::new(scenario.into(), recorder.is_on())?, recorder })
    }

    /// The recorder with what it has so far.
    pub fn recorder(&self) -> &R {
        &self.recorder
    }
    /// The recorder, to change it.
    pub fn recorder_mut(&mut self) -> &mut R {
        &mut self.recorder
    }

    /// Runs every event up to `time`, that time included, or up to the end of the scenario. A time before [`Simulation::now`]
    /// changes nothing.
    ///
    /// # Errors
    /// The path refused a call: a fault of the simulator.
    pub fn advance_to(&mut self, time: Time) -> Result<(), RunError> {
        self.run.advance_to(time, &mut self.recorder)
    }

    /// Runs to the end of the scenario and returns its outcome.
    ///
    /// # Errors
    /// The audit of the path fails.
    pub fn finish(self) -> Result<Outcome, RunError> {
        Ok(self.into_parts()?.0)
    }

    /// Runs to the end of the scenario and returns its outcome and the recorder.
    ///
    /// # Errors
    /// The audit of the path fails.
    pub fn into_parts(mut self) -> Result<(Outcome, R), RunError> {
        self.advance_to(Time::NEVER)?;
        Ok((self.run.outcome()?, self.recorder))
    }

    /// The time up to which everything has happened.
    pub fn now(&self) -> Time {
        self.run.now()
    }
    /// Whether the scenario is over.
    pub fn is_over(&self) -> bool {
        self.run.meter.measuring.is_over()
    }
    /// The path with its nodes, their counters and disciplines. Its nodes have names: [`Simulation::queue`] is the bottleneck's.
    pub fn path(&self) -> &Path {
        &self.run.topology.path
    }
    /// The queue of the bottleneck; of a cell, the cell itself.
    pub fn queue(&self) -> NodeId {
        self.run.topology.queue
    }
    /// The link of the bottleneck, or the cell.
    pub fn link(&self) -> NodeId {
        self.run.topology.link
    }
    /// Packets and IP bytes in the queue of the bottleneck; of a cell, in its air interface.
    pub fn backlog(&self) -> Count {
        self.run.topology.path.inside(self.run.topology.queue)
    }
    /// Every flow of the scenario so far, in its order.
    pub fn flows(&self) -> impl Iterator<Item = FlowProgress> {
        self.run.flows.iter().take(self.run.scenario.flows.len()).map(|flow| FlowProgress {
            delivered_bytes: flow.ends.delivered_bytes(),
            smoothed_rtt: flow.ends.smoothed_rtt().filter(|rtt| !rtt.is_zero()),
        })
    }
    /// The experience so far of the user of the flow with this index; `None` where its transport keeps none, or there is no such flow.
    pub fn experience(&self, flow: usize) -> Option<Experience<'_>> {
        let flow = self.run.flows.get(flow).filter(|_| flow < self.run.scenario.flows.len())?;
        flow.ends.experience(self.now().min(flow.stop))
    }

    /// Replaces the discipline of the bottleneck now, by another or by the same with other parameters. Packets in the old one leave
    /// first; none is dropped.
    ///
    /// # Errors
    /// The bottleneck is a cell, which has several queues.
    pub fn replace_qdisc(&mut self, qdisc: AnyQdisc) -> Result<(), RunError> {
        self.run.replace_qdisc(qdisc, &mut self.recorder)
    }
    /// Replaces the link of the bottleneck now. The old link finishes its transmission.
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn replace_link(&mut self, link: AnyLink) -> Result<(), RunError> {
        self.run.replace_link(link, &mut self.recorder)
    }

    /// Gives the link of the bottleneck the rates of `link`, whose rates up to now are the same: the run continues as if it had had them
    /// from the beginning. Returns whether that is possible: a line with a changing rate takes those of another that begins with the
    /// run. Any other link stays as it is; use [`Simulation::replace_link`].
    ///
    /// # Errors
    /// The bottleneck is a cell.
    pub fn continue_link(&mut self, link: &AnyLink) -> Result<bool, RunError> {
        self.run.continue_link(link, &mut self.recorder)
    }

    /// Gives the discipline of the bottleneck the parameters of `arguments`, now; it keeps its packets and its state. Returns whether the
    /// discipline can change them: one that cannot stays as it is; use [`Simulation::replace_qdisc`].
    ///
    /// # Errors
    /// The bottleneck is a cell, which has several queues; the inner error is a parameter out of its range.
    pub fn adjust_qdisc(&mut self, arguments: &Arguments) -> Result<Result<bool, ComponentError>, RunError> {
        let queue = self.run.topology.queue;
        Ok(self.run.topology.path.change_queue(queue, |qdisc| qdisc.adjust(arguments))?)
    }

    /// Sums at the bottleneck so far: the difference of two of them is what happened in between.
    pub fn sums(&self) -> Sums {
        let (path, queue, link) = (self.path(), self.queue(), self.link());
        let (measured, delay_nanos) = self.run.meter.measuring.queue_delays();
        let usage = path.link_usage(link, self.now()).unwrap_or_default();
        Sums {
            left: path.counters(link).map_or(Count::default(), |counters| counters.forwarded),
            dropped: path.counters(queue).map_or(Count::default(), Counters::dropped_total),
            marked: path.counters(queue).map_or(Count::default(), Counters::marked_total),
            measured,
            delay_nanos,
            offered_bytes: usage.offered_bytes,
        }
    }
}
