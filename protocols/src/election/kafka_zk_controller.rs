//! `kafka-zk-controller`: the election of Kafka's controller before KRaft.
//!
//! **Where it comes from.** apache/kafka 3.8, `core/src/main/scala/kafka/zk/KafkaZkClient.scala`
//! (`registerControllerAndIncrementControllerEpoch`, `deleteController`, `retryRequestsUntilConnected`),
//! `controller/KafkaController.scala` (`processStartup`, `processReelect`, `maybeResign`, `elect`,
//! `triggerControllerMove`, `processExpire`), `zookeeper/ZooKeeperClient.scala` (`reinitialize`, `waitUntilConnected`).
//! Every broker watches `/controller`. When it is gone, all of them at once try to create it and to raise
//! `/controller_epoch` in one transaction, conditional on the epoch's version: one wins, the others are refused. The
//! epoch is the fencing token, and rises in the transaction that takes leadership.
//!
//! **What it assumes about time.** Nothing for the grant. The *belief* does not expire: a controller without a
//! connection to ZooKeeper remains one until it has reconnected and learns that its session has expired, or that
//! another node is `/controller`. Its requests to ZooKeeper wait meanwhile; its messages to brokers do not. The session
//! timeout is 18 s.
//!
//! **What breaks it.** Any partition from ZooKeeper that outlasts the session: the old controller acts alongside the
//! new one until it ends, where `zk-election` stops after two thirds of the session. Brokers refuse the old
//! controller's epoch, as the resource does here. `partition` and `gc-pause` show it with fencing off.
//!
//! **Not as Kafka.** Kafka's controller competes again right after it resigns; here it lets the others go first for a
//! third of the session timeout. One that the resource refuses deletes its node, as Kafka's does after an error. A
//! broker that learns of a new controller but finds none campaigns; Kafka's brokers do nothing then. A watch fires only
//! once, so if a controller comes and goes before the others have looked, a Kafka cluster has none until something else
//! happens to `/controller`. A drawn plan that dropped the node right after its creation found that.

mod client;
mod controller;

use super::{
    OwnTimers, Preference, Promise, Protocol, Timings, Transport, hazard,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    service::zookeeper::{self, TICK, granted},
    types::{MILLISECOND, SECOND},
};
use controller::Controller;
pub use controller::MOVED_UNCHECKED;

/// The registry entry.
pub const PROTOCOL: Protocol = Protocol {
    name: "kafka-zk-controller",
    about: "Kafka's controller before KRaft: a race for one ephemeral node, with the epoch raised in the same transaction",
    service: &zookeeper::SERVICE,
    tokened: true,
    transport: Transport::Datagram,
    default_lease_ttl: 18 * SECOND,
    election_timeout: None,
    granted_ttl: granted,
    renew_interval: zookeeper::ping_interval,
    takeover_max,
    read_lease: None,
    preference: Preference::Any,
    majority: false,
    ring: false,
    persists: false,
    forgets_to_wait: false,
    transfers: false,
    changes_members: false,
    parameters: &[],
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Controller::new(setup)),
    promise: |hazard, fencing| match hazard {
        // Clients that have seen a later state than the server's are turned away for good, and the controller carries
        // on.
        hazard::SERVICE_DATA_LOSS => Promise::Holds,
        hazard::SERVICE_RESTORED => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        hazard::NONE | hazard::CRASH | hazard::RESIGNATION => Promise::Holds,
        hazard::POWER_OUTAGE | hazard::ROLLING_RESTART | hazard::SERVICE_RESTART => Promise::Holds,
        hazard::CLOCK_STEPS | hazard::STARVATION | hazard::CLOCK_DRIFT => Promise::Holds,
        hazard::PAUSE_BEYOND_LEASE | hazard::CUT_OFF_FROM_SERVICE => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// Sessions expire at the tick after their timeout, and the race takes four requests; plus slack for messages.
fn takeover_max(_: &Timings, _: u16) -> u64 {
    TICK + 600 * MILLISECOND
}
