//! Redis behind Sentinel: a primary with asynchronous replicas, and sentinels that say which server is the primary and make
//! another the primary when enough of them miss it. Candidates know the sentinels, and ask them; what is asked of the
//! primary, and what comes back, is [`super::redis`]'s.

use super::{Members, Service, redis};

/// What the sentinels call the primary and its replicas.
pub const MASTER: &str = "mymaster";
/// Where sentinels publish that another server is the primary.
pub const SWITCHED: &str = "+switch-master";

/// The servers of which one is the primary and the others its replicas.
pub const REPLICATED: Service = Service {
    name: "redis-replicated",
    members: Members { most: 9, led: true, majority: false },
    usual_members: 3,
    ..redis::SERVICE
};

/// The sentinels, beside the servers that they watch.
pub const SERVICE: Service = Service {
    name: "redis-sentinel",
    process: Some("sentinel"),
    members: Members { most: 9, led: false, majority: true },
    usual_members: 3,
    port: 26379,
    beside: Some(&REPLICATED),
    ..redis::SERVICE
};
