//! Dispatch: one type for every discipline, so that configuration can choose it and the built-in disciplines are called without a
//! vtable.

use super::{AnyQdisc, COMPONENTS};
use crate::component::{Arguments, ComponentError};

/// The type held in a variant: the discipline, a box of it, or the first-in first-out queue that applies this
/// law.
macro_rules! held {
    ($Discipline:ident) => { $Discipline };
    ($Discipline:ident, $Holder:ident) => { $Holder<$Discipline> };
}
pub(super) use held;

/// Converts the built discipline into the type in its variant.
macro_rules! hold {
    ($arguments:ident, $built:expr) => {
        $built
    };
    ($arguments:ident, $built:expr, Box) => {
        Box::new($built)
    };
    ($arguments:ident, $built:expr, Fifo) => {
        Fifo::new(limits::limit($arguments), $built)
    };
}
pub(super) use hold;

/// Makes `COMPONENTS` and `AnyQdisc` of the registry in `qdisc/mod.rs`. A line is `module::Discipline`,
/// followed by `in Box` if the discipline is large or holds others, by `in Fifo` if it is the law of one
/// queue ([`super::FifoLaw`]). The module has `COMPONENT`, `DROPS` and `MARKS`, and the discipline `build`.
macro_rules! disciplines {
    ($($module:ident::$Discipline:ident $(in $Holder:ident)?),* $(,)?) => {
        $(pub use $module::$Discipline;)*

        /// Every discipline, in the order in which they are listed.
        pub static COMPONENTS: &[&Component] = &[$(&$module::COMPONENT),*];

        /// Drop reasons of each of [`COMPONENTS`], in their order.
        pub static DROPS: &[&[DropReason]] = &[$($module::DROPS),*];

        /// Mark reasons of each of [`COMPONENTS`], in their order.
        pub static MARKS: &[&[MarkReason]] = &[$($module::MARKS),*];

        /// Any discipline: one of [`COMPONENTS`], or one from outside.
        // The tag has its own memory instead of an unused value of a field, so that a match is a jump.
        #[derive(Clone, Debug)]
        #[repr(u8)]
        pub enum AnyQdisc {
            $(
                #[doc = concat!("[`", stringify!($Discipline), "`].")]
                $Discipline(dispatch::held!($Discipline $(, $Holder)?)),
            )*
            /// A discipline from outside.
            Custom(CustomQdisc),
        }

        impl AnyQdisc {
            /// The discipline that `arguments` describe.
            ///
            /// # Errors
            /// Parameters that contradict each other, or a component that is no discipline; the message says which.
            pub fn build(arguments: &Arguments) -> Result<AnyQdisc, ComponentError> {
                if let Some(build) = arguments.maker::<custom::Maker>() {
                    return build(arguments).map(AnyQdisc::Custom);
                }
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    let built = $Discipline::build(arguments)?;
                    return Ok(AnyQdisc::$Discipline(dispatch::hold!(arguments, built $(, $Holder)?)));
                })*
                Err(arguments.fail(format!("'{name}' is not a queue discipline")))
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Qdisc for AnyQdisc {
            #[inline]
            fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.enqueue(context, packet),)*
                    AnyQdisc::Custom(it) => it.enqueue(context, packet),
                }
            }
            #[inline]
            fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.dequeue(context),)*
                    AnyQdisc::Custom(it) => it.dequeue(context),
                }
            }
            // A path's loop takes packets here, so the call is inlined there.
            #[inline(always)]
            fn dequeue_if_queued<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.dequeue_if_queued(context),)*
                    AnyQdisc::Custom(it) => it.dequeue_if_queued(context),
                }
            }
            #[inline]
            fn head(&self) -> Option<&Packet> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.head(),)*
                    AnyQdisc::Custom(it) => it.head(),
                }
            }
            #[inline]
            fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.sizes(from, sizes),)*
                    AnyQdisc::Custom(it) => it.sizes(from, sizes),
                }
            }
            fn expel<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.expel(context),)*
                    AnyQdisc::Custom(it) => it.expel(context),
                }
            }
            fn discard_set<S: Sink>(
                &mut self,
                context: &mut Context<'_, S>,
                flow: u32,
                number: u32,
                reason: DropReason,
            ) -> bool {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.discard_set(context, flow, number, reason),)*
                    AnyQdisc::Custom(it) => it.discard_set(context, flow, number, reason),
                }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.backlog(),)*
                    AnyQdisc::Custom(it) => it.backlog(),
                }
            }
            #[inline]
            fn next_deadline(&self) -> Time {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.next_deadline(),)*
                    AnyQdisc::Custom(it) => it.next_deadline(),
                }
            }
            fn has_timer(&self) -> bool {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.has_timer(),)*
                    AnyQdisc::Custom(it) => it.has_timer(),
                }
            }
            #[inline]
            fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.poll(context),)*
                    AnyQdisc::Custom(it) => it.poll(context),
                }
            }
            fn green_bias(&self) -> Option<f64> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.green_bias(),)*
                    AnyQdisc::Custom(it) => it.green_bias(),
                }
            }
            fn promised_rate(&self) -> Option<Rate> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.promised_rate(),)*
                    AnyQdisc::Custom(it) => it.promised_rate(),
                }
            }
            fn adjust(&mut self, arguments: &Arguments) -> Result<bool, ComponentError> {
                let name = arguments.component().name;
                match self {
                    $(AnyQdisc::$Discipline(it) if name == $module::COMPONENT.name => it.adjust(arguments),)*
                    AnyQdisc::Custom(it) => it.adjust(arguments),
                    _ => Ok(false),
                }
            }
            fn fault(&self) -> Option<String> {
                match self {
                    $(AnyQdisc::$Discipline(it) => it.fault(),)*
                    AnyQdisc::Custom(it) => it.fault(),
                }
            }
        }
    };
}
pub(super) use disciplines;

