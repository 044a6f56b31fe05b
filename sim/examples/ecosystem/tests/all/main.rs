//! Each service in a steady world, without its leader, cut off from its coordination service, and paused; and what its
//! crate does that its documentation does not say.

mod armature;
mod distributed_lock;
mod etcd;
mod kube_leader_election;
mod kube_lease_manager;
mod kubert;
mod redis_lock;
mod redlock;
mod rslock;
mod services;
mod suite;
mod world;
