//! The kinds of address by which clients find the leader.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A virtual IP: announced to all clients, and removed by its owner on its own machine.
    Vip,
    /// A DNS record, overwritten by the next owner.
    Dns,
    /// A label on each leading node, removed by that node itself.
    Label,
}

impl Kind {
    pub const ALL: [Kind; 3] = [Kind::Vip, Kind::Dns, Kind::Label];

    /// The name on the command line and in plans.
    pub const fn word(self) -> &'static str {
        match self {
            Kind::Vip => "vip",
            Kind::Dns => "dns",
            Kind::Label => "label",
        }
    }

    /// The name in prose.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Vip => "virtual IP",
            Kind::Dns => "DNS record",
            Kind::Label => "label",
        }
    }

    /// Whether a former leader must release it. Otherwise its successor takes it over.
    pub const fn is_released(self) -> bool {
        !matches!(self, Kind::Dns)
    }

    /// Whether its owner reaches it over the network. Otherwise it is on the owner's machine.
    pub const fn is_remote(self) -> bool {
        !matches!(self, Kind::Vip)
    }
}
