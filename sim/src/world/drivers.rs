//! What drives the processes: how cores are stepped, which tasks sleep or were woken, and what the host has to do with
//! them. What is of one process only is in `driver.rs`.

use super::{Driver, sleep::Sleep};
use protocols::{core::Output, types::NodeId};
use std::collections::VecDeque;

pub(super) struct Drivers {
    pub kind: Driver,
    /// A buffer for the outputs of a step.
    pub outputs: Vec<Output>,
    pub sleeps: Vec<Sleep>,
    pub free_sleeps: Vec<u32>,
    pub todo: VecDeque<HostAction>,
    /// Whether a task was woken that has not run yet.
    pub woke: bool,
}

impl Drivers {
    pub fn new(kind: Driver) -> Drivers {
        let (outputs, sleeps, free_sleeps, todo) = (Vec::new(), Vec::new(), Vec::new(), VecDeque::new());
        Drivers { kind, outputs, sleeps, free_sleeps, todo, woke: true }
    }
}

// What the world asks the host to do with processes.

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
    /// Draw from this seed which ready task runs first.
    Branch(u64),
}
