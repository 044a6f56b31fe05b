//! What the world asks of whoever runs its processes.

use protocols::types::NodeId;

/// What the world wants done with a process's tasks; carried out when the world is not borrowed.
#[derive(Clone, Copy, Debug)]
pub enum HostAction {
    /// Start the process's tasks.
    Start(NodeId),
    /// Drop them.
    Kill(NodeId),
    /// Run none of them.
    Pause(NodeId),
    /// Run them again.
    Resume(NodeId),
}
