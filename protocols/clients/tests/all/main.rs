//! Consul's shared connections, Raft's journal and its runtime, in one binary.
//!
//! Tests here share a process and run on parallel threads: none of them sets an environment variable, changes the
//! working directory or listens for signals.

mod consul;
mod queue;
mod raft_journal;
mod raft_tokio;
