//! Requests that the clients' address for the leader sent to a former one while another led.
//!
//! A client that uses an address asks nobody else, and only the leader claims the address. So a request that ended
//! because every node asked denied leading, while another led, was sent to a former leader.

use crate::{beliefs::Beliefs, words::count};
use protocols::{address, history::Outcome, types::NodeId};

pub(super) struct Misled {
    address: Option<address::Kind>,
    /// The node elected last.
    elected: Option<NodeId>,
    /// Another node had been elected before.
    replaced: bool,
    requests: u64,
}

impl Misled {
    pub(super) const fn new(address: Option<address::Kind>) -> Self {
        Misled { address, elected: None, replaced: false, requests: 0 }
    }

    pub(super) fn elected(&mut self, node: NodeId) {
        self.replaced |= self.elected.replace(node).is_some_and(|before| before != node);
    }

    pub(super) fn replied(&mut self, outcome: Outcome, beliefs: &Beliefs) {
        let sent_on = self.address.is_some() && self.replaced && outcome == Outcome::Rejected;
        self.requests += u64::from(sent_on && beliefs.awake().next().is_some());
    }

    /// What became of these requests, to be appended to a sentence; empty if there were none.
    pub(super) fn told(&self) -> String {
        let Some(address) = self.address.filter(|_| self.requests > 0) else { return String::new() };
        let ended = count(self.requests, "request");
        let name = address.name();
        format!(
            "; the {name} by which clients find the leader sent them to a former one, where {ended} ended without a number"
        )
    }
}
