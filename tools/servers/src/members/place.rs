//! The addresses of members: where they listen, and where others find them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The number of members in a cluster.
pub const MEMBERS: usize = 3;

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
