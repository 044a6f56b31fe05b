//! What outlives processes: each one's disk, and the durable states of services' members.

use super::{disk::Folder, model::State};
use protocols::types::NodeId;
use std::collections::BTreeMap;

pub(super) struct Disks {
    /// By process.
    pub folders: Vec<Folder>,
    /// For operators' interventions.
    pub members: BTreeMap<NodeId, State>,
}

impl Disks {
    /// Empty disks for the processes with these names.
    pub fn new(seed: u64, names: &[String]) -> Disks {
        Disks { folders: names.iter().map(|name| Folder::new(seed, name)).collect(), members: BTreeMap::new() }
    }

    /// The disk of a process.
    pub fn of(&mut self, node: NodeId) -> &mut Folder {
        &mut self.folders[node.index()]
    }
}
