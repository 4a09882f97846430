//! What is carried: a link of two directions, or the path of a scenario.

use crate::dumbbell::DumbbellPlan;
use crate::plan::{Places, Plan};
use qdelay_core::Span;
use qdelay_path::Path;
use qdelay_path::stack::StackError;

/// What is carried.
#[derive(Clone, Debug)]
pub enum AnyPlan {
    /// A link of two directions.
    Link(Box<Plan>),
    /// The path of a scenario.
    Dumbbell(Box<DumbbellPlan>),
}

impl From<Plan> for AnyPlan {
    fn from(plan: Plan) -> AnyPlan {
        AnyPlan::Link(Box::new(plan))
    }
}

impl From<DumbbellPlan> for AnyPlan {
    fn from(plan: DumbbellPlan) -> AnyPlan {
        AnyPlan::Dumbbell(Box::new(plan))
    }
}

impl From<&Plan> for AnyPlan {
    fn from(plan: &Plan) -> AnyPlan {
        plan.clone().into()
    }
}

impl From<&AnyPlan> for AnyPlan {
    fn from(plan: &AnyPlan) -> AnyPlan {
        plan.clone()
    }
}

impl AnyPlan {
    /// Builds the path.
    ///
    /// # Errors
    /// A component that cannot be built, or a path that cannot be.
    pub fn build(&self) -> Result<(Path, Places), StackError> {
        match self {
            AnyPlan::Link(plan) => Ok((**plan).clone().build()?),
            AnyPlan::Dumbbell(plan) => plan.build(),
        }
    }
    /// See [`Plan::lateness_limits`].
    pub fn lateness_limits(&self) -> [Span; 2] {
        match self {
            AnyPlan::Link(plan) => plan.lateness_limits(),
            AnyPlan::Dumbbell(plan) => plan.lateness_limits(),
        }
    }
    /// Delay behind the link of packets that come from outside.
    pub fn delay(&self) -> Span {
        match self {
            AnyPlan::Link(plan) => plan.down.delay,
            AnyPlan::Dumbbell(plan) => plan.base_rtt / 2,
        }
    }
    /// The link, where it is one of two directions.
    pub fn as_link(&self) -> Option<&Plan> {
        if let AnyPlan::Link(plan) = self { Some(plan) } else { None }
    }
}
