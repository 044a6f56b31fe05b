//! The effects and answers of requests (`PrepRequestProcessor.java: pRequest, pRequest2Txn, pRequest2TxnCreate`,
//! `FinalRequestProcessor.java: processRequest`).

use super::{
    state::Model,
    tree::{CONTAINER, Node},
    words::{ConnectionId, Event, Out, code, is_special, is_valid, parent_of},
};
use protocols_clients::zookeeper::{
    answer::Answer,
    call::{Acl, Body, Call},
    wire::{PING, op},
};

/// The time of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// The session clock, in milliseconds.
    pub now_ms: u64,
    /// Milliseconds since the Unix epoch.
    pub wall_ms: i64,
}

type Outcome = Result<Answer, i32>;

impl Model {
    /// Handles a request on a connection, with its number and operation; a connection without a session is no longer
    /// served.
    pub fn request(&mut self, connection: ConnectionId, at: At, (xid, op): (i32, i32), body: Body) {
        let Some(session) = self.touch(connection, at.now_ms) else { return };
        let (xid, answer) = match body {
            Err(_) => (xid, self.unreadable(op)),
            Ok(Call::Ping) => (PING, Ok(Answer::Nothing)),
            Ok(Call::CloseSession) => {
                // The answer goes out before the connection is closed.
                let place = self.outbox.len();
                self.end_session(session);
                let zxid = self.zxid();
                let closed = Out::Reply { xid, zxid, answer: Ok(Answer::Nothing) };
                let close = self.outbox[place..].iter().position(|(to, out)| *to == connection && *out == Out::Close);
                self.outbox.insert(close.map_or(self.outbox.len(), |after| place + after), (connection, closed));
                return;
            }
            Ok(call) => (xid, self.carry_out(connection, session, at.wall_ms, call)),
        };
        let zxid = self.zxid();
        self.outbox.push((connection, Out::Reply { xid, zxid, answer }));
    }

    /// A malformed write still takes a transaction id.
    pub(super) fn unreadable(&mut self, op: i32) -> Outcome {
        if [op::CREATE, op::CREATE2, op::CREATE_CONTAINER, op::DELETE, op::SET_DATA, op::CHECK, op::MULTI].contains(&op)
        {
            self.next_zxid();
        }
        Err(code::MARSHALLING_ERROR)
    }

    pub(super) fn carry_out(&mut self, connection: ConnectionId, session: i64, wall_ms: i64, call: Call) -> Outcome {
        match call {
            Call::Create { .. } | Call::Delete(..) | Call::SetData(..) => {
                let zxid = self.next_zxid();
                let (answer, events) = self.write(session, zxid, wall_ms, &call)?;
                self.tree.commit();
                self.tell(&events);
                Ok(answer)
            }
            Call::Multi(calls) => self.multi(session, wall_ms, &calls),
            Call::Exists(path, watch) => {
                if path.contains('\0') {
                    return Err(code::BAD_ARGUMENTS);
                }
                if watch {
                    self.watches.data(&path, connection);
                }
                Ok(Answer::Stat(self.node(&path)?.stat()))
            }
            Call::GetData(path, watch) => {
                let node = self.node(&path)?;
                let answer = Answer::Data(node.data.clone(), node.stat());
                if watch {
                    self.watches.data(&path, connection);
                }
                Ok(answer)
            }
            Call::GetChildren(ref path, watch) | Call::GetChildren2(ref path, watch) => {
                let node = self.node(path)?;
                let (names, stat) = (node.children.iter().cloned().collect(), node.stat());
                if watch {
                    self.watches.children(path, connection);
                }
                let with_stat = matches!(call, Call::GetChildren2(..));
                Ok(if with_stat { Answer::NamesStat(names, stat) } else { Answer::Names(names) })
            }
            Call::Sync(path) => Ok(Answer::Path(path)),
            Call::SetWatches(watches) => {
                self.set_watches(connection, &watches);
                Ok(Answer::Nothing)
            }
            other => Err(not_modelled(&other)),
        }
    }

    fn node(&self, path: &str) -> Result<&Node, i32> {
        self.tree.get(path).ok_or(code::NO_NODE)
    }

