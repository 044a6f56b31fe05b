//! A server running on a copy of another's data folder, and so with that one's id ([`IDENTITY_COPIED`]).
//!
//! It has its own address. The list of members has that address under the id that the server should have, so its
//! requests to that member reach itself, and it answers them. To its copied id it sends nothing, since it takes that
//! for itself. Others know candidates by their ids. At the start only the id needs copying, since logs are empty; later
//! the server's log follows the leader's, as usual.

use super::{
    RaftCore,
    bugs::{COPIED, IDENTITY_COPIED},
    role::{Ballot, Role},
};
use crate::{clock::Now, types::NodeId};

impl RaftCore {
    /// The other id at this server's address.
    pub(super) fn double(&self) -> Option<NodeId> {
        (self.setup.node == COPIED.0 && self.setup.bugs.has(&IDENTITY_COPIED)).then_some(COPIED.1)
    }

    /// The servers that it sends to.
    pub(super) fn peers(&self) -> impl Iterator<Item = NodeId> + use<> {
        let double = self.double();
        self.setup.others().filter(move |node| Some(*node) != double)
    }

    /// The id that a candidate presents.
    pub(super) fn id_of(&self, candidate: NodeId) -> NodeId {
        let copied = candidate == COPIED.0 && self.setup.bugs.has(&IDENTITY_COPIED);
        if copied { COPIED.1 } else { candidate }
    }

    /// A ballot with only this server's own vote, which counts once or twice.
    pub(super) fn own_ballot(&self) -> Ballot {
        let mut ballot = Ballot::new(self.servers(), self.setup.node);
        self.double().into_iter().for_each(|double| ballot.grant(double));
        ballot
    }

    /// Handles the leader's answer to itself, if it gives one.
    pub(super) fn answer_oneself(&mut self, now: Now) {
        let (Some(double), Role::Leader(leading)) = (self.double(), &mut self.role) else { return };
        leading.matched[double.index()] = leading.matched[self.setup.node.index()];
        leading.answered(double, now.mono);
    }
}
