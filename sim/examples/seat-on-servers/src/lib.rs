//! The seat on real servers, with real faults: members are processes, whose leader writes to a PostgreSQL through the
//! fence while it is killed, paused and cut off. Afterwards the database shows whether a write that was acknowledged is
//! lost, a request was done twice, or a former leader's write was accepted.
//!
//! `cargo run --release` lists what can be measured.

mod args;
mod backends;
pub mod command;
mod compare;
mod counted;
pub mod disk;
mod draws;
mod ending;
pub mod fault;
mod firewall;
mod fleet;
mod forget;
mod idle;
pub mod ledger;
pub mod many;
mod member;
mod overhead;
mod process;
mod raft;
mod record;
mod service;
mod stand;
pub mod storm;
mod table;
mod told;

pub use service::Service;

pub type Error = Box<dyn std::error::Error + Send + Sync>;
