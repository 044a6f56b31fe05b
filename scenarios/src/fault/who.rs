//! Whom a fault strikes.

use serde::{Deserialize, Serialize};
use std::fmt;

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
