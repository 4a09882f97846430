//! A radio channel from outside, behind a vtable.

use super::{Declared, Quality, RadioError, Walk};
use crate::tables::Carrier;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt::Debug;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};
use qdelay_core::{Random, Time};

/// The radio channel of a UE, queried at increasing times.
pub trait ChannelModel {
    /// Starts the channel of one UE on `carrier`. `random` is a stream of this UE alone.
    fn start(&mut self, carrier: &Carrier, random: Random) {
        let _ = (carrier, random);
    }
    /// The quality in the TTI that begins at `now`. Times never decrease from call to call; TTIs without data for the UE are left
    /// out. An MCS above the carrier's highest counts as that one.
    fn quality(&mut self, now: Time) -> Quality;
}

/// The function that builds a channel from outside.
pub(super) type Maker = Box<dyn Fn(&Arguments) -> Result<CustomChannel, ComponentError> + Send + Sync>;

/// A radio channel for a [`Registry`](qdelay_core::component::Registry): `build` makes it from the arguments
/// of `component`. Each UE has a clone of it.
pub fn custom<C: ChannelModel + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<C, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| Ok(CustomChannel(Arc::new(build(arguments)?))));
    Custom::new(component, maker)
}

/// Any channel that is not built in, as it is declared.
#[derive(Clone, Debug)]
pub struct CustomChannel(Arc<dyn Erased>);

trait Erased: ChannelModel + Debug + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn Erased>;
}

impl<C: ChannelModel + Clone + Debug + Send + Sync + 'static> Erased for C {
    fn boxed_clone(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }
}

impl Declared for CustomChannel {
    type Walk = CustomWalk;

    fn start(&self, carrier: &Carrier, seed: u64, name: &str) -> Result<CustomWalk, RadioError> {
        let mut channel = self.0.boxed_clone();
        channel.start(carrier, Random::derive(seed, name, "channel"));
        Ok(CustomWalk { channel, mcs_max: carrier.mcs_max() })
    }
    fn is_constant(&self) -> bool {
        false
    }
}

#[derive(Debug)]
pub(crate) struct CustomWalk {
    channel: Box<dyn Erased>,
    mcs_max: u8,
}

impl Clone for CustomWalk {
    fn clone(&self) -> CustomWalk {
        CustomWalk { channel: self.channel.boxed_clone(), mcs_max: self.mcs_max }
    }
}

impl Walk for CustomWalk {
    fn quality_at(&mut self, now: Time) -> Quality {
        match self.channel.quality(now) {
            Quality::Rung(rung) => Quality::mcs(rung.row().min(self.mcs_max)),
            other => other,
        }
    }
}
