//! Deletes a leader's lease from the service, as an operator may by mistake: another member leads then, while the
//! leader does not know yet. Nothing but the fence keeps its writes out.

use crate::{Error, Service, backends::NAMESPACE};
use fencepost_seat::PostgresLock;
use servers::look;
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    process::{Command, Output},
};

/// False if nobody leads just then.
pub fn forget_leader(service: Service, servers: &[SocketAddr], seat: &str) -> Result<bool, Error> {
    let at = *servers.first().ok_or("without a service, there is nothing to delete")?;
    match service {
        Service::Raft => Err("Raft keeps no lease that could be deleted".into()),
        Service::Consul => {
            let key = format!("/v1/kv/fencepost/{seat}/.lock");
            // Only a key that is held has a session.
            Ok(http(at, "GET", &key, "")?.contains("\"Session\"") && http(at, "DELETE", &key, "")?.ends_with("true"))
        }
        Service::Zookeeper => zookeeper(at, &format!("/fencepost/{seat}")),
        Service::Etcd => {
            let etcdctl = |arguments: &[&str]| {
                let mut command = Command::new("etcdctl");
                command.env("ETCDCTL_API", "3").args(["--endpoints", &at.to_string()]).args(arguments);
                said(command.output()?)
            };
            // The leader's key is the oldest.
            let queue = ["get", "--prefix", &format!("fencepost/{seat}/"), "--sort-by=CREATE", "--order=ASCEND"];
            let key = etcdctl(&[&queue[..], &["--limit=1", "--keys-only"]].concat())?;
            Ok(!key.trim().is_empty() && etcdctl(&["del", key.trim()])?.trim() == "1")
        }
        Service::Kubernetes => {
            // The object stays: with it, tokens would start again.
            let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{seat}");
            let is_held = http(at, "GET", &lease, "")?.contains("\"holderIdentity\":\"m");
            let nobody = r#"{"spec": {"holderIdentity": ""}}"#;
            Ok(is_held && http(at, "PATCH", &lease, nobody)?.contains(" 200 "))
        }
        Service::Redis | Service::Redlock => {
            let deleted = servers.iter().map(|at| redis(*at, seat)).collect::<Result<Vec<_>, _>>()?;
            Ok(2 * deleted.iter().filter(|deleted| **deleted).count() > servers.len())
        }
        Service::Postgres => {
            let holds = format!("WHERE name = '{seat}' AND lock_until > now()");
            psql(at, &format!("UPDATE fencepost_lock SET lock_until = now() {holds} RETURNING name"))
        }
        Service::PostgresLock => {
            // Its session is ended, and PostgreSQL says so.
            let (upper, lower) = halves(PostgresLock::key(seat));
            let holds = format!("locktype = 'advisory' AND granted AND classid = {upper} AND objid = {lower}");
            psql(at, &format!("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE {holds}"))
        }
    }
}

/// The upper and the lower half of a key, as PostgreSQL shows them.
fn halves(key: i64) -> (u32, u32) {
    let bits = key.cast_unsigned();
    ((bits >> 32) as u32, bits as u32)
}

/// Whether the statement has changed anything.
fn psql(at: SocketAddr, statement: &str) -> Result<bool, Error> {
    let psql = look("psql").ok_or("psql is not installed")?;
    let url = format!("postgresql://store@{at}/postgres");
    said(Command::new(psql).args(["-X", "-q", "-A", "-t", "-d", &url, "-c", statement]).output()?)
        .map(|said| !said.trim().is_empty())
}

fn redis(at: SocketAddr, seat: &str) -> Result<bool, Error> {
    let mut stream = TcpStream::connect(at)?;
    stream.write_all(format!("DEL fencepost:{{{seat}}}\r\n").as_bytes())?;
    let mut deleted = [0; 4];
    stream.read_exact(&mut deleted)?;
    Ok(deleted == *b":1\r\n")
}

/// An answer, with its head.
pub fn http(at: SocketAddr, method: &str, path: &str, body: &str) -> Result<String, Error> {
    let mut stream = TcpStream::connect(at)?;
    let (length, kind) = (body.len(), if method == "PATCH" { "merge-patch+json" } else { "json" });
    let head = format!("Content-Type: application/{kind}\r\nContent-Length: {length}");
    stream.write_all(format!("{method} {path} HTTP/1.0\r\n{head}\r\n\r\n{body}").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// Deletes the first node of a queue.
fn zookeeper(at: SocketAddr, queue: &str) -> Result<bool, Error> {
    const GET_CHILDREN: i32 = 8;
    const DELETE: i32 = 2;
    const ANY_VERSION: [u8; 4] = (-1_i32).to_be_bytes();
    let mut session = TcpStream::connect(at)?;
    // Version, the last transaction seen, 10 s until it times out, no session, and an empty password.
    let password = [&16_i32.to_be_bytes()[..], &[0; 16]].concat();
    ask(&mut session, &[&[0; 12], &10_000_i32.to_be_bytes()[..], &[0; 8], &password].concat())?;
    let call = |number: i32, kind: i32| [number.to_be_bytes(), kind.to_be_bytes()].concat();
    // Without a watch.
    let answer = ask(&mut session, &[call(1, GET_CHILDREN), text(queue), vec![0]].concat())?;
    let first = children(&answer)?.into_iter().min_by_key(|name| name.rsplit('-').next().map(str::to_owned));
    let Some(first) = first else { return Ok(false) };
    let node = text(&format!("{queue}/{first}"));
    let answer = ask(&mut session, &[call(2, DELETE), node, ANY_VERSION.to_vec()].concat())?;
    Ok(failure(&answer) == Some(0))
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as i32).to_be_bytes()[..], text.as_bytes()].concat()
}

fn ask(session: &mut TcpStream, packet: &[u8]) -> Result<Vec<u8>, Error> {
    session.write_all(&[&(packet.len() as i32).to_be_bytes()[..], packet].concat())?;
    let mut length = [0; 4];
    session.read_exact(&mut length)?;
    let mut answer = vec![0; u32::from_be_bytes(length) as usize];
    session.read_exact(&mut answer)?;
    Ok(answer)
}

/// The error of an answer, which follows its number and a transaction's.
fn failure(answer: &[u8]) -> Option<i32> {
    Some(i32::from_be_bytes(answer.get(12..16)?.try_into().ok()?))
}

fn children(answer: &[u8]) -> Result<Vec<String>, Error> {
    if failure(answer) != Some(0) {
        return Err(format!("ZooKeeper says {:?}", failure(answer)).into());
    }
    let mut names = Vec::new();
    let mut rest = answer.get(20..).unwrap_or_default();
    while let Some((length, after)) = rest.split_first_chunk() {
        let (name, next) = after.split_at_checked(u32::from_be_bytes(*length) as usize).ok_or("a name is cut off")?;
        names.push(String::from_utf8(name.to_vec())?);
        rest = next;
    }
    Ok(names)
}

fn said(output: Output) -> Result<String, Error> {
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned().into());
    }
    Ok(String::from_utf8(output.stdout)?)
}
