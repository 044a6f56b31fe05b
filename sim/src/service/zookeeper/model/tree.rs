//! Nodes (`DataTree.java`, `DataNode.java`).

use super::words::{Event, parent_of};
use protocols_clients::zookeeper::answer::Stat;
use std::collections::{BTreeMap, BTreeSet};

/// The owner of a container, in place of a session.
pub(super) const CONTAINER: i64 = i64::MIN;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Node {
    pub(super) data: Option<Vec<u8>>,
    pub(super) czxid: i64,
    pub(super) mzxid: i64,
    pub(super) pzxid: i64,
    pub(super) ctime: i64,
    pub(super) mtime: i64,
    pub(super) version: i32,
    /// The number of children ever created. Clients see the number of changes to children.
    pub(super) creations: i32,
    /// The session that the node ends with; 0 for none, [`CONTAINER`] for a container.
    pub(super) owner: i64,
    pub(super) children: BTreeSet<String>,
}

impl Node {
    pub(super) fn is_ephemeral(&self) -> bool {
        self.owner != 0 && self.owner != CONTAINER
    }

    /// Its state as clients see it. Every creation of a child has a deletion, except those of present children.
    pub(super) fn stat(&self) -> Stat {
        let children = self.children.len() as i32;
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            cversion: self.creations.wrapping_mul(2).wrapping_sub(children),
            aversion: 0,
            owner: if self.owner == CONTAINER { 0 } else { self.owner },
            data_length: self.data.as_ref().map_or(0, |data| data.len() as i32),
            children,
            pzxid: self.pzxid,
        }
    }
}

/// All nodes by path.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
    /// The former nodes of writes that may be undone, the latest last.
    undo: Vec<(String, Option<Node>)>,
}

impl Default for Tree {
    /// The initial nodes.
    fn default() -> Self {
        let with = |children: &[&str]| Node {
            data: Some(Vec::new()),
            children: children.iter().map(|name| (*name).to_owned()).collect(),
            ..Node::default()
        };
        let nodes = [
            ("/", with(&["zookeeper"])),
            ("/zookeeper", with(&["config", "quota"])),
            ("/zookeeper/config", with(&[])),
            ("/zookeeper/quota", with(&[])),
        ];
        Tree { nodes: nodes.map(|(path, node)| (path.to_owned(), node)).into(), undo: Vec::new() }
    }
}

/// The root is also known as the empty path.
fn known(path: &str) -> &str {
    if path.is_empty() { "/" } else { path }
}

impl Tree {
    pub(super) fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(known(path))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Node)> {
        self.nodes.iter()
    }

    /// The node, for changes.
    fn change(&mut self, path: &str) -> Option<&mut Node> {
        let path = known(path);
        self.undo.push((path.to_owned(), self.nodes.get(path).cloned()));
        self.nodes.get_mut(path)
    }

    /// Creates a node below an existing one.
    pub(super) fn create(&mut self, path: &str, node: Node) -> Vec<Event> {
        let (parent, name) = split(path);
        let zxid = node.czxid;
        self.undo.push((path.to_owned(), None));
        self.nodes.insert(path.to_owned(), node);
        if let Some(above) = self.change(parent) {
            above.children.insert(name.to_owned());
            above.creations = above.creations.wrapping_add(1);
            above.pzxid = zxid;
        }
        vec![Event::Created(path.to_owned()), Event::Children(known(parent).to_owned())]
    }

    /// Removes an existing node.
    pub(super) fn remove(&mut self, path: &str, zxid: i64) -> Vec<Event> {
        let (parent, name) = split(path);
        self.undo.push((path.to_owned(), self.nodes.remove(path)));
        if let Some(above) = self.change(parent) {
            above.children.remove(name);
            above.pzxid = zxid;
        }
        vec![Event::Deleted(path.to_owned()), Event::Children(known(parent).to_owned())]
    }

    /// Changes an existing node's data.
    pub(super) fn set(&mut self, path: &str, data: Option<Vec<u8>>, zxid: i64, wall_ms: i64) -> Vec<Event> {
        if let Some(node) = self.change(path) {
            node.data = data;
            node.version = node.version.wrapping_add(1);
            node.mzxid = zxid;
            node.mtime = wall_ms;
        }
        vec![Event::Data(path.to_owned())]
    }

    /// Keeps the writes.
    pub(super) fn commit(&mut self) {
        self.undo.clear();
    }

    /// Undoes everything since the last commit.
    pub(super) fn roll_back(&mut self) {
        while let Some((path, before)) = self.undo.pop() {
            match before {
                Some(node) => drop(self.nodes.insert(path, node)),
                None => drop(self.nodes.remove(&path)),
            }
        }
    }

    /// The nodes that a session owns.
    pub(super) fn of_session(&self, session: i64) -> Vec<String> {
        let its = self.nodes.iter().filter(|(_, node)| node.owner == session);
        its.map(|(path, _)| path.clone()).collect()
    }
}

fn split(path: &str) -> (&str, &str) {
    let parent = parent_of(path).unwrap_or_default();
    (parent, &path[(parent.len() + 1).min(path.len())..])
}
