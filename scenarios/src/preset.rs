//! Presets: an implementation's default timers, and how it uses them.

use protocols::election::rules::Manner;

/// An implementation's default timers.
#[derive(PartialEq, Eq, Debug)]
pub struct Preset {
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    /// How long a leader believes.
    pub lease_ttl_ms: u64,
    /// Shortest time from one heartbeat to the next.
    pub renew_interval_ms: u64,
    /// The range that election timeouts are drawn from.
    pub election_timeout_ms: (u64, u64),
    /// How the timers are used.
    pub manner: Manner,
}

pub static PRESETS: [Preset; 1] = [Preset {
    // hashicorp/raft, `config.go: DefaultConfig`: HeartbeatTimeout and ElectionTimeout 1000 ms, LeaderLeaseTimeout 500
    // ms, CommitTimeout 50 ms, which elections do not need; `util.go: randomTimeout` is one to two times as long;
    // `replication.go: heartbeat` waits `randomTimeout(HeartbeatTimeout / 10)`.
    name: "hashicorp",
    about: "hashicorp/raft's defaults: timeouts of 1 to 2 s, a lease of 500 ms, heartbeats every 100 to 200 ms.",
    lease_ttl_ms: 500,
    renew_interval_ms: 100,
    election_timeout_ms: (1_000, 2_000),
    manner: Manner::Hashicorp,
}];

impl Preset {
    pub fn find(name: &str) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.name == name)
    }
}
