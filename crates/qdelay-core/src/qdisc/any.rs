//! One type for every discipline, so that a path is chosen by configuration and its loop still has no virtual call.

use super::{
    Backlog, Bode, Codel, Drr, Dsd, FcfsGreen, FqCodel, HeadDrop, Pie, Priority, Qdisc, Red, Sfq, TailDrop,
};
use crate::component::{Arguments, ComponentError};
use crate::{Context, Packet, Sink, Time};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;

/// Any discipline of [`super::COMPONENTS`].
#[derive(Clone, Debug)]
pub enum AnyQdisc {
    /// `taildrop`.
    TailDrop(TailDrop),
    /// `headdrop`.
    HeadDrop(HeadDrop),
    /// `bode`.
    Bode(Bode),
    /// `codel`.
    Codel(Codel),
    /// `pie`.
    Pie(Pie),
    /// `fq_codel`.
    FqCodel(FqCodel),
    /// `drr`.
    Drr(Drr),
    /// `sfq`.
    Sfq(Sfq),
    /// `red`.
    Red(Red),
    /// `priority`: it holds any of these, so that it must be boxed.
    Priority(Box<Priority>),
    /// `dsd`.
    Dsd(Box<Dsd>),
    /// `fcfs_green`.
    FcfsGreen(Box<FcfsGreen>),
}

impl AnyQdisc {
    /// The discipline that `arguments` describe.
    ///
    /// # Errors
    /// Parameters that contradict each other, or a component that is no discipline; the message says which.
    pub fn build(arguments: &Arguments) -> Result<AnyQdisc, ComponentError> {
        Ok(match arguments.component().name {
            "taildrop" => AnyQdisc::TailDrop(TailDrop::build(arguments)?),
            "headdrop" => AnyQdisc::HeadDrop(HeadDrop::build(arguments)?),
            "bode" => AnyQdisc::Bode(Bode::build(arguments)?),
            "codel" => AnyQdisc::Codel(Codel::build(arguments)?),
            "pie" => AnyQdisc::Pie(Pie::build(arguments)?),
            "fq_codel" => AnyQdisc::FqCodel(FqCodel::build(arguments)?),
            "drr" => AnyQdisc::Drr(Drr::build(arguments)?),
            "sfq" => AnyQdisc::Sfq(Sfq::build(arguments)?),
            "red" => AnyQdisc::Red(Red::build(arguments)?),
            "priority" => AnyQdisc::Priority(Priority::build(arguments)?.into()),
            "dsd" => AnyQdisc::Dsd(Dsd::build(arguments)?.into()),
            "fcfs_green" => AnyQdisc::FcfsGreen(FcfsGreen::build(arguments)?.into()),
            other => {
                return Err(ComponentError {
                    typed: arguments.typed().to_string(),
                    message: format!("'{other}' is not a queue discipline"),
                });
            }
        })
    }

    /// The discipline that `text` describes, such as `bode:target=20ms`.
    ///
    /// # Errors
    /// As [`Arguments::parse`] and [`AnyQdisc::build`].
    pub fn parse(text: &str) -> Result<AnyQdisc, ComponentError> {
        AnyQdisc::build(&Arguments::parse(super::COMPONENTS, text)?)
    }

    /// Of DSD the probability that green goes first where both colours can wait, g, as its control loop has it or as it is
    /// given; of priorities that of the first band that has one. `None` for what knows no colours. Costs nothing but
    /// where it is asked for.
    pub fn green_bias(&self) -> Option<f64> {
        match self {
            AnyQdisc::Dsd(dsd) => Some(dsd.green_bias()),
            AnyQdisc::Priority(priority) => priority.green_bias(),
            _ => None,
        }
    }
}

macro_rules! delegate {
    ($any:expr, $discipline:ident => $call:expr) => {
        match $any {
            AnyQdisc::TailDrop($discipline) => $call,
            AnyQdisc::HeadDrop($discipline) => $call,
            AnyQdisc::Bode($discipline) => $call,
            AnyQdisc::Codel($discipline) => $call,
            AnyQdisc::Pie($discipline) => $call,
            AnyQdisc::FqCodel($discipline) => $call,
            AnyQdisc::Drr($discipline) => $call,
            AnyQdisc::Sfq($discipline) => $call,
            AnyQdisc::Red($discipline) => $call,
            AnyQdisc::Priority($discipline) => $call,
            AnyQdisc::Dsd($discipline) => $call,
            AnyQdisc::FcfsGreen($discipline) => $call,
        }
    };
}

