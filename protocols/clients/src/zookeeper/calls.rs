//! Translates the cores' requests to ZooKeeper's, and its answers back.

use super::{
    answer::{self, Answer},
    call::{Acl, Call},
    wire::op,
};
use protocols::service::zookeeper::{Change, Code, Mode, Op, Reply, Request, Stat};

pub(super) fn call(request: &Request) -> Call {
    match request {
        Request::Write(op) => write(op),
        Request::Multi(ops) => Call::Multi(ops.iter().map(write).collect()),
        Request::Exists { path, watch } => Call::Exists(path.clone(), *watch),
        Request::Get { path, watch, .. } => Call::GetData(path.clone(), *watch),
        Request::Children { path, watch } => Call::GetChildren2(path.clone(), *watch),
        Request::Sync { path } => Call::Sync(path.clone()),
        Request::CloseSession => Call::CloseSession,
    }
}

fn write(op: &Op) -> Call {
    match op {
        Op::Create { path, data, mode } => {
            let (op, flags) = match mode {
                Mode::Persistent => (op::CREATE, 0),
                Mode::Ephemeral => (op::CREATE, 1),
                Mode::EphemeralSequential => (op::CREATE, 3),
                Mode::Container => (op::CREATE_CONTAINER, 4),
            };
            Call::Create { op, path: path.clone(), data: Some(data.clone()), acl: Acl::open(), flags }
        }
        Op::Delete { path, version } => Call::Delete(path.clone(), *version),
        Op::Set { path, data, version } => Call::SetData(path.clone(), Some(data.clone()), *version),
        Op::Check { path, version } => Call::Check(path.clone(), *version),
    }
}

/// The reply to `request`; `None` if the answer is of another kind.
pub(super) fn reply(request: &Request, answer: Answer) -> Option<Reply> {
    Some(match (request, answer) {
        (Request::Write(op), answer) => written(op, answer)?,
        (Request::Multi(ops), Answer::Multi(parts)) => {
            let part = |(op, (_, part)): (&Op, (i32, Result<Answer, i32>))| match part {
                Ok(answer) => written(op, answer),
                // The parts before the refused one carry the error code 0.
                Err(0) => Some(Reply::Done),
                Err(code) => Some(Reply::Refused(Code::from_number(code))),
            };
            let replies: Option<Vec<Reply>> = ops.iter().zip(parts).map(part).collect();
            Reply::Multi(replies.filter(|replies| replies.len() == ops.len())?)
        }
        (Request::Exists { .. }, Answer::Stat(found)) => Reply::Is(stat(found)),
        (Request::Get { path, purpose, .. }, Answer::Data(data, found)) => {
            let (path, data) = (path.clone(), data.unwrap_or_default());
            Reply::Data { path, data, stat: stat(found), purpose: *purpose }
        }
        (Request::Children { .. }, Answer::NamesStat(mut names, found)) => {
            names.sort_unstable();
            Reply::Children { names, stat: stat(found) }
        }
        (Request::Sync { .. }, Answer::Path(_)) | (Request::CloseSession, Answer::Nothing) => Reply::Done,
        _ => return None,
    })
}

fn written(op: &Op, answer: Answer) -> Option<Reply> {
    match (op, answer) {
        (Op::Create { .. }, Answer::Path(path) | Answer::PathStat(path, _)) => Some(Reply::Created { path }),
        (Op::Set { .. }, Answer::Stat(found)) => Some(Reply::Is(stat(found))),
        (Op::Delete { .. } | Op::Check { .. }, Answer::Nothing) => Some(Reply::Done),
        _ => None,
    }
}

fn stat(stat: answer::Stat) -> Stat {
    let answer::Stat { czxid, mzxid, version, owner, .. } = stat;
    Stat { czxid, mzxid, version, owner }
}

/// The change that a notification of `kind` reports.
pub(super) fn change(kind: i32) -> Option<Change> {
    match kind {
        1 => Some(Change::Created),
        2 => Some(Change::Deleted),
        3 => Some(Change::Data),
        4 => Some(Change::Children),
        _ => None,
    }
}
