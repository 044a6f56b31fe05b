//! The nodes, and who watches them.

use crate::orders::services::Grant;
use protocols::{
    election::zookeeper::{Kind, controller, epoch, epoch_of, name_of, sequence_of},
    service::zookeeper::{Change, Code, Mode, Op, Reply, Stat},
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Node {
    pub data: Vec<u8>,
    pub stat: Stat,
    /// How many children it has ever had.
    children: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Tree {
    zxid: i64,
    pub nodes: BTreeMap<String, Node>,
    /// Each by the session that watches.
    pub watches: BTreeSet<(String, i64)>,
    pub fired: Vec<(i64, String, Change)>,
}

impl Tree {
    fn fire(&mut self, path: &str, change: Change) {
        let (fired, kept) = std::mem::take(&mut self.watches).into_iter().partition(|(watched, _)| watched == path);
        self.watches = kept;
        let fired: BTreeSet<(String, i64)> = fired;
        self.fired.extend(fired.into_iter().map(|(path, session)| (session, path, change)));
    }

    pub fn write(&mut self, session: i64, op: Op) -> Result<Reply, Code> {
        self.zxid += 1;
        let (path, version) = match op {
            Op::Create { path, data, mode } => return self.create(session, path, data, mode),
            Op::Delete { ref path, version } | Op::Set { ref path, version, .. } | Op::Check { ref path, version } => {
                (path.clone(), version)
            }
        };
        let node = self.nodes.get_mut(&path).ok_or(Code::NoNode)?;
        if version >= 0 && version != node.stat.version {
            return Err(Code::BadVersion);
        }
        match op {
            Op::Set { data, .. } => {
                node.data = data;
                node.stat = Stat { mzxid: self.zxid, version: node.stat.version + 1, ..node.stat };
                let stat = node.stat;
                self.fire(&path, Change::Data);
                Ok(Reply::Is(stat))
            }
            Op::Delete { .. } => {
                self.nodes.remove(&path);
                self.fire(&path, Change::Deleted);
                Ok(Reply::Done)
            }
            _ => Ok(Reply::Done),
        }
    }

    fn create(&mut self, session: i64, mut path: String, data: Vec<u8>, mode: Mode) -> Result<Reply, Code> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let children = match self.nodes.get(&folder) {
            Some(folder) => folder.children,
            None if folder.is_empty() => 0,
            None => return Err(Code::NoNode),
        };
        let numbered = mode == Mode::EphemeralSequential;
        if numbered {
            path = format!("{path}{children:010}");
        }
        if self.nodes.contains_key(&path) {
            return Err(Code::NodeExists);
        }
        if let Some(folder) = self.nodes.get_mut(&folder) {
            folder.children += 1;
        }
        let owner = if numbered || mode == Mode::Ephemeral { session } else { 0 };
        let stat = Stat { czxid: self.zxid, mzxid: self.zxid, version: 0, owner };
        self.nodes.insert(path.clone(), Node { data, stat, children: 0 });
        self.fire(&path, Change::Created);
        Ok(Reply::Created { path })
    }

    /// All of them, or none.
    pub fn write_all(&mut self, session: i64, ops: Vec<Op>) -> Vec<Reply> {
        let (before, count) = (self.clone(), ops.len());
        let done: Vec<_> = ops.into_iter().map(|op| self.write(session, op)).collect();
        self.zxid = before.zxid + 1;
        if done.iter().all(Result::is_ok) {
            return done.into_iter().flatten().collect();
        }
        *self = before;
        vec![Reply::Refused(Code::RuntimeInconsistency); count]
    }

    /// A session's nodes and watches go with it.
    pub fn end(&mut self, session: i64) {
        self.zxid += 1;
        self.watches.retain(|(_, watching)| *watching != session);
        let (own, others) =
            std::mem::take(&mut self.nodes).into_iter().partition(|(_, node)| node.stat.owner == session);
        self.nodes = others;
        let own: BTreeMap<String, Node> = own;
        own.keys().for_each(|path| self.fire(path, Change::Deleted));
    }

    /// The first node of the queue, or else Kafka's controller's, and its grant.
    pub fn leaders(&self) -> Option<(String, Grant)> {
        let folders = Kind::ALL.map(|kind| kind.folder(0) + "/");
        let queued = |(path, node): (&String, &Node)| {
            let name = folders.iter().find_map(|folder| path.strip_prefix(&**folder))?;
            let grant = (String::from_utf8_lossy(&node.data).into_owned(), node.stat.czxid.unsigned_abs());
            Some((sequence_of(name)?, path.clone(), grant))
        };
        let first = self.nodes.iter().filter_map(queued).min().map(|(_, path, grant)| (path, grant));
        let kafka = || {
            let epoch = epoch_of(&self.nodes.get(&epoch(0))?.data)?;
            Some((controller(0), (name_of(&self.nodes.get(&controller(0))?.data)?, epoch)))
        };
        first.or_else(kafka)
    }
}
