//! Every known bug that can be switched on, by where it is.

use crate::{
    bug::Bug,
    election::{consul, redis_common, redis_lease, zookeeper},
    fence::store,
    service::etcd,
};

crate::registry! {
    /// In the order in which reports show them.
    pub const ALL: [&Bug] = [
        &redis_lease::BELIEF_FROM_ANSWER,
        &redis_common::FORGOTTEN_ON_RESTART,
        &zookeeper::REGAINS,
        &store::FORGOTTEN_ON_RESTART,
        &consul::LOCK_INDEX,
        &etcd::STALE_REVOCATION,
    ];
}
