//! Tests of real mode's fenced store.
//!
//! Tests here share a process and run on parallel threads: none of them sets an environment variable, changes the
//! working directory or listens for signals.

#![cfg(feature = "real")]

mod store;
mod store_clients;
mod store_common;
mod store_decisions;
mod store_kill;
mod store_link;
mod store_power;
mod store_sql;
