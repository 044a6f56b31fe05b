//! `kafka-zk-controller`: how Kafka elected its controller before KRaft.
//!
//! **Where it comes from.** apache/kafka 3.8, `core/src/main/scala/kafka/zk/KafkaZkClient.scala`
//! (`registerControllerAndIncrementControllerEpoch`, `deleteController`, `retryRequestsUntilConnected`),
//! `controller/KafkaController.scala` (`processStartup`, `processReelect`, `maybeResign`, `elect`, `triggerControllerMove`,
//! `processExpire`), `zookeeper/ZooKeeperClient.scala` (`reinitialize`, `waitUntilConnected`). Every broker watches
//! `/controller`; when that is gone, all of them try at once to create it and to raise `/controller_epoch` in one transaction,
//! which compares the epoch's version: one wins, the others are refused. The epoch is the fencing token, and is raised in
//! the same transaction as the leadership is taken.
//!
//! **What it assumes about time.** Nothing for the grant. The *belief* has no end at all: a controller whose connection to
//! ZooKeeper is lost stays one until the connection is back and says that the session is over, or that another node is
//! `/controller`. What it asks of ZooKeeper waits meanwhile; what it tells brokers does not. The session timeout is 18 s.
//!
//! **What breaks it.** Every cut from ZooKeeper that is longer than the session: the old controller acts beside the new one
//! for as long as the cut lasts, where `zk-election` stops after two thirds of the session. Brokers refuse the old one's
//! epoch, as the resource does here. `partition` and `gc-pause` show it with fencing off.
//!
//! **Not as Kafka.** A controller that resigns stands again at once, in the race with all others; here it lets them go first
//! for a third of the session timeout. One that the resource refuses gives the node up, as Kafka's does after an error. And
//! whoever hears of a new controller, and finds that there is none, stands: Kafka's brokers do nothing then. A watch tells
//! once, so a controller that comes and goes before the others have looked leaves a Kafka cluster without one until
//! something else happens to `/controller`. A drawn plan that dropped the node right after it was made found that.

mod client;
mod controller;

use super::{
    Hazard, OwnTimers, Preference, Promise, Protocol, Timings, Transport,
    promise::{self, UNCHECKED},
};
use crate::{
    elector::boxed,
    service::zookeeper::{self, TICK, granted},
    types::{MILLISECOND, SECOND},
};
use controller::Controller;
pub use controller::MOVED_UNCHECKED;

/// The registry's entry.
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
    timers: OwnTimers::NONE,
    claim: None,
    elector: |setup| boxed(Controller::new(setup)),
    promise: |hazard, fencing| match hazard {
        // Clients that have seen more than the server has are turned away for ever, and the controller goes on.
        Hazard::ServiceDataLoss => Promise::Holds,
        Hazard::ServiceRestored => promise::GRANTED_AGAIN,
        _ if fencing => Promise::Holds,
        Hazard::None | Hazard::Crash | Hazard::Resignation => Promise::Holds,
        Hazard::PowerOutage | Hazard::RollingRestart | Hazard::ServiceRestart => Promise::Holds,
        Hazard::ClockSteps | Hazard::Starvation | Hazard::ClockDrift => Promise::Holds,
        Hazard::PauseBeyondLease | Hazard::CutOffFromService => UNCHECKED,
        _ => Promise::May,
    },
    bounds: promise::settled,
    notices: promise::Notices::SILENCE,
    belief_overlap: promise::without_bound,
};

/// Sessions end with the tick after their time, and the race takes four questions; with slack for messages.
fn takeover_max(_: &Timings, _: u16) -> u64 {
    TICK + 600 * MILLISECOND
}
