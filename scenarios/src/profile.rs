//! Named values: network profiles, and presets, which are an implementation's default timers and how it uses them.

use crate::plan::Network;
use protocols::election::rules::Manner;

#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    pub name: &'static str,
    /// One sentence.
    pub about: &'static str,
    latency_us: u64,
    jitter_us: u64,
    loss: f64,
    duplicate: f64,
    reorder: f64,
    datagrams: bool,
}

/// Every network profile; the first is the default.
pub static PROFILES: [Profile; 5] = [
    Profile {
        name: "lan",
        about: "One data centre: 0.2 to 0.5 ms one way, nothing lost.",
        latency_us: 200,
        jitter_us: 300,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        datagrams: false,
    },
    Profile {
        name: "ideal",
        about: "0.1 ms one way, always the same, nothing lost.",
        latency_us: 100,
        jitter_us: 0,
        loss: 0.0,
        duplicate: 0.0,
        reorder: 0.0,
        datagrams: false,
    },
    Profile {
        name: "wan",
        about: "Between cities: 20 to 30 ms one way, 0.1 % of the packets lost.",
        latency_us: 20_000,
        jitter_us: 10_000,
        loss: 0.001,
        duplicate: 0.0,
        reorder: 0.0,
        datagrams: false,
    },
    Profile {
        name: "lossy",
        about: "A data centre with a bad switch: as lan, with 1 % of the packets lost, 0.5 % duplicated and 1 % reordered.",
        latency_us: 200,
        jitter_us: 300,
        loss: 0.01,
        duplicate: 0.005,
        reorder: 0.01,
        datagrams: false,
    },
    Profile {
        name: "hostile",
        about: "As lossy, but clients, nodes and the store talk by datagrams: requests and writes get lost, doubled and \
                reordered. Only protocols with tokens promise anything on it.",
        latency_us: 200,
        jitter_us: 300,
        loss: 0.01,
        duplicate: 0.005,
        reorder: 0.01,
        datagrams: true,
    },
];

impl Profile {
    pub fn find(name: &str) -> Option<&'static Profile> {
        PROFILES.iter().find(|profile| profile.name == name)
    }

    /// True if clients, nodes and the store exchange datagrams in place of the connections that they have in
    /// production.
    pub fn is_hostile(&self) -> bool {
        self.datagrams
    }

    /// The network as plans carry it.
    pub fn network(&self) -> Network {
        Network {
            profile: self.name.to_owned(),
            latency_us: self.latency_us,
            jitter_us: self.jitter_us,
            loss: self.loss,
            duplicate: self.duplicate,
            reorder: self.reorder,
            bandwidth_mbps: 0,
            control_apart: false,
            datagrams: self.datagrams,
        }
    }
}

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
