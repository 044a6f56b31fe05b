use serde::{Deserialize, Serialize};

/// When a leader's copy acknowledges a write.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Copies {
    /// As soon as it has the write itself: asynchronous replication, the default of PostgreSQL, MySQL and Redis.
    Async,
    /// Once a majority of the copies have it. A new leader first takes over the newest log of a majority, whose copies
    /// promise to accept nothing older: Viewstamped Replication's view change (Liskov and Cowling, "Viewstamped
    /// Replication Revisited", 2012, §4.2), with the leadership's token as the view number.
    Majority,
}

impl Copies {
    pub const ALL: [Copies; 2] = [Copies::Async, Copies::Majority];

    /// Its name in plans and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Copies::Async => "async",
            Copies::Majority => "majority",
        }
    }
}
