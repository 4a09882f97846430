//! One type for every discipline, so that a path is chosen by configuration and its loop still has no virtual call.

use super::{AnyQdisc, COMPONENTS};
use crate::component::{Arguments, ComponentError};

/// What a variant holds: the discipline, or a box of it.
macro_rules! held {
    ($Discipline:ident) => { $Discipline };
    ($Discipline:ident, $Holder:ident) => { $Holder<$Discipline> };
}
pub(super) use held;

/// Makes `COMPONENTS` and `AnyQdisc` of the registry in `qdisc/mod.rs`. A line is `module::Discipline`, followed by `in Box` where
/// the discipline is large or holds others. The module has `COMPONENT`, `DROPS` and `MARKS`, and the discipline `build`.
macro_rules! disciplines {
    ($($module:ident::$Discipline:ident $(in $Holder:ident)?),* $(,)?) => {
        $(pub use $module::$Discipline;)*

        /// Every discipline, in the order they are listed.
        pub static COMPONENTS: &[&Component] = &[$(&$module::COMPONENT),*];

        /// Why each of [`COMPONENTS`] drops packets, in their order.
        pub static DROPS: &[&[DropReason]] = &[$($module::DROPS),*];

        /// Why each of [`COMPONENTS`] marks packets, in their order.
        pub static MARKS: &[&[MarkReason]] = &[$($module::MARKS),*];

        /// Any discipline of [`COMPONENTS`].
        #[derive(Clone, Debug)]
        pub enum AnyQdisc {
            $(
                #[doc = concat!("[`", stringify!($Discipline), "`].")]
                $Discipline(any::held!($Discipline $(, $Holder)?)),
            )*
        }

        impl AnyQdisc {
            /// The discipline that `arguments` describe.
            ///
            /// # Errors
            /// Parameters that contradict each other, or a component that is no discipline; the message says which.
            pub fn build(arguments: &Arguments) -> Result<AnyQdisc, ComponentError> {
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    return $Discipline::build(arguments).map(|built| AnyQdisc::$Discipline(built.into()));
                })*
                Err(limits::fail(arguments, format!("'{name}' is not a queue discipline")))
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Qdisc for AnyQdisc {
            #[inline]
            fn enqueue<S: Sink>(&mut self, context: &mut Context<'_, S>, packet: Packet) {
                match self { $(AnyQdisc::$Discipline(it) => it.enqueue(context, packet)),* }
            }
            #[inline]
            fn dequeue<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
                match self { $(AnyQdisc::$Discipline(it) => it.dequeue(context)),* }
            }
            #[inline]
            fn take<S: Sink>(&mut self, context: &mut Context<'_, S>) -> Option<Packet> {
                match self { $(AnyQdisc::$Discipline(it) => it.take(context)),* }
            }
            #[inline]
            fn head(&self) -> Option<&Packet> {
                match self { $(AnyQdisc::$Discipline(it) => it.head()),* }
            }
            #[inline]
            fn sizes(&self, from: usize, sizes: &mut [u32]) -> usize {
                match self { $(AnyQdisc::$Discipline(it) => it.sizes(from, sizes)),* }
            }
            #[inline]
            fn backlog(&self) -> Backlog {
                match self { $(AnyQdisc::$Discipline(it) => it.backlog()),* }
            }
            #[inline]
            fn next_deadline(&self) -> Time {
                match self { $(AnyQdisc::$Discipline(it) => it.next_deadline()),* }
            }
            fn has_timer(&self) -> bool {
                match self { $(AnyQdisc::$Discipline(it) => it.has_timer()),* }
            }
            #[inline]
            fn poll<S: Sink>(&mut self, context: &mut Context<'_, S>) {
                match self { $(AnyQdisc::$Discipline(it) => it.poll(context)),* }
            }
            fn green_bias(&self) -> Option<f64> {
                match self { $(AnyQdisc::$Discipline(it) => it.green_bias()),* }
            }
            fn promised_rate(&self) -> Option<Rate> {
                match self { $(AnyQdisc::$Discipline(it) => it.promised_rate()),* }
            }
        }
    };
}
pub(super) use disciplines;

impl AnyQdisc {
    /// The discipline that `text` describes, such as `bode:target=20ms`.
    ///
    /// # Errors
    /// As [`Arguments::parse`] and [`AnyQdisc::build`].
    pub fn parse(text: &str) -> Result<AnyQdisc, ComponentError> {
        AnyQdisc::build(&Arguments::parse(COMPONENTS, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Bench, error};
    use super::super::{Backlog, Pie, Qdisc};
    use super::*;
    use crate::Time;
    use crate::component::{Component, Kind};
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// Sizes are told before anything is decided: those of the next packets where nobody is dropped.
    #[test]
    fn the_sizes_that_a_discipline_tells_are_those_of_the_packets_that_leave_next() {
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
