//! Services around election and lock crates of the Rust registry, each written as its crate's documentation advises. Of
//! three processes, the one that leads appends to a store. They know nothing of Fencepost, and `tests/` runs them as they
//! are.

pub mod armature_leader;
pub mod armature_lock;
pub mod distributed_lock_postgres;
pub mod distributed_lock_redis;
pub mod etcd_election;
pub mod etcd_lock;
pub mod kube_coordinate;
pub mod kube_leader_election;
pub mod kube_lease_manager;
pub mod kubert;
pub mod redis_lock;
pub mod redlock;
pub mod redsync;
pub mod rslock;
pub mod store;
