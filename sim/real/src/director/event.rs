//! The director's events.

use protocols::{point::Point, types::NodeId};
use protocols_real::points::ClockOrder;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

pub(super) enum Event {
    /// A node passes a point, and waits to be told whether to stop itself.
    Passed { node: NodeId, point: Point, answer: oneshot::Sender<bool> },
    /// A node subscribes to clock orders.
    Clocks { node: NodeId, listener: UnboundedSender<ClockOrder> },
    /// The fault with this index strikes.
    Strike(u32),
    /// The fault with this index ends.
    Heal(u32),
    /// A process is due to start.
    Start(NodeId),
}

/// An active fault.
pub(super) struct Struck {
    pub on: Vec<NodeId>,
    pub to: Vec<NodeId>,
    /// The process ids when it struck: only these processes are resumed.
    pub pids: Vec<Option<i32>>,
}
