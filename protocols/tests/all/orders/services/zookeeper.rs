//! ZooKeeper: a tree of nodes, some of which end with the session that created them.

use super::{Answer, End, Grant, Process, Serves, Told, typed};
use protocols::{
    election::zookeeper::{Kind, controller, epoch, epoch_of, name_of, sequence_of},
    elector::ServiceInput,
    payload::{Opaque, Payload},
    service::zookeeper::{Change, Code, Item, Mode, Op, Reply, Request, Stat, StreamRequest, granted},
    types::MILLISECOND,
};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Node {
    data: Vec<u8>,
    stat: Stat,
    /// How many children it has ever had.
    children: u32,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Session {
    of: Process,
    /// 0 once its client has left it.
    stream: u64,
    timeout: u64,
    heard: u64,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct ZooKeeper {
    zxid: i64,
    opened: i64,
    nodes: BTreeMap<String, Node>,
    sessions: BTreeMap<i64, Session>,
    watches: BTreeSet<(String, i64)>,
    told: Vec<Told>,
}

impl ZooKeeper {
    fn session_of(&self, by: Process) -> Option<i64> {
        let open = |(_, session): &(&i64, &Session)| session.of == by && session.stream > 0;
        self.sessions.iter().find(open).map(|(id, _)| *id)
    }

    fn tell(&mut self, id: i64, item: Item) {
        if let Some(Session { of, stream, .. }) = self.sessions.get(&id).filter(|session| session.stream > 0) {
            self.told.push(Told { to: *of, input: ServiceInput::Item { number: *stream, item: item.erase() } });
        }
    }

    fn connected(&mut self, id: i64) {
        let timeout_ms = u32::try_from(self.sessions[&id].timeout / MILLISECOND).expect("a timeout in milliseconds");
        self.tell(id, Item::Connected { session: id, timeout_ms });
    }

    fn fire(&mut self, path: &str, change: Change) {
        let (fired, kept) = std::mem::take(&mut self.watches).into_iter().partition(|(watched, _)| watched == path);
        self.watches = kept;
        let fired: BTreeSet<(String, i64)> = fired;
        fired.into_iter().for_each(|(path, id)| self.tell(id, Item::Watched { path, change }));
    }

    fn write(&mut self, id: i64, op: Op) -> Result<Reply, Code> {
        self.zxid += 1;
        let (path, version) = match op {
            Op::Create { path, data, mode } => return self.create(id, path, data, mode),
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

    fn create(&mut self, id: i64, mut path: String, data: Vec<u8>, mode: Mode) -> Result<Reply, Code> {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
        let numbered = mode == Mode::EphemeralSequential;
        match self.nodes.get_mut(&folder) {
            Some(folder) => {
                path = if numbered { format!("{path}{:010}", folder.children) } else { path };
                folder.children += 1;
            }
            None if folder.is_empty() => {}
            None => return Err(Code::NoNode),
        }
        if self.nodes.contains_key(&path) {
            return Err(Code::NodeExists);
        }
        let owner = if numbered || mode == Mode::Ephemeral { id } else { 0 };
        let stat = Stat { czxid: self.zxid, mzxid: self.zxid, version: 0, owner };
        self.nodes.insert(path.clone(), Node { data, stat, children: 0 });
        self.fire(&path, Change::Created);
        Ok(Reply::Created { path })
    }

    /// All of them, or none.
    fn write_all(&mut self, id: i64, ops: Vec<Op>) -> Vec<Reply> {
        let (before, count) = (self.clone(), ops.len());
        let done: Vec<_> = ops.into_iter().map(|op| self.write(id, op)).collect();
        self.zxid = before.zxid + 1;
        match done.iter().position(Result::is_err) {
            None => done.into_iter().flatten().collect(),
            Some(_) => {
                *self = before;
                vec![Reply::Refused(Code::RuntimeInconsistency); count]
            }
        }
    }

    fn queue(&self) -> Option<Grant> {
        let folders = Kind::ALL.map(|kind| kind.folder(0) + "/");
        let queued = |(path, node): (&String, &Node)| {
            let name = folders.iter().find_map(|folder| path.strip_prefix(&**folder))?;
            Some((sequence_of(name)?, String::from_utf8_lossy(&node.data).into_owned(), node.stat.czxid.unsigned_abs()))
        };
        self.nodes.iter().filter_map(queued).min().map(|(_, name, czxid)| (name, czxid))
    }
}

impl Serves for ZooKeeper {
    /// The first of the queue, or Kafka's controller.
    fn grant(&self, _: u64) -> Option<Grant> {
        let kafka = || {
            let epoch = epoch_of(&self.nodes.get(&epoch(0))?.data)?;
            Some((name_of(&self.nodes.get(&controller(0))?.data)?, epoch))
        };
        self.queue().or_else(kafka)
    }

    fn take(&mut self, now: u64, by: Process, _: u64, request: &Opaque) -> Answer {
        let id = self.session_of(by).expect("it waits for a session");
        self.sessions.get_mut(&id).expect("it is open").heard = now;
        let reply = match typed(request) {
            Request::Write(op) => self.write(id, op),
            Request::Multi(ops) => Ok(Reply::Multi(self.write_all(id, ops))),
            Request::Exists { path, watch } => {
                if watch {
                    self.watches.insert((path.clone(), id));
                }
                self.nodes.get(&path).map(|node| Reply::Is(node.stat)).ok_or(Code::NoNode)
            }
            Request::Get { path, watch, purpose } => match self.nodes.get(&path).cloned() {
                Some(Node { data, stat, .. }) => {
                    if watch {
                        self.watches.insert((path.clone(), id));
                    }
                    Ok(Reply::Data { path, data, stat, purpose })
                }
                None => Err(Code::NoNode),
            },
            Request::Children { path, .. } => match self.nodes.get(&path) {
                Some(folder) => {
                    let inside = |child: &String| Some(child.strip_prefix(&path)?.strip_prefix('/')?.to_owned());
                    Ok(Reply::Children { names: self.nodes.keys().filter_map(inside).collect(), stat: folder.stat })
                }
                None => Err(Code::NoNode),
            },
            Request::Sync { .. } => Ok(Reply::Done),
            Request::CloseSession => unreachable!("nobody here asks for it"),
        };
        Ok(reply.unwrap_or_else(Reply::Refused).erase())
    }

    fn is_ready(&self, by: Process, _: &Opaque) -> bool {
        self.session_of(by).is_some()
    }

    fn opens_at_once(&self, _: &Opaque) -> bool {
        false
    }

    fn open(&mut self, now: u64, of: Process, stream: u64, request: &Opaque) {
        let StreamRequest { timeout_ms } = typed(request);
        self.opened += 1;
        let timeout = granted(u64::from(timeout_ms) * MILLISECOND);
        self.sessions.insert(self.opened, Session { of, stream, timeout, heard: now });
        self.connected(self.opened);
    }

    fn close(&mut self, by: Process, stream: u64) {
        let left = |session: &&mut Session| session.of == by && session.stream == stream;
        self.sessions.values_mut().find(left).into_iter().for_each(|session| session.stream = 0);
    }

    fn ends(&self) -> Vec<End> {
        let end = |(which, session): (&i64, &Session)| End {
            at: session.heard + session.timeout,
            of: session.of,
            which: which.unsigned_abs(),
        };
        self.sessions.iter().map(end).collect()
    }

    fn end(&mut self, _: u64, which: u64) {
        let id = which.cast_signed();
        self.zxid += 1;
        self.watches.retain(|(_, watching)| *watching != id);
        let (own, others) = std::mem::take(&mut self.nodes).into_iter().partition(|(_, node)| node.stat.owner == id);
        self.nodes = others;
        let own: BTreeMap<String, Node> = own;
        own.keys().for_each(|path| self.fire(path, Change::Deleted));
        self.tell(id, Item::Disconnected);
        self.tell(id, Item::Expired);
        self.sessions.remove(&id);
    }

    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    fn breaks(&mut self, by: Process) -> bool {
        let Some(id) = self.session_of(by) else { return false };
        self.tell(id, Item::Disconnected);
        self.connected(id);
        true
    }
}
