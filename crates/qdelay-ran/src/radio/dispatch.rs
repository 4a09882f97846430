//! Dispatch: one type for every channel, so that the built-in ones are called without a vtable.

use super::{CHANNELS, Channel};
use qdelay_core::component::{Arguments, ComponentError};

/// Makes `CHANNELS`, `Channel` and `Process` of lines `module::Channel`. The module of a named channel has
/// `COMPONENT`, and its type `Named`; the others are made by whoever opens their files. Channels that are given in bytes for each TTI make `Bytes`.
macro_rules! channels {
    (
        named: { $($module:ident::$Channel:ident),+ $(,)? }
        recorded: { $($file:ident::$Recorded:ident),* $(,)? }
        bytes: { $($carried:ident::$Bytes:ident),* $(,)? }
    ) => {
        $(pub use $module::$Channel;)+
        $(pub use $file::$Recorded;)*
        $(pub use $carried::$Bytes;)*

        /// The channels that text can name, in the order in which they are listed.
        pub static CHANNELS: &[&Component] = &[$(&$module::COMPONENT),+];

        /// A channel as it is declared. Cloning is cheap.
        #[derive(Clone, Debug)]
        pub enum Channel {
            $(#[doc = concat!("[`", stringify!($Channel), "`].")] $Channel($Channel),)+
            $(#[doc = concat!("[`", stringify!($Recorded), "`].")] $Recorded($Recorded),)*
            $(#[doc = concat!("[`", stringify!($Bytes), "`].")] $Bytes($Bytes),)*
            /// A channel from outside.
            Custom(CustomChannel),
        }

        $(impl From<$Channel> for Channel {
            fn from(channel: $Channel) -> Channel {
                Channel::$Channel(channel)
            }
        })+
        $(impl From<$Recorded> for Channel {
            fn from(channel: $Recorded) -> Channel {
                Channel::$Recorded(channel)
            }
        })*
        $(impl From<$Bytes> for Channel {
            fn from(channel: $Bytes) -> Channel {
                Channel::$Bytes(channel)
            }
        })*

        impl Channel {
            /// Makes the channel that `arguments` describe.
            ///
            /// # Errors
            /// A component that is no channel.
            pub fn build(arguments: &Arguments) -> Result<Channel, ComponentError> {
                if let Some(build) = arguments.maker::<custom::Maker>() {
                    return build(arguments).map(Channel::Custom);
                }
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    return Ok(<$Channel as Named>::build(arguments).into());
                })+
                let known = [$($module::COMPONENT.name),+];
                let (others, last) = known.split_at(known.len() - 1);
                let message = format!("{name} is no channel; expected {} or {}", others.join(", "), last.concat());
                Err(arguments.fail(message))
            }

            /// Returns true if the quality is the same in every TTI.
            pub(crate) fn is_constant(&self) -> bool {
                match self {
                    $(Channel::$Channel(channel) => channel.is_constant(),)+
                    $(Channel::$Recorded(channel) => channel.is_constant(),)*
                    $(Channel::$Bytes(_) => false,)*
                    Channel::Custom(channel) => channel.is_constant(),
                }
            }

            /// Returns true if the channel has an MCS, which gives a block its bytes; false for a channel
            /// given in bytes.
            pub(crate) fn has_mcs(&self) -> bool {
                match self {
                    $(Channel::$Bytes(_) => false,)*
                    _ => true,
                }
            }

            /// Returns true if the quality follows from an SNR.
            pub(crate) fn has_snr(&self) -> bool {
                match self {
                    $(Channel::$Channel(channel) => channel.has_snr(),)+
                    $(Channel::$Recorded(channel) => channel.has_snr(),)*
                    $(Channel::$Bytes(_) => false,)*
                    Channel::Custom(channel) => channel.has_snr(),
                }
            }

            /// Share of Shannon's bound that the channel reaches.
            pub(crate) fn share(&self) -> f64 {
                match self {
                    $(Channel::$Channel(channel) => channel.share(),)+
                    $(Channel::$Recorded(channel) => channel.share(),)*
                    $(Channel::$Bytes(_) => thresholds::SHARE,)*
                    Channel::Custom(channel) => channel.share(),
                }
            }

            fn source(&self, carrier: &Carrier, seed: u64, name: &str) -> Result<Source, RadioError> {
                Ok(match self {
                    $(Channel::$Channel(channel) => {
                        Source::Process(Process::$Channel(channel.start(carrier, seed, name)?))
                    })+
                    $(Channel::$Recorded(channel) => {
                        Source::Process(Process::$Recorded(channel.start(carrier, seed, name)?))
                    })*
                    $(Channel::$Bytes(channel) => Source::Bytes(channel.start()),)*
                    Channel::Custom(channel) => {
                        Source::Process(Process::Custom(channel.start(carrier, seed, name)?))
                    }
                })
            }
        }

        /// A channel that varies, as the cell advances it.
        #[derive(Clone, Debug)]
        enum Process {
            $($Channel(<$Channel as Declared>::Walk),)+
            $($Recorded(<$Recorded as Declared>::Walk),)*
            Custom(custom::CustomWalk),
        }

        impl Walk for Process {
            #[inline]
            fn quality_at(&mut self, now: Time) -> Quality {
                match self {
                    $(Process::$Channel(walk) => walk.quality_at(now),)+
                    $(Process::$Recorded(walk) => walk.quality_at(now),)*
                    Process::Custom(walk) => walk.quality_at(now),
                }
            }
            fn snr_db(&mut self, now: Time) -> Option<f64> {
                match self {
                    $(Process::$Channel(walk) => walk.snr_db(now),)+
                    $(Process::$Recorded(walk) => walk.snr_db(now),)*
                    Process::Custom(walk) => walk.snr_db(now),
                }
            }
        }
    };
}
pub(super) use channels;

impl Channel {
    /// Reads `mcs:28`, `cqi:12`, `fading:snr=15:deviation=0`...
    ///
    /// # Errors
    /// An unknown channel or key, a value that is not of its unit or out of its range.
    pub fn parse(text: &str) -> Result<Channel, ComponentError> {
        Channel::build(&Arguments::parse(CHANNELS, text)?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Cqi, Fading, Mcs, Quality, Reported};
    use super::*;
    use crate::tables::{Carrier, CqiToMcs};
    use alloc::string::ToString;
    use qdelay_core::{Span, Time};

    #[test]
    fn texts_give_their_channels() {
        assert!(matches!(Channel::parse("mcs:27"), Ok(Channel::Mcs(Mcs(27)))));
        assert!(matches!(Channel::parse("mcs"), Ok(Channel::Mcs(Mcs(28)))));
        assert!(matches!(Channel::parse("cqi:12"), Ok(Channel::Cqi(Cqi { cqi: 12, mapping: None }))));
        let oai = Channel::parse("cqi:12:mapping=oai");
        assert!(matches!(oai, Ok(Channel::Cqi(Cqi { mapping: Some(CqiToMcs::Oai), .. }))));
        let Ok(Channel::Fading(fading)) = Channel::parse("fading") else { panic!() };
        assert_eq!(fading, Fading::default());
        let text =
            "fading:snr=-5:deviation=0:fast=none:block=1ms:coherence=2ms:memory=3s:share=0.6:mapping=thesis";
        let Ok(Channel::Fading(fading)) = Channel::parse(text) else { panic!() };
        let expected = Fading {
            snr_db: -5.0,
            deviation_db: 0.0,
            memory: Span::from_secs(3),
            rayleigh: false,
            coherence: Span::from_millis(2),
            block: Span::from_millis(1),
            share: 0.6,
            mapping: Some(CqiToMcs::ThesisEmulator),
        };
        assert_eq!(fading, expected);
    }

    #[test]
    fn errors_say_what_was_expected() {
        let message = |text| Channel::parse(text).unwrap_err().to_string();
        assert!(message("mcs:29").contains("0 to 28"));
        assert!(message("cqi:0").contains("1 to 15"));
        assert!(message("cqi:16").contains("1 to 15"));
        assert!(message("fading:share=0").contains("0.01 to 1"));
        assert!(message("fading:block=0").contains("at least 1us"));
        assert!(message("rayleigh").contains("unknown channel 'rayleigh'; known: mcs, cqi, fading"));
    }

    /// The channel accepts all values in the declared ranges.
    #[test]
    fn declared_ranges_are_valid() {
        let carrier = Carrier::lte(25).unwrap();
        for component in CHANNELS {
            for parameter in component.parameters {
                for value in [parameter.default, parameter.min, parameter.max] {
                    if value.is_empty() {
                        continue;
                    }
                    let text = alloc::format!("{}:{}={value}", component.name, parameter.name);
                    let channel = Channel::parse(&text).unwrap();
                    let tti = Span::from_millis(1);
                    let mut radio = channel.start(&carrier, tti, Reported::default(), 1, "ue").unwrap();
                    assert!(
                        !matches!(radio.quality(Time::from_nanos(5_000_000)), Quality::Bytes(_)),
                        "{text}"
                    );
                }
            }
        }
    }
}
