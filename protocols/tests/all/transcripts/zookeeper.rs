//! What is said to ZooKeeper and by it.

use super::{Language, Names};
use protocols::{
    election::zookeeper,
    payload::{Opaque, Payload},
    service::zookeeper::{Asking, Change, Code, Item, Op, Reply, Request, Stat, StreamRequest},
};

const CURATOR: Language = Language { timers: &["retry", "lose", "again"], reply, item, request, stream };
const KAFKA: Language = Language { timers: &["stand"], reply, item, request, stream };

#[test]
fn zk_election() {
    super::check("zk-election", &CURATOR, 5);
}

#[test]
fn zk_selector() {
    super::check("zk-selector", &CURATOR, 1);
}

#[test]
fn kafka_zk_controller() {
    super::check("kafka-zk-controller", &KAFKA, 3);
}

fn code(name: &str) -> Option<Code> {
    Some(match name {
        "no-node" => Code::NoNode,
        "node-exists" => Code::NodeExists,
        "bad-version" => Code::BadVersion,
        "inconsistent" => Code::RuntimeInconsistency,
        "session-expired" => Code::SessionExpired,
        _ => return None,
    })
}

/// What a node holds: a controller's name stands for what Kafka writes.
fn held(text: &str) -> Vec<u8> {
    match text.strip_prefix("controller:") {
        Some(name) => zookeeper::encode(0, name, 0),
        None => text.into(),
    }
}

fn reply(_: &Names, words: &[&str]) -> Option<Opaque> {
    let number = |text: &str| text.parse::<i64>().ok();
    let reply = match words {
        ["created", path] => Reply::Created { path: (*path).into() },
        ["done"] => Reply::Done,
        ["refused", why] => Reply::Refused(code(why)?),
        ["is", "version", version] => Reply::Is(Stat { version: version.parse().ok()?, ..Stat::default() }),
        ["children", names @ ..] => {
            Reply::Children { names: names.iter().map(|name| (*name).into()).collect(), stat: Stat::default() }
        }
        ["data", held_by, "czxid", czxid, "owner", owner] => {
            let stat = Stat { czxid: number(czxid)?, owner: number(owner)?, ..Stat::default() };
            Reply::Data { path: "/".into(), data: held(held_by), stat, purpose: Asking::WhoLeads }
        }
        ["data", text, "version", version] => {
            let stat = Stat { version: version.parse().ok()?, ..Stat::default() };
            Reply::Data { path: "/".into(), data: held(text), stat, purpose: Asking::Anything }
        }
        ["multi", "won", version] => {
            let stat = Stat { version: version.parse().ok()?, ..Stat::default() };
            Reply::Multi(vec![Reply::Created { path: "/".into() }, Reply::Is(stat)])
        }
        ["multi", one, two] => Reply::Multi([one, two].map(|why| code(why).map_or(Reply::Done, Reply::Refused)).into()),
        _ => return None,
    };
    Some(reply.erase())
}

fn item(_: &Names, words: &[&str]) -> Option<Opaque> {
    let item = match words {
        ["connected", session, timeout_ms] => {
            Item::Connected { session: session.parse().ok()?, timeout_ms: timeout_ms.parse().ok()? }
        }
        ["disconnected"] => Item::Disconnected,
        ["expired"] => Item::Expired,
        [path, "deleted"] => Item::Watched { path: (*path).into(), change: Change::Deleted },
        [path, "created"] => Item::Watched { path: (*path).into(), change: Change::Created },
        _ => return None,
    };
    Some(item.erase())
}

fn write(op: &Op) -> String {
    match op {
        Op::Create { path, data, mode } => format!("create {path} {mode:?} {:?}", String::from_utf8_lossy(data)),
        Op::Delete { path, version } => format!("delete {path} version {version}"),
        Op::Set { path, data, version } => format!("set {path} {:?} version {version}", String::from_utf8_lossy(data)),
        Op::Check { path, version } => format!("check {path} version {version}"),
    }
}

fn request(_: &Names, request: &Opaque) -> String {
    let request: &Request = request.get().expect("a request to ZooKeeper");
    let watching = |watch: &bool| if *watch { ", watching" } else { "" };
    match request {
        Request::Write(op) => write(op),
        Request::Multi(ops) => format!("all of: {}", ops.iter().map(write).collect::<Vec<_>>().join("; ")),
        Request::Exists { path, watch } => format!("exists {path}{}", watching(watch)),
        Request::Get { path, watch, .. } => format!("get {path}{}", watching(watch)),
        Request::Children { path, watch } => format!("children of {path}{}", watching(watch)),
        other => format!("{other:?}"),
    }
}

fn stream(request: &Opaque) -> String {
    let StreamRequest { timeout_ms } = request.get().expect("a session");
    format!("session of {timeout_ms} ms")
}
