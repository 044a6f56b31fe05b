//! What is under way at a bench, and what happens there.

use crate::{
    core::TimerId,
    elector::{Elector, Input, Output},
    payload::Payload,
    service::Api,
    types::NodeId,
};
use std::ops::Range;

/// Numbers everything that is under way, in the order in which it was put there.
pub type Number = u64;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Pending<P: Payload, S: Api> {
    Message {
        from: NodeId,
        to: NodeId,
        message: P,
    },
    /// For that life of the process.
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

/// What has happened in a step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event<P: Payload> {
    /// Something that was put under way with this number has come to its elector.
    Arrived {
        /// To whom.
        node: NodeId,
        /// What: the number that it had.
        number: Number,
    },
    /// An elector took something else: its start, a timer, what it found after a pause, or what the caller gave it.
    Stepped(NodeId),
    /// Nobody took it: the process is down, paused, or another one by now.
    Nothing,
    /// A message to a node that no elector sits at.
    Outside {
        /// Who sends it.
        from: NodeId,
        /// To whom.
        to: NodeId,
        /// What it says.
        message: P,
    },
    /// What [`super::Bench::alarm`] asked for.
    Alarm(u64),
}

/// A step, and what came of it.
pub struct Step<E: Elector> {
    /// When, nanoseconds of true time.
    pub at: u64,
    /// What happened.
    pub event: Event<E::Peer>,
    /// What the elector wanted done, in order; it has been, but for requests to services and powering off, which are the
    /// caller's. Where power was lost at a write, that is the last.
    pub outputs: Vec<Output<E::Peer, E::Service>>,
    /// The numbers of what was put under way.
    pub sent: Range<Number>,
    /// Power was lost at a write.
    pub crashed: bool,
}

impl<E: Elector> Step<E> {
    /// The node that took something, if one did.
    pub fn node(&self) -> Option<NodeId> {
        match self.event {
            Event::Arrived { node, .. } | Event::Stepped(node) => Some(node),
            _ => None,
        }
    }
}

/// What is due next. What has arrived goes before timers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due {
    Inbox(usize),
    Pending(u64, Number),
    Timer(usize, TimerId),
}

impl<P: Payload, S: Api> Pending<P, S> {
    /// A place in an order that does not depend on numbers.
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
