//! What clients, nodes and the fenced store say to each other. In the simulation these travel as values; real mode has
//! a codec for them.

use crate::types::{Incarnation, NodeId, Operation, Payload, RequestId, Resource};

/// One protected write, with everything the ledger needs to refuse it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Write {
    /// What is written.
    pub resource: Resource,
    /// What is done there.
    pub operation: Operation,
    /// The writer's leadership count, which tells incarnations apart when there is no token.
    pub generation: u32,
    /// Fencing token; 0 when the protocol has none.
    pub token: u64,
    /// Position in the resource's sequence.
    pub seq: u64,
    /// The resource's version that the writer built this write on.
    pub read_version: u64,
    /// Whose request this serves: see [`Write::request`]. Apart, as there is room for it beside `generation`.
    pub client: NodeId,
    /// Which of that client's requests.
    pub number: u64,
    /// What is recorded, if anything is; or which plan the operation is about, and when.
    pub payload: Option<Payload>,
}

impl Write {
    /// The request that this serves; the same on every retry.
    pub const fn request(&self) -> RequestId {
        RequestId { client: self.client, number: self.number }
    }

    /// The leadership of `node` that this is a write of.
    pub const fn incarnation(&self, node: NodeId) -> Incarnation {
        Incarnation { token: self.token, node, generation: self.generation }
    }

    /// The same write for another request.
    pub const fn with_request(self, request: RequestId) -> Write {
        Write { client: request.client, number: request.number, ..self }
    }
}

/// What the ledger made of a write or a seal.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum WriteVerdict {
    /// Applied.
    Ok,
    /// The request was applied before; the number it got then.
    Duplicate {
        /// The sequence number of the first application.
        seq: u64,
    },
    /// Refused: the token is from the past, or belongs to another owner.
    Fenced {
        /// The highest token that the resource has accepted.
        highest: u64,
    },
    /// Refused: not the next in order (an earlier write was lost), or its request is too old to tell; in turn, that burns
    /// the number.
    Failed {
        /// The sequence number that the resource expects next.
        expected: u64,
    },
}

/// What is said of the address by which clients find the leader; see [`crate::address`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Address {
    /// Node to directory: it is mine.
    Claimed,
    /// Node to directory: it is not mine.
    Released,
    /// Client to directory: whose is it?
    Asked,
    /// Directory to client: whose it is, if anybody's.
    Is(Option<NodeId>),
}

/// What travels between clients, nodes and the store. What candidates say to each other is of their protocol's own type, and
/// no part of this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Message {
    /// Client to node: `POST /next`.
    Next {
        /// The client's request.
        request: RequestId,
    },
    /// Node to client: a number.
    NextIs {
        /// The request that this answers.
        request: RequestId,
        /// Fencing token under which the number was handed out.
        token: u64,
        /// The number.
        seq: u64,
    },
    /// Node to client: not the leader, and who is, as far as this node knows.
    NotLeader {
        /// The request that this answers.
        request: RequestId,
        /// Whom to ask instead.
        leader: Option<NodeId>,
    },
    /// Client to node: what is the last number?
    Read {
        /// The client's request.
        request: RequestId,
    },
    /// Node to client: the last number.
    ReadIs {
        /// The request that this answers.
        request: RequestId,
        /// Fencing token of the leader that answers.
        token: u64,
        /// The number; 0 before the first.
        seq: u64,
    },
    /// Leader to store: what is the last number, if nobody newer leads?
    ReadStore {
        /// What is read.
        resource: Resource,
        /// The client's request.
        request: RequestId,
        /// The reader's leadership count.
        generation: u32,
        /// Fencing token; 0 when the protocol has none.
        token: u64,
    },
    /// Store to leader: the last number, or a refusal.
    StoreIs {
        /// The request that this answers.
        request: RequestId,
        /// The leadership count of the question that this answers.
        generation: u32,
        /// The token of the question that this answers.
        token: u64,
        /// `Ok`, or `Fenced`.
        verdict: WriteVerdict,
        /// The last sequence number.
        seq: u64,
    },
    /// Leader to store: fence off everything older, then tell me the state (fencing rule 2).
    Seal {
        /// What to seal.
        resource: Resource,
        /// The sealer's leadership count.
        generation: u32,
        /// Fencing token; 0 when the protocol has none.
        token: u64,
    },
    /// Store to leader: not sealed, since the token is from the past, or belongs to another owner.
    SealRefused {
        /// What was not sealed.
        resource: Resource,
        /// The leadership count of the seal that this answers.
        generation: u32,
        /// The token of the seal that this answers.
        token: u64,
        /// The highest token that the resource has accepted.
        highest: u64,
    },
    /// Store to leader: sealed, and the state as of the seal.
    Sealed {
        /// What was sealed.
        resource: Resource,
        /// The leadership count of the seal that this answers.
        generation: u32,
        /// The token of the seal that this answers.
        token: u64,
        /// The last sequence number.
        seq: u64,
        /// The current version.
        version: u64,
        /// What was recorded last.
        payload: Option<Payload>,
    },
    /// Of the leader's address.
    Address(Address),
    /// Leader to store: a protected write.
    Write(Write),
    /// Store to leader: what became of it.
    Written {
        /// What was written.
        resource: Resource,
        /// The leadership count of the write that this answers.
        generation: u32,
        /// The sequence number of the write that this answers.
        seq: u64,
        /// The request that the write served.
        request: RequestId,
        /// What the ledger made of it.
        verdict: WriteVerdict,
    },
}
