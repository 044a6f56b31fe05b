//! One Redis server, version 7.0, as far as elections use it: a pure [`model`] behind the real wire protocol ([`wire`]).
//!
//! What it answers was compared with Redis 7.0.15 itself, errors included. It is configured `appendonly yes` with
//! `appendfsync always`, the one setting under which Redis keeps what it acknowledged over a restart; the script cache and
//! the connections are lost with the process, as they are there. No replication, no persistence errors, no memory limit.

mod call;
mod commands;
mod connection;
mod lua;
pub mod model;
pub mod resp;
mod script;
pub mod wire;
