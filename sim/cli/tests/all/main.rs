//! The command as a whole: the built `fencepost` as a process, with the simulation and `fencepost real`.
//!
//! Tests share a process and run on parallel threads: process-wide state (folder, environment, signals) belongs to the
//! child, and each test's files have names of their own.

mod advise;
mod assess;
mod book;
mod bugs;
mod cases;
mod commands;
mod determinism;
mod doubts;
mod exhaust;
mod explained;
mod export;
#[cfg(unix)]
mod followed;
mod found;
mod frontier;
mod groups;
#[cfg(all(madsim, unix))]
mod interrupted;
mod json;
mod leaderships;
mod logs;
mod merge;
mod mistakes;
mod nightly;
mod obedient;
mod own_service;
mod own_times;
mod pages;
mod printed;
mod readme;
mod reduce;
mod shards;
mod sweeps;
mod words;
