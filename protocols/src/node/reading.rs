//! A node's answers to reads of the last number.

use super::{Lead, Node, Place};
use crate::{
    clock::Now,
    core::Output,
    election::raft_core::LEASE_OUTLIVES_TRANSFER,
    message::Message,
    point::Point,
    types::{RequestId, Resource},
};

impl Node {
    /// Answers a read: never before its own seal, never while resigning (openraft issue 1747), and from memory only
    /// while the belief lasts by this node's clock (Ongaro, "Consensus: Bridging Theory and Practice", §6.4.1).
    pub(super) fn read(&mut self, now: Now, request: RequestId, out: &mut Vec<Output>) {
        let Place { store, read_lease, .. } = self.place;
        match &self.lead {
            Some(Lead { incarnation, valid_until, work: Some(work), .. })
                if now.mono < *valid_until && (!self.resigning || self.bugs.has(&LEASE_OUTLIVES_TRANSFER)) =>
            {
                let (generation, token) = (incarnation.generation, incarnation.token);
                if read_lease {
                    crate::mark!("node: a read is answered from memory");
                    // No check of the lease helps against a pause at this point.
                    out.push(Output::Point(Point::ReadChecked));
                    let message = Message::ReadIs { request, token, seq: work.last() };
                    out.push(Output::Send { to: request.client, message });
                } else {
                    let message = Message::ReadStore { resource: Resource::SEQUENCE, request, generation, token };
                    out.push(Output::Send { to: store, message });
                }
            }
            lead => {
                let leader = if lead.is_some() { None } else { self.observed };
                out.push(Output::Send { to: request.client, message: Message::NotLeader { request, leader } });
            }
        }
    }
}
