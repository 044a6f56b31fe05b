//! The topology of a run: roles and the processes that have them, computed once from a plan.
//!
//! Processes are numbered in the order candidates, members of each service, directory (if clients use an address),
//! store, clients. A service with one member is a process with the service's name, such as `etcd`; the members of a
//! larger one are `etcd-1`, `etcd-2` …

use crate::fault::Who;
use protocols::{group, service::Members, types::NodeId, work::Works};
use std::ops::Range;

/// The name of the process that serves the leader's address.
pub const DIRECTORY: &str = "directory";
/// The name of the fenced store's process.
pub const STORE: &str = "store";

/// A coordination service, or a fencing device, and its processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Service {
    /// The name of its only member, or the prefix of its members' names.
    pub name: String,
    /// How its members relate to each other.
    pub members: Members,
    nodes: Range<u16>,
}

impl Service {
    pub fn nodes(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        self.nodes.clone().map(NodeId)
    }

    /// How many of its members must be up for it to work.
    pub fn needed(&self) -> u16 {
        if self.members.majority { self.nodes.len() as u16 / 2 + 1 } else { 1 }
    }
}

/// The role of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// The candidate's index in the plan.
    Candidate(usize),
    /// A service's member.
    Member {
        /// Index into [`Topology::services`].
        service: usize,
        /// Which of its members, from 0.
        member: usize,
    },
    Store,
    /// The process that serves the address by which clients find the leader.
    Directory,
    /// The client's index; a group's clients are adjacent.
    Client(usize),
}

/// Who leads, and who passed a point, at the moment when a fault strikes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Moment {
    /// The candidate that was elected last and still believes.
    pub leader: Option<NodeId>,
    /// The member that leads the service.
    pub service_leader: Option<NodeId>,
    /// The node that passed the triggering point.
    pub passed_by: Option<NodeId>,
}

/// The roles of all processes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Topology {
    names: Vec<String>,
    candidates: u16,
    services: Vec<Service>,
    directory: Option<NodeId>,
    store: NodeId,
    works: Works,
}

impl Topology {
    /// `services` are (name, relation of the members, their number); the clients are named `c1`, `c2` …
    pub fn new(
        candidates: impl IntoIterator<Item = String>,
        services: impl IntoIterator<Item = (String, Members, u16)>,
        clients: u16,
    ) -> Topology {
        let mut names: Vec<String> = candidates.into_iter().collect();
        let candidates = names.len() as u16;
        let mut known = Vec::new();
        for (name, members, count) in services {
            let first = names.len() as u16;
            names.extend((1..=count).map(|number| member_name(&name, number, count)));
            known.push(Service { name, members, nodes: first..first + count });
        }
        let store = NodeId(names.len() as u16);
        names.push(STORE.to_owned());
        names.extend((1..=clients).map(|number| format!("c{number}")));
        Topology { names, candidates, services: known, directory: None, store, works: Works::default() }
    }

    /// Adds a process that serves the leader's address, before the store.
    pub fn with_directory(mut self) -> Topology {
        self.names.insert(self.store.index(), DIRECTORY.to_owned());
        self.directory = Some(self.store);
        Topology { store: NodeId(self.store.0 + 1), ..self }
    }

    /// Adds the clients of each group after the first: `c1@1`, `c2@1` …
    pub fn with_groups(mut self, groups: u16) -> Topology {
        let clients = self.names[self.store.index() + 1..].to_vec();
        self.names.extend((1..groups).flat_map(|of| clients.iter().map(move |name| group::named(name, of))));
        self
    }

    pub fn with_works(self, works: Works) -> Topology {
        Topology { works, ..self }
    }

    pub fn works(&self) -> &Works {
        &self.works
    }

    /// The names of all processes, indexed by [`NodeId`].
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A process's name; empty for an unknown number.
    pub fn name(&self, node: NodeId) -> &str {
        self.names.get(node.index()).map_or("", String::as_str)
    }

