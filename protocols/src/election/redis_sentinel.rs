//! `redis-sentinel`: the fenced lease of `redis-fenced` on whichever server Redis Sentinel says is the primary.
//!
//! **Where it comes from.** The election is `redis_fenced.rs`, to the letter. Who carries out its requests follows the
//! primary as Jedis does (redis/jedis 4.3, `JedisSentinelPool.java: initSentinels, MasterListener`): it asks one sentinel
//! after the other for the primary's address, and listens to `+switch-master` at each. Sentinels and servers are
//! redis/redis 7.0.15, `src/sentinel.c` and `src/replication.c`.
//!
//! **What it assumes about time.** What `redis-fenced` does, of each server that is ever the primary; and besides that
//! nothing acknowledged is lost when another becomes the primary, which no setting of Redis promises.
//!
//! **What breaks it.** Replication is asynchronous: the primary acknowledges what no replica has. When it dies, or is cut off
//! from the sentinels and goes on acknowledging, another is made the primary without what it had not been sent: the key,
//! and with it the lock; the counter, and with it *tokens*. Then two lead, one of them by a key that will be deleted when
//! the former primary comes back as a replica. A token can come again, for another owner, or a lower one: the resource
//! refuses both, since it orders tokens and knows the owner of each. So what fencing does here is keep the resource right
//! while a rightful leader may be refused, once for each token that was lost; in real mode `raise-token --backend redis`
//! at the new primary is the remedy.
//! `min-replicas-to-write` makes the window shorter and closes nothing; `--replica-lag` makes it longer, as a distance or a
//! replica that is behind does.
//!
//! A primary that comes back without its keys before anybody misses it takes them from its replicas too.
//!
//! **What shows it.** `sim/tests/all/sentinel.rs`: the primary is cut off with its leader; what both sides acknowledge, and
//! what is left afterwards. Fencing off: `gc-pause`.

use super::{Hazard, OwnTimer, OwnTimers, Promise, Protocol, Timer, asking::RETRIED, promise::UNCHECKED, redis_fenced};
use crate::service::redis_sentinel;

/// The protocol as the registry knows it.
pub const PROTOCOL: Protocol = Protocol {
    name: "redis-sentinel",
    about: "redis-fenced on a primary with asynchronous replicas, which Redis Sentinel replaces when it falls silent",
    service: &redis_sentinel::SERVICE,
    timers: OwnTimers::of(&[RETRIED, OwnTimer { timer: Timer::ReplicaLag, default: None }]),
    promise: |hazard, fencing| match hazard {
        // Whatever may befall the primary: a token that comes again is refused, but was granted twice all the same.
        Hazard::Any => Promise::May,
        // The one believes by the primary that was, the other by the primary that is, and both draw from the same count.
        Hazard::PromotedElsewhere if fencing => Promise::Breaks(&["dual_belief", "elections"]),
        Hazard::PromotedElsewhere => UNCHECKED,
        hazard => (redis_fenced::PROTOCOL.promise)(hazard, fencing),
    },
    ..redis_fenced::PROTOCOL
};
