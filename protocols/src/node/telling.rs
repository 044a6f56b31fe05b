//! What a node tells others: its state, whose the address is by which clients find the leader, and the last number.

use super::{Lead, Node, Place};
use crate::{
    address::{CLAIMED_EVERY, KEPT_AFTER_LOSS},
    clock::Now,
    core::Output,
    election::raft_core::LEASE_OUTLIVES_TRANSFER,
    elector,
    message::{Address, Message},
    point::Point,
    types::{Incarnation, NodeId, RequestId, Resource},
};

// A node's state for observers.

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

// A leader claims the address by which clients find it, and releases it when it no longer leads; see
// [`crate::address`].

impl Node {
    /// The process has started. It may have led before, and kept the address.
    pub(super) fn start(&mut self, now: Now, out: &mut Vec<Output>) {
        self.claim(now, out);
        self.elect(now, elector::Input::Start, out);
    }

    /// Claims or releases the address, depending on whether this node leads, and again after a while.
    pub(super) fn claim(&mut self, now: Now, out: &mut Vec<Output>) {
        let id = self.claim_timer();
        let Some(address) = &mut self.tenure.address else { return };
        address.held = self.lead.is_some() || (address.held && self.bugs.has(&KEPT_AFTER_LOSS));
        out.push(Output::SetTimer { id, at: now.mono + CLAIMED_EVERY });
        self.say_whose(out);
    }

    /// Releases the address at the end of leadership.
    pub(super) fn let_address_go(&mut self, out: &mut Vec<Output>) {
        let kept = self.bugs.has(&KEPT_AFTER_LOSS);
        if let Some(address) = self.tenure.address.as_mut().filter(|address| address.held && !kept) {
            address.held = false;
            self.say_whose(out);
        }
    }

    fn say_whose(&self, out: &mut Vec<Output>) {
        let Some(address) = self.tenure.address else { return };
        let said = if address.held { Address::Claimed } else { Address::Released };
        if address.held || address.kind.is_released() {
            out.push(Output::Send { to: address.directory, message: Message::Address(said) });
        }
    }
}

// A node's answers to reads of the last number.

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
