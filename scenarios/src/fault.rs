//! What can go wrong, and when.

use serde::{Deserialize, Serialize};
use std::fmt;

/// How long until a supervisor restarts a process that ended by itself, milliseconds.
pub const SUPERVISOR_MS: f64 = 1_000.0;

/// The words of the fault list that stand for processes; no candidate may be called so.
pub const RESERVED: [&str; 8] =
    ["leader", "followers", "candidates", "service", "service-leader", "store", "clients", "trigger"];

/// Every kind of fault, as plans call it, with one sentence.
pub const KINDS: [(&str, &str); 18] = [
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

/// A process, or a group of them. In JSON a word: a process's name, or one of the words below.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Who {
    /// `leader`: whoever was elected last and still believes, at the moment when the fault strikes. While nobody does, the
    /// fault waits.
    Leader,
    /// `followers`: every candidate but the leader.
    Followers,
    /// `candidates`: all of them.
    Candidates,
    /// `service`: the coordination service, all its members.
    Service,
    /// `service-leader`: the member that leads the coordination service at the moment when the fault strikes. While none
    /// does, the fault waits.
    ServiceLeader,
    /// `store`: the fenced store.
    Store,
    /// `clients`: the load.
    Clients,
    /// `trigger`: the node that passed the point.
    Trigger,
    /// A process by its name; or a service by its name, all its members.
    Named(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Who {
    /// The word that plans have for it.
    pub fn word(&self) -> &str {
        match self {
            Who::Leader => "leader",
            Who::Followers => "followers",
            Who::Candidates => "candidates",
            Who::Service => "service",
            Who::ServiceLeader => "service-leader",
            Who::Store => "store",
            Who::Clients => "clients",
            Who::Trigger => "trigger",
            Who::Named(name) => name,
        }
    }
}

impl From<String> for Who {
    fn from(word: String) -> Who {
        match word.as_str() {
            "leader" => Who::Leader,
            "followers" => Who::Followers,
            "candidates" => Who::Candidates,
            "service" => Who::Service,
            "service-leader" => Who::ServiceLeader,
            "store" => Who::Store,
            "clients" => Who::Clients,
            "trigger" => Who::Trigger,
            _ => Who::Named(word),
        }
    }
}

impl From<Who> for String {
    fn from(who: Who) -> String {
        match who {
            Who::Named(name) => name,
            word => word.word().to_owned(),
        }
    }
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

impl Fault {
    /// The kind, as plans and histories call it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Fault::Pause { .. } => "pause",
            Fault::Kill { .. } => "kill",
            Fault::PowerLoss { .. } => "power-loss",
            Fault::Restart { .. } => "restart",
            Fault::Partition { .. } => "partition",
            Fault::Latency { .. } => "latency",
            Fault::Loss { .. } => "loss",
            Fault::SlowDisk { .. } => "slow-disk",
            Fault::SyncHang { .. } => "sync-hang",
            Fault::SyncFail { .. } => "sync-fail",
            Fault::ClockStep { .. } => "clock-step",
            Fault::ClockRate { .. } => "clock-rate",
            Fault::Resign { .. } => "resign",
            Fault::Transfer { .. } => "transfer",
            Fault::Join { .. } => "join",
            Fault::Leave { .. } => "leave",
            Fault::DropLease { .. } => "drop-lease",
            Fault::DropKey { .. } => "drop-key",
        }
    }

    /// The two groups that it names: those that it strikes, and those between whom and the first it strikes.
    pub fn groups(&self) -> (&[Who], &[Who]) {
        match self {
            Fault::Pause { node, .. }
            | Fault::Kill { node, .. }
            | Fault::PowerLoss { node, .. }
            | Fault::Restart { node }
            | Fault::SlowDisk { node, .. }
            | Fault::SyncHang { node, .. }
            | Fault::SyncFail { node, .. }
            | Fault::ClockStep { node, .. }
            | Fault::ClockRate { node, .. }
            | Fault::Resign { node }
            | Fault::Join { node }
            | Fault::Leave { node }
            | Fault::DropLease { node }
            | Fault::DropKey { node } => (std::slice::from_ref(node), &[]),
            Fault::Transfer { node, to } => (std::slice::from_ref(node), std::slice::from_ref(to)),
            Fault::Partition { from, to, .. } | Fault::Latency { from, to, .. } | Fault::Loss { from, to, .. } => {
                (from, to)
            }
        }
    }

    /// Everyone whom it names.
    pub fn whom(&self) -> Vec<&Who> {
        let (on, to) = self.groups();
        on.iter().chain(to).collect()
    }

    /// How long it lasts, milliseconds; `None` when it is over at once or never. A process that is restarted has its own
    /// time in the plan.
    pub const fn for_ms(&self) -> Option<f64> {
        match self {
            Fault::Pause { for_ms, .. } => Some(*for_ms),
            Fault::Partition { for_ms, .. }
            | Fault::Latency { for_ms, .. }
            | Fault::Loss { for_ms, .. }
            | Fault::SlowDisk { for_ms, .. }
            | Fault::SyncHang { for_ms, .. }
            | Fault::SyncFail { for_ms, .. }
            | Fault::ClockRate { for_ms, .. } => *for_ms,
            Fault::Kill { .. }
            | Fault::PowerLoss { .. }
            | Fault::Restart { .. }
            | Fault::ClockStep { .. }
            | Fault::Resign { .. }
            | Fault::Transfer { .. }
            | Fault::Join { .. }
            | Fault::Leave { .. }
            | Fault::DropLease { .. }
            | Fault::DropKey { .. } => None,
        }
    }
}

/// One line for people, such as `pause leader for 3500 ms`.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Fault::Pause { node, .. } => write!(f, "pause {node}")?,
            Fault::Kill { node, restart_after_ms } => {
                write!(f, "kill {node}")?;
                restart(f, *restart_after_ms)?;
            }
            Fault::PowerLoss { node, restart_after_ms } => {
                write!(f, "cut the power of {node}")?;
                restart(f, *restart_after_ms)?;
            }
            Fault::Restart { node } => write!(f, "restart {node}")?,
            Fault::Partition { from, to, one_way: false, .. } => {
                write!(f, "cut {} off from {}", group(from), group(to))?
            }
            Fault::Partition { from, to, one_way: true, .. } => {
                write!(f, "lose everything from {} to {}", group(from), group(to))?;
            }
            Fault::Latency { from, to, extra_us, .. } => {
                write!(f, "delay {} to {} by {} ms", group(from), group(to), *extra_us as f64 / 1e3)?;
            }
            Fault::Loss { from, to, probability, .. } => {
                let percent = (probability * 1e6).round() / 1e4;
                write!(f, "lose {percent} % from {} to {}", group(from), group(to))?;
            }
            Fault::SlowDisk { node, extra_us, .. } => {
                write!(f, "slow each sync of {node}'s disk by {} ms", *extra_us as f64 / 1e3)?;
            }
            Fault::SyncHang { node, .. } => write!(f, "hang each sync of {node}'s disk")?,
            Fault::SyncFail { node, silent: false, .. } => write!(f, "fail each sync of {node}'s disk")?,
            Fault::SyncFail { node, silent: true, .. } => write!(f, "fail each sync of {node}'s disk unnoticed")?,
            Fault::ClockStep { node, by_ms } => write!(f, "step the wall clock of {node} by {by_ms:+} ms")?,
            Fault::ClockRate { node, ppm, .. } => write!(f, "run the clocks of {node} at {ppm:+} ppm")?,
            Fault::Resign { node } => write!(f, "ask {node} to resign")?,
            Fault::Transfer { node, to } => write!(f, "ask {node} to hand over to {to}")?,
            Fault::Join { node } => write!(f, "have {node} join")?,
            Fault::Leave { node } => write!(f, "have {node} leave")?,
            Fault::DropLease { node } => write!(f, "drop the lease of {node}")?,
            Fault::DropKey { node: Who::Service } => write!(f, "drop the counter of tokens")?,
            Fault::DropKey { node } => write!(f, "drop the key of {node}")?,
        }
        self.for_ms().map_or(Ok(()), |for_ms| write!(f, " for {for_ms} ms"))
    }
}

/// One line for people, such as `at 4000 ms`.
impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "at {}", self.moment())
    }
}

impl Trigger {
    fn moment(&self) -> String {
        match self {
            Trigger::At { ms } => format!("{ms} ms"),
            Trigger::Passage { point, node, nth, after: None, .. } => format!("passage {nth} of {point} by {node}"),
            Trigger::Passage { point, node, nth, after: Some(after), delay_ms } => {
                format!("passage {nth} of {point} by {node}, counted from {delay_ms} ms after {}", after.moment())
            }
        }
    }
}

fn restart(f: &mut fmt::Formatter, after_ms: Option<f64>) -> fmt::Result {
    after_ms.map_or(Ok(()), |after_ms| write!(f, " and restart it after {after_ms} ms"))
}

fn group(group: &[Who]) -> String {
    let words: Vec<&str> = group.iter().map(Who::word).collect();
    words.join(" and ")
}
