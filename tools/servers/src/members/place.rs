//! Where members listen, and where they are found.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// How many members a cluster has.
pub const MEMBERS: usize = 3;

/// Where a member says that it listens.
pub(crate) fn address_of(member: usize, port: u16) -> SocketAddr {
    let ip = Ipv4Addr::new(127, 0, 0, 2 + member as u8);
    SocketAddr::new(IpAddr::V4(ip), port)
}

/// Where it does.
pub(crate) fn own_address(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Where a member listens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// For clients.
    pub(crate) client: SocketAddr,
    /// For members: what they agree on.
    pub(crate) peer: u16,
    /// For members: ZooKeeper's elections, Consul's gossip.
    pub(crate) second: u16,
}

impl Place {
    /// Where the others find it: at its relay.
    pub(crate) fn peer_of(&self, member: usize) -> SocketAddr {
        address_of(member, self.peer)
    }

    /// The same of its second port.
    pub(crate) fn second_of(&self, member: usize) -> SocketAddr {
        address_of(member, self.second)
    }

    /// Where it listens for them.
    pub(crate) fn own_peer(&self) -> SocketAddr {
        own_address(self.peer)
    }
}
