//! The messages between clients, nodes and the fenced store. In the simulation they travel as values; real mode has a
//! codec for them.

use crate::types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource};

/// One protected write, with everything the ledger needs to refuse it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    pub resource: Resource,
    /// The operation on the resource.
    pub operation: Operation,
    /// The writer's count of its leaderships, which distinguishes them if there is no token.
    pub generation: u32,
    /// The fencing token; 0 if the protocol has none.
    pub token: u64,
    /// The position in the resource's sequence.
    pub seq: u64,
    /// The version of the resource that the write is based on.
    pub read_version: u64,
    /// The client whose request this serves: see [`Write::request`]. A separate field, since it fits beside
    /// `generation`.
    pub client: NodeId,
    /// The number of that client's request.
    pub number: u64,
    /// The recorded payload, if any; or the plan or item that the operation concerns, and the time.
    pub payload: Option<Payload>,
}

impl Write {
    /// The request that this write serves; the same on every retry.
    pub const fn request(&self) -> RequestId {
        RequestId { client: self.client, number: self.number }
    }

    /// The leadership of `node` that this write belongs to.
    pub const fn incarnation(&self, node: NodeId) -> Incarnation {
        Incarnation { token: self.token, node, generation: self.generation }
    }

    /// The same write for another request.
    pub const fn with_request(self, request: RequestId) -> Write {
        Write { client: request.client, number: request.number, ..self }
    }
}

/// The ledger's decision on a write or a seal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WriteVerdict {
    /// Applied.
    Ok,
    /// The request was applied before.
    Duplicate {
        /// The sequence number of the first application.
        seq: u64,
    },
    /// Refused: the token is outdated, or belongs to another owner.
    Fenced {
        /// The highest token that the resource has accepted.
        highest: u64,
    },
    /// Refused: not the next in order (an earlier write was lost), or the request is older than the memory reaches; in
    /// turn, the latter burns the number.
    Failed {
        /// The sequence number that the resource expects next.
        expected: u64,
    },
}

/// Messages about the address by which clients find the leader; see [`crate::address`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Node to directory: the sender claims the address.
    Claimed,
    /// Node to directory: the sender releases the address.
    Released,
    /// Client to directory: asks for the owner.
    Asked,
    /// Directory to client: the owner, if any.
    Is(Option<NodeId>),
}

/// The messages between clients, nodes and the store. Candidates exchange messages of their protocol's own type, which
/// are not part of this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Client to node: `POST /next`.
    Next { request: RequestId },
    /// Node to client: a number, in answer to [`Message::Next`].
    NextIs {
        request: RequestId,
        /// The fencing token under which the number was handed out.
        token: u64,
        seq: u64,
    },
    /// Node to client: this node does not lead.
    NotLeader {
        request: RequestId,
        /// The leader, as far as this node knows.
        leader: Option<NodeId>,
    },
    /// Client to node: asks for the last number.
    Read { request: RequestId },
    /// Node to client: the last number.
    ReadIs {
        request: RequestId,
        /// The fencing token of the answering leader.
        token: u64,
        /// The last number; 0 before the first.
        seq: u64,
    },
    /// Leader to store: asks for the last number, if no newer leader exists.
    ReadStore {
        resource: Resource,
        request: RequestId,
        /// The reader's leadership count.
        generation: u32,
        /// The fencing token; 0 if the protocol has none.
        token: u64,
    },
    /// Store to leader: the last number, or a refusal.
    StoreIs {
        request: RequestId,
        /// The leadership count in the request.
        generation: u32,
        /// The token in the request.
        token: u64,
        /// `Ok` or `Fenced`.
        verdict: WriteVerdict,
        seq: u64,
    },
    /// Leader to store: fences off everything older, and asks for the state (fencing rule 2).
    Seal {
        resource: Resource,
        /// The sealer's leadership count.
        generation: u32,
        /// The fencing token; 0 if the protocol has none.
        token: u64,
    },
    /// Store to leader: not sealed, because the token is outdated, or belongs to another owner.
    SealRefused {
        resource: Resource,
        /// The leadership count in the seal.
        generation: u32,
        /// The token in the seal.
        token: u64,
        /// The highest token that the resource has accepted.
        highest: u64,
    },
    /// Store to leader: sealed, and the state as of the seal.
    Sealed {
        resource: Resource,
        /// The leadership count in the seal.
        generation: u32,
        /// The token in the seal.
        token: u64,
        seq: u64,
        version: u64,
        /// The payload last recorded.
        payload: Option<Payload>,
    },
    /// About the leader's address.
    Address(Address),
    /// Leader to store: a protected write.
    Write(Write),
    /// Store to leader: the decision on a write.
    Written {
        resource: Resource,
        /// The leadership count in the write.
        generation: u32,
        /// The sequence number in the write.
        seq: u64,
        request: RequestId,
        /// The ledger's decision.
        verdict: WriteVerdict,
    },
}
