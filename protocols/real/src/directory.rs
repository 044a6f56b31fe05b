//! Names of the processes that a process of real mode deals with. Cores use numbers; the wire and histories use names.

pub use protocols_clients::store::is_name;

use protocols::{history::json::Naming, types::NodeId};
use std::{
    borrow::Cow,
    collections::{BTreeMap, VecDeque},
    sync::{Mutex, PoisonError},
};

/// The first client's number; lower numbers are the fleet's own processes.
const FIRST_CLIENT: u16 = 1024;
/// How many clients are known at a time. The least recently heard from makes room.
const CLIENTS_MAX: usize = 4096;

/// Maps names to numbers and back: the fleet's processes, which never change, and clients as they appear.
#[derive(Debug)]
pub struct Directory {
    fleet: Vec<String>,
    clients: Mutex<Clients>,
}

#[derive(Debug, Default)]
struct Clients {
    by_name: BTreeMap<String, NodeId>,
    by_number: BTreeMap<NodeId, String>,
    /// Least recently heard from first; a name may be in it twice, and its last place counts.
    order: VecDeque<(NodeId, u64)>,
    heard: BTreeMap<NodeId, u64>,
    count: u64,
}

impl Directory {
    /// A directory of the fleet's processes; a name's index is its number.
    pub fn new(fleet: Vec<String>) -> Self {
        Directory { fleet, clients: Mutex::default() }
    }

    pub fn fleet(&self) -> &[String] {
        &self.fleet
    }

    /// The number of the fleet's process of that name.
    pub fn member(&self, name: &str) -> Option<NodeId> {
        self.fleet.iter().position(|n| n == name).map(|index| NodeId(index as u16))
    }

    /// The name of `number`; `None` if it is unknown, or its client has been forgotten.
    pub fn name(&self, number: NodeId) -> Option<String> {
        if let Some(name) = self.fleet.get(number.index()) {
            return Some(name.clone());
        }
        self.clients.lock().unwrap_or_else(PoisonError::into_inner).by_number.get(&number).cloned()
    }

    /// The number of the process or client called `name`; a new client gets one.
    pub fn number(&self, name: &str) -> NodeId {
        self.member(name).unwrap_or_else(|| self.clients.lock().unwrap_or_else(PoisonError::into_inner).number(name))
    }
}

impl Naming for Directory {
    fn name(&self, node: NodeId) -> Option<Cow<'_, str>> {
        // A name's characters need no escaping.
        Directory::name(self, node).map(Cow::Owned)
    }
}

impl Clients {
    fn number(&mut self, name: &str) -> NodeId {
        let number = match self.by_name.get(name) {
            Some(number) => *number,
            None => self.add(name),
        };
        self.count += 1;
        self.heard.insert(number, self.count);
        self.order.push_back((number, self.count));
        // Obsolete places are dropped before they far outnumber the clients.
        if self.order.len() > 4 * CLIENTS_MAX {
            let heard = &self.heard;
            self.order.retain(|(number, at)| heard.get(number) == Some(at));
        }
        number
    }

    fn add(&mut self, name: &str) -> NodeId {
        let number = match self.by_name.len() < CLIENTS_MAX {
            true => NodeId(FIRST_CLIENT + self.by_name.len() as u16),
            false => self.evict(),
        };
        self.by_name.insert(name.to_owned(), number);
        self.by_number.insert(number, name.to_owned());
        number
    }

    fn evict(&mut self) -> NodeId {
        loop {
            let Some((number, at)) = self.order.pop_front() else { return NodeId(FIRST_CLIENT) };
            if self.heard.get(&number) == Some(&at) {
                if let Some(name) = self.by_number.remove(&number) {
                    self.by_name.remove(&name);
                }
                return number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fleet_comes_first_and_clients_keep_their_numbers() {
        let directory = Directory::new(vec!["n1".into(), "n2".into()]);
        assert_eq!(directory.number("n2"), NodeId(1));
        let client = directory.number("shop");
        assert_eq!((directory.number("shop"), directory.name(client)), (client, Some("shop".to_owned())));
        assert_ne!(directory.number("other"), client);
        assert_eq!(directory.name(NodeId(2)), None);
    }

    #[test]
    fn the_client_not_heard_of_for_longest_makes_room() {
        let directory = Directory::new(Vec::new());
        let first = directory.number("0");
        let second = directory.number("1");
        for n in 2..CLIENTS_MAX {
            directory.number(&n.to_string());
        }
        for _ in 0..10 * CLIENTS_MAX {
            directory.number("0");
        }
        assert_eq!(directory.number("new"), second);
        assert_eq!(directory.number("0"), first);
    }
}
