//! Each service in a steady world, without its leader, cut off from its coordination service, and paused.

mod probe;
mod world;
