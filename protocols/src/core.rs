//! The seam between protocol code and the world: a core is a state machine without I/O and without a clock.
//!
//! Nodes, the fenced store and the load are cores. A driver steps them: the simulation's event loop does it inline, the
//! task driver ([`crate::candidate`]) does it on any [`crate::env::Env`]. Both must give the same history.

use crate::{clock::Now, elector, history, message::Message, point::Point, types::NodeId};

/// Names one of a core's timers. Setting a timer that is set moves it.
pub type TimerId = u16;

/// What happens to a core.
#[derive(Debug)]
pub enum Input {
    /// The process started, or started again; always the first input.
    Start,
    /// A datagram arrived. It may be a duplicate, late, or from a process that is gone.
    Message {
        /// Who sent it.
        from: NodeId,
        /// What it says.
        message: Message,
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
    Admit(NodeId),
    /// An operator asks the leader to make this candidate a member no more.
    Expel(NodeId),
}

/// What a core wants done, in order. A pause can fall between any two.
#[derive(Debug)]
pub enum Output {
    /// Send a datagram; it may be lost.
    Send {
        /// To whom.
        to: NodeId,
        /// What.
        message: Message,
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
}

/// A state machine without I/O or clock.
pub trait Core: Send {
    /// Takes one input at `now` (the node's own clocks) and appends what is to be done to `out`.
    fn step(&mut self, now: Now, input: Input, out: &mut Vec<Output>);
}
