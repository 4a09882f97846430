//! Dispatch: one type for every partition, generated from the registry in `partition/mod.rs`; no call goes through a vtable.

use super::{PARTITIONS, Partition};
use qdelay_core::component::{Arguments, ComponentError};

/// Generates `PARTITIONS`, `Partition` and `State` from lines `module::Partition`. The module has `COMPONENT`, and the type
/// `Setting`.
macro_rules! partitions {
    ($($module:ident::$Partition:ident),+ $(,)?) => {
        $(pub use $module::$Partition;)+

        /// The partitions that text can name, in the order in which they are listed.
        pub static PARTITIONS: &[&Component] = &[$(&$module::COMPONENT),+];

        /// The law that assigns resource blocks to slices: see [`crate::slice`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Partition {
            $(#[doc = concat!("[`", stringify!($Partition), "`].")] $Partition($Partition),)+
        }

        $(impl From<$Partition> for Partition {
            fn from(partition: $Partition) -> Partition {
                Partition::$Partition(partition)
            }
        })+

        impl Partition {
            /// The partition that `arguments` describe.
            ///
            /// # Errors
            /// A component that is not a partition.
            pub fn build(arguments: &Arguments) -> Result<Partition, ComponentError> {
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    return Ok(<$Partition as Setting>::build(arguments).into());
                })+
                let message = format!("'{name}' is not a partition");
                Err(arguments.fail(message))
            }

            /// Returns true if slices have policy ratios ([`Agreed::Ratios`]) in place of a share.
            pub fn by_ratios(self) -> bool {
                match self { $(Partition::$Partition(setting) => setting.by_ratios(),)+ }
            }
        }

        /// A partition with its state from TTI to TTI.
        #[derive(Clone, Debug)]
        pub(crate) enum State {
            $($Partition(<$Partition as Setting>::Law),)+
        }

        impl State {
            pub fn new(partition: Partition, division: &Division<'_>) -> Result<State, CellError> {
                match partition {
                    $(Partition::$Partition(setting) => setting.start(division).map(State::$Partition),)+
                }
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Law for State {
            #[inline]
            fn by_packets(&self) -> bool {
                match self { $(State::$Partition(law) => law.by_packets(),)+ }
            }
            #[inline]
            fn begin(&mut self, tti: u64, rbs: u32) {
                match self { $(State::$Partition(law) => law.begin(tti, rbs),)+ }
            }
            #[inline]
            fn granted(&self, slice: usize, rbs: u32) -> u32 {
                match self { $(State::$Partition(law) => law.granted(slice, rbs),)+ }
            }
            #[inline]
            fn share_out(&mut self, demands: impl Iterator<Item = SliceDemand>) -> bool {
                match self { $(State::$Partition(law) => law.share_out(demands),)+ }
            }
            fn idle(&mut self, from: u64, until: u64, rbs: impl Fn(u64) -> u32) -> bool {
                match self { $(State::$Partition(law) => law.idle(from, until, rbs),)+ }
            }
            #[inline]
            fn is_another_hungry(&self, slice: usize) -> bool {
                match self { $(State::$Partition(law) => law.is_another_hungry(slice),)+ }
            }
            fn accounts(&self) -> Option<Vec<PolicyAccount>> {
                match self { $(State::$Partition(law) => law.accounts(),)+ }
            }
            #[inline]
            fn quantum(&self, slice: usize) -> Option<i64> {
                match self { $(State::$Partition(law) => law.quantum(slice),)+ }
            }
            #[inline]
            fn decide<Q: Queues>(
                &mut self,
                tti: Tti,
                channels: &[RbgCapacity],
                queues: &Q,
            ) -> Option<Decided<'_>> {
                match self { $(State::$Partition(law) => law.decide(tti, channels, queues),)+ }
            }
            #[inline]
            fn spare_groups(&self, slice: Charged) -> u16 {
                match self { $(State::$Partition(law) => law.spare_groups(slice),)+ }
            }
        }
    };
}
pub(super) use partitions;

impl Partition {
    /// The partition that `text` describes, such as `eqp:limit=250`.
    ///
    /// # Errors
    /// Errors of [`Arguments::parse`].
    pub fn parse(text: &str) -> Result<Partition, ComponentError> {
        Partition::build(&Arguments::parse(PARTITIONS, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Elastic, Fixed, Rrm};
    use super::*;
    use alloc::string::ToString;
    use qdelay_core::Span;
    use qdelay_core::component::Kind;

    #[test]
    fn names() {
        assert_eq!(Partition::parse("fp"), Ok(Fixed.into()));
        assert_eq!(Partition::parse("eqp"), Ok(Elastic { limit_rbs: 100 }.into()));
        assert_eq!(Partition::parse("eqp:limit=250"), Ok(Elastic { limit_rbs: 250 }.into()));
        assert_eq!(Partition::parse("rrm"), Ok(Rrm { window: Span::from_millis(10) }.into()));
        assert_eq!(Partition::parse("rrm:window=500us"), Ok(Rrm { window: Span::from_micros(500) }.into()));
        let message = |text| Partition::parse(text).unwrap_err().to_string();
        assert!(message("dp").contains("unknown partition 'dp'; known: fp, eqp, rrm"));
        assert!(message("eqp:limit=0").contains("1 to 1000000"));
        assert!(message("rrm:window=3s").contains("1us to 2s"));
        for component in PARTITIONS {
            assert_eq!(component.kind, Kind::Partition);
            assert!(Partition::build(&Arguments::defaults(component)).is_ok());
        }
    }
}
