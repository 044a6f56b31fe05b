//! Fencepost without flags, as a crate of one's own builds it.

mod failover;
mod fencing;
mod loopback;
mod traces;
mod world;