    /// All writes or none. On failure, each gets an error code: 0 before the first refused one.
    fn multi(&mut self, session: i64, wall_ms: i64, calls: &[Call]) -> Outcome {
        let zxid = self.next_zxid();
        let (mut done, mut events) = (Vec::new(), Vec::new());
        for call in calls {
            // A node with a time to live needs another operation, as which this request is malformed; that shows only
            // when its turn comes.
            if matches!(call, Call::Create { flags: 5 | 6, .. }) {
                self.tree.roll_back();
                return Err(code::MARSHALLING_ERROR);
            }
            match self.write(session, zxid, wall_ms, call) {
                Ok((answer, told)) => {
                    // A `CreateResult` with a state is that of `create2`.
                    let op = if call.op() == op::CREATE_CONTAINER { op::CREATE2 } else { call.op() };
                    done.push((op, Ok(answer)));
                    events.extend(told);
                }
                Err(why) => {
                    self.tree.roll_back();
                    let before = done.len();
                    let code = |place: usize| match place {
                        place if place < before => 0,
                        place if place == before => why,
                        _ => code::RUNTIME_INCONSISTENCY,
                    };
                    return Ok(Answer::Multi((0..calls.len()).map(|place| (op::ERROR, Err(code(place)))).collect()));
                }
            }
        }
        self.tree.commit();
        self.tell(&events);
        Ok(Answer::Multi(done))
    }

    fn write(&mut self, session: i64, zxid: i64, wall_ms: i64, call: &Call) -> Result<(Answer, Vec<Event>), i32> {
        match call {
            Call::Create { op, path, data, acl, flags } => {
                let (path, node) = self.new_node(session, *op, path, data.clone(), acl, *flags)?;
                let node = Node { czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: wall_ms, mtime: wall_ms, ..node };
                let stat = node.stat();
                let events = self.tree.create(&path, node);
                let answer = if *op == op::CREATE { Answer::Path(path) } else { Answer::PathStat(path, stat) };
                Ok((answer, events))
            }
            Call::Delete(path, version) => {
                let parent = parent_of(path).filter(|_| !path.contains('\0') && !is_special(path));
                self.node(parent.ok_or(code::BAD_ARGUMENTS)?)?;
                let node = self.versioned(path, *version)?;
                if !node.children.is_empty() {
                    return Err(code::NOT_EMPTY);
                }
                Ok((Answer::Nothing, self.tree.remove(path, zxid)))
            }
            Call::SetData(path, data, version) => {
                if !is_valid(path) {
                    return Err(code::BAD_ARGUMENTS);
                }
                self.versioned(path, *version)?;
                let events = self.tree.set(path, data.clone(), zxid, wall_ms);
                Ok((Answer::Stat(self.node(path)?.stat()), events))
            }
            Call::Check(path, version) => {
                if !is_valid(path) {
                    return Err(code::BAD_ARGUMENTS);
                }
                self.versioned(path, *version)?;
                Ok((Answer::Nothing, Vec::new()))
            }
            other => Err(not_modelled(other)),
        }
    }

    /// The node if it has this version; −1 matches any.
    fn versioned(&self, path: &str, version: i32) -> Result<&Node, i32> {
        let node = self.node(path)?;
        if version == -1 || version == node.version { Ok(node) } else { Err(code::BAD_VERSION) }
    }

    /// The full path of a node that can be created, and the node.
    fn new_node(
        &self,
        session: i64,
        op: i32,
        path: &str,
        data: Option<Vec<u8>>,
        acl: &[Acl],
        flags: i32,
    ) -> Result<(String, Node), i32> {
        // The operation decides whether it is a container, whatever the flags say.
        let owner = match flags {
            // Nodes with a time to live are off by default.
            5 | 6 => return Err(code::UNIMPLEMENTED),
            flags if !(0..=4).contains(&flags) => return Err(code::BAD_ARGUMENTS),
            _ if op == op::CREATE_CONTAINER => CONTAINER,
            1 | 3 => session,
            _ => 0,
        };
        let parent = parent_of(path).filter(|_| !path.contains('\0')).ok_or(code::BAD_ARGUMENTS)?;
        if acl.is_empty() {
            return Err(code::INVALID_ACL);
        }
        let above = self.node(parent)?;
        let path = match flags {
            2 | 3 => format!("{path}{:010}", above.creations),
            _ => path.to_owned(),
        };
        if !is_valid(&path) {
            return Err(code::BAD_ARGUMENTS);
        }
        if self.tree.get(&path).is_some() {
            return Err(code::NODE_EXISTS);
        }
        if above.is_ephemeral() {
            return Err(code::NO_CHILDREN_FOR_EPHEMERALS);
        }
        Ok((path, Node { data, owner, ..Node::default() }))
    }
}

/// A real server would have carried it out.
fn not_modelled(call: &Call) -> i32 {
    crate::service::grants::tell_refused("ZooKeeper", &format!("operation {} is not modelled", call.op()));
    code::UNIMPLEMENTED
}
