//! When a leader's copy acknowledges.

use serde::{Deserialize, Serialize};

/// When a leader's copy acknowledges a write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Copies {
    /// As soon as it has the write itself: replication is asynchronous, as it is by default in PostgreSQL, in MySQL and in
    /// Redis.
    Async,
    /// When a majority of the copies have it. A new leader takes over the newest log of a majority before it begins, and
    /// these promise to take nothing older any more: Viewstamped Replication's view change (Liskov and Cowling, "Viewstamped
    /// Replication Revisited", 2012, §4.2), with the leadership's token for the view's number.
    Majority,
}

impl Copies {
    /// Both.
    pub const ALL: [Copies; 2] = [Copies::Async, Copies::Majority];

    /// Its word in plans and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Copies::Async => "async",
            Copies::Majority => "majority",
        }
    }
}
