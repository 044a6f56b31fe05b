//! The properties that every kind of fault has: whom it strikes, for how long, its effect on what is in flight, and its
//! wording. Code that validates, describes, bounds or plays plans asks for these and need not know the kind.

use protocols::history::FaultKind;
use serde::{Deserialize, Serialize};
use std::{fmt, slice};

/// The properties of a fault.
#[derive(Clone, PartialEq, Debug)]
pub struct Parts<'a> {
    /// The kind, as plans and histories call it.
    pub kind: FaultKind,
    /// The processes it strikes.
    pub on: &'a [Who],
    /// The other ends of the links it strikes.
    pub to: &'a [Who],
    /// `None`: instantaneous. Otherwise its length in milliseconds; without a number, until the run ends.
    pub lasts: Option<Option<f64>>,
    /// Its strength, for the judge: microseconds of latency, or lost packets per million; 0 if it has none.
    pub strength: u64,
    /// What it slows down, and by how much.
    pub later: Option<Later>,
    /// For how many milliseconds messages may be lost; 0 for the rest of the run.
    pub silent_ms: Option<f64>,
    /// The plan's wording without the length: `pause leader`.
    pub(super) order: String,
    /// The report's wording without the length: `{on} paused`. `{on}`, `{on's}` and `{to}` stand for names.
    pub(super) event: String,
}

/// A slowdown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Later {
    pub extra_us: u64,
    /// True if packets take longer.
    pub packets: bool,
    /// True if disk syncs take longer.
    pub syncs: bool,
}

impl<'a> Parts<'a> {
    /// A fault on `node`.
    pub(super) fn of(kind: FaultKind, node: &'a Who) -> Self {
        Parts::between(kind, slice::from_ref(node), &[])
    }

    pub(super) fn between(kind: FaultKind, on: &'a [Who], to: &'a [Who]) -> Self {
        let (order, event) = Default::default();
        Parts { kind, on, to, lasts: None, strength: 0, later: None, silent_ms: None, order, event }
    }

    /// Lasts for so many milliseconds, or until the run ends.
    pub(super) fn lasting(self, for_ms: Option<f64>) -> Self {
        Parts { lasts: Some(for_ms), ..self }
    }

    /// Like [`Parts::lasting`], and nothing gets through meanwhile.
    pub(super) fn silent(self, for_ms: Option<f64>) -> Self {
        Parts { silent_ms: Some(for_ms.unwrap_or(0.0)), ..self.lasting(for_ms) }
    }

    /// Slows something down; the delay is its strength.
    pub(super) fn later(self, later: Later) -> Self {
        Parts { strength: later.extra_us, later: Some(later), ..self }
    }

    /// Sets the wording of plans and of reports.
    pub(super) fn words(self, order: String, event: impl Into<String>) -> Self {
        Parts { order, event: event.into(), ..self }
    }
}

// Whom a fault strikes.

/// The fault list's words for processes; no candidate may have one as its name.
pub const RESERVED: [&str; 8] =
    ["leader", "followers", "candidates", "service", "service-leader", "store", "clients", "trigger"];

/// A process, or a group of them. In JSON it is a word: a process's name, or one of the words below.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Who {
    /// `leader`: the candidate that was elected last and still believes when the fault strikes. While nobody believes,
    /// the fault waits.
    Leader,
    /// `followers`: every candidate but the leader.
    Followers,
    /// `candidates`: all of them.
    Candidates,
    /// `service`: the coordination service, all its members.
    Service,
    /// `service-leader`: the member that leads the coordination service when the fault strikes. While none does, the
    /// fault waits.
    ServiceLeader,
    /// `store`: the fenced store.
    Store,
    /// `clients`: the load generators.
    Clients,
    /// `trigger`: the node that passed the point.
    Trigger,
    /// The name of a process; or of a service, for all its members.
    Named(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl Who {
    /// The word for it in plans.
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

// Durations and names in words.

pub(super) fn duration(ms: f64) -> String {
    if ms >= 1_000.0 { format!("{} s", round(ms / 1_000.0)) } else { format!("{} ms", round(ms)) }
}

pub(super) fn us(us: u64) -> String {
    duration(us as f64 / 1_000.0)
}

pub(super) fn round(value: f64) -> f64 {
    (value * 1_000.0).round() / 1_000.0
}

/// `n1's`, `the followers'`.
pub(super) fn possessive(on: &str) -> String {
    if on.ends_with('s') { format!("{on}'") } else { format!("{on}'s") }
}

/// The plan's wording for a restart.
pub(super) fn restart_after(after_ms: Option<f64>) -> String {
    after_ms.map_or(String::new(), |after_ms| format!(" and restart it after {after_ms} ms"))
}

/// All members of a group, joined by `and`.
pub(super) fn group(group: &[Who]) -> String {
    let words: Vec<&str> = group.iter().map(Who::word).collect();
    words.join(" and ")
}
