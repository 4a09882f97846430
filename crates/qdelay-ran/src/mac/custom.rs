//! A scheduler from outside, behind a vtable.

use super::ranked::Next;
use super::{Candidate, CandidateSource};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use qdelay_core::Span;
use qdelay_core::component::{Arguments, Component, ComponentError, Custom};

/// A MAC scheduler that ranks UEs: the UE with the highest rank gets as many resource block groups as its data needs, then the next
/// one. UEs of equal rank take turns at being first.
pub trait Policy {
    /// Begins the cell, with `ues` UEs and a TTI of `tti`.
    fn start(&mut self, ues: usize, tti: Span) {
        let _ = (ues, tti);
    }
    /// Begins TTI number `tti`. TTIs in which no UE has data are left out.
    fn begin(&mut self, tti: u64) {
        let _ = tti;
    }
    /// The rank of a UE that has data.
    fn rank(&self, demand: &Demand) -> f64;
    /// Notifies the policy that a new transport block of `bytes` was sent to UE number `ue`.
    fn carried(&mut self, ue: u32, bytes: u64) {
        let _ = (ue, bytes);
    }
}

/// Demand of a UE in a TTI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Number of the UE in the cell, from 0.
    pub ue: u32,
    /// Bytes that would carry all its data, headers included.
    pub bytes: u64,
    /// Bytes that the whole carrier would carry for the UE in this TTI.
    pub rate_bytes: u64,
}

/// The function that builds a scheduler from outside.
pub(super) type Maker = Box<dyn Fn(&Arguments) -> Result<CustomScheduler, ComponentError> + Send + Sync>;

/// A MAC scheduler for a [`Registry`](qdelay_core::component::Registry): `build` makes its policy from the
/// arguments of `component`.
pub fn custom<P: Policy + Clone + Debug + Send + Sync + 'static>(
    component: &'static Component,
    build: impl Fn(&Arguments) -> Result<P, ComponentError> + Send + Sync + 'static,
) -> Custom {
    let maker: Maker = Box::new(move |arguments| Ok(CustomScheduler(Arc::new(build(arguments)?))));
    Custom::new(component, maker)
}

/// Any scheduler that is not built in, as it is declared. Two values are equal if they are the same object.
#[derive(Clone, Debug)]
pub struct CustomScheduler(Arc<dyn Erased>);

impl CustomScheduler {
    pub(super) fn start(&self, ues: usize, tti: Span) -> Law {
        let mut policy = self.0.boxed_clone();
        policy.start(ues, tti);
        Law { next: Next::default(), policy }
    }
}

impl PartialEq for CustomScheduler {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for CustomScheduler {}

trait Erased: Policy + Debug + Send + Sync {
    fn boxed_clone(&self) -> Box<dyn Erased>;
}

impl<P: Policy + Clone + Debug + Send + Sync + 'static> Erased for P {
    fn boxed_clone(&self) -> Box<dyn Erased> {
        Box::new(self.clone())
    }
}

#[derive(Debug)]
pub(crate) struct Law {
    next: Next,
    policy: Box<dyn Erased>,
}

impl Clone for Law {
    fn clone(&self) -> Law {
        Law { next: self.next.clone(), policy: self.policy.boxed_clone() }
    }
}

fn demand(candidate: &Candidate) -> Demand {
    Demand { ue: candidate.ue, bytes: candidate.wanted_bytes, rate_bytes: candidate.rate_bytes }
}

impl super::Law for Law {
    fn plan<L: CandidateSource>(
        &mut self,
        tti: u64,
        candidates: &mut Vec<Candidate>,
        groups: u16,
        look: &mut L,
        plan: &mut Vec<u32>,
    ) {
        let Law { next, policy } = self;
        policy.begin(tti);
        next.plan(candidates, groups, look, plan, |candidate| policy.rank(&demand(candidate)));
    }
    fn begin(&mut self, tti: u64) {
        self.policy.begin(tti);
    }
    fn metric(&self, candidate: &Candidate) -> f64 {
        self.policy.rank(&demand(candidate))
    }
    fn carried(&mut self, ue: u32, bytes: u64) {
        self.policy.carried(ue, bytes);
    }
}
