//! What an election protocol is: a pure core that turns answers of a coordination service into a bounded belief.

use crate::{
    client::{Item, Reply, Request, StreamRequest},
    clock::Now,
    core::TimerId,
    error::Failure,
    peer::Peer,
    point::Point,
    types::{Leadership, NodeId},
};

/// Numbers the requests of one elector, from 1, never reused within a process's life.
pub type RequestNumber = u64;
/// Numbers the streams (watches, keepalives) of one elector, from 1, never reused within a process's life.
pub type StreamNumber = u64;

/// What the service's client hands to the elector.
#[derive(Debug)]
pub enum ServiceInput {
    /// Request `number` was answered, refused, or its outcome is unknown. Comes exactly once unless it was cancelled.
    Reply {
        /// The request's number.
        number: RequestNumber,
        /// The answer.
        reply: Result<Reply, Failure>,
    },
    /// An item of stream `number`.
    Item {
        /// The stream's number.
        number: StreamNumber,
        /// The item.
        item: Item,
    },
    /// Stream `number` ended, and not because the core closed it.
    Ended {
        /// The stream's number.
        number: StreamNumber,
        /// Why.
        failure: Failure,
    },
}

/// What the elector asks of the service's client.
#[derive(Clone, Debug)]
pub enum ServiceOutput {
    /// Carry out a request. Requests are carried out one after the other, each after the one before was answered or timed
    /// out, unless `concurrent`.
    Request {
        /// Its number.
        number: RequestNumber,
        /// What to ask.
        request: Request,
        /// Nanoseconds of the node's monotonic clock after which the outcome is [`Failure::Unknown`].
        timeout: u64,
        /// Do not wait for earlier requests.
        concurrent: bool,
    },
    /// Drop the request if it is waiting or under way; no reply comes for it. It may take effect all the same.
    Cancel(RequestNumber),
    /// Open a stream.
    Open {
        /// Its number.
        number: StreamNumber,
        /// What to stream.
        request: StreamRequest,
    },
    /// Say something on an open stream, such as one keepalive; ignored when it has ended.
    Push(StreamNumber),
    /// Close a stream; nothing comes from it any more.
    Close(StreamNumber),
}

/// What happens to an elector.
#[derive(Debug)]
pub enum Input {
    /// The process started, or started again.
    Start,
    /// A timer fired.
    Timer(TimerId),
    /// From the service's client.
    Service(ServiceInput),
    /// Another candidate, or a fencing device, says something. It may be a duplicate, late, or from a process that is gone.
    Peer {
        /// Who.
        from: NodeId,
        /// What.
        message: Peer,
    },
    /// The oldest [`Output::Persist`] that was not confirmed yet is durable now.
    Persisted,
    /// Give leadership up and let others go first; the work under it has been joined already. A follower ignores it.
    Resign,
    /// Hand leadership over to this candidate; the work under it has been joined already. A follower ignores it, and so
    /// does a protocol that cannot.
    Transfer(NodeId),
    /// Make this candidate a member; a follower ignores it.
    Admit(NodeId),
    /// Make this candidate a member no more; a follower ignores it.
    Expel(NodeId),
    /// The resource refused our token: somebody newer leads. Stop believing, campaign afresh.
    Fenced,
}

/// What an elector wants done, in order.
#[derive(Clone, Debug)]
pub enum Output {
    /// For the service's client.
    Service(ServiceOutput),
    /// Say something to another candidate or to a fencing device; it may be lost.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: Peer,
    },
    /// Make this the elector's state on disk, atomically; [`Input::Persisted`] follows. What is on disk when the process
    /// starts is in [`crate::election::Setup::stored`].
    Persist(Vec<u8>),
    /// Cut the power of another node: what a fencing device does. It has none once this was carried out.
    PowerOff {
        /// Whose.
        node: NodeId,
        /// Give it back after so many nanoseconds.
        restart_after: Option<u64>,
    },
    /// Fire timer `id` at `at` nanoseconds of the node's monotonic clock. Electors have the ids below
    /// [`ELECTOR_TIMERS`]; a timer that is set is moved.
    SetTimer {
        /// Which.
        id: TimerId,
        /// When.
        at: u64,
    },
    /// Forget a timer.
    CancelTimer(TimerId),
    /// A named place was passed.
    Point(Point),
    /// The candidate starts to want leadership; the clock of its election latency starts.
    Campaign,
    /// Won. A new incarnation starts.
    Elected(Leadership),
    /// The same leadership, valid for longer.
    Renewed(Leadership),
    /// The belief ended. Never sent twice for one `Elected`.
    Deposed(Deposed),
    /// A candidate has become a member (`true`), or is none any more.
    Membership(NodeId, bool),
    /// Who leads, as far as this node can see; `None` when nobody does.
    Observed(Option<NodeId>),
    /// This node has voted: the vote is on its way, and on disk where the protocol keeps it there. What a quorum grants
    /// is made of such votes.
    Voted {
        /// For whom.
        candidate: NodeId,
        /// The term or epoch that the vote is for: the token of whoever wins it.
        token: u64,
    },
}

/// Timer ids from here on belong to the leader's work.
pub const ELECTOR_TIMERS: TimerId = 16;

/// Why a belief ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deposed {
    /// The local clock passed the end of the lease.
    Expired,
    /// The service said that somebody else holds it, or nobody.
    Lost,
    /// The resource refused the token.
    Fenced,
    /// Given up on request.
    Resigned,
}

impl Deposed {
    /// The words that histories carry.
    pub const fn name(self) -> &'static str {
        match self {
            Deposed::Expired => "expired",
            Deposed::Lost => "lost",
            Deposed::Fenced => "fenced",
            Deposed::Resigned => "resigned",
        }
    }
}

/// An election protocol.
pub trait Elector: Send {
    /// Takes one input at `now` and appends what is to be done to `out`.
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>);
}
