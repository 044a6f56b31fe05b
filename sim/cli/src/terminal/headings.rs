//! What stands above groups of options in help, where there are too many for one list.

/// How long the protocol waits for what.
pub const TIMERS: &str = "Timers";
/// What only one protocol has on or off.
pub const RAFT: &str = "Rules of raft-core";
/// The world.
pub const NETWORK: &str = "Clocks and network";
/// The load.
pub const WORK: &str = "Clients and the leader's work";
/// What a command leaves behind.
pub const OUTPUT: &str = "Output";
