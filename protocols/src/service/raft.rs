//! A Raft node in each candidate's own process: the requests of `raft`, and what the node reports.
//!
//! It is separate from the elector, like a coordination service: it leads, follows and votes whatever the elector
//! believes. Only a watch informs the elector of it.

use super::Service;
use crate::{payload::Payload, types::NodeId};

/// A Raft node in each candidate's own process.
pub const SERVICE: Service = Service { name: "raft", is_embedded: true, port: PORT, has_groups: true, ..Service::NONE };

/// The types of the Raft node's requests and answers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = StreamRequest;
    type Item = Item;
}

/// The conventional port of Raft nodes for their peers.
pub const PORT: u16 = 7000;

/// A request to this process's Raft node, answered by [`Reply::Done`] or a refusal.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Hand leadership over; done when this node no longer leads. openraft stops its heartbeats at once, so that the
    /// others elect a leader even if the transfer itself is lost. A sole voter starts a new term instead.
    Transfer {
        /// The successor; by default the node with the longest log.
        to: Option<NodeId>,
    },
    /// Have the leader, on whichever node, make a node a voter as soon as it has caught up.
    AddVoter { node: NodeId },
    /// Have the leader, on whichever node, remove a node. A leader does not remove itself: it hands over first.
    RemoveVoter { node: NodeId },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    Done,
}

/// A stream to open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StreamRequest {
    /// Watches the state of this process's Raft node. Never ends; the present state comes first.
    Watch,
}

/// A stream's item.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// It leads, and a majority has acknowledged it.
    Leading {
        term: u64,
        /// When the last round acknowledged by a majority was *sent*, nanoseconds of the node's monotonic clock.
        acked_at: u64,
    },
    /// It stands for election.
    Candidate { term: u64 },
    /// It follows a leader, or waits for one.
    Following {
        term: u64,
        /// The leader, if known.
        leader: Option<NodeId>,
    },
}

impl Payload for Request {}
impl Payload for Reply {}
impl Payload for StreamRequest {}
impl Payload for Item {}
