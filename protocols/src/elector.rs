//! What an election protocol is: a pure core that turns answers of a coordination service, or messages of other
//! candidates, into a bounded belief.
//!
//! Messages, requests and replies have the protocol's own types. Drivers do not know them: for drivers everything is
//! [`Opaque`], and [`boxed`] translates.

use crate::{
    clock::Now,
    error::Failure,
    payload::{Opaque, Payload, State},
    point::Point,
    service::{Api, Erased},
    types::{Leadership, NodeId, TimerId},
};
use std::hash::{Hash, Hasher};

/// Numbers an elector's requests, from 1; never reused within a process.
pub type RequestNumber = u64;
/// Numbers an elector's streams (watches, keepalives), from 1; never reused within a process.
pub type StreamNumber = u64;

/// An input to the elector from the service's client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ServiceInput<S: Api = Erased> {
    /// Request `number` was answered or refused, or its outcome is unknown. Comes exactly once, unless the request was
    /// cancelled.
    Reply {
        number: RequestNumber,
        reply: Result<S::Reply, Failure>,
    },
    Item {
        number: StreamNumber,
        item: S::Item,
    },
    /// Stream `number` has ended without being closed by the core.
    Ended {
        number: StreamNumber,
        failure: Failure,
    },
}

/// An elector's output to the service's client.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ServiceOutput<S: Api = Erased> {
    /// Carry out a request. Requests are sequential: each starts once the one before was answered or timed out, unless
    /// `concurrent`.
    Request {
        number: RequestNumber,
        request: S::Request,
        /// Nanoseconds of the node's monotonic clock after which the outcome is [`Failure::Unknown`].
        timeout: u64,
        /// Do not wait for earlier requests.
        concurrent: bool,
    },
    /// Drop the request if it is waiting or under way; it gets no reply, but may still take effect.
    Cancel(RequestNumber),
    Open {
        number: StreamNumber,
        request: S::StreamRequest,
    },
    /// Send on an open stream, such as one keepalive; ignored if the stream has ended.
    Push(StreamNumber),
    /// Close a stream; nothing more comes from it.
    Close(StreamNumber),
}

/// An input to an elector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input<P: Payload = Opaque, S: Api = Erased> {
    /// The process has started or restarted.
    Start,
    Timer(TimerId),
    /// From the service's client.
    Service(ServiceInput<S>),
    /// A message from another candidate or a fencing device. It may be a duplicate, late, or from a process that has
    /// died.
    Peer {
        from: NodeId,
        message: P,
    },
    /// The oldest unconfirmed [`Output::Persist`] is durable now.
    Persisted,
    /// Resign, and let others go first; the work is already finished. A follower ignores it.
    Resign,
    /// Follows [`Input::Resign`] if the node has failed at the work and may fail again: let any other node lead for
    /// this many nanoseconds, and campaign before that only if nobody leads. Has no meaning for protocols in which a
    /// node that resigned comes last anyway.
    StandAside(u64),
    /// Hand leadership over to this candidate; the work is already finished. Followers ignore it, as do protocols
    /// without transfers.
    Transfer(NodeId),
    /// Make this candidate a member; a follower ignores it.
    AddVoter(NodeId),
    /// Remove this candidate from the members; a follower ignores it.
    RemoveVoter(NodeId),
    /// The resource refused our token, so a newer leader exists. Stop believing, and campaign again.
    Fenced,
    /// Leave the election for good; the work is already finished. Gives up whatever this candidate holds, or may come
    /// to hold by a request under way, and asks for nothing else. It is done once no request is under way; the driver
    /// passes on answers until then, and timers never. Only protocols that `fencepost-seat` runs know it.
    Withdraw,
}

