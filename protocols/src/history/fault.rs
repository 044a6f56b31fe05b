//! Faults in a history.

use crate::types::NodeId;
use serde::{Deserialize, Serialize};
use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)*) => {
        /// The kinds of faults in plans; a foreign log may contain others.
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum FaultKind {
            $($(#[$doc])* $kind,)*
            /// A kind known only by its name.
            Other(Box<str>),
        }

        impl FaultKind {
            /// All kinds in plans.
            pub const ALL: [FaultKind; [$($name),*].len()] = [$(FaultKind::$kind),*];

            /// The name in plans and histories.
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
    /// A process stops for a while, without losing anything.
    Pause "pause",
    /// A process ends at once.
    Kill "kill",
    /// A machine loses power, and the unsynced data on its disk.
    PowerLoss "power-loss",
    /// A process that is down starts.
    Restart "restart",
    /// Packets between two groups of processes are lost.
    Partition "partition",
    /// Packets take longer.
    Latency "latency",
    /// Packets are lost at random.
    Loss "loss",
    /// Connections stay open, but nothing passes.
    Hang "hang",
    /// A process's sending rate is limited.
    Bandwidth "bandwidth",
    /// Syncs take longer.
    SlowDisk "slow-disk",
    /// Syncs never end.
    SyncHang "sync-hang",
    /// Syncs fail.
    SyncFail "sync-fail",
    /// A wall clock jumps.
    ClockStep "clock-step",
    /// Clocks run faster or slower.
    ClockRate "clock-rate",
    /// A leader is asked to resign.
    Resign "resign",
    /// A leader is asked to hand over to a named successor.
    Transfer "transfer",
    /// A process starts and is to become a member.
    Join "join",
    /// A member is to leave.
    Leave "leave",
    /// The service drops a lease.
    DropLease "drop-lease",
    /// A key in the service is deleted.
    DropKey "drop-key",
    /// A service or store returns without its data.
    LoseData "lose-data",
    /// A service or store returns with old data.
    RestoreCopy "restore-copy",
    /// A token that was never granted is shown to the store.
    ForgeToken "forge-token",
    /// A message claims leadership in another node's name.
    ForgeClaim "forge-claim",
    /// A rogue request has a healthy machine's power cut.
    RogueFence "rogue-fence",
    /// The fencing device confirms cuts that it does not make.
    LyingDevice "lying-device",
    /// The fencing device confirms cuts that it has only begun.
    CloudDevice "cloud-device",
}

impl FaultKind {
    /// Whether it ends a single leadership and has no other effect: an order, or the loss of the leadership's basis.
    pub fn ends_leadership(&self) -> bool {
        use FaultKind::{DropKey, DropLease, Leave, Resign, Transfer};
        matches!(self, Resign | Transfer | Leave | DropLease | DropKey)
    }

    /// Whether the process itself ends or starts, as its state also shows.
    pub fn ends_process(&self) -> bool {
        matches!(self, FaultKind::Kill | FaultKind::PowerLoss | FaultKind::Restart)
    }

    /// Whether it stops a process or a link, so that nothing is written meanwhile.
    pub fn stops_writes(&self) -> bool {
        matches!(self, FaultKind::Partition | FaultKind::Pause | FaultKind::Kill | FaultKind::PowerLoss)
    }

    /// Whether a service or store loses data.
    pub fn loses_data(&self) -> bool {
        matches!(self, FaultKind::LoseData | FaultKind::RestoreCopy)
    }

    /// Whether it only affects clocks.
    pub fn is_of_clocks(&self) -> bool {
        matches!(self, FaultKind::ClockStep | FaultKind::ClockRate)
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A planned fault strikes or is healed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FaultEvent {
    /// Its index in the plan's fault list, which pairs begin and end.
    pub index: u32,
    pub kind: FaultKind,
    /// Begin, end, or both.
    pub phase: Phase,
    /// The processes that it strikes; for a partition, both sides.
    pub on: Vec<NodeId>,
    /// The other processes that it names: the other end of a link, the successor of a transfer. Empty for a partition.
    pub to: Vec<NodeId>,
    /// The two sides of a partition, both also in `on`; empty for other faults.
    pub sides: [Vec<NodeId>; 2],
    /// Whether only messages from the first side to the second are lost.
    pub one_way: bool,
    /// Its strength, if that varies: additional microseconds per packet (latency) or per sync (slow disk), or lost
    /// packets per million. 0 for other faults, and if unknown.
    pub strength: u64,
    /// The named point that triggered the fault, and the node that reached it; `None` if a time did.
    pub point: Option<(String, NodeId)>,
    /// One line for readers.
    pub detail: String,
}

/// The part of a fault that an event reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// It has begun and lasts.
    Begin,
    /// It is healed.
    End,
    /// It is instantaneous (a clock step, a kill, a resignation).
    Once,
}
