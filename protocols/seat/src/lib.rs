//! Leader election with fencing: lead while a closure runs, stop the work before letting go, and let the resource
//! refuse whoever led before, so that at most one process of a fleet takes effect.
//!
//! ```no_run
//! # #[cfg(all(feature = "etcd", feature = "postgres"))]
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use fencepost_seat::{Etcd, FencedSql, Seat};
//! use std::time::Duration;
//! use tokio_postgres::NoTls;
//!
//! let etcd = Etcd::connect(["http://127.0.0.1:2379"])?;
//! let seat = Seat::new(etcd, "invoices").ttl(Duration::from_secs(5)).member("host-7")?;
//! let why = seat
//!     .serve(async |lead| {
//!         let (mut database, connection) = tokio_postgres::connect("host=db user=invoices", NoTls).await?;
//!         lead.spawn(connection);
//!         let charge = "UPDATE invoices SET charged = true WHERE id = 7";
//!         database.fenced(lead, "charges", async |charges| charges.execute(charge, &[]).await).await?;
//!         Ok::<(), Box<dyn std::error::Error>>(())
//!     })
//!     .await?;
//! println!("led, and then {why}");
//! if why == fencepost_seat::Ended::UncleanStop {
//!     // A part of the work may still be running, and a return from `main` would wait for its threads.
//!     std::process::exit(1);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Three rules are built in, since each is easily forgotten:
//!
//! - **A belief ends before the lease.** It counts from when the confirmed request was *sent*, on the machine's
//!   monotonic clock (on Linux the one that goes on while the machine is suspended), less a [margin](Settings::margin).
//!   Who sets the service's clock forward, or suspends a virtual machine, can still make two processes believe.
//! - **Work stops before the lease is released.** When leadership ends, the closure is dropped and what it
//!   [spawned](Lead::spawn) is cancelled and waited for. What does not stop in time is
//!   [reported](Ended::UncleanStop), and the lease is left to run out.
//! - **A belief is no proof.** A process can be paused between any check and the next instruction, so there is no
//!   `is_leader`, and [`Lead::check`] only saves work that would be refused. Whatever must not happen twice goes through a resource that refuses older [tokens](Lead::token).
//!
//! The elections are those that Fencepost's simulation has put through pauses, partitions, clocks and crashes; this
//! crate adds the part that a service sees, and is itself tested there, unmodified.

#![forbid(unsafe_code)]

/// The book's page, whose example compiles.
#[cfg(all(
    doctest,
    feature = "etcd",
    feature = "metrics",
    feature = "postgres",
    feature = "raft",
    feature = "signal",
    feature = "tls"
))]
#[doc = include_str!("../../../docs/seat.md")]
mod page {}

/// The package's page.
#[cfg(all(doctest, feature = "etcd", feature = "postgres"))]
#[doc = include_str!("../README.md")]
mod readme {}

/// The same for those who come from elsewhere.
#[cfg(all(doctest, feature = "etcd", feature = "redis", feature = "postgres"))]
#[doc = include_str!("../../../docs/moving.md")]
mod moving {}

mod backend;
mod counts;
mod deference;
mod driver;
mod ended;
mod error;
pub mod fence;
mod lead;
#[cfg(feature = "metrics")]
mod metrics;
mod observer;
mod resigner;
mod seat;
mod seats;
mod settings;
#[cfg(all(feature = "signal", unix))]
mod signal;
mod state;
mod term;
mod tracker;
mod watch;

#[cfg(feature = "consul")]
pub use backend::consul::Consul;
#[cfg(feature = "etcd")]
pub use backend::etcd::Etcd;
#[cfg(feature = "kubernetes")]
pub use backend::kubernetes::Kubernetes;
#[cfg(feature = "postgres")]
pub use backend::postgres::Postgres;
#[cfg(feature = "postgres")]
pub use backend::postgres_lock::PostgresLock;
#[cfg(feature = "raft")]
pub use backend::raft::Raft;
#[cfg(feature = "redis")]
pub use backend::redis::Redis;
#[cfg(feature = "redis")]
pub use backend::redlock::Redlock;
#[cfg(feature = "zookeeper")]
pub use backend::zookeeper::Zookeeper;
pub use backend::{AddressError, Backend};
pub use ended::Ended;
pub use error::SettingsError;
#[cfg(feature = "etcd")]
pub use fence::etcd::FencedKv;
#[cfg(feature = "object-store")]
pub use fence::object_store::FencedObjects;
#[cfg(feature = "postgres")]
pub use fence::postgres::FencedSql;
#[cfg(feature = "redis")]
pub use fence::redis::FencedRedis;
#[cfg(feature = "sqlx")]
pub use fence::sqlx::FencedPool;
pub use lead::{Fenced, Fencing, Lead, Unfenced};
#[cfg(feature = "metrics")]
pub use metrics::Metrics;
pub use resigner::Resigner;
pub use seat::Seat;
#[doc(hidden)]
pub use seat::inside;
pub use seats::Seats;
pub use settings::Settings;
#[cfg(all(feature = "signal", unix))]
pub use signal::terminated;
pub use term::Term;
pub use watch::{Status, Watch};