/// An action requested by an elector, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output<P: Payload = Opaque, S: Api = Erased> {
    /// For the service's client.
    Service(ServiceOutput<S>),
    /// Send a message to another candidate or to a fencing device; it may be lost.
    Send {
        to: NodeId,
        message: P,
    },
    /// Make this the elector's state on disk, atomically; [`Input::Persisted`] follows. At the process's start, the
    /// content of the disk is in [`crate::election::Setup::stored`].
    Persist(Vec<u8>),
    /// Cut another node's power: the action of a fencing device. Once this has been carried out, the power is off.
    PowerOff {
        node: NodeId,
        /// Restore it after this many nanoseconds.
        restart_after: Option<u64>,
    },
    /// Fire timer `id` at `at` nanoseconds of the node's monotonic clock. Electors have the ids below
    /// [`ELECTOR_TIMERS`]; setting a timer again moves it.
    SetTimer {
        id: TimerId,
        at: u64,
    },
    CancelTimer(TimerId),
    /// A named point in the code has been reached.
    Point(Point),
    /// The candidate starts to campaign; its election latency counts from here.
    Campaign,
    /// Won. A new leadership starts.
    Elected(Leadership),
    /// The same leadership, valid for longer.
    Renewed(Leadership),
    /// The belief has ended. Sent once per `Elected`.
    Deposed(Deposed),
    /// A candidate has become a member (`true`) or has ceased to be one.
    Membership(NodeId, bool),
    /// The leader as observed by this node; `None` if there is none.
    Observed(Option<NodeId>),
    /// This node has voted: the vote is being sent, and is on disk if the protocol stores it. A quorum's grant consists
    /// of such votes.
    Voted {
        candidate: NodeId,
        /// The term or epoch of the vote: its winner's token.
        token: u64,
    },
}

/// Timer ids from here on belong to the leader's work.
pub const ELECTOR_TIMERS: TimerId = 16;

/// Why a belief ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Deposed {
    /// The lease has expired by the local clock.
    Expired,
    /// The service reported another holder, or none.
    Lost,
    /// The resource refused the token.
    Fenced,
    /// Resigned on request.
    Resigned,
    /// Resigned by the node itself because its work has failed for too long; electors never report it.
    Stuck,
}

impl Deposed {
    pub const ALL: [Deposed; 5] = [Deposed::Expired, Deposed::Lost, Deposed::Fenced, Deposed::Resigned, Deposed::Stuck];

    /// The name in histories.
    pub const fn name(self) -> &'static str {
        match self {
            Deposed::Expired => "expired",
            Deposed::Lost => "lost",
            Deposed::Fenced => "fenced",
            Deposed::Resigned => "resigned",
            Deposed::Stuck => "stuck",
        }
    }
}

/// An election protocol. Its state can be compared, hashed and copied, so that its reachable states can be explored.
pub trait Elector: Clone + Eq + Hash + Send + 'static {
    /// The messages between its candidates; [`crate::payload::Nothing`] if there are none.
    type Peer: Payload;
    /// Its service's requests and answers; [`crate::payload::Nothing`] if it has no service.
    type Service: Api;

    /// Takes one input at `now` and appends the resulting outputs to `out`.
    fn step(
        &mut self,
        now: Now,
        input: Input<Self::Peer, Self::Service>,
        out: &mut Vec<Output<Self::Peer, Self::Service>>,
    );
}

/// An elector of any protocol, as drivers see it.
pub type AnyElector = dyn ErasedElector;

/// An [`Elector`] without its types; see [`boxed`].
pub trait ErasedElector: State {
    /// Takes one input at `now` and appends the resulting outputs to `out`.
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>);

    /// A copy in the same state.
    fn copy(&self) -> Box<AnyElector>;
}

/// Wraps `elector` for drivers. Messages of other protocols do not reach it; a reply of another service's type reaches
/// it as a failure with unknown outcome.
pub fn boxed<E: Elector>(elector: E) -> Box<AnyElector> {
    Box::new(Erasing { elector, scratch: Vec::new() })
}

struct Erasing<E: Elector> {
    elector: E,
    /// Empty between steps.
    scratch: Vec<Output<E::Peer, E::Service>>,
}

impl<E: Elector> PartialEq for Erasing<E> {
    fn eq(&self, other: &Self) -> bool {
        self.elector == other.elector
    }
}

impl<E: Elector> Eq for Erasing<E> {}

impl<E: Elector> Hash for Erasing<E> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.elector.hash(state);
    }
}

impl<E: Elector> ErasedElector for Erasing<E> {
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        let Some(input) = input.convert(|said| E::Peer::restore(said).ok(), ServiceInput::restore) else { return };
        self.elector.step(now, input, &mut self.scratch);
        out.extend(self.scratch.drain(..).map(|output| output.convert(Payload::erase, ServiceOutput::erase)));
    }

    fn copy(&self) -> Box<AnyElector> {
        boxed(self.elector.clone())
    }
}

impl PartialEq for AnyElector {
    fn eq(&self, other: &Self) -> bool {
        self.equals(other)
    }
}

impl Eq for AnyElector {}

impl Hash for AnyElector {
    fn hash<H: Hasher>(&self, mut state: &mut H) {
        self.hash_into(&mut state);
    }
}

