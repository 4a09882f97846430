//! Rules that choose the bit rate of the next chunk, one per file.
//!
//! | rule | specification | looks at |
//! | --- | --- | --- |
//! | [`Bb`] | Huang et al., SIGCOMM 2014 (BBA-0) | the buffer |
//! | [`Bola`] | Spiteri, Urgaonkar and Sitaraman, INFOCOM 2016 | the buffer; the throughput before it goes up |
//! | [`Festive`] | Jiang, Sekar and Zhang, CoNEXT 2012 | the throughput, and how often it has switched |
//! | [`RobustMpc`] | Yin et al., SIGCOMM 2015 | both, and the sizes of the next chunks |
//!
//! A new rule is a file with a `COMPONENT`, a function `build` and an implementation of [`Rule`], its `mod` line and its name in the list
//! below.

mod bb;
mod bola;
mod festive;
mod robust_mpc;
mod throughput;

pub use bb::Bb;
pub use bola::Bola;
pub use festive::Festive;
pub use robust_mpc::RobustMpc;

use super::Video;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use qdelay_core::component::{Arguments, Component, ComponentError};
use qdelay_core::{Random, Span, Time};

/// A chunk that has arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Download {
    /// At which bit rate of the ladder.
    pub rung: usize,
    /// Its bytes.
    pub bytes: u64,
    /// From the request to the first packet.
    pub wait: Span,
    /// From the first packet to the last.
    pub transfer: Span,
}

impl Download {
    /// From the request to the last packet, s; never 0.
    fn seconds(&self) -> f64 {
        (self.wait + self.transfer).as_secs_f64().max(1e-6)
    }
}

/// The state of a player that is about to request a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The video.
    pub video: &'a Video,
    /// The time.
    pub now: Time,
    /// Video that is downloaded and not played.
    pub buffer: Span,
    /// Most that the player keeps.
    pub buffer_max: Span,
    /// The chunk to request.
    pub next: usize,
    /// The rung of the one before; `None` for the first.
    pub last: Option<usize>,
}

/// A rule.
pub trait Rule {
    /// Whether it can play this video.
    ///
    /// # Errors
    /// Why not, and what is expected.
    fn check(&self, video: &Video) -> Result<(), String> {
        let _ = video;
        Ok(())
    }

    /// A chunk has arrived.
    fn downloaded(&mut self, video: &Video, download: &Download) {
        let _ = (video, download);
    }

    /// The rung of the next chunk.
    fn choose(&mut self, moment: &Moment<'_>) -> usize;

    /// The buffer down to which the player waits before it requests the next chunk, which is `chunk` long; at `room` it fits in beside it.
    fn patience(&mut self, room: Span, chunk: Span, random: &mut Random) -> Span {
        let _ = (chunk, random);
        room
    }
}

macro_rules! rules {
    ($($module:ident :: $rule:ident),+) => {
        /// Any rule.
        #[derive(Clone, Debug)]
        pub enum AnyRule {
            $(#[allow(missing_docs, reason = "it is the rule")] $rule(Box<$rule>),)+
        }

        /// The rules that users can name.
        pub static COMPONENTS: &[&Component] = &[$(&$module::COMPONENT),+];

        impl AnyRule {
            /// The rule that the arguments describe.
            ///
            /// # Errors
            /// A component that is no rule.
            pub fn build(arguments: &Arguments) -> Result<AnyRule, ComponentError> {
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    return Ok(AnyRule::$rule(Box::new($module::build(arguments))));
                })+
                Err(arguments.fail(format!("'{name}' does not adapt bit rates")))
            }
        }

        #[warn(clippy::missing_trait_methods, reason = "a call that is not passed on would have the trait's answer")]
        impl Rule for AnyRule {
            fn check(&self, video: &Video) -> Result<(), String> {
                match self { $(AnyRule::$rule(rule) => rule.check(video),)+ }
            }
            fn downloaded(&mut self, video: &Video, download: &Download) {
                match self { $(AnyRule::$rule(rule) => rule.downloaded(video, download),)+ }
            }
            fn choose(&mut self, moment: &Moment<'_>) -> usize {
                match self { $(AnyRule::$rule(rule) => rule.choose(moment),)+ }
            }
            fn patience(&mut self, room: Span, chunk: Span, random: &mut Random) -> Span {
                match self { $(AnyRule::$rule(rule) => rule.patience(room, chunk, random),)+ }
            }
        }
    };
}

rules! { bb::Bb, bola::Bola, festive::Festive, robust_mpc::RobustMpc }
