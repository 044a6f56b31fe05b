//! Fencepost without flags, as a crate of one's own builds it.

mod clock;
mod defects;
mod failover;
mod files;
mod found;
mod loopback;
mod moved;
mod traces;
mod vdso;
mod world;
