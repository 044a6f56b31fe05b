//! What can go wrong, and when.

mod who;
mod words;

use serde::{Deserialize, Serialize};
use std::slice;
pub use who::{RESERVED, Who};

/// How long until a supervisor restarts a process that ended by itself, milliseconds.
pub const SUPERVISOR_MS: f64 = 1_000.0;

/// Every kind of fault, as plans call it, with one sentence.
pub const KINDS: &[(&str, &str)] = &[
    ("pause", "Nothing runs on a node for a while; its sockets buffer, and due timers fire when it wakes."),
    ("kill", "A process dies; its machine resets its connections."),
    ("power-loss", "A machine loses power; its connections are not reset."),
    ("restart", "A process that is down starts again."),
    ("partition", "Nothing passes between two groups, in one direction or both."),
    ("latency", "Packets from one group to another take longer."),
    ("loss", "Packets from one group to another are lost with some probability."),
    ("slow-disk", "Each sync of a node's disk takes longer."),
    ("sync-hang", "No sync of a node's disk ends for a while."),
    ("sync-fail", "Syncs of a node's disk fail, and the data they should have saved is lost."),
    ("clock-step", "A node's wall clock jumps."),
    ("clock-rate", "Both clocks of a node run faster or slower than true time."),
    ("resign", "An operator asks a node to give leadership up."),
    ("transfer", "An operator asks a node to hand leadership over to another."),
    ("join", "A candidate starts, and the leader is asked to make it a member."),
    ("leave", "The leader is asked to remove a candidate from the members."),
    (
        "drop-lease",
        "The coordination service drops a candidate's lease, with all that hangs on it; nobody tells the holder.",
    ),
    (
        "drop-key",
        "The coordination service drops the key that a candidate holds, or its own counter of tokens; nobody is told.",
    ),
];

/// A fault and what sets it off. Each strikes once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFault {
    /// When.
    pub when: Trigger,
    /// What.
    pub what: Fault,
    /// The group that it speaks of: its `leader` and `followers`, the points that set it off, and what befalls one
    /// leadership alone, such as an order to resign. What strikes a process strikes all groups on it.
    #[serde(default, skip_serializing_if = "is_first")]
    pub group: u16,
}

fn is_first(group: &u16) -> bool {
    *group == 0
}

/// What sets a fault off.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Trigger {
    /// At a time, milliseconds from the start.
    At {
        /// The time.
        ms: f64,
    },
    /// At the nth passage of a named point. A fault on [`Who::Trigger`] then strikes the node that passed it, right there.
    Passage {
        /// The point's name.
        point: String,
        /// Whose passages count.
        node: Who,
        /// Which one, from 1.
        nth: u64,
        /// Counting starts only after this has struck, and `delay_ms` have gone by.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Box<Trigger>>,
        /// See `after`.
        #[serde(default)]
        delay_ms: f64,
    },
}

