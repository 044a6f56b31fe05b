//! What comes to the director, and what it remembers of it.

use protocols::{point::Point, types::NodeId};
use protocols_real::points::ClockOrder;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

/// Something that the director has to deal with.
pub(super) enum Event {
    /// A node passes a point, and waits for the answer: is it to stop itself?
    Passed { node: NodeId, point: Point, answer: oneshot::Sender<bool> },
    /// A node wants to hear how its clocks are to run.
    Clocks { node: NodeId, listener: UnboundedSender<ClockOrder> },
    /// A fault's time has come.
    Strike(u32),
    /// A fault is over.
    Heal(u32),
    /// A process is to start.
    Start(NodeId),
}

/// A fault that goes on.
pub(super) struct Struck {
    pub on: Vec<NodeId>,
    pub to: Vec<NodeId>,
    /// Process ids at the time: a resume is for those only.
    pub pids: Vec<Option<i32>>,
}
