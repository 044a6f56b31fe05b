//! What the world asks the host to do with processes.

use protocols::types::NodeId;

/// What to do with a process's tasks; carried out while the world is not borrowed.
#[derive(Clone, Copy, Debug)]
pub enum HostAction {
    Start(NodeId),
    /// Drop the process's tasks.
    Kill(NodeId),
    /// Stop running the process's tasks.
    Pause(NodeId),
    /// Run the process's tasks again.
    Resume(NodeId),
}