impl Qdisc for AnyQdisc {
    #[inline]
    fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
        delegate!(self, discipline => discipline.enqueue(context, packet))
    }
    #[inline]
    fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        delegate!(self, discipline => discipline.dequeue(context))
    }
    #[inline]
    fn take<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
        delegate!(self, discipline => discipline.take(context))
    }
    #[inline]
    fn head(&self) -> Option<&Packet> {
        delegate!(self, discipline => discipline.head())
    }
    #[inline]
    fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
        delegate!(self, discipline => discipline.sizes(from, sizes))
    }
    #[inline]
    fn backlog(&self) -> Backlog {
        delegate!(self, discipline => discipline.backlog())
    }
    #[inline]
    fn next_deadline(&self) -> Time {
        delegate!(self, discipline => discipline.next_deadline())
    }
    fn has_timer(&self) -> bool {
        delegate!(self, discipline => discipline.has_timer())
    }
    #[inline]
    fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
        delegate!(self, discipline => discipline.poll(context))
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMPONENTS;
    use super::super::testing::{Bench, error};
    use super::*;
    use crate::component::{Component, Kind};

    /// Who has one queue knows every packet in it; who has several knows who is next.
    #[test]
    fn every_discipline_tells_the_sizes_that_it_knows() {
        let of_one_queue = ["taildrop", "headdrop", "codel", "pie", "bode", "red"];
        for component in COMPONENTS {
            let mut bench = Bench::new(component.name);
            [100, 200, 300].into_iter().for_each(|bytes| bench.enqueue(0, bytes));
            let known = if of_one_queue.contains(&component.name) { 3 } else { 1 };
            let mut sizes = [0; 4];
            assert_eq!(bench.qdisc.sizes(0, &mut sizes), known, "{}", component.name);
            assert_eq!(sizes[..known], [100, 200, 300][..known], "{}", component.name);
            assert_eq!(bench.qdisc.sizes(1, &mut sizes), known - 1, "{}", component.name);
        }
    }

    #[test]
    fn every_component_builds_from_its_defaults() {
        for component in COMPONENTS {
            assert_eq!(component.kind, Kind::Qdisc);
            let qdisc = AnyQdisc::build(&Arguments::defaults(component)).unwrap();
            assert_eq!(qdisc.backlog(), Backlog::default());
            assert_eq!(qdisc.next_deadline(), Time::NEVER);
            for parameter in component.parameters {
                assert!(!parameter.about.is_empty());
                if !parameter.default.is_empty() {
                    parameter.read(parameter.default).unwrap();
                }
                for bound in [parameter.min, parameter.max].iter().filter(|bound| !bound.is_empty()) {
                    parameter.read(bound).unwrap();
                }
            }
        }
    }

    /// A path holds one in each of its queues: what is larger than the largest plain discipline belongs in a box.
    #[test]
    fn it_is_no_larger_than_its_largest_plain_discipline() {
        assert!(size_of::<AnyQdisc>() <= size_of::<Pie>().next_multiple_of(16), "{}", size_of::<AnyQdisc>());
    }

    #[test]
    fn only_what_knows_colours_has_a_bias() {
        let bias = |text: &str| AnyQdisc::parse(text).unwrap().green_bias();
        assert_eq!((bias("dsd"), bias("dsd:g=0.25"), bias("fq_codel")), (Some(1.0), Some(0.25), None));
        assert_eq!(bias("priority:cs5@taildrop+rest@[dsd:g=0.5]"), Some(0.5));
        assert_eq!(bias("priority:cs5@taildrop+rest@codel"), None);
    }

    #[test]
    fn what_is_no_discipline_is_refused() {
        static OTHER: Component = Component {
            kind: Kind::Link,
            name: "wire",
            about: "",
            source: "",
            parameters: &[],
            positional: None,
        };
        let other = AnyQdisc::build(&Arguments::defaults(&OTHER)).unwrap_err();
        assert!(other.to_string().contains("'wire' is not a queue discipline"));
        assert!(error("blue").contains("known: taildrop, headdrop, codel, pie, bode"));
        assert!(error("taildrop:limit=0").contains("1 to 10000000"));
    }
}
