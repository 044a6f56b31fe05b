//! Presets: an implementation's default timers, and how it uses them.

use protocols::election::rules::Manner;

/// An implementation's default timers.
#[derive(PartialEq, Eq, Debug)]
pub struct Preset {
    /// How long a leader believes.
    pub lease_ttl_ms: u64,
    /// Shortest time from one heartbeat to the next.
    pub renew_interval_ms: u64,
    /// The range that election timeouts are drawn from.
    pub election_timeout_ms: (u64, u64),
    /// How the timers are used, which identifies the preset.
    pub manner: Manner,
}

pub static PRESETS: [Preset; 1] = [Preset {
    // hashicorp/raft, `config.go: DefaultConfig`: HeartbeatTimeout and ElectionTimeout 1000 ms, LeaderLeaseTimeout 500
    // ms, CommitTimeout 50 ms, which elections do not need; `util.go: randomTimeout` is one to two times as long;
    // `replication.go: heartbeat` waits `randomTimeout(HeartbeatTimeout / 10)`.
    lease_ttl_ms: 500,
    renew_interval_ms: 100,
    election_timeout_ms: (1_000, 2_000),
    manner: Manner::Hashicorp,
}];

impl Preset {
    pub fn of(manner: Manner) -> Option<&'static Preset> {
        PRESETS.iter().find(|preset| preset.manner == manner)
    }
}
