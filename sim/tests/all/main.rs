//! Whole runs and parts of the simulation, in one binary: linking the world takes longer than most of these tests.
//!
//! These tests share a process and run on parallel threads. So none of them sets an environment variable, changes the
//! working directory, listens for signals, or asks commands to end. A run's state is in its own thread, and files
//! written have unique names.

mod address;
mod adversary;
mod artifacts;
mod assess;
mod bugs;
mod causes;
mod client_timers;
mod clusters;
mod common;
mod conformance;
mod copies;
mod defects;
mod determinism;
mod env_suite;
mod etcd_end_to_end;
mod etcd_model;
mod experiments;
mod faults;
mod futures;
mod generated;
mod groups;
mod house_rules;
mod lease_guard;
mod listeners;
mod matrix;
mod members;
mod migration;
mod notices;
mod once;
mod promises;
mod quorum;
mod raft;
mod read_lease;
mod redis_client;
mod redis_elections;
mod redis_model;
mod redlock;
mod registered;
mod registered_service;
mod repeated_kills;
mod seeds;
mod sentinel;
mod service_data;
mod shards;
mod texts;
#[path = "../../../protocols/tests/all/transcripts/golden.rs"]
mod transcripts;
mod works;
