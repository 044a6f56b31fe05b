//! A node's state for observers.

use super::Node;
use crate::types::{Incarnation, NodeId};

/// What a node believes about itself and others, for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    pub incarnation: Option<Incarnation>,
    /// The end of that belief unless it is renewed, nanoseconds of the node's monotonic clock.
    pub valid_until: u64,
    /// Whether it has sealed every resource, and so serves requests.
    pub works: bool,
    /// Whether it is resigning.
    pub resigning: bool,
    /// The leader that it observes as a follower.
    pub observed: Option<NodeId>,
}

impl Node {
    pub fn standing(&self) -> Standing {
        let lead = self.lead.as_ref().filter(|lead| !lead.outlived);
        Standing {
            incarnation: lead.map(|l| l.incarnation),
            valid_until: lead.map_or(0, |l| l.valid_until),
            works: lead.is_some_and(|l| l.work.is_some()),
            resigning: self.resigning,
            observed: self.observed,
        }
    }
}
