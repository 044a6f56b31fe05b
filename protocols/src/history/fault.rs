//! What a history says of faults.

use crate::types::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        /// The kinds of faults, as plans have them; a log of somebody else's may tell of others.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
            /// One that is known by its name only.
            Other(Box<str>),
        }

        impl FaultKind {
            /// All that plans have.
            pub const ALL: [FaultKind; [$($name),*].len()] = [$(FaultKind::$kind),*];

            /// As plans and histories call it.
            pub fn name(&self) -> &str {
                match self {
                    $(FaultKind::$kind => $name,)*
                    FaultKind::Other(name) => name,
                }
            }
        }

        impl From<&str> for FaultKind {
            fn from(name: &str) -> FaultKind {
                match name {
                    $($name => FaultKind::$kind,)*
                    other => FaultKind::Other(other.into()),
                }
            }
        }
    };
}

kinds! {
    /// A process stops for a while, and loses nothing.
    Pause "pause",
    /// A process ends at once.
    Kill "kill",
    /// A machine loses power, and what its disk has not saved.
    PowerLoss "power-loss",
    /// A process that is down starts.
    Restart "restart",
    /// Packets between two groups are lost.
    Partition "partition",
    /// Packets take longer.
    Latency "latency",
    /// Packets are lost by chance.
    Loss "loss",
    /// Connections stand, and nothing passes on them.
    Hang "hang",
    /// A process can send so much a second.
    Bandwidth "bandwidth",
    /// Syncs take longer.
    SlowDisk "slow-disk",
    /// No sync ends.
    SyncHang "sync-hang",
    /// Syncs fail.
    SyncFail "sync-fail",
    /// A wall clock jumps.
    ClockStep "clock-step",
    /// Clocks run faster or slower.
    ClockRate "clock-rate",
    /// A leader is asked to let go.
    Resign "resign",
    /// The same, for a named successor.
    Transfer "transfer",
    /// A process starts, to become a member.
    Join "join",
    /// A member is to leave.
    Leave "leave",
    /// The service ends somebody's lease.
    DropLease "drop-lease",
    /// Somebody's key is deleted.
    DropKey "drop-key",
    /// A service or store comes back without its data.
    LoseData "lose-data",
    /// It comes back with the data of before.
    RestoreCopy "restore-copy",
    /// Somebody shows the store a token that nobody was given.
    ForgeToken "forge-token",
    /// Somebody claims in another's name to lead.
    ForgeClaim "forge-claim",
    /// Somebody has a healthy machine's power cut.
    RogueFence "rogue-fence",
    /// The power device confirms cuts that it does not make.
    LyingDevice "lying-device",
    /// The power device confirms what it has only begun.
    CloudDevice "cloud-device",
}

impl FaultKind {
    /// Does it end one leadership by itself, and befall nothing else: an order, or the loss of what it stands on?
    pub fn ends_leadership(&self) -> bool {
        use FaultKind::{DropKey, DropLease, Leave, Resign, Transfer};
        matches!(self, Resign | Transfer | Leave | DropLease | DropKey)
    }

    /// Does the process itself end or start, which its state tells as well?
    pub fn ends_process(&self) -> bool {
        matches!(self, FaultKind::Kill | FaultKind::PowerLoss | FaultKind::Restart)
    }

    /// Does it stop a process or a link, so that nothing is written meanwhile?
    pub fn stops_writes(&self) -> bool {
        matches!(self, FaultKind::Partition | FaultKind::Pause | FaultKind::Kill | FaultKind::PowerLoss)
    }

    /// Is what a service or store has known gone?
    pub fn loses_data(&self) -> bool {
        matches!(self, FaultKind::LoseData | FaultKind::RestoreCopy)
    }

    /// Does it set clocks wrong, and nothing else?
    pub fn is_of_clocks(&self) -> bool {
        matches!(self, FaultKind::ClockStep | FaultKind::ClockRate)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A fault of the plan strikes or is healed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultEvent {
    /// Place in the plan's fault list, which pairs begin and end.
    pub index: u32,
    /// What it is.
    pub kind: FaultKind,
    /// Beginning, end, or both.
    pub phase: Phase,
    /// The processes that it strikes; a partition strikes both sides.
    pub on: Vec<NodeId>,
    /// Whom it names beside them: the other end of a link, the successor of a transfer. Empty for a partition.
    pub to: Vec<NodeId>,
    /// The two sides of a partition; empty for every other fault. `on` has both.
    pub sides: [Vec<NodeId>; 2],
    /// Only what the first side sends to the second is lost.
    pub one_way: bool,
    /// How strong it is, where that can vary: microseconds more per packet (latency) or per sync (slow disk), or packets in a
    /// million that are lost. 0 for every other fault, and when nobody said.
    pub strength: u64,
    /// The named point at which the fault was set off, and whose passage it was; `None` when a time did.
    pub point: Option<(String, NodeId)>,
    /// One line for people.
    pub detail: String,
}

/// Which part of a fault an event reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It began and goes on.
    Begin,
    /// It is healed.
    End,
    /// Over in the instant (a clock step, a kill, a resignation).
    Once,
}