impl AnyQdisc {
    /// The discipline that `text` describes, such as `bode:target=20ms`.
    ///
    /// # Errors
    /// Errors of [`Arguments::parse`] and [`AnyQdisc::build`].
    pub fn parse(text: &str) -> Result<AnyQdisc, ComponentError> {
        AnyQdisc::build(&Arguments::parse(COMPONENTS, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, error};
    use super::super::{Backlog, Fifo, Pie, Qdisc};
    use super::*;
    use crate::Time;
    use crate::component::{Component, Kind};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// Announced sizes are those of the next packets, where no packet is dropped.
    #[test]
    fn announced_sizes_are_those_of_the_packets_that_leave_next() {
        for component in COMPONENTS {
            let mut bench = Bench::new(component.name);
            [100, 200, 300].into_iter().for_each(|bytes| bench.enqueue(0, bytes));
            let mut sizes = [0; 4];
            let known = bench.qdisc.sizes(0, &mut sizes);
            assert!((1..=3).contains(&known), "{}: {known}", component.name);
            assert_eq!(bench.qdisc.sizes(1, &mut [0; 4]), known - 1, "{}", component.name);
            assert_eq!(bench.qdisc.sizes(0, &mut []), 0, "{}", component.name);
            let left = bench.dequeue_many(0, known);
            let of_those: Vec<u32> = left.iter().map(|handle| [100, 200, 300][*handle as usize]).collect();
            assert_eq!(sizes[..known], of_those, "{}", component.name);
        }
    }

    /// A host that plans ahead, such as a cell, relies on this.
    #[test]
    fn order_keeping_disciplines_announce_all_sizes() {
        let is_one_queue = |component: &&&Component| {
            let mut bench = Bench::new(component.name);
            let treatments = (0..4).zip([0, 46, 8, 44]).zip([2, 0, 3, 1]);
            for ((flow, dscp), class) in treatments.clone().chain(treatments.rev()) {
                (bench.dscp, bench.class) = (dscp, class);
                bench.enqueue_flow(flow, 0, &[100 + 300 * flow]);
            }
            let mut sizes = [0; 9];
            let known = bench.qdisc.sizes(0, &mut sizes);
            // DSD has a queue for each colour, also where no packet asks for another order.
            let knows_colours = bench.qdisc.green_bias().is_some();
            let keeps_order = !knows_colours && bench.dequeue_many(0, 9) == [0, 1, 2, 3, 4, 5, 6, 7];
            if keeps_order {
                assert_eq!(known, 8, "{}", component.name);
                assert_eq!(sizes, [100, 400, 700, 1000, 1000, 700, 400, 100, 0], "{}", component.name);
            }
            keeps_order
        };
        let names: Vec<&str> =
            COMPONENTS.iter().filter(is_one_queue).map(|component| component.name).collect();
        assert!(names.contains(&"taildrop") && names.contains(&"fcfs_green"), "{names:?}");
        assert!(!names.contains(&"fq_codel"), "{names:?}");
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

    /// A path holds a discipline in each of its queues: one larger than the largest plain discipline belongs
    /// in a box.
    #[test]
    fn any_qdisc_is_no_larger_than_its_largest_plain_discipline() {
        let (any, largest) = (size_of::<AnyQdisc>(), size_of::<Fifo<Pie>>());
        assert!(any <= largest + align_of::<Fifo<Pie>>(), "{any} and {largest}");
    }

    #[test]
    fn only_coloured_disciplines_have_a_bias() {
        let bias = |text: &str| AnyQdisc::parse(text).unwrap().green_bias();
        assert_eq!((bias("dsd"), bias("dsd:g=0.25"), bias("fq_codel")), (Some(1.0), Some(0.25), None));
        assert_eq!(bias("priority:cs5@taildrop+rest@[dsd:g=0.5]"), Some(0.5));
        assert_eq!(bias("priority:cs5@taildrop+rest@codel"), None);
    }

    #[test]
    fn components_other_than_disciplines_are_refused() {
        static OTHER: Component = Component {
            kind: Kind::Link,
            name: "wire",
            about: "",
            source: "",
            parameters: &[],
            positional: None,
            classifies: None,
        };
        let other = AnyQdisc::build(&Arguments::defaults(&OTHER)).unwrap_err();
        assert!(other.to_string().contains("'wire' is not a queue discipline"));
        assert!(error("blue").contains("known: taildrop, headdrop, codel, pie, bode"));
        assert!(error("taildrop:limit=0").contains("1 to 10000000"));
    }
}
