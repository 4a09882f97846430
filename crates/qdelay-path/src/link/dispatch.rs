//! Dispatch: one type for every link, by how a path drives it, so that its loop has no virtual call. The registry in
//! `link/mod.rs` uses it.

/// The type in a variant: the link, or a box of it.
macro_rules! held {
    ($Link:ident) => { $Link };
    ($Link:ident, $Holder:ident) => { $Holder<$Link> };
}
pub(super) use held;

/// The methods of all links, for an enum of links.
macro_rules! delegate {
    ($Any:ident: $($Variant:ident),+) => {
        #[deny(clippy::missing_trait_methods)]
        impl LinkModel for $Any {
            #[inline]
            fn overhead_bytes(&self) -> u32 {
                match self { $($Any::$Variant(link) => link.overhead_bytes()),+ }
            }
            fn offered_bytes(&self, now: Time) -> u64 {
                match self { $($Any::$Variant(link) => link.offered_bytes(now)),+ }
            }
            fn rate(&self) -> Option<Rate> {
                match self { $($Any::$Variant(link) => link.rate()),+ }
            }
            fn opportunities(&self) -> Option<&TraceLink> {
                match self { $($Any::$Variant(link) => link.opportunities()),+ }
            }
            fn light(&self) -> Option<LightLoad> {
                match self { $($Any::$Variant(link) => link.light()),+ }
            }
            fn begin_at(&mut self, begin: Time) {
                match self { $($Any::$Variant(link) => link.begin_at(begin)),+ }
            }
            fn start_from(&mut self, place: Span) {
                match self { $($Any::$Variant(link) => link.start_from(place)),+ }
            }
            fn length(&self) -> Option<Span> {
                match self { $($Any::$Variant(link) => link.length()),+ }
            }
            fn runs_first(&self) -> bool {
                match self { $($Any::$Variant(link) => link.runs_first()),+ }
            }
        }
    };
}
pub(super) use delegate;

/// Makes of the links of one kind their enum and the way into [`AnyLink`](super::AnyLink).
macro_rules! kind {
    ($Kind:ident, $Any:ident: $($Link:ident $(in $Holder:ident)?),+) => {
        #[doc = concat!("Any link that is [`", stringify!($Kind), "`].")]
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum $Any {
            $(
                #[doc = concat!("[`", stringify!($Link), "`].")]
                $Link(dispatch::held!($Link $(, $Holder)?)),
            )+
        }

        dispatch::delegate!($Any: $($Link),+);

        $(impl From<$Link> for AnyLink {
            fn from(link: $Link) -> AnyLink {
                AnyLink::$Kind($Any::$Link(link.into()))
            }
        })+
    };
}
pub(super) use kind;

/// The methods of slotted links, including traces.
macro_rules! slotted {
    ($($Link:ident),+) => {
        #[deny(clippy::missing_trait_methods)]
        impl Slotted for AnySlotted {
            #[inline]
            fn wake(&mut self, now: Time) -> Time {
                match self { $(AnySlotted::$Link(link) => link.wake(now)),+ }
            }
            #[inline]
            fn slot_bytes(&self) -> u64 {
                match self { $(AnySlotted::$Link(link) => link.slot_bytes()),+ }
            }
            #[inline]
            fn sent(&mut self, now: Time, sent: u64, waiting: u64) -> Time {
                match self { $(AnySlotted::$Link(link) => link.sent(now, sent, waiting)),+ }
            }
            #[inline]
            fn reports(&self) -> bool {
                match self { $(AnySlotted::$Link(link) => link.reports()),+ }
            }
            fn tells_while_leaving(&self) -> bool {
                match self { $(AnySlotted::$Link(link) => link.tells_while_leaving()),+ }
            }
        }
    };
}
pub(super) use slotted;

