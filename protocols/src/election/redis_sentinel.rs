//! `redis-sentinel`: the fenced lease of `redis-fenced` on the server that Redis Sentinel names as the primary.
//!
//! **Where it comes from.** The election is exactly `redis_fenced.rs`. Its client follows the primary like Jedis
//! (redis/jedis 4.3, `JedisSentinelPool.java: initSentinels, MasterListener`): it asks the sentinels in turn for the
//! primary's address, and listens to `+switch-master` at each. Sentinels and servers are modelled on redis/redis
//! 7.0.15, `src/sentinel.c` and `src/replication.c`.
//!
//! **What it assumes about time.** What `redis-fenced` does, for each server that ever is the primary; and also that no
//! acknowledged write is lost when another becomes the primary, which no setting of Redis guarantees.
//!
//! **What breaks it.** Replication is asynchronous: the primary acknowledges writes that no replica has. When it dies,
//! or is cut off from the sentinels and keeps acknowledging, another becomes the primary without the writes it had not
//! received: without the key, and thus the lock, or without part of the counter, and thus *tokens*. Then two lead, one
//! of them by a key that is deleted when the former primary returns as a replica. A token may be granted again, to
//! another owner, or a lower one: the resource refuses both, since it orders tokens and knows each one's owner. So
//! fencing keeps the resource correct, but a rightful leader may be refused, once per lost token; in real mode the
//! remedy is `raise-token --backend redis` at the new primary. `min-replicas-to-write` narrows the window but does not
//! close it; `--set redis-sentinel.replica-lag` widens it, as distance or a lagging replica would.
//!
//! A primary that returns without its keys before it is missed also discards its replicas' keys.
//!
//! **What shows it.** `sim/tests/all/sentinel.rs`: the primary is cut off with its leader; it checks what both sides
//! acknowledge, and what is left afterwards. With fencing off: `gc-pause`.

use super::{OwnTimer, OwnTimers, Promise, Protocol, Timer, asking::RETRIED, hazard, promise::UNCHECKED, redis_fenced};
use crate::{
    parameter::{Parameter, Place, Takes},
    service::redis_sentinel,
};

const LAG: Parameter = Parameter {
    name: "replica-lag",
    takes: Takes::Duration { least_ms: 1 },
    usual: "none",
    about: "How long an acknowledged write takes from the primary to its replicas, besides the travel time",
    place: Place::Timer(Timer::ReplicaLag),
};

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-sentinel",
    about: "redis-fenced on a primary with asynchronous replicas, which Redis Sentinel replaces when it falls silent",
    service: &redis_sentinel::SERVICE,
    parameters: &[LAG],
    timers: OwnTimers::of(&[RETRIED, OwnTimer { timer: Timer::ReplicaLag, default: None }]),
    promise: |hazard, fencing| match hazard {
        // The primary may suffer anything; a token granted twice is refused, but was granted twice all the same.
        hazard::ANY => Promise::May,
        // One leader believes by the former primary, the other by the present one, and both draw from the same count.
        hazard::PROMOTED_ELSEWHERE if fencing => Promise::Breaks(&["dual_belief", "elections"]),
        hazard::PROMOTED_ELSEWHERE => UNCHECKED,
        hazard => (redis_fenced::PROTOCOL.promise)(hazard, fencing),
    },
    ..redis_fenced::PROTOCOL
};
