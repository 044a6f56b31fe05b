//! The shells around pure cores, the same in the simulation and in production: what I/O sees of the world
//! ([`mod@env`]), the driver of a core ([`task_driver`]), and one genuine client library per service behind a common
//! request queue ([`queue`]).
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! ```
//! # #[cfg(all(feature = "redis", feature = "etcd"))] {
//! use protocols_clients::{env::tokio::TokioEnv, registry::Clients};
//!
//! // The services that candidates can use over real sockets.
//! let clients = Clients::<TokioEnv>::ours();
//! assert!(clients.has("redis") && clients.has("etcd") && !clients.has("paxos"));
//! # }
//! ```

pub mod client;
#[cfg(feature = "http")]
pub mod consul;
pub mod env;
#[cfg(feature = "etcd")]
pub mod etcd;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "http")]
pub mod kubernetes;
#[cfg(feature = "http")]
pub mod object_store;
#[cfg(feature = "postgres")]
pub mod postgres;
pub mod queue;
#[cfg(feature = "raft")]
pub mod raft;
#[cfg(feature = "redis")]
pub mod redis;
#[cfg(feature = "redis")]
pub mod redis_sentinel;
#[cfg(feature = "redis")]
pub mod redis_servers;
pub mod registry;
#[cfg(feature = "redis")]
pub mod resp;
pub mod site;
#[cfg(feature = "store")]
pub mod store;
pub mod task_driver;
pub mod timers;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "zookeeper")]
pub mod zookeeper;
