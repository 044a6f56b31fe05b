//! ZooKeeper: a tree of nodes, some of which end with the session that created them.

mod tree;

use super::{Answer, End, Grant, Process, Serves, Told, typed};
use protocols::{
    elector::ServiceInput,
    payload::{Opaque, Payload},
    service::zookeeper::{Code, Item, Op, Reply, Request, StreamRequest, granted},
    types::MILLISECOND,
};
use std::collections::BTreeMap;
use tree::{Node, Tree};

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
    opened: i64,
    sessions: BTreeMap<i64, Session>,
    tree: Tree,
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

    fn fired(&mut self) {
        for (id, path, change) in std::mem::take(&mut self.tree.fired) {
            self.tell(id, Item::Watched { path, change });
        }
    }
}

impl Serves for ZooKeeper {
    fn grant(&self, _: u64) -> Option<Grant> {
        self.tree.leaders().map(|(_, grant)| grant)
    }

    fn take(&mut self, now: u64, by: Process, _: u64, request: &Opaque) -> Answer {
        let id = self.session_of(by).expect("it waits for a session");
        self.sessions.get_mut(&id).expect("it is open").heard = now;
        let tree = &mut self.tree;
        let reply = match typed(request) {
            Request::Write(op) => tree.write(id, op),
            Request::Multi(ops) => Ok(Reply::Multi(tree.write_all(id, ops))),
            Request::Exists { path, watch } => {
                tree.watches.extend(watch.then(|| (path.clone(), id)));
                tree.nodes.get(&path).map(|node| Reply::Is(node.stat)).ok_or(Code::NoNode)
            }
            Request::Get { path, watch, purpose } => match tree.nodes.get(&path).cloned() {
                Some(Node { data, stat, .. }) => {
                    tree.watches.extend(watch.then(|| (path.clone(), id)));
                    Ok(Reply::Data { path, data, stat, purpose })
                }
                None => Err(Code::NoNode),
            },
            Request::Children { path, .. } => match tree.nodes.get(&path) {
                Some(folder) => {
                    let inside = |child: &String| Some(child.strip_prefix(&path)?.strip_prefix('/')?.to_owned());
                    Ok(Reply::Children { names: tree.nodes.keys().filter_map(inside).collect(), stat: folder.stat })
                }
                None => Err(Code::NoNode),
            },
            Request::Sync { .. } => Ok(Reply::Done),
            Request::CloseSession => unreachable!("nobody here asks for it"),
        };
        self.fired();
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
        let end = |(which, session): (&i64, &Session)| {
            // One that its client has left carries nothing of that process's.
            let of = if session.stream > 0 { session.of } else { Process { life: 0, ..session.of } };
            End { at: session.heard + session.timeout, of, which: which.unsigned_abs() }
        };
        self.sessions.iter().map(end).collect()
    }

    fn end(&mut self, _: u64, which: u64) {
        let id = which.cast_signed();
        self.tree.end(id);
        self.fired();
        self.tell(id, Item::Disconnected);
        self.tell(id, Item::Expired);
        self.sessions.remove(&id);
    }

    fn told(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.told)
    }

    fn breaks(&mut self, by: Process) {
        if let Some(id) = self.session_of(by) {
            self.tell(id, Item::Disconnected);
            self.connected(id);
        }
    }

    fn fails(&mut self) {
        if let Some((path, _)) = self.tree.leaders() {
            self.tree.write(0, Op::Delete { path, version: -1 }).expect("it is there");
            self.fired();
        }
    }
}