/// Makes `LINKS`, `EXAMPLES` and what [`AnyLink`](super::AnyLink) holds of lines `module::Link`, followed by `in Box` where the
/// link is large, under how a path drives them. The module has `COMPONENT` and `EXAMPLE`, a text of it, and the link `build`;
/// those of `recorded`, which are shaped, and of `traces`, which are slotted as well, are made by whoever has their times.
macro_rules! links {
    (
        shaped: { $($shaped:ident::$Shaped:ident $(in $ShapedIn:ident)?),+ $(,)? }
        recorded: { $($recorded:ident::$Recorded:ident),+ $(,)? }
        serial: { $($serial:ident::$Serial:ident $(in $SerialIn:ident)?),+ $(,)? }
        slotted: { $($slotted:ident::$Slotted:ident $(in $SlottedIn:ident)?),+ $(,)? }
        traces: { $($trace:ident::$Trace:ident $(in $TraceIn:ident)?),+ $(,)? }
    ) => {
        $(pub use $shaped::$Shaped;)+
        $(pub use $recorded::$Recorded;)+
        $(pub use $serial::$Serial;)+
        $(pub use $slotted::$Slotted;)+
        $(pub use $trace::$Trace;)+

        /// The links that users can name, in the order they are listed.
        pub static LINKS: &[&Component] = &[
            &component::CONSTANT, $(&$shaped::COMPONENT,)+ $(&$serial::COMPONENT,)+ $(&$slotted::COMPONENT,)+
        ];

        /// An example of each of [`LINKS`], in their order.
        pub static EXAMPLES: &[&str] = &[
            component::EXAMPLE, $($shaped::EXAMPLE,)+ $($serial::EXAMPLE,)+ $($slotted::EXAMPLE,)+
        ];

        dispatch::kind!(Shaped, AnyShaped: $($Shaped $(in $ShapedIn)?,)+ $($Recorded),+);
        dispatch::kind!(Serial, AnySerial: $($Serial $(in $SerialIn)?),+);
        dispatch::kind!(Slotted, AnySlotted: $($Slotted $(in $SlottedIn)?,)+ $($Trace $(in $TraceIn)?),+);
        dispatch::slotted!($($Slotted,)+ $($Trace),+);

        #[deny(clippy::missing_trait_methods)]
        impl Shaped for AnyShaped {
            #[inline]
            fn eligible(&self) -> Time {
                match self { $(AnyShaped::$Shaped(link) => link.eligible(),)+ $(AnyShaped::$Recorded(link) => link.eligible()),+ }
            }
            #[inline]
            fn charge(&mut self, now: Time, bytes: u32) {
                match self { $(AnyShaped::$Shaped(link) => link.charge(now, bytes),)+ $(AnyShaped::$Recorded(link) => link.charge(now, bytes)),+ }
            }
        }

        #[deny(clippy::missing_trait_methods)]
        impl Serial for AnySerial {
            #[inline]
            fn begin(&mut self, now: Time, bytes: u32) -> Time {
                match self { $(AnySerial::$Serial(link) => link.begin(now, bytes)),+ }
            }
            fn continue_as(&mut self, now: Time, other: &AnySerial) -> Option<Time> {
                match (self, other) {
                    $((AnySerial::$Serial(link), AnySerial::$Serial(other)) => link.continue_as(now, other),)+
                    _ => None,
                }
            }
        }

        impl AnyLink {
            /// The link that `arguments` of a component of [`LINKS`] describe.
            ///
            /// # Errors
            /// A required value that is missing, a profile that cannot be read, a key the chosen model has no use for, or a
            /// component that is no link.
            pub fn build(arguments: &Arguments) -> Result<AnyLink, ComponentError> {
                let name = arguments.component().name;
                $(if name == $shaped::COMPONENT.name {
                    return $Shaped::build(arguments).map(AnyLink::from);
                })+
                $(if name == $serial::COMPONENT.name {
                    return $Serial::build(arguments).map(AnyLink::from);
                })+
                $(if name == $slotted::COMPONENT.name {
                    return $Slotted::build(arguments).map(AnyLink::from);
                })+
                component::constant(arguments)
            }
        }
    };
}
pub(super) use links;

#[cfg(test)]
mod tests {
    use super::super::{AnyLink, EXAMPLES, LINKS, LinkModel, RateLink, parse_link};
    use alloc::string::ToString;
    use qdelay_core::Time;
    use qdelay_core::component::{Arguments, Component, Kind};

    #[test]
    fn every_link_is_declared_and_its_example_builds() {
        assert_eq!(LINKS.len(), EXAMPLES.len());
        for (component, example) in LINKS.iter().zip(EXAMPLES) {
            assert_eq!(component.kind, Kind::Link);
            assert!(!component.about.is_empty(), "{example}");
            let arguments = parse_link(example).unwrap();
            assert_eq!(arguments.component().name, component.name, "{example}");
            for parameter in component.parameters {
                assert!(!parameter.about.is_empty(), "{example}: {}", parameter.name);
                for value in [parameter.default, parameter.min, parameter.max] {
                    assert!(value.is_empty() || parameter.read(value).is_ok(), "{example}: {value}");
                }
            }
            let mut link = AnyLink::build(&arguments).unwrap();
            let [now, later] = [1_000_000_000, 2_000_000_000].map(Time::from_nanos);
            assert!(link.offered_bytes(now) < link.offered_bytes(later), "{example}");
            assert_eq!(link.overhead_bytes(), 0, "{example}");
            link.begin_at(now);
            assert!((now..Time::NEVER).contains(&link.wake(now)), "{example}");
        }
    }

    #[test]
    fn what_is_no_link_is_refused() {
        static OTHER: Component = Component::new(Kind::Qdisc, "blue", "");
        let other = AnyLink::build(&Arguments::defaults(&OTHER)).unwrap_err();
        assert!(other.to_string().contains("'blue' is not a link"));
    }

    /// A path holds one in each link: what is larger than a line of many steps belongs in a box.
    #[test]
    fn it_is_no_larger_than_its_largest_plain_link() {
        let (any, largest) = (size_of::<AnyLink>(), size_of::<RateLink>());
        assert!(any <= largest + align_of::<RateLink>(), "{any} and {largest}");
    }
}
