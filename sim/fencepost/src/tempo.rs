//! How fast a service is: scenarios take their lengths from it.

/// The service's own times, ms of virtual time.
#[derive(Clone, Debug)]
pub struct Tempo {
    /// When the first leader wrote first.
    pub acted_ms: f64,
    /// The longest time between two of its writes.
    pub between_ms: f64,
    /// The longest and the shortest time from a leader's death to another's first write.
    pub takeover_ms: f64,
    pub soonest_ms: f64,
    /// The first leader.
    pub leader: String,
    /// What all processes sent.
    pub sent: Vec<Send>,
    /// The calls that are not simulated.
    pub refused: Vec<String>,
    /// How many runs it took.
    pub runs: u64,
}

/// A send of a process.
#[derive(Clone, Debug)]
pub struct Send {
    pub by: String,
    pub at_ms: f64,
    /// Its first bytes.
    pub head: Vec<u8>,
}

impl Tempo {
    /// For how long a leader is stopped: twice as long as it takes until another leads, and some more.
    pub fn pause_ms(&self) -> u64 {
        (2.0 * self.takeover_ms).ceil() as u64 + 1_000
    }

    /// What the first leader sent.
    pub fn sent_by_leader(&self) -> impl Iterator<Item = &Send> {
        self.sent.iter().filter(|send| send.by == self.leader)
    }

    /// Until when the first leader could have been replaced.
    pub fn replaced_ms(&self) -> f64 {
        self.acted_ms + self.between_ms + self.takeover_ms
    }

    /// How often the leader sends in the time in which it could be replaced, at least once.
    pub fn sends(&self) -> u64 {
        let from_ms = self.acted_ms + self.between_ms;
        let meant = |send: &&Send| (from_ms..from_ms + self.takeover_ms).contains(&send.at_ms);
        self.sent_by_leader().filter(meant).count().max(1) as u64
    }

    /// How soon somebody must write again while that is possible. The measured time may be short: elections differ, and
    /// connections that were cut are found to be open only later.
    pub fn bound_ms(&self) -> u64 {
        let slowest_ms = self.takeover_ms.max(self.acted_ms).max(self.between_ms);
        (5.0 * slowest_ms).ceil() as u64 + 10_000
    }
}
