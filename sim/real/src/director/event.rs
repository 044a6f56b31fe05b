//! The director's events.

use protocols::{point::Point, types::NodeId};
use protocols_real::points::ClockOrder;
use tokio::sync::{mpsc::UnboundedSender, oneshot};

pub(super) enum Event {
    /// A node passes a point, and waits to be told whether to stop itself.
    Passed { node: NodeId, point: Point, answer: oneshot::Sender<bool> },
    /// A node subscribes to clock orders.
    Clocks { node: NodeId, listener: UnboundedSender<ClockOrder> },
    Strike(u32),
    Heal(u32),
    Start(NodeId),
}

/// An active fault.
pub(super) struct Struck {
    pub on: Vec<NodeId>,
    pub to: Vec<NodeId>,
    /// The process ids when it struck: only these processes are resumed.
    pub pids: Vec<Option<i32>>,
}