    pub fn find(&self, name: &str) -> Option<NodeId> {
        self.names.iter().position(|known| known == name).map(|place| NodeId(place as u16))
    }

    pub fn role(&self, node: NodeId) -> Role {
        if self.is_candidate(node) {
            return Role::Candidate(node.index());
        }
        for (service, known) in self.services.iter().enumerate() {
            if known.nodes.contains(&node.0) {
                return Role::Member { service, member: usize::from(node.0 - known.nodes.start) };
            }
        }
        match node {
            _ if Some(node) == self.directory => Role::Directory,
            _ if node == self.store => Role::Store,
            _ => Role::Client(node.index().saturating_sub(self.store.index() + 1)),
        }
    }

    pub fn candidates(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (0..self.candidates).map(NodeId)
    }

    pub fn is_candidate(&self, node: NodeId) -> bool {
        node.0 < self.candidates
    }

    /// The services that are processes of their own, fencing devices included.
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// The members of all services.
    pub fn members(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.services.iter().flat_map(Service::nodes)
    }

    /// The members that candidates know and ask: those of the first service.
    pub fn asked(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.services.first().map(Service::nodes).into_iter().flatten()
    }

    pub fn is_member(&self, node: NodeId) -> bool {
        self.members().any(|member| member == node)
    }

    /// The only member of the only service; `None` if there are several, or none.
    pub fn only_member(&self) -> Option<NodeId> {
        let mut members = self.members();
        members.next().filter(|_| members.next().is_none())
    }

    /// The process that serves the leader's address, if clients use one.
    pub fn directory(&self) -> Option<NodeId> {
        self.directory
    }

    pub fn store(&self) -> NodeId {
        self.store
    }

    pub fn clients(&self) -> impl ExactSizeIterator<Item = NodeId> + use<> {
        (self.store.0 + 1..self.names.len() as u16).map(NodeId)
    }

    /// The processes that `who` means, in ascending order, as far as that is known before the run; `None` for the
    /// leader, its followers, the service's leader and the triggering node, and for unknown names.
    pub fn resolve(&self, who: &Who) -> Option<Vec<NodeId>> {
        match who {
            Who::Leader | Who::Followers | Who::ServiceLeader | Who::Trigger => None,
            Who::Candidates => Some(self.candidates().collect()),
            Who::Service => Some(self.members().collect()).filter(|members: &Vec<_>| !members.is_empty()),
            Who::Store => Some(vec![self.store]),
            Who::Clients => Some(self.clients().collect()),
            Who::Named(name) => {
                let service = || self.services.iter().find(|service| service.name == *name);
                self.find(name).map(|node| vec![node]).or_else(|| Some(service()?.nodes().collect()))
            }
        }
    }

    /// The processes that `who` means at this moment; `None` if it depends on a leader and nobody leads.
    pub fn resolve_at(&self, who: &Who, moment: Moment) -> Option<Vec<NodeId>> {
        match who {
            Who::Leader => Some(vec![moment.leader?]),
            Who::Followers => {
                let leader = moment.leader?;
                Some(self.candidates().filter(|node| *node != leader).collect())
            }
            Who::ServiceLeader => Some(vec![moment.service_leader?]),
            // Without a triggering point, `trigger` means the leader.
            Who::Trigger => Some(vec![moment.passed_by.or(moment.leader)?]),
            // Validated plans have no unknown names.
            who => Some(self.resolve(who).unwrap_or_default()),
        }
    }
}

/// The name of a service's member, counted from 1.
pub fn member_name(service: &str, number: u16, count: u16) -> String {
    if count == 1 { service.to_owned() } else { format!("{service}-{number}") }
}

