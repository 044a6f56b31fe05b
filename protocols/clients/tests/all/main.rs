//! Raft's journal and its runtime, in one binary.
//!
//! Tests here share a process and run on parallel threads: none of them sets a variable of the environment, changes the
//! folder it runs in or listens for signals.

mod queue;
mod raft_journal;
mod raft_tokio;
