//! What can go wrong, and when.

mod link;
mod machine;
mod parts;
mod people;
mod service;
mod words;

pub use machine::SUPERVISOR_MS;
pub use parts::{Later, Parts, RESERVED, Who};
use protocols::history::FaultKind;
use serde::{Deserialize, Serialize};

/// A fault and its trigger. Each strikes once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlannedFault {
    pub when: Trigger,
    pub what: Fault,
    /// The group whose `leader` and `followers` it names, whose points trigger it, and whose leadership it affects, as
    /// an order to resign does. A fault on a process strikes every group on it.
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
    At { ms: f64 },
    /// At the nth passage of a named point. A fault on [`Who::Trigger`] then strikes the node that passed it, at that
    /// point.
    Passage {
        point: String,
        /// Whose passages count.
        node: Who,
        /// Counted from 1.
        nth: u64,
        /// Of a program's sends, count only those with this text among their first 512 bytes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        matching: Option<String>,
        /// Counting starts `delay_ms` after this has triggered.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<Box<Trigger>>,
        #[serde(default)]
        delay_ms: f64,
    },
}

/// What goes wrong. Durations are milliseconds of true time; a fault without one lasts until the run ends.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fault {
    /// Stop the world on a node: nothing runs, sockets buffer, due timers fire on resume.
    Pause { node: Who, for_ms: f64 },
    /// The process dies; its machine resets its connections. It stays dead unless `restart_after_ms` is set.
    Kill {
        node: Who,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// The machine loses power; its peers get no reset.
    PowerLoss {
        node: Who,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// Start a process that is down.
    Restart { node: Who },
    /// Silence between two groups, for streams, datagrams and connects.
    Partition {
        from: Vec<Who>,
        to: Vec<Who>,
        /// Only what `from` sends to `to` is lost.
        #[serde(default)]
        one_way: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Extra latency from one group to another (one direction).
    Latency {
        from: Vec<Who>,
        to: Vec<Who>,
        extra_us: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Lost datagrams from one group to another (one direction); streams are delayed by retransmission.
    Loss {
        from: Vec<Who>,
        to: Vec<Who>,
        probability: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Client libraries' connections that are open between two groups hang: they accept what is sent and deliver
    /// nothing, and neither end is told. New connections work.
    Hang {
        from: Vec<Who>,
        to: Vec<Who>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Caps what a process sends, over all its links together. Election traffic is exempt if it has a link of its own.
    Bandwidth {
        node: Who,
        /// Thousands of bits per second.
        kbps: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Each sync of a node's disk takes longer.
    SlowDisk {
        node: Who,
        extra_us: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// No sync of a node's disk ends before the fault does; pending syncs complete then.
    SyncHang {
        node: Who,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// Syncs of a node's disk fail. The kernel forgets the pages that they were to write, and later syncs succeed
    /// without them.
    SyncFail {
        node: Who,
        /// The disk lies: it reports success, and keeps the data in a volatile cache that a power loss clears.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        silent: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// A node's wall clock jumps.
    ClockStep {
        node: Who,
        /// Negative is back.
        by_ms: i64,
    },
    /// Both clocks of a node change their rate.
    ClockRate {
        node: Who,
        /// Parts per million faster than true time; negative is slower.
        ppm: i64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// An operator asks a node to give up leadership.
    Resign { node: Who },
    /// An operator asks a node to transfer leadership.
    Transfer {
        node: Who,
        /// The successor.
        to: Who,
    },
    /// A candidate starts, and the leader is asked to make it a member.
    Join { node: Who },
    /// The leader is asked to remove a candidate from the members; its process keeps running.
    Leave { node: Who },
    /// The coordination service drops a candidate's lease and every key on it, as if another client revoked it.
    DropLease { node: Who },
    /// The coordination service drops the key that a candidate holds, as if another client deleted it or it was
    /// evicted. On `service` it drops the service's own key: the counter that Redis draws tokens from or, if nobody
    /// queues, the node that numbers the places in ZooKeeper's queue.
    DropKey { node: Who },
    /// A process of the coordination service dies and loses its disk: its replacement starts empty.
    LoseData {
        node: Who,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// A process of the coordination service dies, and its replacement starts from a backup of an earlier time.
    RestoreCopy {
        node: Who,
        /// When the backup was made, milliseconds from the start.
        copied_at_ms: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// An adversary shows the store a token that nobody granted, higher than any other, in a candidate's name.
    ForgeToken { node: Who },
    /// An adversary claims in a candidate's name that this candidate leads.
    ForgeClaim { node: Who, to: Vec<Who> },
    /// An adversary asks the fencing device, in a candidate's name, to cut another's power.
    RogueFence {
        /// Whose power.
        node: Who,
        by: Who,
    },
    /// The fencing device reports that it cut the power, but did not.
    LyingDevice {
        node: Who,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// The fencing device is a cloud provider's API: it accepts a request, stops the machine later, reports that only
    /// when asked again, and rejects requests that come too fast.
    CloudDevice {
        node: Who,
        /// From the accepted request until the machine has stopped.
        stopping_ms: f64,
        /// The shortest time between two accepted requests; it rejects those in between.
        throttle_ms: f64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
}

impl Fault {
    /// The properties of this kind of fault. One line per kind; each kind's are in the file of its family.
    pub fn parts(&self) -> Parts<'_> {
        match self {
            Fault::Pause { node, for_ms } => machine::pause(node, *for_ms),
            Fault::Kill { node, restart_after_ms } => machine::kill(node, *restart_after_ms),
            Fault::PowerLoss { node, restart_after_ms } => machine::power_loss(node, *restart_after_ms),
            Fault::Restart { node } => machine::restart(node),
            Fault::Partition { from, to, one_way, for_ms } => link::partition(from, to, *one_way, *for_ms),
            Fault::Latency { from, to, extra_us, for_ms } => link::latency(from, to, *extra_us, *for_ms),
            Fault::Loss { from, to, probability, for_ms } => link::loss(from, to, *probability, *for_ms),
            Fault::Hang { from, to, for_ms } => link::hang(from, to, *for_ms),
            Fault::Bandwidth { node, kbps, for_ms } => link::bandwidth(node, *kbps, *for_ms),
            Fault::SlowDisk { node, extra_us, for_ms } => machine::slow(node, *extra_us, *for_ms),
            Fault::SyncHang { node, for_ms } => machine::hang(node, *for_ms),
            Fault::SyncFail { node, silent, for_ms } => machine::fail(node, *silent, *for_ms),
            Fault::ClockStep { node, by_ms } => machine::step(node, *by_ms),
            Fault::ClockRate { node, ppm, for_ms } => machine::rate(node, *ppm, *for_ms),
            Fault::Resign { node } => people::resign(node),
            Fault::Transfer { node, to } => people::transfer(node, to),
            Fault::Join { node } => people::join(node),
            Fault::Leave { node } => people::leave(node),
            Fault::DropLease { node } => service::drop_lease(node),
            Fault::DropKey { node } => service::drop_key(node),
            Fault::ForgeToken { node } => people::forge_token(node),
            Fault::ForgeClaim { node, to } => people::forge_claim(node, to),
            Fault::RogueFence { node, by } => people::rogue_fence(node, by),
            Fault::LyingDevice { node, for_ms } => service::lies(node, *for_ms),
            Fault::CloudDevice { node, stopping_ms, throttle_ms, for_ms } => {
                service::cloud(node, *stopping_ms, *throttle_ms, *for_ms)
            }
            Fault::LoseData { node, restart_after_ms } => service::lose_data(node, *restart_after_ms),
            Fault::RestoreCopy { node, copied_at_ms, restart_after_ms } => {
                service::restore_copy(node, *copied_at_ms, *restart_after_ms)
            }
        }
    }

    /// The kind, as plans and histories call it.
    pub fn kind(&self) -> FaultKind {
        self.parts().kind
    }

    /// The two groups that it names: the processes it strikes, and the other ends of the links it strikes.
    pub fn groups(&self) -> (&[Who], &[Who]) {
        let parts = self.parts();
        (parts.on, parts.to)
    }

    /// Every process that it names.
    pub fn whom(&self) -> Vec<&Who> {
        let (on, to) = self.groups();
        on.iter().chain(to).collect()
    }

    /// How long it lasts, milliseconds; `None` if it is instantaneous or never ends.
    pub fn for_ms(&self) -> Option<f64> {
        self.parts().lasts.flatten()
    }
}
