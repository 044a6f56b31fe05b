//! Simulated processes, held to the kernel and to their word.

mod suite;
mod world;
