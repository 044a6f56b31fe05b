//! Who stands for election.

use protocols::{
    history::{Event, Kind},
    types::NodeId,
};
use std::collections::BTreeSet;

/// Counts the elections that more than one candidate stood for: at least two had begun to campaign since the election before.
#[derive(Debug, Default)]
pub(crate) struct Contest {
    standing: BTreeSet<NodeId>,
    contested: u64,
}

impl Contest {
    /// Takes any event; campaigns and elections matter.
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

    /// Contested elections so far.
    pub(crate) fn contested(&self) -> u64 {
        self.contested
    }
}
