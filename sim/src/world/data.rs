//! What outlives processes: each one's disk, and the durable states of services' members; and members whose disk is
//! lost, or restored from a copy.
//!
//! The process dies first, so that no other one reads its disk. A copy is of one moment, like a volume snapshot or the
//! service's own backup, and lacks everything acknowledged later.

use super::{
    World,
    disk::{Files, Folder},
    model::{Disk, State},
    queue::Event,
};
use protocols::{
    history::GrantEnd,
    types::{MILLISECOND, NodeId},
};
use rand_chacha::ChaCha8Rng;
use scenarios::{fault::Fault, plan::Plan, streams, triggers::nanoseconds};
use std::collections::BTreeMap;

/// The copies by the fault that will restore them, and by member.
pub(super) type Copies = BTreeMap<(u32, NodeId), Copy>;

/// The contents of a member's disk.
pub(super) enum Copy {
    /// The state of a model that is durable as a whole.
    State(State),
    /// The files of a model that writes files, as clustered members do.
    Files(Files),
}

impl World {
    /// Schedules the copies that the plan's faults will restore.
    pub(super) fn schedule_copies(&mut self, plan: &Plan) {
        for (fault, planned) in (0..).zip(&plan.faults) {
            if let Fault::RestoreCopy { copied_at_ms, .. } = planned.what {
                self.queue.push(nanoseconds(copied_at_ms), Event::Copy { fault });
            }
        }
    }

    /// Makes the copies that a fault will restore.
    pub(super) fn copy_data(&mut self, fault: u32) {
        let plan = self.faults.plan.clone();
        let named = plan.faults[fault as usize].what.groups().0.iter();
        let nodes: Vec<NodeId> = named.filter_map(|who| self.topology.resolve(who)).flatten().collect();
        for node in nodes {
            let twin = self.disks.members.get(&node).and_then(|state| state.twin(Disk::Copied));
            let files = || Copy::Files(self.disks.folders[node.index()].copy());
            self.faults.copies.insert((fault, node), twin.map_or_else(files, Copy::State));
        }
    }

    /// Kills a member, and restarts it with the copy made for this fault, or with an empty disk.
    pub(super) fn replace_data(&mut self, node: NodeId, fault: u32, restart_after_ms: Option<f64>) {
        self.kill(node, true, restart_after_ms);
        let empty = || {
            let twin = self.disks.members.get(&node).and_then(|state| state.twin(Disk::Empty));
            twin.map_or_else(|| Copy::Files(Files::new()), Copy::State)
        };
        let state = match self.faults.copies.remove(&(fault, node)).unwrap_or_else(empty) {
            Copy::State(state) => state,
            Copy::Files(files) => return self.disks.of(node).set_to(files),
        };
        let wall_ms = self.clocks(node).wall / MILLISECOND;
        for group in 0..self.groups() {
            self.note_grant(group, state.holder(group, wall_ms), GrantEnd::Lost);
        }
        self.disks.members.insert(node, state);
    }

    /// The durable state of a member that has run before.
    pub fn member_state(&self, node: NodeId) -> Option<State> {
        self.disks.members.get(&node).cloned()
    }
}

// What outlives processes: each one's disk, and the durable states of services' members.

pub(super) struct Disks {
    /// By process.
    pub folders: Vec<Folder>,
    /// For operators' interventions.
    pub members: BTreeMap<NodeId, State>,
}

/// What the disk of the process called `name` draws from.
fn drawn(seed: u64, name: &str) -> ChaCha8Rng {
    streams::stream(seed, &format!("disk/{name}"))
}

impl Disks {
    /// Empty disks for the processes with these names.
    pub fn new(seed: u64, names: &[String]) -> Disks {
        Disks { folders: names.iter().map(|name| Folder::new(drawn(seed, name))).collect(), members: BTreeMap::new() }
    }

    /// Every disk, of the processes with these names, draws from this seed from now on.
    pub fn draw_from(&mut self, seed: u64, names: &[String]) {
        self.folders.iter_mut().zip(names).for_each(|(folder, name)| folder.draw_from(drawn(seed, name)));
    }

    /// The disk of a process.
    pub fn of(&mut self, node: NodeId) -> &mut Folder {
        &mut self.folders[node.index()]
    }
}
