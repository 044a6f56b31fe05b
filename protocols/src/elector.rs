//! What an election protocol is: a pure core that turns answers of a coordination service, or what other candidates say,
//! into a bounded belief.
//!
//! Messages, requests and replies are of the protocol's own types. Drivers know none of them: to them everything travels
//! [`Opaque`], and [`boxed`] stands between the two.

use crate::{
    clock::Now,
    error::Failure,
    payload::{Opaque, Payload},
    point::Point,
    service::{Api, Erased},
    state::State,
    types::{Leadership, NodeId, TimerId},
};
use std::hash::{Hash, Hasher};

/// Numbers the requests of one elector, from 1, never reused within a process's life.
pub type RequestNumber = u64;
/// Numbers the streams (watches, keepalives) of one elector, from 1, never reused within a process's life.
pub type StreamNumber = u64;

/// What the service's client hands to the elector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ServiceInput<S: Api = Erased> {
    /// Request `number` was answered, refused, or its outcome is unknown. Comes exactly once unless it was cancelled.
    Reply {
        /// The request's number.
        number: RequestNumber,
        /// The answer.
        reply: Result<S::Reply, Failure>,
    },
    /// An item of stream `number`.
    Item {
        /// The stream's number.
        number: StreamNumber,
        /// The item.
        item: S::Item,
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
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ServiceOutput<S: Api = Erased> {
    /// Carry out a request. Requests are carried out one after the other, each after the one before was answered or timed
    /// out, unless `concurrent`.
    Request {
        /// Its number.
        number: RequestNumber,
        /// What to ask.
        request: S::Request,
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
        request: S::StreamRequest,
    },
    /// Say something on an open stream, such as one keepalive; ignored when it has ended.
    Push(StreamNumber),
    /// Close a stream; nothing comes from it any more.
    Close(StreamNumber),
}

/// What happens to an elector.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Input<P: Payload = Opaque, S: Api = Erased> {
    /// The process started, or started again.
    Start,
    /// A timer fired.
    Timer(TimerId),
    /// From the service's client.
    Service(ServiceInput<S>),
    /// Another candidate, or a fencing device, says something. It may be a duplicate, late, or from a process that is gone.
    Peer {
        /// Who.
        from: NodeId,
        /// What.
        message: P,
    },
    /// The oldest [`Output::Persist`] that was not confirmed yet is durable now.
    Persisted,
    /// Give leadership up and let others go first; the work under it has been joined already. A follower ignores it.
    Resign,
    /// Comes after [`Input::Resign`] where the node has failed at the work and may fail again: let anybody else lead for so many
    /// nanoseconds, and stand before that only where nobody leads. It means nothing to a protocol in which whoever resigned
    /// comes last in any case.
    StandAside(u64),
    /// Hand leadership over to this candidate; the work under it has been joined already. A follower ignores it, and so
    /// does a protocol that cannot.
    Transfer(NodeId),
    /// Make this candidate a member; a follower ignores it.
    AddVoter(NodeId),
    /// Make this candidate a member no more; a follower ignores it.
    RemoveVoter(NodeId),
    /// The resource refused our token: somebody newer leads. Stop believing, campaign afresh.
    Fenced,
}

/// What an elector wants done, in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Output<P: Payload = Opaque, S: Api = Erased> {
    /// For the service's client.
    Service(ServiceOutput<S>),
    /// Say something to another candidate or to a fencing device; it may be lost.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: P,
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
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Deposed {
    /// The local clock passed the end of the lease.
    Expired,
    /// The service said that somebody else holds it, or nobody.
    Lost,
    /// The resource refused the token.
    Fenced,
    /// Given up on request.
    Resigned,
    /// Given up by the node itself, as its work has failed for too long; electors never say so.
    Stuck,
}

impl Deposed {
    /// Every reason there is.
    pub const ALL: [Deposed; 5] = [Deposed::Expired, Deposed::Lost, Deposed::Fenced, Deposed::Resigned, Deposed::Stuck];

    /// The words that histories carry.
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

/// An election protocol. Its state can be compared, hashed and copied, so that what its electors can come to can be explored.
pub trait Elector: Clone + Eq + Hash + Send + 'static {
    /// What its candidates say to each other; [`crate::payload::Nothing`] when they do not.
    type Peer: Payload;
    /// What is said to its service and by it; [`crate::payload::Nothing`] when it has none.
    type Service: Api;

    /// Takes one input at `now` and appends what is to be done to `out`.
    fn step(
        &mut self,
        now: Now,
        input: Input<Self::Peer, Self::Service>,
        out: &mut Vec<Output<Self::Peer, Self::Service>>,
    );
}

/// An elector of any protocol, as drivers know it.
pub type AnyElector = dyn ErasedElector;

/// An [`Elector`] without its types; see [`boxed`].
pub trait ErasedElector: State {
    /// Takes one input at `now` and appends what is to be done to `out`.
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>);

    /// Another elector in the same state.
    fn copy(&self) -> Box<AnyElector>;
}

/// `elector` for drivers. What other protocols' candidates say does not reach it; a reply of another type than its service's
/// reaches it as a failure whose outcome is unknown.
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

/// What `derive(PartialEq)` asks for of a field that is such a box (rust-lang/rust issue 31740).
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
    /// The same with other types; `None` when it is a message for which `peer` has nothing.
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
    /// Without the service's types.
    pub fn erase(self) -> ServiceInput {
        match self {
            ServiceInput::Reply { number, reply } => ServiceInput::Reply { number, reply: reply.map(Payload::erase) },
            ServiceInput::Item { number, item } => ServiceInput::Item { number, item: item.erase() },
            ServiceInput::Ended { number, failure } => ServiceInput::Ended { number, failure },
        }
    }
}

/// What another service says answers nothing.
fn foreign(other: Opaque) -> Failure {
    Failure::Unknown(format!("another service's answer: {other:?}"))
}

impl<P: Payload, S: Api> Output<P, S> {
    /// The same with other types.
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
    /// Without the service's types.
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
