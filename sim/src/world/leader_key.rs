//! Who leads by one key of a service, for programs: whatever the key's value is, its owner is the process whose
//! connection put it there.

use super::World;
use crate::host::task;
use protocols::{history::GrantEnd, types::NodeId};
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

    fn only(&mut self, contenders: &[String]) {
        self.owners.retain(|known, _| contenders.contains(known));
        contenders.iter().for_each(|contender| self.add(contender));
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

    /// How a grant to this node has ended: what another process's request ends is taken away, and not released.
    pub(super) fn end_of(&self, node: NodeId, why: GrantEnd) -> GrantEnd {
        match self.caller().filter(|caller| why == GrantEnd::Released && *caller != node) {
            Some(_) => GrantEnd::Taken,
            None => why,
        }
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

    /// The process whose connection is being served contends for the key under this name, which is that connection's.
    pub fn note_contender(&mut self, contender: &str) {
        if let Some(keyed) = &mut self.grants.keyed {
            if let Some(caller) = keyed.caller() {
                keyed.owners.insert(contender.to_owned(), caller);
            }
        }
    }

    /// These contend for the key, and no others: the new ones for the process whose connection is being served.
    pub fn note_contenders(&mut self, contenders: &[String]) {
        if let Some(keyed) = &mut self.grants.keyed {
            keyed.only(contenders);
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

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: NodeId = NodeId(0);
    const TWO: NodeId = NodeId(1);

    /// A key of which nobody is known, and a request of this process.
    fn asked_by(caller: NodeId) -> Keyed {
        let (key, service, candidates) = ("leader".to_owned(), vec![NodeId(3)], 3);
        let (owners, holder, proposed) = Default::default();
        Keyed { key, service, candidates, owners, holder, proposed, applying: Some(caller) }
    }

    #[test]
    fn a_value_is_its_writers_even_if_all_write_the_same() {
        let mut keyed = asked_by(ONE);
        assert_eq!(keyed.owner(Some("leader")), Some(ONE));
        keyed.applying = Some(TWO);
        assert_eq!(keyed.owner(Some("leader")), Some(ONE), "others' requests change nothing");
        assert_eq!(keyed.owner(None), None);
        assert_eq!(keyed.owner(Some("leader")), Some(TWO));
        keyed.applying = Some(NodeId(3));
        assert_eq!(keyed.owner(Some("another")), None, "a member of the service is no candidate");
    }

    #[test]
    fn who_waits_is_known_until_it_is_gone() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let mut keyed = asked_by(ONE);
        keyed.only(&names(&["5/x"]));
        keyed.applying = Some(TWO);
        keyed.only(&names(&["5/x", "6/x"]));
        assert_eq!((keyed.owner(Some("5/x")), keyed.owner(Some("6/x"))), (Some(ONE), Some(TWO)));
        // The service has forgotten everything, and counts from the same revision again.
        keyed.only(&[]);
        keyed.only(&names(&["5/x"]));
        assert_eq!(keyed.owner(Some("5/x")), Some(TWO));
    }

    #[test]
    fn what_another_process_ends_is_taken_away() {
        let keyed = asked_by(TWO);
        assert_eq!(keyed.end_of(TWO, GrantEnd::Released), GrantEnd::Released);
        assert_eq!(keyed.end_of(ONE, GrantEnd::Released), GrantEnd::Taken);
        assert_eq!(keyed.end_of(ONE, GrantEnd::Expired), GrantEnd::Expired);
    }
}
