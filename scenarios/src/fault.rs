//! What can go wrong, and when.

mod adversary;
mod clock;
mod device;
mod disk;
mod link;
mod operator;
mod parts;
mod process;
mod service;
mod text;
mod who;
mod words;

pub use parts::{Later, Parts};
pub use process::SUPERVISOR_MS;
use protocols::history::FaultKind;
use serde::{Deserialize, Serialize};
pub use who::{RESERVED, Who};

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
    /// The connections of client libraries that stand between two groups hang: what is sent on them is taken, and nothing comes
    /// out at the other end, nor is anybody told. New ones can be made.
    Hang {
        /// One side.
        from: Vec<Who>,
        /// The other.
        to: Vec<Who>,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// What a process sends leaves its machine at no more than so many bits a second, all its links together. What elects is
    /// left alone where it has a link of its own.
    Bandwidth {
        /// Whose.
        node: Who,
        /// Thousand bits a second.
        kbps: u64,
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
    /// The key that the service has of its own is the counter that Redis draws tokens from, or the node that numbers the places
    /// in ZooKeeper's queue, if nobody stands in that.
    DropKey {
        /// Whose.
        node: Who,
    },
    /// A process of the coordination service dies, and its disk with it: what is started in its place was never used.
    LoseData {
        /// Whose.
        node: Who,
        /// Start it again after so long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// The same, and what is started in its place has what it had at an earlier time: somebody has restored a backup.
    RestoreCopy {
        /// Whose.
        node: Who,
        /// When the copy was made, milliseconds from the start.
        copied_at_ms: f64,
        /// Start it again after so long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        restart_after_ms: Option<f64>,
    },
    /// Somebody shows the store a token that nobody handed out, higher than all, as a candidate would.
    ForgeToken {
        /// In whose name.
        node: Who,
    },
    /// Somebody says in a candidate's name that this candidate leads.
    ForgeClaim {
        /// In whose name.
        node: Who,
        /// To whom.
        to: Vec<Who>,
    },
    /// Somebody asks the fencing device, in a candidate's name, to cut the power of another.
    RogueFence {
        /// Whose power.
        node: Who,
        /// In whose name.
        by: Who,
    },
    /// The fencing device says that it has cut the power, and has not.
    LyingDevice {
        /// The device.
        node: Who,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
    /// The fencing device is a cloud provider's API: it accepts a request, stops the machine later, tells of it only who asks
    /// again, and turns requests away that come too fast.
    CloudDevice {
        /// The device.
        node: Who,
        /// From the accepted request until the machine has stopped.
        stopping_ms: f64,
        /// One request is taken in so long; the others are turned away.
        throttle_ms: f64,
        /// How long.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        for_ms: Option<f64>,
    },
}

impl Fault {
    /// What it says of itself. A line a kind; what each says stands in the file of its like.
    pub fn parts(&self) -> Parts<'_> {
        match self {
            Fault::Pause { node, for_ms } => process::pause(node, *for_ms),
            Fault::Kill { node, restart_after_ms } => process::kill(node, *restart_after_ms),
            Fault::PowerLoss { node, restart_after_ms } => process::power_loss(node, *restart_after_ms),
            Fault::Restart { node } => process::restart(node),
            Fault::Partition { from, to, one_way, for_ms } => link::partition(from, to, *one_way, *for_ms),
            Fault::Latency { from, to, extra_us, for_ms } => link::latency(from, to, *extra_us, *for_ms),
            Fault::Loss { from, to, probability, for_ms } => link::loss(from, to, *probability, *for_ms),
            Fault::Hang { from, to, for_ms } => link::hang(from, to, *for_ms),
            Fault::Bandwidth { node, kbps, for_ms } => link::bandwidth(node, *kbps, *for_ms),
            Fault::SlowDisk { node, extra_us, for_ms } => disk::slow(node, *extra_us, *for_ms),
            Fault::SyncHang { node, for_ms } => disk::hang(node, *for_ms),
            Fault::SyncFail { node, silent, for_ms } => disk::fail(node, *silent, *for_ms),
            Fault::ClockStep { node, by_ms } => clock::step(node, *by_ms),
            Fault::ClockRate { node, ppm, for_ms } => clock::rate(node, *ppm, *for_ms),
            Fault::Resign { node } => operator::resign(node),
            Fault::Transfer { node, to } => operator::transfer(node, to),
            Fault::Join { node } => operator::join(node),
            Fault::Leave { node } => operator::leave(node),
            Fault::DropLease { node } => service::drop_lease(node),
            Fault::DropKey { node } => service::drop_key(node),
            Fault::ForgeToken { node } => adversary::forge_token(node),
            Fault::ForgeClaim { node, to } => adversary::forge_claim(node, to),
            Fault::RogueFence { node, by } => adversary::rogue_fence(node, by),
            Fault::LyingDevice { node, for_ms } => device::lies(node, *for_ms),
            Fault::CloudDevice { node, stopping_ms, throttle_ms, for_ms } => {
                device::cloud(node, *stopping_ms, *throttle_ms, *for_ms)
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
