//! Translates the cores' requests to ZooKeeper's, and its answers back.

use super::{
    answer::{self, Answer},
    call::{Acl, Call},
    wire::op,
};
use protocols::{
    error::Failure,
    service::zookeeper::{Change, Code, Mode, Op, Reply, Request, Stat},
};

/// `acl` is of the nodes that are created.
pub(super) fn call(request: &Request, acl: fn() -> Vec<Acl>) -> Call {
    match request {
        Request::Write(op) => write(op, acl()),
        Request::Multi(ops) => Call::Multi(ops.iter().map(|op| write(op, acl())).collect()),
        Request::Exists { path, watch } => Call::Exists(path.clone(), *watch),
        Request::Get { path, watch, .. } => Call::GetData(path.clone(), *watch),
        Request::Children { path, watch } => Call::GetChildren2(path.clone(), *watch),
        Request::Sync { path } => Call::Sync(path.clone()),
        Request::CloseSession => Call::CloseSession,
    }
}

fn write(op: &Op, acl: Vec<Acl>) -> Call {
    match op {
        Op::Create { path, data, mode } => {
            let (op, flags) = match mode {
                Mode::Persistent => (op::CREATE, 0),
                Mode::Ephemeral => (op::CREATE, 1),
                Mode::EphemeralSequential => (op::CREATE, 3),
                Mode::Container => (op::CREATE_CONTAINER, 4),
            };
            Call::Create { op, path: path.clone(), data: Some(data.clone()), acl, flags }
        }
        Op::Delete { path, version } => Call::Delete(path.clone(), *version),
        Op::Set { path, data, version } => Call::SetData(path.clone(), Some(data.clone()), *version),
        Op::Check { path, version } => Call::Check(path.clone(), *version),
    }
}

/// What `request` comes to; `None` if the answer is of another kind.
pub(super) fn answer(request: &Request, answer: Result<Answer, Code>) -> Option<Result<Reply, Failure>> {
    Some(match answer {
        Ok(answer) => Ok(reply(request, answer)?),
        // No election knows what to do then.
        Err(Code::Other(code)) => Err(Failure::Rejected(format!("ZooKeeper refuses it: {}", refusal(code)))),
        Err(code) => Ok(Reply::Refused(code)),
    })
}

/// The reply to `request`; `None` if the answer is of another kind.
fn reply(request: &Request, answer: Answer) -> Option<Reply> {
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

/// What a code that no election knows means.
fn refusal(code: i32) -> String {
    match code {
        -102 => "the node is open to other users (NoAuth)".to_owned(),
        -114 => "it is not logged in, and asks for nodes of its own (InvalidACL)".to_owned(),
        code => format!("code {code}"),
    }
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
