//! Counts contested elections.

use protocols::{
    history::{Event, Kind},
    types::NodeId,
};
use std::collections::BTreeSet;

/// Counts elections with more than one candidate: at least two had begun to campaign since the previous election.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    standing: BTreeSet<NodeId>,
    contested: u64,
}

impl Contest {
    /// Takes any event: campaigns and elections count.
    pub(crate) fn observe(&mut self, event: &Event) {
        match &event.kind {
            Kind::Campaign { node } => {
                self.standing.insert(*node);
            }
            Kind::Elected(_) => {
                self.contested += u64::from(self.standing.len() > 1);
                self.standing.clear();
            }
            _ => {}
        }
    }

    pub(crate) fn contested(&self) -> u64 {
        self.contested
    }
}
