//! A source of datagrams from outside, behind a vtable.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt::Debug;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};
use qdelay_core::{Random, Span};

/// Decides when the next datagram of a flow leaves, and its size.
pub trait Source {
    /// The next datagram: time since the previous one, or since the start of the flow, and size, IP bytes, 28 to 65535; `None` if no datagram
    /// follows.
    fn next(&mut self, random: &mut Random) -> Option<(Span, u32)>;
}

/// The function that builds a source from outside.
pub(crate) type Maker = Box<dyn Fn(&Arguments) -> Result<CustomSource, ComponentError> + Send + Sync>;

/// An entry of a [`Registry`](qdelay_core::component::Registry): a transport that sends the datagrams of a source. `build` makes the source from
/// the arguments of `component`; each flow has a clone of the source.
pub fn custom<S: Source + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<S, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| Ok(CustomSource(Arc::new(build(arguments)?))));
    Custom::new(component, maker)
}

/// Settings of a source from outside. Two are equal if they share one source.
#[derive(Clone, Debug)]
pub struct CustomSource(Arc<dyn Erased>);

impl PartialEq for CustomSource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl CustomSource {
    /// A new source for one flow.
    pub(crate) fn start(&self) -> RunningSource {
        self.0.start()
    }
}

/// The source of one flow with its state.
#[derive(Debug)]
pub(crate) struct RunningSource(Box<dyn Erased>);

impl RunningSource {
    pub fn next(&mut self, random: &mut Random) -> Option<(Span, u32)> {
        self.0.next(random)
    }
}

impl Clone for RunningSource {
    fn clone(&self) -> Self {
        self.0.start()
    }
}

trait Erased: Source + Debug + Send + Sync {
    fn start(&self) -> RunningSource;
}

impl<S: Source + Clone + Debug + Send + Sync + 'static> Erased for S {
    fn start(&self) -> RunningSource {
        RunningSource(Box::new(self.clone()))
    }
}
