//! The differences between services: how a member is started, and how it reports that it leads.

use super::sockets::Place;
use crate::call;
use std::{
    fs,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// How long a member may take to report whether it leads.
const WITHIN: Duration = Duration::from_millis(500);
/// The longest answer expected, in bytes.
const ANSWER_MAX: u64 = 1 << 16;

/// A service whose members form a cluster, with the path of its program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `etcd`.
    Etcd(PathBuf),
    /// ZooKeeper's library, to run with `java`.
    Zookeeper(PathBuf),
    /// `consul`, as servers.
    Consul(PathBuf),
}

impl Kind {
    /// Whether members listen for each other on a second port.
    pub(super) fn has_second(&self) -> bool {
        !matches!(self, Kind::Etcd(_))
    }

    /// Whether members send datagrams to the second port.
    pub(super) fn gossips(&self) -> bool {
        matches!(self, Kind::Consul(_))
    }

    /// Whether the first packet on the second port contains the dialling member's address. (ZooKeeper,
    /// `QuorumCnxManager.java: InitialMessage`: the member with the higher number dials back there.)
    pub(super) fn introduces(&self) -> bool {
        matches!(self, Kind::Zookeeper(_))
    }

    /// Prepares a member's folder for its first start.
    pub(super) fn prepare(&self, member: usize, places: &[Place], folder: &Path) -> io::Result<()> {
        let data = folder.join(member.to_string());
        fs::create_dir_all(&data)?;
        match self {
            Kind::Zookeeper(_) => call::zookeeper_member(member, places, &data),
            Kind::Etcd(_) | Kind::Consul(_) => Ok(()),
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

    /// The agent for Consul's clients.
    pub(super) fn agent(&self, address: SocketAddr, places: &[Place], folder: &Path) -> Option<Command> {
        let Kind::Consul(program) = self else { return None };
        let (mut command, gossip) = (Command::new(program), crate::free_address());
        command.args(call::consul_agent(address, gossip, places, &folder.join("agent")));
        Some(command)
    }

    /// Whether the agent can write.
    pub(super) fn writes(&self, agent: SocketAddr) -> bool {
        let write = "PUT /v1/kv/fencepost/ready HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
        ask(agent, write).unwrap_or_default().contains("\r\n\r\ntrue")
    }

    /// Whether a member reports that it leads.
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
                (0..places.len()).find(|place| named(*place)) == Some(member)
            }
        }
    }
}

/// Sends a question, and reads the answer to its end.
fn ask(address: SocketAddr, question: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, WITHIN)?;
    stream.set_read_timeout(Some(WITHIN))?;
    stream.write_all(question.as_bytes())?;
    let mut answer = String::new();
    stream.take(ANSWER_MAX).read_to_string(&mut answer)?;
    Ok(answer)
}

/// The text after `name`, up to the next quotation mark.
fn value<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    answer.split_once(name)?.1.split('"').next()
}
