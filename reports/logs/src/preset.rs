//! What known programs log when their leader changes.

use super::reading::{
    Reading,
    Says::{self, Deposed, Elected},
};
use scenarios::{suggest::unknown, units::Unread};

/// The messages of one program, or of one library.
#[derive(PartialEq, Eq, Debug)]
pub struct Preset {
    pub name: &'static str,
    /// Where the program has them.
    pub source: &'static str,
    pub phrases: &'static [(Says, &'static str)],
    /// Fields beside the message that matter, and ours for each.
    pub fields: &'static [(&'static str, &'static str)],
}

impl Preset {
    /// Whether it is a library that elects within other programs, which log more of it.
    pub fn is_a_part(&self) -> bool {
        self.name.ends_with("-raft")
    }
}

/// All of them. docs/your-log.md has them as a table, which a test compares.
pub const ALL: [Preset; 11] = [
    Preset {
        name: "client-go",
        fields: &[("lock", "resource")],
        source: "tools/leaderelection/leaderelection.go, also in controller-runtime",
        phrases: &[
            (Elected, "successfully acquired lease {resource}"),
            (Elected, "Successfully acquired lease\" lock=\"{resource}\""),
            (Elected, "Successfully acquired lease"),
            (Deposed, "failed to renew lease {resource}: "),
            (Deposed, "Failed to renew lease\" lock=\"{resource}\""),
            (Deposed, "Failed to renew lease"),
        ],
    },
    Preset {
        name: "consul",
        fields: &[],
        source: "agent/consul/leader.go; Nomad's nomad/leader.go",
        phrases: &[(Elected, "cluster leadership acquired"), (Deposed, "cluster leadership lost")],
    },
    Preset {
        name: "etcd-raft",
        fields: &[],
        source: "raft.go of etcd's raft",
        phrases: &[
            (Elected, "{node} became leader at term {token}"),
            (Deposed, "{node} became follower at term"),
            (Deposed, "{node} stepped down to follower"),
        ],
    },
    Preset {
        name: "hashicorp-raft",
        fields: &[],
        source: "raft.go of hashicorp/raft, also in Consul, Nomad and Vault",
        phrases: &[
            (Elected, "entering leader state: leader=\"Node at {node} [Leader]\""),
            (Deposed, "entering follower state: follower=\"Node at {node} [Follower]\""),
        ],
    },
    Preset {
        name: "kafka",
        fields: &[],
        source: "core/src/main/scala/kafka/controller/KafkaController.scala",
        phrases: &[
            (Elected, "[Controller id={node}] … elected as the controller. Epoch incremented to {token} and"),
            (Deposed, "[Controller id={node}] Resigning"),
        ],
    },
    Preset {
        name: "keepalived",
        fields: &[],
        source: "keepalived/vrrp/vrrp_scheduler.c",
        phrases: &[
            (Elected, "({resource}) Entering MASTER STATE"),
            (Deposed, "({resource}) Entering BACKUP STATE"),
            (Deposed, "({resource}) Entering FAULT STATE"),
        ],
    },
    Preset {
        name: "mongodb",
        fields: &[],
        source: "src/mongo/db/repl/replication_coordinator_impl.cpp",
        phrases: &[
            (Elected, "Transition to primary complete"),
            (Elected, "transition to primary complete"),
            (Deposed, "Stepping down from primary"),
            (Deposed, "Stepping down in response to heartbeat"),
        ],
    },
    Preset {
        name: "patroni",
        fields: &[],
        source: "patroni/ha.py",
        phrases: &[
            (Elected, "promoted self to leader by acquiring session lock"),
            (Elected, "acquired session lock as a leader"),
            (Deposed, "demoted self because"),
        ],
    },
    Preset {
        name: "redbeat",
        fields: &[],
        source: "redbeat/schedulers.py",
        phrases: &[
            (Elected, "beat: Acquired lock"),
            (Deposed, "beat: Releasing lock"),
            (Deposed, "beat: Releasing Lock"),
        ],
    },
    Preset {
        name: "vault",
        fields: &[],
        source: "vault/ha.go",
        phrases: &[
            (Elected, "acquired lock, enabling active operation"),
            (Deposed, "leadership lost, stopping active operation"),
        ],
    },
    Preset {
        name: "zookeeper",
        fields: &[],
        source: "server/quorum/Leader.java and Learner.java",
        phrases: &[
            (Elected, "LEADING - LEADER ELECTION TOOK"),
            (Deposed, "FOLLOWING - LEADER ELECTION TOOK"),
            (Deposed, "Shutdown called. For the reason"),
        ],
    },
];

/// The preset of this name.
///
/// # Errors
/// There is none: one sentence.
pub fn find(name: &str) -> Result<&'static Preset, Unread> {
    let names: Vec<&str> = ALL.iter().map(|preset| preset.name).collect();
    let found = ALL.iter().find(|preset| preset.name == name.trim());
    found.ok_or_else(|| Unread::of(name, format!("is no preset; {}", unknown("preset", name, &names))))
}

/// The presets of which a text has messages.
pub fn recognised(text: &str) -> Vec<&'static Preset> {
    let knows = |preset: &&'static Preset| {
        let mut reading = Reading::default();
        reading.knows(preset).is_ok() && text.lines().any(|line| reading.is_said(line))
    };
    ALL.iter().filter(knows).collect()
}
