//! Members of a service that lose what they have on disk, or are set back to a copy of it.
//!
//! The process dies first: what it had on disk is gone before another one reads it. A copy is of one moment, as a snapshot of
//! a volume or the service's own backup is, and whatever was acknowledged after it is not in it.

use super::{
    World,
    disk::Files,
    model::{Disk, State},
    queue::Event,
};
use protocols::{
    history::GrantEnd,
    types::{MILLISECOND, NodeId},
};
use scenarios::{fault::Fault, plan::Plan, triggers::nanoseconds};
use std::collections::BTreeMap;

/// The copies that were made: by the fault that will restore them, and the member.
pub(super) type Copies = BTreeMap<(u32, NodeId), Copy>;

/// What a member had on disk.
pub(super) enum Copy {
    /// Of a model that is durable as a whole.
    State(State),
    /// Of one that writes files, as members of a cluster do.
    Files(Files),
}

impl World {
    /// Copies will be made when the plan says.
    pub(super) fn schedule_copies(&mut self, plan: &Plan) {
        for (fault, planned) in (0..).zip(&plan.faults) {
            if let Fault::RestoreCopy { copied_at_ms, .. } = planned.what {
                self.queue.push(nanoseconds(copied_at_ms), Event::Copy { fault });
            }
        }
    }

    /// The copy that a fault will restore is made.
    pub(super) fn copy_data(&mut self, fault: u32) {
        let plan = self.faults.plan.clone();
        let named = plan.faults[fault as usize].what.groups().0.iter();
        let nodes: Vec<NodeId> = named.filter_map(|who| self.topology.resolve(who)).flatten().collect();
        for node in nodes {
            let twin = self.members.get(&node).and_then(|state| state.twin(Disk::Copied));
            let files = || Copy::Files(self.processes[node.index()].disk.copy());
            self.faults.copies.insert((fault, node), twin.map_or_else(files, Copy::State));
        }
    }

    /// A member dies, and comes back with the copy that was made for this fault, or with nothing.
    pub(super) fn replace_data(&mut self, node: NodeId, fault: u32, restart_after_ms: Option<f64>) {
        self.kill(node, true, restart_after_ms);
        let empty = || {
            let twin = self.members.get(&node).and_then(|state| state.twin(Disk::Empty));
            twin.map_or_else(|| Copy::Files(Files::new()), Copy::State)
        };
        let state = match self.faults.copies.remove(&(fault, node)).unwrap_or_else(empty) {
            Copy::State(state) => state,
            Copy::Files(files) => return self.processes[node.index()].disk.set_to(files),
        };
        let wall_ms = self.clocks(node).wall / MILLISECOND;
        for group in 0..self.groups() {
            self.granted_to(group, state.holder(group, wall_ms), GrantEnd::Lost);
        }
        self.members.insert(node, state);
    }

    /// What a member has on disk, if it has run before.
    pub fn member_state(&self, node: NodeId) -> Option<State> {
        self.members.get(&node).cloned()
    }
}
