//! Simulated processes, held to the kernel and to their word.

mod disk;
mod host;
mod programs;
mod refusals;
mod suite;
mod world;
