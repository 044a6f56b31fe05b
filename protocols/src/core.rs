//! The seam between protocol code and the world: a core is a state machine without I/O and without a clock.
//!
//! Nodes, the fenced store and the load are cores. A driver steps them: the simulation's event loop inline, or the task
//! driver (`protocols-clients`, `task_driver.rs`) on any `Env`. Both must produce the same history.

pub use crate::types::TimerId;
use crate::{clock::Now, elector, history, message::Message, payload::Opaque, point::Point, types::NodeId};

/// An input to a core.
#[derive(Debug)]
pub enum Input {
    /// The process has started or restarted; always the first input.
    Start,
    /// A message. It may be late, or from a process that has died; a datagram may be a duplicate.
    Message { from: NodeId, message: Message },
    /// A message from another candidate or a fencing device, in the protocol's own type. It may be late or duplicated,
    /// too.
    Peer { from: NodeId, message: Opaque },
    /// The connection that this process had made to `peer` was reset or refused. Messages under way on it may or may
    /// not have arrived; later ones go over a new connection.
    Disconnected {
        /// The node that had accepted it, or should have.
        peer: NodeId,
    },
    /// A timer has fired, at or after the time it was set for.
    Timer(TimerId),
    /// An input from the coordination service's client, for the elector.
    Service(Box<elector::ServiceInput>),
    /// The oldest unconfirmed [`Output::Persist`] is durable now.
    Persisted,
    /// An operator asks the node to give up leadership, after its work.
    Resign,
    /// An operator asks the node to hand leadership over to this candidate, after its work.
    Transfer(NodeId),
    /// An operator asks the leader to make this candidate a member.
    AddVoter(NodeId),
    /// An operator asks the leader to remove this candidate from the members.
    RemoveVoter(NodeId),
    /// The same for a group other than the first; see [`crate::multiplexer`].
    OfGroup(u16, Box<Input>),
}

/// An action requested by a core, in order. A pause can fall between any two.
#[derive(Debug)]
pub enum Output {
    /// Send a message. A connection delivers in order and once, until it breaks; a datagram may be lost.
    Send { to: NodeId, message: Message },
    /// Send a message in the protocol's own type to another candidate, or to or from a fencing device. Delivered as in
    /// `Send`.
    Tell { to: NodeId, message: Opaque },
    /// Drop the connection that this process has made to `to`; later messages go over a new one. Messages under way on
    /// the old one may still arrive, interleaved with the new one's; answers on it are lost.
    Redial {
        /// The node that had accepted it.
        to: NodeId,
    },
    /// Fire timer `id` when the node's monotonic clock shows `at` nanoseconds.
    SetTimer {
        /// A set timer with this id is moved.
        id: TimerId,
        at: u64,
    },
    /// Cancel timer `id`; no effect if it is not set.
    CancelTimer(TimerId),
    /// A named point in the code has been reached.
    Point(Point),
    /// Record an event in the history, now.
    Record(history::Kind),
    /// Make this the process's state on disk, atomically; [`Input::Persisted`] follows. A restarted process finds the
    /// last durable state, or the one being written.
    Persist(Vec<u8>),
    /// Cut a machine's power, and restore it after `restart_after` nanoseconds, if at all: the action of a fencing
    /// device.
    PowerOff {
        /// The machine's node.
        node: NodeId,
        /// Nanoseconds until the restart; never if `None`.
        restart_after: Option<u64>,
    },
    /// A request to the coordination service's client.
    Service(Box<elector::ServiceOutput>),
    /// A point, a record or a service request of a group other than the first; see [`crate::multiplexer`].
    OfGroup(u16, Box<Output>),
}

impl Input {
    /// Wraps the input for a group.
    pub fn of_group(self, group: u16) -> Input {
        if group == 0 { self } else { Input::OfGroup(group, Box::new(self)) }
    }
}

/// A state machine without I/O or clock.
pub trait Core: Send {
    /// Takes one input at `now` (the node's own clocks) and appends the resulting outputs to `out`.
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>);
}
