//! Kafka's data about its controller in ZooKeeper: the paths and the format.
//!
//! Reference: apache/kafka 3.8, `core/src/main/scala/kafka/zk/ZkData.scala` (`ControllerZNode`,
//! `ControllerEpochZNode`). Each group has its own folder, like Kafka clusters that share an ensemble. In addition to
//! Kafka's data, the controller's node contains the candidate's name, since broker numbers do not tell it here.

use serde::{Deserialize, Serialize};

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
    fn a_controllers_node_is_kafkas_with_a_name() {
        let data = encode(2, "n3", 1_700_000_000_123);
        let text = r#"{"version":1,"brokerid":2,"timestamp":"1700000000123","name":"n3"}"#;
        assert_eq!(String::from_utf8_lossy(&data), text);
        assert_eq!((name_of(&data).as_deref(), name_of(b"{}"), epoch_of(b"12")), (Some("n3"), None, Some(12)));
    }
}
