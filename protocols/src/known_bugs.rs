//! Every known bug that can be switched on, by where it is.

use crate::{
    bug::Bug,
    election::{
        back_off, consul, etcd, k8s, kafka_zk_controller, kraft, pg_advisory, raft_core, redis_common, redis_lease,
        stonith, zookeeper,
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
        &redis_common::MIXED_LOCKS,
        &etcd::WAITER_NOT_READ_AGAIN,
        &etcd::CAMPAIGN_LEAVES_KEY,
        &etcd::RELEASE_BY_NAME,
        &zookeeper::KEEPS_FLAG,
        &zookeeper::REGAINS,
        &zookeeper::TOKEN_BY_SEQUENCE,
        &kafka_zk_controller::MOVED_UNCHECKED,
        &consul::LOCK_INDEX,
        &k8s::RENEWS_FOR_EVER,
        &k8s::OWN_DURATION,
        &k8s::NO_REQUEST_TIMEOUT,
        &k8s::LEADS_BEFORE_UPDATE,
        &pg_advisory::NEVER_ASKED,
        &pg_advisory::KEPT_IN_POOL,
        &back_off::IN_STEP,
        &kraft::NO_CHECK_QUORUM,
        &raft_core::LEASE_FROM_ANSWER,
        &raft_core::LEASE_OUTLIVES_TRANSFER,
        &raft_core::WRITES_DURING_TRANSFER,
        &raft_core::ANSWERS_BEFORE_SYNC,
        &stonith::NO_QUORUM,
        &stonith::ACCEPTED_IS_STOPPED,
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
        &etcd_service::EXPIRES_BY_WALL_CLOCK,
    ];
}
