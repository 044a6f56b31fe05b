//! Runs a service as it is (its `main`, its client libraries, its threads) as several processes in a simulated world,
//! lets pauses, partitions and crashes strike them, and checks at the store that at most one leader takes effect.
//!
//! ```no_run
//! # mod my_service { pub fn main() {} }
//! use fencepost::{World, redis, scenarios, store};
//!
//! #[test]
//! fn at_most_one_leader_takes_effect() {
//!     World::new()
//!         .service(redis())
//!         .store(store())
//!         .fleet(3, my_service::main)
//!         .env("REDIS_URL", "redis://redis:6379")
//!         .env("STORE_URL", "http://store/sequence")
//!         .scenarios([scenarios::gc_pause(), scenarios::partition(), scenarios::clean_kill()])
//!         .seeds(0..50)
//!         .pause_before_every_send()
//!         .check();
//! }
//! ```
//!
//! The world has the services at their usual names and ports, and a store: a leader's work is `PUT /sequence` with the
//! header `Fencing-Token`, which the store answers with the next number, or with 409 if it has seen a higher token.
//!
//! A failing check panics with what happened, the smallest plan that fails the same way, the timeline's path and the
//! command that repeats the run. The same plan gives the same run, bit for bit.

mod again;
mod broken;
mod builder;
mod check;
mod checked;
mod exhaustive;
pub mod failure;
mod measure;
pub mod scenarios;
mod services;
mod survey;
mod swarm;
mod tempo;
mod trial;

pub use builder::World;
pub use checked::Checked;
pub use exhaustive::Exhausted;
pub use failure::Failure;
#[cfg(feature = "etcd")]
pub use services::etcd;
pub use services::{
    Database, Own, Service, Store, consul, database, kubernetes, postgres, quorum, redis, redlock, served_by, store,
    zookeeper,
};
pub use survey::{First, Row, Survey};
