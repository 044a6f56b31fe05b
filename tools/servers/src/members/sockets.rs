//! The addresses of members, and who owns a socket.

use crate::folder::free_port;
use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
};

/// The index of the process that owns the end `own` of a connection to `far`, or that has started the one that does.
pub(super) fn owner(own: SocketAddr, far: SocketAddr, processes: &[Option<u32>]) -> Option<usize> {
    let inode = inode(own, far)?;
    let socket = format!("socket:[{inode}]");
    let has = |pid: u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|to| to.to_string_lossy() == socket)
    };
    let itself = || processes.iter().position(|pid| pid.is_some_and(has));
    itself().or_else(|| processes.iter().position(|pid| pid.is_some_and(|pid| started(pid).into_iter().any(has))))
}

/// The processes that a process has started itself.
fn started(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of_each = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    of_each.flat_map(|pids| pids.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

fn inode(own: SocketAddr, far: SocketAddr) -> Option<u64> {
    let (own, far) = (shown(own)?, shown(far)?);
    // A line: number, own end, far end, state, queues, timer, retransmits, user, timeout, inode. In the second table,
    // an IPv4 address ends like in the first.
    ["/proc/net/tcp", "/proc/net/tcp6"].into_iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().skip(1).find_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_it = words.get(1)?.ends_with(&own) && words.get(2)?.ends_with(&far);
            is_it.then(|| words.get(9)?.parse().ok()).flatten()
        })
    })
}

/// An address as in the tables: its bytes as a number in native byte order, then the port.
fn shown(address: SocketAddr) -> Option<String> {
    let IpAddr::V4(ip) = address.ip() else { return None };
    Some(format!("{:08X}:{:04X}", u32::from_ne_bytes(ip.octets()), address.port()))
}

// The addresses of members: where they listen, and where others find them.

/// The number of members in a cluster of the tests'.
pub const MEMBERS: usize = 3;
/// The most members that a cluster has.
pub(super) const MEMBERS_MAX: usize = 5;

/// The address that a member announces, which is its relay's.
pub(crate) fn address_of(member: usize, port: u16) -> SocketAddr {
    let ip = Ipv4Addr::new(127, 0, 0, 2 + member as u8);
    SocketAddr::new(IpAddr::V4(ip), port)
}

/// The address on which a member really listens.
pub(crate) fn own_address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// A member's ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) client: SocketAddr,
    /// For consensus among members.
    pub(crate) peer: u16,
    /// For ZooKeeper's elections or Consul's gossip among members.
    pub(crate) second: u16,
}

impl Place {
    /// Free ports.
    pub(crate) fn free() -> io::Result<Place> {
        let (client, peer, second) = (own_address(free_port()?), free_port()?, free_port()?);
        Ok(Place { client, peer, second })
    }

    /// Where other members find it: at its relay.
    pub(crate) fn peer_of(&self, member: usize) -> SocketAddr {
        address_of(member, self.peer)
    }

    /// The same for its second port.
    pub(crate) fn second_of(&self, member: usize) -> SocketAddr {
        address_of(member, self.second)
    }

    /// Where it listens for other members.
    pub(crate) fn own_peer(&self) -> SocketAddr {
        own_address(self.peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_connection_is_of_whoever_dialled_it() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let dialled = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        let (own, far) = (dialled.local_addr().expect("an address"), dialled.peer_addr().expect("an address"));
        let this = Some(std::process::id());
        assert_eq!(owner(own, far, &[None, Some(1), this]), Some(2));
        assert_eq!(owner(own, far, &[None]), None);
        let parent = Some(std::os::unix::process::parent_id());
        assert_eq!(owner(own, far, &[None, parent]), Some(1));
        drop(dialled);
        assert_eq!(owner(far, own, &[None]), None);
    }
}
