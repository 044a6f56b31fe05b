//! Rules that a protocol may be run with or without, beside its timers: those that production added to the election of the
//! Raft paper.

use serde::{Deserialize, Serialize};

/// Rules of voting and of leading; every one of them holds unless it is switched off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// Who wants to stand asks first whether it could win, and its term stays as it is until it could (Ongaro's
    /// dissertation, §9.6).
    pub pre_vote: bool,
    /// A leader that has lost its majority for an election timeout steps down (§6.2), and who hears from a leader takes part
    /// in no other election (§4.2.3).
    pub check_quorum: bool,
    /// A leader acts only as long as its last acknowledged heartbeat is worth (§6.4.1).
    pub leader_lease: bool,
    /// Whose timers these are.
    pub manner: Manner,
}

/// How timers are used.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// As the paper and the dissertation have it.
    #[default]
    Paper,
    /// As hashicorp/raft does (`raft.go: runFollower, checkLeaderLease, requestVote`). A follower looks at its leader's silence
    /// only when a timer of one to two timeouts is over, which no heartbeat sets back; until then it has that leader, and
    /// votes for nobody else. A leader counts from when answers came, and heartbeats are one to two intervals apart.
    Hashicorp,
}

impl Default for Rules {
    fn default() -> Self {
        Rules::USUAL
    }
}

impl Rules {
    /// All of them hold, as the dissertation has them.
    pub const USUAL: Rules = Rules { pre_vote: true, check_quorum: true, leader_lease: true, manner: Manner::Paper };
    /// The protocols that have these rules.
    pub const PROTOCOLS: [&str; 1] = ["raft-core"];

    /// Does the protocol of that name have these rules?
    pub fn concern(protocol: &str) -> bool {
        Rules::PROTOCOLS.contains(&protocol)
    }

    /// Are they [`Rules::USUAL`]?
    pub fn are_usual(&self) -> bool {
        *self == Rules::USUAL
    }
}
