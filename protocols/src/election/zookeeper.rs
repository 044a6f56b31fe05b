//! Shared by the elections on ZooKeeper: the places of their nodes, [`curator`], the behaviour of Apache Curator's
//! client, and Kafka's data about its controller.

pub mod curator;
pub mod place;
pub mod queue;

use crate::bug::{Bug, Shown};
use serde::{Deserialize, Serialize};

/// LeaderLatch's behaviour since 5.4.
pub const REGAINS: Bug = Bug {
    id: "zk-latch-regains",
    protocols: &["zk-election"],
    what: "A leader whose connection comes back within its session leads again by the same node, and so with the same token.",
    source: "CURATOR-644, in 5.4.0: `RECONNECTED` looks at the queue where it used to create a new node",
    violation: "elections",
    shown: Shown::by("flapping", "zk-election", 12),
};

/// LeaderLatch's behaviour before 5.4, when a reconnection coincides with the end of the node before its own.
pub const KEEPS_FLAG: Bug = Bug {
    id: "zk-latch-keeps-flag",
    protocols: &["zk-election"],
    what: "A latch whose connection comes back may count as first by the node that it is about to delete, and never \
           learns that its new node is behind another's.",
    source: "CURATOR-620; apache/curator pull request 398 (CURATOR-653); fixed with CURATOR-644 and 645",
    violation: "phantom_leader",
    shown: Shown::by("service-restart", "zk-election", 12),
};

/// LeaderLatch's behaviour before 5.4, when several connections return at once.
pub const RESETS: Bug = Bug {
    id: "zk-latch-resets",
    protocols: &["zk-election"],
    what: "A latch starts over whenever its connection comes back, and whenever the node in front of its own is gone \
           before it is watched, while what it had under way continues. Two such latches drive each other out of the \
           queue, over and over.",
    source: "CURATOR-644 and CURATOR-645; fixed in 5.4.0 by apache/curator pull request 430",
    violation: "metrics.requests_to_service_in_one_second_max",
    shown: Shown::by("service-leader-isolated", "zk-election", 30).with("--latency 2..3ms --rate 50").above(35),
};

/// A common substitute for a token, since it is readable in the node's name.
pub const TOKEN_BY_SEQUENCE: Bug = Bug {
    id: "zk-token-by-sequence",
    protocols: &["zk-election"],
    what: "The number in the node's name is used as the token: it restarts when the empty queue is reaped and created \
           again.",
    source: "derived, from `ContainerManager.java` (apache/zookeeper 3.8): empty containers are deleted, and with them the count",
    violation: "elections",
    shown: Shown::by("reaped-parent", "zk-election", 4),
};

/// A recipe whose candidates queue up as the children of one node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// Curator's LeaderLatch.
    Latch,
    /// Curator's LeaderSelector.
    Selector,
}

impl Kind {
    pub const ALL: [Kind; 2] = [Kind::Latch, Kind::Selector];

    /// The node whose children are a group's candidates.
    pub fn folder(self, group: u16) -> String {
        let base = match self {
            Kind::Latch => "/fencepost/latch",
            Kind::Selector => "/fencepost/selector",
        };
        if group == 0 { base.to_owned() } else { format!("{base}-{group}") }
    }

    /// The part of a candidate's node name after its guard and before its number.
    pub const fn lock_name(self) -> &'static str {
        match self {
            Kind::Latch => "latch-",
            Kind::Selector => "lock-",
        }
    }
}

/// The recipe, within a group, that a candidate's node belongs to.
pub fn kind_of(path: &str, group: u16) -> Option<Kind> {
    let (folder, name) = path.rsplit_once('/')?;
    Kind::ALL.into_iter().find(|kind| kind.folder(group) == folder && sequence_of(name).is_some())
}

/// The number at the end of a candidate's name, which orders the queue (`LockInternalsSorter`). `None` if the name has
/// none: then it is no candidate's.
pub fn sequence_of(name: &str) -> Option<u64> {
    let digits = name.len().checked_sub(10).and_then(|at| name.get(at..))?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

// Kafka's data about its controller in ZooKeeper: the paths and the format.
//
// Reference: apache/kafka 3.8, `core/src/main/scala/kafka/zk/ZkData.scala` (`ControllerZNode`,
// `ControllerEpochZNode`). Each group has its own folder, like Kafka clusters that share an ensemble. In addition to
// Kafka's data, the controller's node contains the candidate's name, since broker numbers do not tell it here.

/// A group's folder.
pub fn folder(group: u16) -> String {
    if group == 0 { "/fencepost/kafka".to_owned() } else { format!("/fencepost/kafka-{group}") }
}

/// The path of the controller's node.
pub fn controller(group: u16) -> String {
    folder(group) + "/controller"
}

/// The path of the epoch's node.
pub fn epoch(group: u16) -> String {
    folder(group) + "/controller_epoch"
}

/// The content of the controller's node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Controller {
    version: u32,
    brokerid: u16,
    timestamp: String,
    name: String,
}

/// The content of the controller's node, registered at `wall_ms`, milliseconds of its wall clock.
pub fn encode(broker: u16, name: &str, wall_ms: u64) -> Vec<u8> {
    let node = Controller { version: 1, brokerid: broker, timestamp: wall_ms.to_string(), name: name.to_owned() };
    serde_json::to_vec(&node).unwrap_or_default()
}

/// The controller's name in its node's content; `None` if the content is foreign.
pub fn name_of(data: &[u8]) -> Option<String> {
    serde_json::from_slice::<Controller>(data).ok().map(|node| node.name)
}

/// The epoch in its node's content.
pub fn epoch_of(data: &[u8]) -> Option<u64> {
    std::str::from_utf8(data).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_is_that_of_the_numbers_whoever_protects_the_names() {
        assert_eq!(sequence_of("_c_5b2a-latch-0000000007"), Some(7));
        assert_eq!(sequence_of("0d1f__lock__0000000012"), Some(12));
        assert_eq!(sequence_of("latch-"), None);
        assert_eq!(sequence_of("ä23456789"), None);
        assert_eq!(kind_of("/fencepost/latch-2/x-0000000001", 2), Some(Kind::Latch));
        assert_eq!(kind_of("/fencepost/latch/x-0000000001", 2), None);
    }

    #[test]
    fn a_controllers_node_is_kafkas_with_a_name() {
        let data = encode(2, "n3", 1_700_000_000_123);
        let text = r#"{"version":1,"brokerid":2,"timestamp":"1700000000123","name":"n3"}"#;
        assert_eq!(String::from_utf8_lossy(&data), text);
        assert_eq!((name_of(&data).as_deref(), name_of(b"{}"), epoch_of(b"12")), (Some("n3"), None, Some(12)));
    }
}
