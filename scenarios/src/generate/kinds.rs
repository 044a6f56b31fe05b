//! The kinds of faults, one entry each: the sentence in `list`, and how plans draw them.

use super::cast::{Cast, Draft, Role};
use crate::fault::{Fault, PlannedFault, Who};
use protocols::{election::Protocol, history::FaultKind};

pub(super) struct Kind {
    pub kind: FaultKind,
    /// One sentence for `list`.
    pub about: &'static str,
    /// True if it can strike fleets of this protocol.
    pub applies: fn(&Protocol) -> bool,
    /// The fault for a draft; `None` if it makes no sense here.
    make: fn(&mut Cast, &Draft, f64) -> Option<Fault>,
}

fn any(_: &Protocol) -> bool {
    true
}

impl Kind {
    /// The fault for a draft of this kind; `None` if it makes no sense here.
    pub fn fault(&self, cast: &mut Cast, draft: &Draft) -> Option<PlannedFault> {
        let (when, room_ms) = cast.when(draft);
        let for_ms = (room_ms * draft.length / 1_000).max(1) as f64;
        (self.make)(cast, draft, for_ms).map(|what| PlannedFault { what, when, group: 0 })
    }
}

pub(super) static ALL: &[Kind] = &[
    Kind {
        kind: FaultKind::Pause,
        about: "Nothing runs on a node for a while; its sockets buffer, and due timers fire when it wakes.",
        applies: any,
        make: |cast, draft, for_ms| Some(Fault::Pause { node: cast.process(draft), for_ms }),
    },
    Kind {
        kind: FaultKind::Kill,
        about: "A process dies; its machine resets its connections.",
        applies: any,
        make: |cast, draft, for_ms| {
            Some(Fault::Kill { node: cast.process(draft), restart_after_ms: cast.back_after(draft, for_ms) })
        },
    },
    Kind {
        kind: FaultKind::PowerLoss,
        about: "A machine loses power; its connections are not reset.",
        applies: any,
        make: |cast, draft, for_ms| {
            // Either all at once, or one.
            let node = if draft.wild { Who::Candidates } else { cast.process(draft) };
            let back = if draft.wild { Some(for_ms) } else { cast.back_after(draft, for_ms) };
            Some(Fault::PowerLoss { node, restart_after_ms: back })
        },
    },
    Kind {
        kind: FaultKind::Restart,
        about: "A process that is down starts again.",
        applies: any,
        make: |cast, draft, _| Some(Fault::Restart { node: cast.founder(draft) }),
    },
    Kind {
        kind: FaultKind::Partition,
        about: "Nothing passes between two groups, in one direction or both.",
        applies: any,
        make: |cast, draft, for_ms| {
            let (from, to) = cast.link(draft);
            let for_ms = if cast.may_stay_cut(draft, &from, &to) { None } else { Some(for_ms) };
            Some(Fault::Partition { from: vec![from], to: vec![to], one_way: draft.flag, for_ms })
        },
    },
    Kind {
        kind: FaultKind::Latency,
        about: "Packets from one group to another take longer.",
        applies: any,
        make: |cast, draft, for_ms| {
            let (from, to) = cast.link(draft);
            // Usually up to the latency to another continent, sometimes that of a standing queue.
            let most_us = if draft.wild { 500_000 } else { 80_000 };
            let extra_us = (most_us * draft.amount / 1_000).max(1);
            Some(Fault::Latency { from: vec![from], to: vec![to], extra_us, for_ms: Some(for_ms) })
        },
    },
    Kind {
        kind: FaultKind::Loss,
        about: "Packets from one group to another are lost with some probability.",
        applies: any,
        make: |cast, draft, for_ms| {
            let (from, to) = cast.link(draft);
            let percent = 1 + if draft.wild { 59 } else { 29 } * draft.amount / 1_000;
            let probability = percent as f64 / 100.0;
            Some(Fault::Loss { from: vec![from], to: vec![to], probability, for_ms: Some(for_ms) })
        },
    },
    Kind {
        kind: FaultKind::Hang,
        about: "Connections of client libraries between two groups swallow everything sent on them.",
        // Not drawn, so that existing generated plans stay the same.
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::Bandwidth,
        about: "A machine's outgoing bandwidth is limited.",
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::SlowDisk,
        about: "Each sync of a node's disk takes longer.",
        applies: any,
        make: |cast, draft, for_ms| {
            let extra_us = (200_000 * draft.amount / 1_000).max(1);
            Some(Fault::SlowDisk { node: cast.elector(draft), extra_us, for_ms: Some(for_ms) })
        },
    },
    Kind {
        kind: FaultKind::ClockStep,
        about: "A node's wall clock jumps.",
        applies: any,
        make: |cast, draft, _| {
            let by_ms = (10 * draft.amount) as i64;
            Some(Fault::ClockStep { node: cast.elector(draft), by_ms: if draft.flag { by_ms } else { -by_ms } })
        },
    },
    Kind {
        kind: FaultKind::ClockRate,
        about: "Both clocks of a node run faster or slower than true time.",
        applies: any,
        make: |cast, draft, for_ms| {
            // Within the drift that every clock-based protocol tolerates, or far beyond.
            let ppm = if draft.wild { 100 } else { 1 } * draft.amount as i64;
            let for_ms = if draft.for_good { None } else { Some(for_ms) };
            Some(Fault::ClockRate { node: cast.elector(draft), ppm: if draft.flag { ppm } else { -ppm }, for_ms })
        },
    },
    Kind {
        kind: FaultKind::Resign,
        about: "An operator asks a node to resign.",
        applies: any,
        make: |cast, draft, _| Some(Fault::Resign { node: cast.elector(draft) }),
    },
    Kind {
        kind: FaultKind::Transfer,
        about: "An operator asks a node to hand leadership over to another.",
        applies: |protocol| protocol.transfers,
        make: |cast, draft, _| {
            let to = match draft.others {
                Role::Candidate(number) => cast.named(number),
                _ => Who::Followers,
            };
            Some(Fault::Transfer { node: cast.elector(draft), to })
        },
    },
    Kind {
        kind: FaultKind::Join,
        about: "A candidate starts, and the leader is asked to make it a member.",
        applies: |protocol| protocol.changes_members,
        make: |cast, draft, _| Some(Fault::Join { node: cast.named(cast.number(draft)) }),
    },
    Kind {
        kind: FaultKind::Leave,
        about: "The leader is asked to remove a candidate from the members.",
        applies: |protocol| protocol.changes_members,
        make: |cast, draft, _| {
            if !cast.may_leave() {
                return None;
            }
            let one = if draft.whom == Role::Leader { cast.elector(draft) } else { cast.named(cast.number(draft)) };
            Some(Fault::Leave { node: one })
        },
    },
    Kind {
        kind: FaultKind::SyncHang,
        about: "Syncs of a node's disk hang for a while.",
        applies: any,
        make: |cast, draft, for_ms| Some(Fault::SyncHang { node: cast.elector(draft), for_ms: Some(for_ms) }),
    },
    Kind {
        kind: FaultKind::SyncFail,
        about: "Syncs of a node's disk fail, and the data they should have saved is lost.",
        applies: any,
        make: |cast, draft, for_ms| {
            Some(Fault::SyncFail { node: cast.elector(draft), silent: false, for_ms: Some(for_ms) })
        },
    },
    Kind {
        kind: FaultKind::DropLease,
        about: "The coordination service drops a candidate's lease, with all that depends on it; the holder is not told.",
        applies: |protocol| protocol.service.has_leases,
        make: |cast, draft, _| Some(Fault::DropLease { node: cast.holder(draft) }),
    },
    Kind {
        kind: FaultKind::DropKey,
        about: "The coordination service drops the key that a candidate holds, or its own token counter, and tells nobody.",
        applies: |protocol| protocol.service.has_keys,
        make: |cast, draft, _| Some(Fault::DropKey { node: cast.holder(draft) }),
    },
    Kind {
        kind: FaultKind::LoseData,
        about: "A process of the coordination service dies with its disk, and comes back as one that was never used.",
        // Not drawn: few protocols promise anything when their service loses data.
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::RestoreCopy,
        about: "A process of the coordination service dies, and comes back with what it had at an earlier time.",
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::ForgeToken,
        about: "An intruder posing as a candidate sends the store a forged token.",
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::ForgeClaim,
        about: "An intruder posing as a candidate claims that this candidate leads.",
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::RogueFence,
        about: "An intruder posing as a candidate asks the fencing device to cut another's power.",
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::LyingDevice,
        about: "The fencing device confirms power cuts that it has not made.",
        applies: |_| false,
        make: |_, _, _| None,
    },
    Kind {
        kind: FaultKind::CloudDevice,
        about: "The fencing device accepts a request, stops the machine later, and rejects requests that come too fast.",
        applies: |_| false,
        make: |_, _, _| None,
    },
];

/// True if a fault keeps memory reads safe: nobody forgets a promise.
pub(super) fn keeps_read_leases(fault: &Fault) -> bool {
    match fault {
        Fault::Pause { .. }
        | Fault::Partition { .. }
        | Fault::Latency { .. }
        | Fault::Loss { .. }
        | Fault::SlowDisk { .. }
        | Fault::SyncHang { .. }
        | Fault::ClockRate { .. }
        | Fault::Resign { .. } => true,
        // A process that dies, or whose disk or service loses data, forgets its promises; membership changes alter the
        // majority; steps move wall clocks, which some services count with.
        _ => false,
    }
}
