//! The command as a whole: the built `fencepost` as a process, simulation or real mode depending on the build.
//!
//! Tests share a process and run on parallel threads: process-wide state (folder, environment, signals) belongs to the
//! child, and each test's files have names of their own.

#[cfg(not(real_mode))]
mod advise;
#[cfg(not(real_mode))]
mod assess;
#[cfg(not(real_mode))]
mod book;
#[cfg(not(real_mode))]
mod bugs;
#[cfg(not(real_mode))]
mod cases;
#[cfg(not(real_mode))]
mod commands;
#[cfg(not(real_mode))]
mod determinism;
mod doubts;
#[cfg(not(real_mode))]
mod export;
#[cfg(all(not(real_mode), unix))]
mod followed;
#[cfg(not(real_mode))]
mod found;
#[cfg(not(real_mode))]
mod frontier;
#[cfg(not(real_mode))]
mod groups;
#[cfg(all(madsim, unix))]
mod interrupted;
#[cfg(not(real_mode))]
mod json;
mod leaderships;
mod logs;
#[cfg(not(real_mode))]
mod merge;
#[cfg(not(real_mode))]
mod mistakes;
mod obedient;
#[cfg(not(real_mode))]
mod own_service;
mod own_times;
mod pages;
#[cfg(not(real_mode))]
mod printed;
#[cfg(not(real_mode))]
mod readme;
#[cfg(real_mode)]
mod real;
#[cfg(not(real_mode))]
mod reduce;
#[cfg(not(real_mode))]
mod sweeps;
#[cfg(not(real_mode))]
mod words;
