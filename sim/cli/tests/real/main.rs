//! `fencepost real` on real processes and servers.
//!
//! Tests share a process and run on parallel threads: process-wide state (folder, environment, signals) belongs to the
//! child, and each test's files have names of their own.

mod chaos;
mod cli;
mod cluster;
mod common;
mod containers;
mod drill_ends;
mod drill_faults;
mod drill_services;
mod drill_wire;
mod drills;
mod full_disk;
mod hostile;
mod interop;
mod kazoo;
mod lost_data;
mod measure;
mod monitoring;
mod postgres;
mod redis_servers;
mod services;
mod shards;
mod tls;
mod traces;
mod watch;
mod written;
