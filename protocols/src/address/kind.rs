//! The kinds of addresses by which clients find the leader.

use serde::{Deserialize, Serialize};

/// What kind of address it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A virtual IP: announced to all clients, and given up on the owner's own machine.
    Vip,
    /// A DNS record: overwritten by the next owner.
    Dns,
    /// A label on each node that leads: removed by its own node.
    Label,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Vip, Kind::Dns, Kind::Label];

    /// What it is called on the command line and in plans.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Vip => "vip",
            Kind::Dns => "dns",
            Kind::Label => "label",
        }
    }

    /// What people call it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Vip => "virtual IP",
            Kind::Dns => "DNS record",
            Kind::Label => "label",
        }
    }

    /// Does a node that leads no more have to let go of it? Otherwise its successor takes it over.
    pub const fn is_released(self) -> bool {
        !matches!(self, Kind::Dns)
    }

    /// Does its owner reach it over the network? Otherwise it is on its own machine.
    pub const fn is_remote(self) -> bool {
        !matches!(self, Kind::Vip)
    }
}
