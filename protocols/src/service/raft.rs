//! A Raft node in each candidate's own process: what `raft` asks of it, and what it tells.
//!
//! It is a node of its own beside the elector, as a coordination service is: it goes on leading, following and voting
//! whatever the elector believes. Only a watch tells the elector of it.

use super::Service;
use crate::{payload::Payload, types::NodeId};

/// A Raft node in each candidate's own process.
pub const SERVICE: Service = Service { name: "raft", is_embedded: true, port: PORT, has_groups: true, ..Service::NONE };

/// What is said to the Raft node and by it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Api {}

impl super::Api for Api {
    type Request = Request;
    type Reply = Reply;
    type StreamRequest = StreamRequest;
    type Item = Item;
}

/// The port that Raft nodes answer their peers on by convention.
pub const PORT: u16 = 7000;

/// A request to this process's Raft node. Each is answered by [`Reply::Done`] when it is done and by a refusal otherwise.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Request {
    /// Hand leadership over; done when this node leads no more. openraft stops its heartbeats at once, so that the others
    /// elect somebody even if the transfer itself is lost. A node that is the only voter starts a new term instead.
    Transfer {
        /// To this one, or to whoever has most of the log.
        to: Option<NodeId>,
    },
    /// Have the leader, whoever it is, make a node a voter as soon as it has caught up.
    AddVoter {
        /// Which.
        node: NodeId,
    },
    /// Have the leader, whoever it is, take a node out. A leader does not take itself out: it hands over first.
    RemoveVoter {
        /// Which.
        node: NodeId,
    },
}

/// What is answered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Reply {
    /// It is done.
    Done,
}

/// A stream to open.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum StreamRequest {
    /// What this process's Raft node is. Never ends; what it is now comes first.
    Watch,
}

/// What a stream brings.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Item {
    /// It leads, and a majority has acknowledged it.
    Leading {
        /// In this term.
        term: u64,
        /// When the last round that a majority acknowledged was *sent*, nanoseconds of the node's monotonic clock.
        acked_at: u64,
    },
    /// It stands for election.
    Candidate {
        /// In this term.
        term: u64,
    },
    /// It follows, or waits for somebody to follow.
    Following {
        /// In this term.
        term: u64,
        /// The leader that it knows.
        leader: Option<NodeId>,
    },
}

impl Payload for Request {}
impl Payload for Reply {}
impl Payload for StreamRequest {}
impl Payload for Item {}
