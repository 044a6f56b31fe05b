//! The command as a whole: the built `fencepost` as a process, simulation or real mode depending on the build.
//!
//! Tests share a process and run on parallel threads: process-wide state (folder, environment, signals) belongs to the
//! child, and each test's files have names of their own.

#[cfg(madsim)]
mod advise;
#[cfg(madsim)]
mod assess;
#[cfg(madsim)]
mod book;
#[cfg(madsim)]
mod bugs;
#[cfg(madsim)]
mod cases;
#[cfg(madsim)]
mod commands;
#[cfg(madsim)]
mod determinism;
mod doubts;
#[cfg(madsim)]
mod export;
#[cfg(madsim)]
mod found;
#[cfg(madsim)]
mod frontier;
#[cfg(madsim)]
mod groups;
#[cfg(all(madsim, unix))]
mod interrupted;
#[cfg(madsim)]
mod json;
mod leaderships;
mod logs;
#[cfg(madsim)]
mod merge;
#[cfg(madsim)]
mod mistakes;
#[cfg(madsim)]
mod mutants;
mod obedient;
#[cfg(madsim)]
mod own_times;
mod pages;
#[cfg(madsim)]
mod printed;
#[cfg(madsim)]
mod readme;
#[cfg(real_mode)]
mod real;
#[cfg(madsim)]
mod reduce;
#[cfg(madsim)]
mod sweeps;
#[cfg(madsim)]
mod words;
