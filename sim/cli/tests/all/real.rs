//! `cargo real` on real processes and servers.

mod chaos;
mod cli;
mod cluster;
mod common;
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
mod tls;
#[cfg(feature = "otel")]
mod traces;
mod watch;
mod written;
