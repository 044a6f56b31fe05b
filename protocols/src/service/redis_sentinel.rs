//! Redis behind Sentinel: a primary with asynchronous replicas, and sentinels that name the primary, and promote
//! another server when enough of them miss it. Candidates know the sentinels and ask them; the requests to the primary,
//! and its answers, are those of [`super::redis`].

use super::{Members, Service, redis};

/// The sentinels' name for the primary and its replicas.
pub const MASTER: &str = "mymaster";
/// The channel on which sentinels publish a new primary.
pub const SWITCHED: &str = "+switch-master";

/// The servers: one primary, and its replicas.
pub const REPLICATED: Service = Service {
    name: "redis-replicated",
    members: Members { most: 9, led: true, majority: false },
    usual_members: 3,
    ..redis::SERVICE
};

/// The sentinels, beside the servers that they monitor.
pub const SERVICE: Service = Service {
    name: "redis-sentinel",
    process: Some("sentinel"),
    members: Members { most: 9, led: false, majority: true },
    usual_members: 3,
    port: 26379,
    beside: Some(&REPLICATED),
    ..redis::SERVICE
};