impl Clone for Box<AnyElector> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// Required by `derive(PartialEq)` for a field that is such a box (rust-lang/rust issue 31740).
impl PartialEq<&Self> for Box<AnyElector> {
    fn eq(&self, other: &&Self) -> bool {
        **self == ***other
    }
}

impl Elector for Box<AnyElector> {
    type Peer = Opaque;
    type Service = Erased;

    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>) {
        (**self).step(now, input, out);
    }
}

impl<P: Payload, S: Api> Input<P, S> {
    /// Converts the types; `None` for a message that `peer` cannot convert.
    pub fn convert<Q: Payload, T: Api>(
        self,
        peer: impl FnOnce(P) -> Option<Q>,
        service: impl FnOnce(ServiceInput<S>) -> ServiceInput<T>,
    ) -> Option<Input<Q, T>> {
        Some(match self {
            Input::Start => Input::Start,
            Input::Timer(id) => Input::Timer(id),
            Input::Service(input) => Input::Service(service(input)),
            Input::Peer { from, message } => Input::Peer { from, message: peer(message)? },
            Input::Persisted => Input::Persisted,
            Input::Resign => Input::Resign,
            Input::StandAside(length) => Input::StandAside(length),
            Input::Transfer(to) => Input::Transfer(to),
            Input::AddVoter(node) => Input::AddVoter(node),
            Input::RemoveVoter(node) => Input::RemoveVoter(node),
            Input::Fenced => Input::Fenced,
            Input::Withdraw => Input::Withdraw,
        })
    }
}

impl ServiceInput {
    fn restore<S: Api>(self) -> ServiceInput<S> {
        match self {
            ServiceInput::Reply { number, reply } => {
                ServiceInput::Reply { number, reply: reply.and_then(|reply| S::Reply::restore(reply).map_err(foreign)) }
            }
            ServiceInput::Item { number, item } => match S::Item::restore(item) {
                Ok(item) => ServiceInput::Item { number, item },
                Err(other) => ServiceInput::Ended { number, failure: foreign(other) },
            },
            ServiceInput::Ended { number, failure } => ServiceInput::Ended { number, failure },
        }
    }
}

impl<S: Api> ServiceInput<S> {
    /// Erases the service's types.
    pub fn erase(self) -> ServiceInput {
        match self {
            ServiceInput::Reply { number, reply } => ServiceInput::Reply { number, reply: reply.map(Payload::erase) },
            ServiceInput::Item { number, item } => ServiceInput::Item { number, item: item.erase() },
            ServiceInput::Ended { number, failure } => ServiceInput::Ended { number, failure },
        }
    }
}

/// A reply of another service is no answer.
fn foreign(other: Opaque) -> Failure {
    Failure::Unknown(format!("another service's answer: {other:?}"))
}

impl<P: Payload, S: Api> Output<P, S> {
    /// Converts the types.
    pub fn convert<Q: Payload, T: Api>(
        self,
        peer: impl FnOnce(P) -> Q,
        service: impl FnOnce(ServiceOutput<S>) -> ServiceOutput<T>,
    ) -> Output<Q, T> {
        match self {
            Output::Service(output) => Output::Service(service(output)),
            Output::Send { to, message } => Output::Send { to, message: peer(message) },
            Output::Persist(state) => Output::Persist(state),
            Output::PowerOff { node, restart_after } => Output::PowerOff { node, restart_after },
            Output::SetTimer { id, at } => Output::SetTimer { id, at },
            Output::CancelTimer(id) => Output::CancelTimer(id),
            Output::Point(point) => Output::Point(point),
            Output::Campaign => Output::Campaign,
            Output::Elected(leadership) => Output::Elected(leadership),
            Output::Renewed(leadership) => Output::Renewed(leadership),
            Output::Deposed(why) => Output::Deposed(why),
            Output::Membership(node, joined) => Output::Membership(node, joined),
            Output::Observed(leader) => Output::Observed(leader),
            Output::Voted { candidate, token } => Output::Voted { candidate, token },
        }
    }
}

impl<S: Api> ServiceOutput<S> {
    /// Erases the service's types.
    pub fn erase(self) -> ServiceOutput {
        match self {
            ServiceOutput::Request { number, request, timeout, concurrent } => {
                ServiceOutput::Request { number, request: request.erase(), timeout, concurrent }
            }
            ServiceOutput::Cancel(number) => ServiceOutput::Cancel(number),
            ServiceOutput::Open { number, request } => ServiceOutput::Open { number, request: request.erase() },
            ServiceOutput::Push(number) => ServiceOutput::Push(number),
            ServiceOutput::Close(number) => ServiceOutput::Close(number),
        }
    }
}
