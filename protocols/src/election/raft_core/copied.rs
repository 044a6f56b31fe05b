//! A server that runs on a copy of another's data folder, and so has that one's id ([`IDENTITY_COPIED`]).
//!
//! It has its own address. The list of members has that as the address of the id that it should have, so what it asks of that
//! member it asks of itself, and it answers. What it would ask of the id that it has, it asks of nobody: that is itself. Others
//! know candidates by their ids. Nothing but the id needs copying at the start, when logs are empty; later its log is the
//! leader's, like anybody's.

use super::{
    RaftCore,
    bugs::{COPIED, IDENTITY_COPIED},
    role::{Ballot, Role},
};
use crate::{clock::Now, types::NodeId};

impl RaftCore {
    /// Whose id this server has beside its own address.
    pub(super) fn double(&self) -> Option<NodeId> {
        (self.setup.node == COPIED.0 && self.setup.bugs.has(&IDENTITY_COPIED)).then_some(COPIED.1)
    }

    /// Whom it sends to.
    pub(super) fn peers(&self) -> impl Iterator<Item = NodeId> + use<> {
        let double = self.double();
        self.setup.others().filter(move |node| Some(*node) != double)
    }

    /// The id that a candidate gives.
    pub(super) fn id_of(&self, candidate: NodeId) -> NodeId {
        let copied = candidate == COPIED.0 && self.setup.bugs.has(&IDENTITY_COPIED);
        if copied { COPIED.1 } else { candidate }
    }

    /// A ballot in which only this server has voted: once, or twice.
    pub(super) fn own_ballot(&self) -> Ballot {
        let mut ballot = Ballot::new(self.servers(), self.setup.node);
        self.double().into_iter().for_each(|double| ballot.grant(double));
        ballot
    }

    /// The leader's answer to itself, if it gives one.
    pub(super) fn answer_oneself(&mut self, now: Now) {
        let (Some(double), Role::Leader(leading)) = (self.double(), &mut self.role) else { return };
        leading.matched[double.index()] = leading.matched[self.setup.node.index()];
        leading.answered(double, now.mono);
    }
}
