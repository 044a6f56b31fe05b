//! What a node says of itself to those who watch it.

use super::Node;
use crate::types::{Incarnation, NodeId};

/// What a node believes of itself and of others, for those who watch it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Standing {
    /// The leadership that it believes in.
    pub incarnation: Option<Incarnation>,
    /// When that belief ends unless it is renewed, nanoseconds of its monotonic clock.
    pub valid_until: u64,
    /// Has it sealed every resource, so that it serves requests?
    pub works: bool,
    /// Is it about to give leadership up?
    pub resigning: bool,
    /// Whom it takes for the leader, as far as it follows.
    pub observed: Option<NodeId>,
}

impl Node {
    /// What it believes now.
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
