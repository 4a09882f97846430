//! Rules that choose the bit rate of the next chunk, one per file.
//!
//! | rule | specification | input |
//! | --- | --- | --- |
//! | [`Bb`] | Huang et al., SIGCOMM 2014 (BBA-0) | the buffer |
//! | [`Bola`] | Spiteri, Urgaonkar and Sitaraman, INFOCOM 2016 | the buffer; the throughput before an increase |
//! | [`Festive`] | Jiang, Sekar and Zhang, CoNEXT 2012 | the throughput and recent switches |
//! | [`RobustMpc`] | Yin et al., SIGCOMM 2015 | the buffer, the throughput and the sizes of the next chunks |
//!
//! A new rule is a file with a `COMPONENT`, a function `build` and an implementation of [`Rule`]; its `mod` line and its name go into the list
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
    /// Rung of the ladder, from 0.
    pub rung: usize,
    /// Size of the chunk, bytes.
    pub bytes: u64,
    /// Time from the request to the first packet.
    pub wait: Span,
    /// Time from the first packet to the last.
    pub transfer: Span,
}

impl Download {
    /// Time from the request to the last packet, s; above 0.
    fn seconds(&self) -> f64 {
        (self.wait + self.transfer).as_secs_f64().max(1e-6)
    }
}

/// The state of a player that is about to request a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The video.
    pub video: &'a Video,
    /// Current time.
    pub now: Time,
    /// Video in the buffer.
    pub buffer: Span,
    /// Most video in the buffer.
    pub buffer_max: Span,
    /// Index of the chunk to request.
    pub next: usize,
    /// Rung of the chunk before; `None` for the first chunk.
    pub last: Option<usize>,
}

/// A rule that chooses bit rates.
pub trait Rule {
    /// Checks that the rule supports this video.
    ///
    /// # Errors
    /// The reason why it does not, and the expected setting.
    fn check(&self, video: &Video) -> Result<(), String> {
        let _ = video;
        Ok(())
    }

    /// Records a chunk that has arrived.
    fn downloaded(&mut self, video: &Video, download: &Download) {
        let _ = (video, download);
    }

    /// Chooses the rung of the next chunk.
    fn choose(&mut self, moment: &Moment<'_>) -> usize;

    /// Buffer level at which the player requests the next chunk: `room` by default, the level at which a chunk of length `chunk` just fits.
    fn patience(&mut self, room: Span, chunk: Span, random: &mut Random) -> Span {
        let _ = (chunk, random);
        room
    }
}

macro_rules! rules {
    ($($module:ident :: $rule:ident),+) => {
        /// Any built-in rule.
        #[derive(Clone, Debug)]
        pub enum AnyRule {
            $(#[allow(missing_docs, reason = "it is the rule")] $rule(Box<$rule>),)+
        }

        /// The rules that users can name.
        pub static COMPONENTS: &[&Component] = &[$(&$module::COMPONENT),+];

        impl AnyRule {
            /// Builds the rule that the arguments describe.
            ///
            /// # Errors
            /// The component is not a rule.
            pub fn build(arguments: &Arguments) -> Result<AnyRule, ComponentError> {
                let name = arguments.component().name;
                $(if name == $module::COMPONENT.name {
                    return Ok(AnyRule::$rule(Box::new($module::build(arguments))));
                })+
                Err(arguments.fail(format!("'{name}' is not a rule of adaptation")))
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
