//! The protocols, in one binary.
//!
//! Tests here share a process and run on parallel threads: none of them sets a variable of the environment, changes the
//! folder it runs in or listens for signals.

mod address;
mod connections;
mod election_messages;
mod elections_settle;
mod etcd_herd;
mod multiplexer;
mod orders;
mod power_switch;
mod reads;
mod ring_and_bully_rules;
mod states;
mod stepping_down;
mod stonith;
mod stonith_claims;
mod swim_detector;
mod transcripts;
mod typed_electors;
mod zab_fle;
