//! What Kafka keeps in ZooKeeper about its controller: where, and how it is written.
//!
//! Reference: apache/kafka 3.8, `core/src/main/scala/kafka/zk/ZkData.scala` (`ControllerZNode`, `ControllerEpochZNode`). Each
//! group has a folder of its own, as Kafka clusters that share an ensemble have. Beside what Kafka writes the controller's
//! node has the candidate's name: numbers of brokers are nobody's names here.

use serde::{Deserialize, Serialize};

/// A group's folder.
pub fn folder(group: u16) -> String {
    if group == 0 { "/fencepost/kafka".to_owned() } else { format!("/fencepost/kafka-{group}") }
}

/// The node of the controller.
pub fn controller(group: u16) -> String {
    folder(group) + "/controller"
}

/// The node of the controller's epoch.
pub fn epoch(group: u16) -> String {
    folder(group) + "/controller_epoch"
}

/// What the controller's node holds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Controller {
    version: u32,
    brokerid: u16,
    timestamp: String,
    name: String,
}

/// What the node of that controller holds, registered when its wall clock shows so many milliseconds.
pub fn encode(broker: u16, name: &str, wall_ms: u64) -> Vec<u8> {
    let node = Controller { version: 1, brokerid: broker, timestamp: wall_ms.to_string(), name: name.to_owned() };
    serde_json::to_vec(&node).unwrap_or_default()
}

/// The name of the controller whose node holds that; `None` when it is none of ours.
pub fn name_of(data: &[u8]) -> Option<String> {
    serde_json::from_slice::<Controller>(data).ok().map(|node| node.name)
}

/// The epoch that its node holds.
pub fn epoch_of(data: &[u8]) -> Option<u64> {
    std::str::from_utf8(data).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controllers_node_is_kafkas_with_a_name() {
        let data = encode(2, "n3", 1_700_000_000_123);
        let text = r#"{"version":1,"brokerid":2,"timestamp":"1700000000123","name":"n3"}"#;
        assert_eq!(String::from_utf8_lossy(&data), text);
        assert_eq!((name_of(&data).as_deref(), name_of(b"{}"), epoch_of(b"12")), (Some("n3"), None, Some(12)));
    }
}
