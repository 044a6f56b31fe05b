//! The fenced store of real mode, in one binary.
//!
//! Tests here share a process and run on parallel threads: none of them sets a variable of the environment, changes the
//! folder it runs in or listens for signals.

#![cfg(feature = "real")]

mod store;
mod store_common;
mod store_decisions;
mod store_kill;
mod store_link;
mod store_power;
mod store_sql;
