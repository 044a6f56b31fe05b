//! What a member of each service is: how it is called, and how it says that it leads.

use super::place::{MEMBERS, Place};
use crate::call;
use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// How long a member may take to say whether it leads.
const WITHIN: Duration = Duration::from_millis(500);
/// No answer that is asked for here is longer; bytes.
const ANSWER_MAX: u64 = 1 << 16;

/// A service whose members agree, and where its program is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `etcd`.
    Etcd(PathBuf),
    /// ZooKeeper's library; `java` runs it.
    Zookeeper(PathBuf),
    /// `consul`, as servers.
    Consul(PathBuf),
}

impl Kind {
    /// Do members listen on a second port for each other?
    pub(super) fn has_second(&self) -> bool {
        !matches!(self, Kind::Etcd(_))
    }

    /// Do they send datagrams to it?
    pub(super) fn gossips(&self) -> bool {
        matches!(self, Kind::Consul(_))
    }

    /// Does the first packet on the second port name the address of who dials? (ZooKeeper, `QuorumCnxManager.java:
    /// InitialMessage`: whoever has the higher number dials back there.)
    pub(super) fn introduces(&self) -> bool {
        matches!(self, Kind::Zookeeper(_))
    }

    /// Makes what a member wants to find on its disk when it starts first.
    pub(super) fn prepare(&self, member: usize, places: &[Place], folder: &Path) {
        let data = folder.join(member.to_string());
        fs::create_dir_all(&data).expect("temporary folders can be made");
        if let Kind::Zookeeper(_) = self {
            call::zookeeper_member(member, places, &data).expect("temporary files can be written");
        }
    }

    pub(super) fn command(&self, member: usize, places: &[Place], folder: &Path) -> Command {
        let data = folder.join(member.to_string());
        match self {
            Kind::Etcd(program) => {
                let mut command = Command::new(program);
                command.args(call::etcd_member(member, places, &data));
                command
            }
            Kind::Zookeeper(jar) => {
                let mut command = Command::new("java");
                command.args(call::zookeeper_java(jar, &data));
                command
            }
            Kind::Consul(program) => {
                let mut command = Command::new(program);
                command.args(call::consul_member(member, places, &data));
                command
            }
        }
    }

    /// The agent of Consul's clients.
    pub(super) fn agent(&self, address: SocketAddr, places: &[Place], folder: &Path) -> Option<Command> {
        let Kind::Consul(program) = self else { return None };
        let (mut command, gossip) = (Command::new(program), crate::free_address());
        command.args(call::consul_agent(address, gossip, places, &folder.join("agent")));
        Some(command)
    }

    /// Can that agent write?
    pub(super) fn writes(&self, agent: SocketAddr) -> bool {
        let write = "PUT /v1/kv/fencepost/ready HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        ask(agent, write).unwrap_or_default().contains("\r\n\r\ntrue")
    }

    /// Does a member say that it leads?
    pub(super) fn leads(&self, member: usize, places: &[Place]) -> bool {
        let client = places[member].client;
        match self {
            Kind::Etcd(_) => {
                let status = "POST /v3/maintenance/status HTTP/1.0\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}";
                let answer = ask(client, status).unwrap_or_default();
                let own = value(&answer, "\"member_id\":\"");
                own.is_some() && own == value(&answer, "\"leader\":\"")
            }
            Kind::Zookeeper(_) => ask(client, "srvr").unwrap_or_default().contains("Mode: leader"),
            Kind::Consul(_) => {
                let answer = ask(client, "GET /v1/status/leader HTTP/1.0\r\nHost: x\r\n\r\n").unwrap_or_default();
                let named = |place: usize| answer.contains(&format!("\"{}\"", places[place].peer_of(place)));
                (0..MEMBERS).find(|place| named(*place)) == Some(member)
            }
        }
    }
}

/// Says something, and hears the answer to its end.
fn ask(address: SocketAddr, question: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.write_all(question.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

/// What stands behind a name, up to the next quotation mark.
fn value<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.split_once(name)?.1.split('"').next()
}
