//! The seam between protocol code and the world: a core is a state machine without I/O and without a clock.
//!
//! Nodes, the fenced store and the load are cores. A driver steps them: the simulation's event loop does it inline, the
//! task driver (`protocols-clients`, `task_driver.rs`) does it on any `Env`. Both must give the same history.

pub use crate::types::TimerId;
use crate::{clock::Now, elector, history, message::Message, payload::Opaque, point::Point, types::NodeId};

/// What happens to a core.
#[derive(Debug)]
pub enum Input {
    /// The process started, or started again; always the first input.
    Start,
    /// A message arrived. It may be late, or from a process that is gone; a datagram may also be a duplicate.
    Message {
        /// Who sent it.
        from: NodeId,
        /// What it says.
        message: Message,
    },
    /// Another candidate, or a fencing device, says something of its protocol's own type. As with messages.
    Peer {
        /// Who.
        from: NodeId,
        /// What.
        message: Opaque,
    },
    /// The connection that this process had made to `peer` was reset or refused. What was under way on it may or may not
    /// have arrived; what is sent next goes over a new one.
    Disconnected {
        /// Who had accepted it, or was to.
        peer: NodeId,
    },
    /// A timer fired, at or after the time it was set for.
    Timer(TimerId),
    /// The coordination service's client has something for the elector.
    Service(Box<elector::ServiceInput>),
    /// The oldest [`Output::Persist`] that was not confirmed yet is durable now.
    Persisted,
    /// An operator asks the node to give leadership up, work first.
    Resign,
    /// An operator asks the node to hand leadership over to this candidate, work first.
    Transfer(NodeId),
    /// An operator asks the leader to make this candidate a member.
    AddVoter(NodeId),
    /// An operator asks the leader to make this candidate a member no more.
    RemoveVoter(NodeId),
    /// The same for a group that is not the first; see [`crate::multiplexer`].
    OfGroup(u16, Box<Input>),
}

/// What a core wants done, in order. A pause can fall between any two.
#[derive(Debug)]
pub enum Output {
    /// Send a message. Over a connection it comes in order and once, unless that breaks; a datagram may be lost.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: Message,
    },
    /// Say something of the protocol's own type to another candidate, or to or as a fencing device. As with messages.
    Tell {
        /// To whom.
        to: NodeId,
        /// What.
        message: Opaque,
    },
    /// Give up the connection that this process has made to `to`; what it sends there next goes over a new one. What is
    /// under way on the old one may still arrive, beside what the new one carries; answers on it are lost.
    Redial {
        /// Who had accepted it.
        to: NodeId,
    },
    /// Fire timer `id` when the node's monotonic clock shows `at` nanoseconds.
    SetTimer {
        /// Which; a timer of that name that is set is moved.
        id: TimerId,
        /// When, on the node's monotonic clock.
        at: u64,
    },
    /// Forget timer `id`; no effect when it is not set.
    CancelTimer(TimerId),
    /// A named place in the code was passed.
    Point(Point),
    /// Something that belongs into the history happened, now.
    Record(history::Kind),
    /// Make this the process's state on disk, atomically; [`Input::Persisted`] follows. A process that is started again
    /// finds what was made durable last, or what was under way.
    Persist(Vec<u8>),
    /// Cut a machine's power, and give it back after so many nanoseconds if at all: what a fencing device does.
    PowerOff {
        /// Whose.
        node: NodeId,
        /// Until it is started again.
        restart_after: Option<u64>,
    },
    /// Something for the coordination service's client.
    Service(Box<elector::ServiceOutput>),
    /// A point, a record, or something for a client, of a group that is not the first; see [`crate::multiplexer`].
    OfGroup(u16, Box<Output>),
}

impl Input {
    /// The same for a group.
    pub fn of_group(self, group: u16) -> Input {
        if group == 0 { self } else { Input::OfGroup(group, Box::new(self)) }
    }
}

/// A state machine without I/O or clock.
pub trait Core: Send {
    /// Takes one input at `now` (the node's own clocks) and appends what is to be done to `out`.
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>);
}
