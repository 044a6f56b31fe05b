//! Who leads by one key of a service, for programs: whatever the key's value is, its owner is the process whose
//! connection put it there.

use super::World;
use crate::host::task;
use protocols::types::NodeId;
use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
};

/// The key, and what is known of those that hold it or wait for it.
pub(super) struct Keyed {
    key: String,
    /// The processes of its service.
    service: Vec<NodeId>,
    /// The processes that can lead.
    candidates: u16,
    /// The process behind each contender: a value, a session, or a node of a tree.
    owners: BTreeMap<String, NodeId>,
    holder: Option<String>,
    /// Whose requests entries of a log are that no member has applied, by their hash.
    proposed: BTreeMap<u64, NodeId>,
    /// Whose request the entry is that is being applied.
    applying: Option<NodeId>,
}

fn hash(data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish()
}

impl Keyed {
    fn caller(&self) -> Option<NodeId> {
        self.applying.or(task::caller()).filter(|node| node.0 < self.candidates)
    }

    fn add(&mut self, contender: &str) {
        if let Some(caller) = self.caller().filter(|_| !self.owners.contains_key(contender)) {
            self.owners.insert(contender.to_owned(), caller);
        }
    }

    /// The process of the contender that now holds the key; a former holder is none any more.
    pub(super) fn owner(&mut self, holder: Option<&str>) -> Option<NodeId> {
        if let Some(before) = self.holder.take_if(|before| Some(&**before) != holder) {
            self.owners.remove(&before);
        }
        let holder = holder?;
        self.add(holder);
        self.holder = Some(holder.to_owned());
        self.owners.get(holder).copied()
    }

    /// Does the running process belong to the key's service?
    pub(super) fn is_told_here(&self) -> bool {
        task::current().is_some_and(|node| self.service.contains(&node))
    }

    /// The service's only process.
    pub(super) fn only_member(&self) -> Option<NodeId> {
        self.service.first().copied().filter(|_| self.service.len() == 1)
    }
}

impl World {
    /// From now on, whoever holds this key of the service leads. Without such a service, nobody does.
    pub fn elect_by(&mut self, service: &str, key: String) {
        let services = self.topology.services().iter().find(|known| known.name == service);
        let service = services.map(|service| service.nodes().collect()).unwrap_or_default();
        let candidates = self.topology.candidates().len() as u16;
        let (owners, holder, proposed, applying) = Default::default();
        self.grants.keyed = Some(Keyed { key, service, candidates, owners, holder, proposed, applying });
    }

    /// The key of the running service by which programs elect, if there is one.
    pub fn leader_key(&self) -> Option<String> {
        let keyed = self.grants.keyed.as_ref().filter(|keyed| keyed.is_told_here())?;
        Some(keyed.key.clone())
    }

    /// The process whose connection is being served contends for the key under this name.
    pub fn note_contender(&mut self, contender: &str) {
        if let Some(keyed) = &mut self.grants.keyed {
            keyed.add(contender);
        }
    }

    /// A member proposes an entry for the process whose connection is being served.
    pub fn note_proposed(&mut self, entry: &[u8]) {
        if let Some(keyed) = &mut self.grants.keyed {
            if let Some(caller) = keyed.caller() {
                keyed.proposed.insert(hash(entry), caller);
            }
        }
    }

    /// What follows happens because of this entry, until `None` is said.
    pub fn note_applying(&mut self, entry: Option<&[u8]>) {
        if let Some(keyed) = &mut self.grants.keyed {
            keyed.applying = entry.and_then(|entry| keyed.proposed.remove(&hash(entry)));
        }
    }
}
