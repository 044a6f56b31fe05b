//! Every known bug that can be switched on, by where it is.

use crate::{
    bug::Bug,
    election::{
        consul, etcd, k8s, kafka_zk_controller, kraft, pg_advisory, raft_core, redis_common, redis_lease, stonith,
        zookeeper,
    },
    fence::{checks, store},
    node,
    service::etcd as etcd_service,
};

crate::registry! {
    /// In the order in which reports show them.
    pub const ALL: [&Bug] = [
        &redis_lease::BELIEF_FROM_ANSWER,
        &redis_lease::RENEWAL_THROWS,
        &redis_lease::NO_TTL,
        &redis_common::FORGOTTEN_ON_RESTART,
        &etcd::WAITER_NOT_READ_AGAIN,
        &etcd::CAMPAIGN_LEAVES_KEY,
        &etcd::RELEASE_BY_NAME,
        &zookeeper::KEEPS_FLAG,
        &zookeeper::REGAINS,
        &kafka_zk_controller::MOVED_UNCHECKED,
        &consul::LOCK_INDEX,
        &k8s::RENEWS_FOR_EVER,
        &k8s::OWN_DURATION,
        &k8s::NO_REQUEST_TIMEOUT,
        &k8s::LEADS_BEFORE_UPDATE,
        &pg_advisory::NEVER_ASKED,
        &kraft::NO_CHECK_QUORUM,
        &raft_core::LEASE_FROM_ANSWER,
        &raft_core::LEASE_OUTLIVES_TRANSFER,
        &raft_core::ANSWERS_BEFORE_SYNC,
        &stonith::NO_QUORUM,
        &node::RELEASED_BEFORE_JOINED,
        &node::SHUTDOWN_STARTS_WORK,
        &checks::READ_BEFORE_SEAL,
        &checks::EQUAL_REFUSED,
        &checks::NO_OWNER,
        &checks::ONE_SEALED,
        &checks::FORGED_TOKEN,
        &checks::RETRY_WITHOUT_ID,
        &checks::DELETIONS_UNFENCED,
        &checks::ENACTMENTS_UNFENCED,
        &store::FORGOTTEN_ON_RESTART,
        &etcd_service::STALE_REVOCATION,
    ];
}