/// What goes wrong. Durations are milliseconds of true time; a fault without one lasts until the run ends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// Stop the world on a node: nothing runs, sockets buffer, due timers fire on resume.
    Pause {
        /// Whom.
        node: Who,
        /// How long.
        for_ms: f64,
    },
    /// The process dies; its machine resets its connections. It stays dead unless `restart_after_ms` says otherwise.
    Kill {
        /// Whom.
        node: Who,
        /// Start it again after so long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// The machine loses power: nobody is told.
    PowerLoss {
        /// Whom.
        node: Who,
        /// Start it again after so long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// Start a process that is down.
    Restart {
        /// Whom.
        node: Who,
    },
    /// Silence between two groups, in streams and datagrams, for connects too.
    Partition {
        /// One side.
        from: Vec<Who>,
        /// The other.
        to: Vec<Who>,
        /// Only what goes from the first to the second is lost.
        #[serde(default)]
        one_way: bool,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Extra latency from one group to another (one direction).
    Latency {
        /// Senders.
        from: Vec<Who>,
        /// Receivers.
        to: Vec<Who>,
        /// How much more, microseconds.
        extra_us: u64,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Lost datagrams from one group to another (one direction); streams are delayed by the resend.
    Loss {
        /// Senders.
        from: Vec<Who>,
        /// Receivers.
        to: Vec<Who>,
        /// Of being lost.
        probability: f64,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Each sync of a node's disk takes longer.
    SlowDisk {
        /// Whose.
        node: Who,
        /// How much longer, microseconds.
        extra_us: u64,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// No sync of a node's disk ends before this does; what was asked for meanwhile is done then.
    SyncHang {
        /// Whose.
        node: Who,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Syncs of a node's disk fail. The kernel forgets what they were to save, and later syncs succeed without it.
    SyncFail {
        /// Whose.
        node: Who,
        /// The disk lies: it says that they succeeded, and keeps in a volatile cache what a loss of power takes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        silent: bool,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// A node's wall clock jumps.
    ClockStep {
        /// Whose.
        node: Who,
        /// By how much; negative is back.
        by_ms: i64,
    },
    /// Both clocks of a node change their rate.
    ClockRate {
        /// Whose.
        node: Who,
        /// Parts per million faster than true time; negative is slower.
        ppm: i64,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// An operator asks a node to give leadership up.
    Resign {
        /// Whom.
        node: Who,
    },
    /// An operator asks a node to hand leadership over.
    Transfer {
        /// Whom.
        node: Who,
        /// The successor.
        to: Who,
    },
    /// A candidate starts, and the leader is asked to make it a member.
    Join {
        /// Who joins.
        node: Who,
    },
    /// The leader is asked to make a candidate a member no more; its process goes on.
    Leave {
        /// Who leaves.
        node: Who,
    },
    /// The coordination service drops a candidate's lease and every key on it, as when somebody else revokes it.
    DropLease {
        /// Whose.
        node: Who,
    },
    /// The coordination service drops the key that a candidate holds, as when somebody else deletes it, or it is evicted.
    /// The key that the service has of its own is the counter that Redis draws tokens from.
    DropKey {
        /// Whose.
        node: Who,
    },
}

/// What every fault says of itself, whatever its kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parts<'a> {
    /// The kind, as plans and histories call it.
    pub kind: &'static str,
    /// Those that it strikes.
    pub on: &'a [Who],
    /// Those between whom and the first it strikes.
    pub to: &'a [Who],
    /// `None`: it is over at once. Otherwise it goes on for so many milliseconds; without a number, until the run ends.
    pub lasts: Option<Option<f64>>,
    /// How strong it is, for the judge: microseconds of latency, lost packets in a million; 0 when that says nothing.
    pub strength: u64,
}

impl<'a> Parts<'a> {
    fn of(kind: &'static str, node: &'a Who) -> Self {
        Parts { kind, on: slice::from_ref(node), to: &[], lasts: None, strength: 0 }
    }

    fn between(kind: &'static str, (on, to): (&'a [Who], &'a [Who])) -> Self {
        Parts { kind, on, to, lasts: None, strength: 0 }
    }

    fn for_ms(self, for_ms: Option<f64>) -> Self {
        Parts { lasts: Some(for_ms), ..self }
    }

    fn strength(self, strength: u64) -> Self {
        Parts { strength, ..self }
    }
}

impl Fault {
    /// What it says of itself, whatever its kind. The one place that knows what each kind names and how long it lasts.
    pub fn parts(&self) -> Parts<'_> {
        match self {
            Fault::Pause { node, for_ms } => Parts::of("pause", node).for_ms(Some(*for_ms)),
            // A process that is restarted has its own time in the plan.
            Fault::Kill { node, .. } => Parts::of("kill", node),
            Fault::PowerLoss { node, .. } => Parts::of("power-loss", node),
            Fault::Restart { node } => Parts::of("restart", node),
            Fault::Partition { from, to, for_ms, .. } => Parts::between("partition", (from, to)).for_ms(*for_ms),
            Fault::Latency { from, to, extra_us, for_ms } => {
                Parts::between("latency", (from, to)).for_ms(*for_ms).strength(*extra_us)
            }
            Fault::Loss { from, to, probability, for_ms } => {
                Parts::between("loss", (from, to)).for_ms(*for_ms).strength((probability * 1e6) as u64)
            }
            Fault::SlowDisk { node, extra_us, for_ms } => {
                Parts::of("slow-disk", node).for_ms(*for_ms).strength(*extra_us)
            }
            Fault::SyncHang { node, for_ms } => Parts::of("sync-hang", node).for_ms(*for_ms),
            Fault::SyncFail { node, for_ms, .. } => Parts::of("sync-fail", node).for_ms(*for_ms),
            Fault::ClockStep { node, .. } => Parts::of("clock-step", node),
            Fault::ClockRate { node, for_ms, .. } => Parts::of("clock-rate", node).for_ms(*for_ms),
            Fault::Resign { node } => Parts::of("resign", node),
            Fault::Transfer { node, to } => Parts { to: slice::from_ref(to), ..Parts::of("transfer", node) },
            Fault::Join { node } => Parts::of("join", node),
            Fault::Leave { node } => Parts::of("leave", node),
            Fault::DropLease { node } => Parts::of("drop-lease", node),
            Fault::DropKey { node } => Parts::of("drop-key", node),
        }
    }

    /// The kind, as plans and histories call it.
    pub fn kind(&self) -> &'static str {
        self.parts().kind
    }

    /// The two groups that it names: those that it strikes, and those between whom and the first it strikes.
    pub fn groups(&self) -> (&[Who], &[Who]) {
        let parts = self.parts();
        (parts.on, parts.to)
    }

    /// Everyone whom it names.
    pub fn whom(&self) -> Vec<&Who> {
        let (on, to) = self.groups();
        on.iter().chain(to).collect()
    }

    /// How long it lasts, milliseconds; `None` when it is over at once or never.
    pub fn for_ms(&self) -> Option<f64> {
        self.parts().lasts.flatten()
    }
}
