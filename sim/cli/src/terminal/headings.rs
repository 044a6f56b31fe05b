//! Headings of groups of options in help, for commands with many options.

pub const TIMERS: &str = "Timers";
pub const NETWORK: &str = "Clocks and network";
pub const WORK: &str = "Clients and the leader's work";
pub const OUTPUT: &str = "Output";
