//! A source of datagrams from outside, behind a vtable.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::fmt::Debug;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};
use qdelay_core::{Random, Span};

/// Decides when the next datagram of a flow leaves, and its size.
pub trait Source {
    /// The time from the previous datagram, or from the start of the flow, to the next datagram, and its size (IP bytes, 28 to
    /// 65535); `None` if no datagram follows.
    fn next(&mut self, random: &mut Random) -> Option<(Span, u32)>;
}

/// The function that builds a source from outside.
pub(crate) type Maker = Box<dyn Fn(&Arguments) -> Result<CustomSource, ComponentError> + Send + Sync>;

/// A transport for a [`Registry`](qdelay_core::component::Registry): datagrams of the source that `build` makes of arguments of
/// `component`. Each flow has a clone of it.
pub fn custom<S: Source + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<S, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| Ok(CustomSource(Arc::new(build(arguments)?))));
    Custom::new(component, maker)
}

/// A source that is not built in, as it is declared. Equal where it is the same.
#[derive(Clone, Debug)]
pub struct CustomSource(Arc<dyn Erased>);

impl PartialEq for CustomSource {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl CustomSource {
    /// The source of one flow.
    pub(crate) fn start(&self) -> RunningSource {
        self.0.start()
    }
}

/// The source of one flow, which remembers.
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
