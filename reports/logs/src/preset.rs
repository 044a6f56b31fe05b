//! What known programs log when their leader changes.

use scenarios::{suggest::unknown, units::Unread};

/// What a message says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Says {
    Elected,
    Deposed,
    Accepted,
    Refused,
}
use Says::{Deposed, Elected};

impl Says {
    /// As the fields of a history.
    pub(crate) fn fields(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Says::Elected => &[("event", "elected")],
            Says::Deposed => &[("event", "deposed")],
            Says::Accepted => &[("event", "apply"), ("verdict", "ok")],
            Says::Refused => &[("event", "apply"), ("verdict", "fenced")],
        }
    }

    /// The option that asks for it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Says::Elected => "--elected",
            Says::Deposed => "--deposed",
            Says::Accepted => "--accepted",
            Says::Refused => "--refused",
        }
    }
}

/// What a line says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Message {
    pub says: Says,
    /// The fields in the message: `node`, `token` and others.
    pub fields: Vec<(String, String)>,
}

/// The messages of one program, or of one library.
///
/// A message that a program also logs when it starts, such as that it follows another one, is no deposition: after a crash
/// it would count as the end of a leadership that has long been over.
#[derive(PartialEq, Eq, Debug)]
pub struct Preset {
    pub name: &'static str,
    /// Where the program has them.
    pub source: &'static str,
    pub phrases: &'static [(Says, &'static str)],
    /// A field beside the message that says what the election is for.
    pub of: Option<&'static str>,
    /// Programs that this one elects in, which log more of it.
    pub within: &'static [&'static str],
    /// Whether a node that does not lead says the phrases of a deposition, too, when it starts or ends.
    pub says_idle: bool,
}

const USUAL: Preset = Preset { name: "", source: "", phrases: &[], of: None, within: &[], says_idle: false };

/// All of them. docs/your-log.md has them as a table, which a test compares.
pub const ALL: [Preset; 11] = [
    Preset {
        name: "client-go",
        source: "tools/leaderelection/leaderelection.go, also in controller-runtime",
        phrases: &[
            (Elected, "successfully acquired lease {resource}"),
            (Elected, "\"Successfully acquired lease\" lock=\"{resource}\"…"),
            (Elected, "Successfully acquired lease … \"lock\": \"{resource}\"…"),
            (Elected, "Successfully acquired lease"),
            (Deposed, "failed to renew lease {resource}: "),
            (Deposed, "\"Failed to renew lease\" … lock=\"{resource}\"…"),
            (Deposed, "Failed to renew lease … \"lock\": \"{resource}\"…"),
            (Deposed, "Failed to renew lease"),
        ],
        of: Some("lock"),
        ..USUAL
    },
    Preset {
        name: "consul",
        source: "agent/consul/leader.go; Nomad's nomad/leader.go",
        phrases: &[(Elected, "cluster leadership acquired"), (Deposed, "cluster leadership lost")],
        ..USUAL
    },
    Preset {
        name: "etcd-raft",
        source: "raft.go of etcd's raft",
        phrases: &[(Elected, "{node} became leader at term {token}"), (Deposed, "{node} stepped down to follower")],
        ..USUAL
    },
    Preset {
        name: "hashicorp-raft",
        source: "raft.go of hashicorp/raft, also in Consul, Nomad and Vault",
        phrases: &[(Elected, "entering leader state: leader=\"Node at {node} [Leader]\"")],
        within: &["consul", "vault"],
        ..USUAL
    },
    Preset {
        name: "kafka",
        source: "core/src/main/scala/kafka/controller/KafkaController.scala",
        phrases: &[
            (Elected, "[Controller id={node}] … elected as the controller. Epoch incremented to {token} and"),
            (Deposed, "[Controller id={node}] Resigning"),
            (Deposed, "[Controller id={node}] Resigned"),
        ],
        says_idle: true,
        ..USUAL
    },
    Preset {
        name: "keepalived",
        source: "keepalived/vrrp/vrrp_scheduler.c",
        phrases: &[
            (Elected, "({resource}) Entering MASTER STATE"),
            (Deposed, r"/\((?<resource>[^)\s]+)\) Entering BACKUP STATE\s*$/"),
            (Deposed, "({resource}) Entering FAULT STATE"),
        ],
        says_idle: true,
        ..USUAL
    },
    Preset {
        name: "mongodb",
        source: "src/mongo/db/repl/replication_coordinator_impl.cpp",
        phrases: &[
            (Elected, "Transition to primary complete"),
            (Elected, "transition to primary complete"),
            (Deposed, "Stepping down from primary"),
        ],
        ..USUAL
    },
    Preset {
        name: "patroni",
        source: "patroni/ha.py",
        phrases: &[
            (Elected, "promoted self to leader"),
            (Elected, "acquired session lock as a leader"),
            (Elected, "INFO: initialized a new cluster"),
            (Deposed, "INFO: demoted self because"),
        ],
        ..USUAL
    },
    Preset {
        name: "redbeat",
        source: "redbeat/schedulers.py",
        phrases: &[
            (Elected, "beat: Acquired lock"),
            (Deposed, "beat: Releasing lock"),
            (Deposed, "beat: Releasing Lock"),
        ],
        ..USUAL
    },
    Preset {
        name: "vault",
        source: "vault/ha.go",
        phrases: &[
            (Elected, "acquired lock, enabling active operation"),
            (Deposed, "leadership lost, stopping active operation"),
        ],
        ..USUAL
    },
    Preset {
        name: "zookeeper",
        source: "server/quorum/Leader.java",
        phrases: &[(Elected, "Have quorum of supporters"), (Deposed, "Shutdown called. For the reason")],
        ..USUAL
    },
];

/// Loggers and forms of logs, which somebody may take for presets: what they write, each program decides.
const LOGGERS: [&str; 23] = [
    "bunyan",
    "env_logger",
    "glog",
    "json",
    "klog",
    "log4j",
    "log4j2",
    "log4net",
    "logback",
    "logfmt",
    "logging",
    "logrus",
    "loguru",
    "nlog",
    "pino",
    "python",
    "serilog",
    "slf4j",
    "slog",
    "structlog",
    "syslog",
    "winston",
    "zap",
];

/// The preset of this name.
///
/// # Errors
/// There is none: one sentence.
pub fn find(name: &str) -> Result<&'static Preset, Unread> {
    let names: Vec<&str> = ALL.iter().map(|preset| preset.name).collect();
    let found = ALL.iter().find(|preset| preset.name == name.trim());
    let is_logger = LOGGERS.contains(&name.trim().to_lowercase().as_str());
    found.ok_or_else(|| match is_logger {
        true => Unread::of(
            name,
            "is no preset: lines of any logger are read without one; say by `elected` and `deposed` what your program writes \
             when it begins to lead and when it has stopped",
        ),
        false => Unread::of(name, format!("is no preset; {}", unknown("preset", name, &names))),
    })
}
