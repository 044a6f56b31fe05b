//! Each service in a steady world, without its leader, cut off from its coordination service, and paused; and what its
//! crate does that its documentation does not say.

mod distributed_lock;
mod etcd;
mod kubernetes;
mod redis;
mod services;
mod suite;
mod world;