/// True if this could be the name of one of the service's members.
pub fn names_member(name: &str, service: &str) -> bool {
    let Some(rest) = name.strip_prefix(service) else { return false };
    let number = rest.strip_prefix('-').unwrap_or_default();
    rest.is_empty() || (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIKE: Members = Members { most: 9, led: false, majority: true };
    const LED: Members = Members { most: 9, led: true, majority: false };

    fn topology() -> Topology {
        let names = ["n1", "n2"].map(str::to_owned);
        let services = [("redis", ALIKE, 2), ("sentinel", ALIKE, 3), ("power", LED, 1)];
        Topology::new(names, services.map(|(name, members, count)| (name.to_owned(), members, count)), 1)
    }

    #[test]
    fn every_process_has_its_number_its_name_and_its_role() {
        let topology = topology();
        let expected =
            ["n1", "n2", "redis-1", "redis-2", "sentinel-1", "sentinel-2", "sentinel-3", "power", "store", "c1"];
        assert_eq!(topology.names(), expected);
        let roles: Vec<Role> = (0..10).map(|node| topology.role(NodeId(node))).collect();
        let member = |service, member| Role::Member { service, member };
        let (one, two, three) = ([member(0, 0), member(0, 1)], [0, 1, 2].map(|m| member(1, m)), member(2, 0));
        let mut expected = vec![Role::Candidate(0), Role::Candidate(1)];
        expected.extend(one);
        expected.extend(two);
        expected.extend([three, Role::Store, Role::Client(0)]);
        assert_eq!(roles, expected);
        assert_eq!((topology.store(), topology.only_member()), (NodeId(8), None));
        assert_eq!(topology.services().iter().map(Service::needed).collect::<Vec<_>>(), [2, 2, 1]);
    }

    #[test]
    fn a_fault_can_name_a_service_one_of_its_members_or_all() {
        let topology = topology();
        let nodes = |word: &str| {
            let nodes = topology.resolve(&Who::from(word.to_owned()))?;
            Some(nodes.iter().map(|node| node.0).collect::<Vec<_>>())
        };
        assert_eq!(nodes("service"), Some((2..8).collect()));
        assert_eq!(nodes("sentinel"), Some(vec![4, 5, 6]));
        assert_eq!(nodes("sentinel-2"), Some(vec![5]));
        assert_eq!(nodes("power"), Some(vec![7]));
        for nobody in ["redis-3", "power-1", "service-leader", "zookeeper"] {
            assert_eq!(nodes(nobody), None, "{nobody}");
        }
        let leads = Moment { service_leader: Some(NodeId(3)), ..Moment::default() };
        assert_eq!(topology.resolve_at(&Who::ServiceLeader, leads), Some(vec![NodeId(3)]));
        assert_eq!(topology.resolve_at(&Who::ServiceLeader, Moment::default()), None);
    }

    #[test]
    fn every_group_has_clients_of_its_own_behind_the_store() {
        let topology = Topology::new(["n1".to_owned()], [], 2).with_groups(3);
        assert_eq!(topology.names(), ["n1", "store", "c1", "c2", "c1@1", "c2@1", "c1@2", "c2@2"]);
        assert_eq!(topology.role(NodeId(5)), Role::Client(3));
        assert_eq!(topology.clients().len(), 6);
    }

    #[test]
    fn a_directory_stands_before_the_store() {
        let topology = topology().with_directory();
        assert_eq!(topology.names()[8..], ["directory", "store", "c1"]);
        let roles: Vec<Role> = (8..11).map(|node| topology.role(NodeId(node))).collect();
        assert_eq!(roles, [Role::Directory, Role::Store, Role::Client(0)]);
        assert_eq!(topology.directory(), topology.find("directory"));
        assert!(!topology.is_member(NodeId(8)) && !topology.clients().any(|client| client == NodeId(8)));
    }

    #[test]
    fn members_names_are_taken() {
        for name in ["etcd", "etcd-1", "etcd-12"] {
            assert!(names_member(name, "etcd"), "{name}");
        }
        for name in ["etcd-", "etcd-a", "etcd1", "netcd"] {
            assert!(!names_member(name, "etcd"), "{name}");
        }
    }
}
