//! Optional rules of a protocol: production's additions to the Raft paper's election.

use serde::{Deserialize, Serialize};

/// Rules of voting and leading; each is on unless it is switched off.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    /// A prospective candidate first asks whether it could win, and keeps its term until it could (Ongaro's
    /// dissertation, §9.6).
    pub pre_vote: bool,
    /// A leader that has lost its majority for an election timeout steps down (§6.2), and a server that hears from a
    /// leader takes part in no other election (§4.2.3).
    pub check_quorum: bool,
    /// A leader acts only while its last acknowledged heartbeat supports its lease (§6.4.1).
    pub leader_lease: bool,
    /// Whose timers are used.
    pub manner: Manner,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Manner {
    /// Those of the paper and the dissertation.
    #[default]
    Paper,
    /// Those of hashicorp/raft (`raft.go: runFollower, checkLeaderLease, requestVote`). A follower checks for its
    /// leader's silence only when a timer of one to two timeouts expires, which heartbeats do not reset; until then it
    /// keeps that leader, and votes for no other. A leader counts from when answers arrived, and heartbeats are one to
    /// two intervals apart.
    Hashicorp,
}

impl Default for Rules {
    fn default() -> Self {
        Rules::USUAL
    }
}

impl Rules {
    /// All of them on, as in the dissertation.
    pub const USUAL: Rules = Rules { pre_vote: true, check_quorum: true, leader_lease: true, manner: Manner::Paper };

    pub fn are_usual(&self) -> bool {
        *self == Rules::USUAL
    }
}
