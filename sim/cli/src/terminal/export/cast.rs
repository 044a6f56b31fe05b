//! The actors of a history, and their labels in viewers.

use protocols::history::Header;
use reports::Names;
use std::collections::{BTreeMap, BTreeSet};

/// Where an event happens.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Actor {
    /// A process.
    Named(String),
    /// The store, if the history does not name its process.
    Store,
    /// The grantor of leadership, if the history does not name its process.
    Service,
    /// The whole fleet.
    Fleet,
}

impl Actor {
    /// A process by its name.
    pub fn named(name: &str) -> Actor {
        Actor::Named(name.to_owned())
    }

    fn words(&self) -> &str {
        match self {
            Actor::Named(name) => name,
            Actor::Store => "the store",
            Actor::Service => "the service",
            Actor::Fleet => "the fleet",
        }
    }
}

/// The roles of a history's processes.
#[derive(Debug)]
pub struct Cast {
    store: Actor,
    service: Actor,
    /// Each node's own copy decides on its writes.
    copies: bool,
}

impl Cast {
    /// The roles in the header, if there is one.
    pub fn of(header: Option<&Header>, names: &Names) -> Cast {
        let named = |node| Actor::Named(names.node(node).into_owned());
        Cast {
            store: header.and_then(|header| header.store).map_or(Actor::Store, named),
            service: match header.map(|header| &header.services[..]) {
                Some([service]) => named(*service),
                _ => Actor::Service,
            },
            copies: header.is_some_and(|header| header.copies.is_some()),
        }
    }

    /// True if every node has a copy of the data.
    pub fn has_copies(&self) -> bool {
        self.copies
    }

    /// The process that decides on this node's writes.
    pub fn store(&self, writer: &str) -> Actor {
        if self.copies { Actor::named(writer) } else { self.store.clone() }
    }

    /// The grantor of leadership.
    pub fn service(&self) -> Actor {
        self.service.clone()
    }
}

/// The actors' labels, all distinct.
#[derive(Debug, Default)]
pub struct Labels {
    given: BTreeMap<Actor, String>,
    taken: BTreeSet<String>,
}

impl Labels {
    /// The actor's label; `written` makes it from words.
    pub fn of(&mut self, actor: &Actor, written: fn(&str) -> String) -> String {
        if let Some(label) = self.given.get(actor) {
            return label.clone();
        }
        let mut label = written(actor.words());
        let mut number = 2;
        while self.taken.contains(&label) {
            label = written(&format!("{} {number}", actor.words()));
            number += 1;
        }
        self.taken.insert(label.clone());
        self.given.insert(actor.clone(), label.clone());
        label
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_called_alike() {
        let mut labels = Labels::default();
        let written: fn(&str) -> String = |words| words.replace(' ', "_");
        let all = ["my node", "my_node", "my node 2", "the store"].map(Actor::named);
        let is: Vec<String> = all.iter().chain([&Actor::Store]).map(|actor| labels.of(actor, written)).collect();
        assert_eq!(is, ["my_node", "my_node_2", "my_node_2_2", "the_store", "the_store_2"]);
        assert_eq!(labels.of(&all[1], written), "my_node_2", "a label stays");
    }
}
