//! Stories on real processes: clusters on loopback, proxies between their members, and what goes wrong with them.

pub mod certificates;
pub mod cluster;
pub mod control;
pub mod director;
pub mod history;
pub mod leash;
mod load;
mod process;
mod proxy;
mod service;
pub mod stalls;
