//! What is under way at a bench, and the events that result.

use crate::{
    core::TimerId,
    elector::{Elector, Input, Output},
    payload::Payload,
    service::Api,
    types::NodeId,
};
use std::ops::Range;

/// Numbers what is under way, in order of submission.
pub type Number = u64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pending<P: Payload, S: Api> {
    Message {
        from: NodeId,
        to: NodeId,
        message: P,
    },
    /// Only for that incarnation of the process.
    Input {
        to: NodeId,
        life: u32,
        input: Input<P, S>,
    },
    Persisted {
        node: NodeId,
        life: u32,
    },
    Start(NodeId),
    Alarm(u64),
}

/// The event of a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<P: Payload> {
    /// Something under way has reached its elector.
    Arrived {
        node: NodeId,
        /// Its number while under way.
        number: Number,
    },
    /// An elector took another input: its start, a timer, something held back during a pause, or the caller's.
    Stepped(NodeId),
    /// Nothing took it: the process is down, paused, or has been restarted.
    Nothing,
    /// A message to a node without an elector.
    Outside { from: NodeId, to: NodeId, message: P },
    /// An alarm requested with [`super::Bench::alarm`].
    Alarm(u64),
}

/// A step and its effects.
pub struct Step<E: Elector> {
    /// The time of the step, nanoseconds of true time.
    pub at: u64,
    pub event: Event<E::Peer>,
    /// The elector's outputs, in order. The bench has carried them out, except requests to services and powering off,
    /// which are up to the caller. If power was lost at a write, that write is the last.
    pub outputs: Vec<Output<E::Peer, E::Service>>,
    /// The numbers of what the step put under way.
    pub sent: Range<Number>,
    /// Whether power was lost at a write.
    pub crashed: bool,
}

impl<E: Elector> Step<E> {
    /// The node that took an input, if any.
    pub fn node(&self) -> Option<NodeId> {
        match self.event {
            Event::Arrived { node, .. } | Event::Stepped(node) => Some(node),
            _ => None,
        }
    }
}

/// What is due next. Arrivals come before timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    Inbox(usize),
    Pending(u64, Number),
    Timer(usize, TimerId),
}

impl<P: Payload, S: Api> Pending<P, S> {
    /// A sort key that does not depend on numbers.
    pub(super) fn place(&self) -> (u8, u64, u64) {
        match self {
            Pending::Message { from, to, .. } => (0, from.0.into(), to.0.into()),
            Pending::Input { to, life, .. } => (1, to.0.into(), (*life).into()),
            Pending::Persisted { node, life } => (2, node.0.into(), (*life).into()),
            Pending::Start(node) => (3, node.0.into(), 0),
            Pending::Alarm(number) => (4, *number, 0),
        }
    }
}
