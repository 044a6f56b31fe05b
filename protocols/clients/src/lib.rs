//! The shells around pure cores, the same in the simulation and in production: what I/O sees of the world
//! ([`mod@env`]), the driver of a core ([`task_driver`]), and one genuine client library per service behind a common
//! request queue ([`queue`]).
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! ```
//! use protocols_clients::{env::tokio::TokioEnv, registry::Clients};
//!
//! // The services that candidates can use over real sockets.
//! let clients = Clients::<TokioEnv>::ours();
//! assert!(clients.has("redis") && clients.has("etcd") && !clients.has("paxos"));
//! ```

pub mod client;
pub mod consul;
pub mod env;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod http;
pub mod kubernetes;
pub mod object_store;
pub mod postgres;
pub mod queue;
pub mod raft;
pub mod redis;
pub mod redis_sentinel;
pub mod redis_servers;
pub mod registry;
pub mod resp;
pub mod site;
pub mod task_driver;
pub mod zookeeper;
