//! The fenced store of real mode: the ledgers of [`protocols::fence`] behind a socket, kept in a database.
//!
//! ```text
//! connection ─┐                     ┌─ embedded: a file, one process
//! connection ─┼─► queue ─► keeper ──┤
//! connection ─┘  (bounded)  (one)   └─ postgres: many stores may share one database
//! ```
//! The keeper takes everything queued and decides on it in one durable transaction; only then does it answer. So no
//! answer is ever revoked, and the cost per request falls with the load.

pub mod audit;
mod auth;
pub mod backend;
pub mod embedded;
pub mod link;
pub mod loaded;
pub mod metrics;
pub mod plans;
pub mod postgres;
pub mod server;

pub use protocols_clients::store::{token, wire};

use self::{
    audit::Dropped, backend::Job, embedded::Embedded, loaded::Rules, metrics::Metrics, postgres::Postgres,
    server::Limits,
};
pub use self::{auth::Auth, backend::StoreError};
use std::{io, path::PathBuf, sync::Arc};
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// How many requests may wait for the keeper, across all connections. Beyond that, connections are not read.
const QUEUE: usize = 4096;

/// Where the ledgers are kept.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Keep {
    /// The store's own file.
    Embedded(PathBuf),
    Postgres(postgres::PostgresSettings),
}

pub struct StoreSettings {
    pub keep: Keep,
    pub rules: Rules,
    pub auth: Auth,
    /// Limits per client.
    pub limits: Limits,
    /// TLS, if given; its configuration decides whether clients need a certificate.
    pub tls: Option<TlsAcceptor>,
    /// The commit it was built from, for its metrics.
    pub commit: &'static str,
}

/// An open store, ready to serve.
pub struct Store {
    jobs: mpsc::Sender<Job>,
    keeper: JoinHandle<Result<(), StoreError>>,
    audit: Audit,
    metrics: Arc<Metrics>,
    auth: Auth,
    limits: Limits,
    tls: Option<TlsAcceptor>,
}

/// The audit of an open store. Clones are cheap.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Audit {
    Embedded(Embedded),
    Postgres(postgres::PostgresSettings),
}

impl Audit {
    /// Writes the audit as JSON lines, including everything answered before the call; returns the number of lines.
    ///
    /// # Errors
    /// The database cannot be read, or `out` cannot be written; as one sentence.
    pub async fn export(&self, out: impl io::Write + Send + 'static) -> Result<u64, StoreError> {
        match self {
            Audit::Embedded(store) => {
                let store = store.clone();
                let exported = tokio::task::spawn_blocking(move || store.export(out)).await;
                exported
                    .map_err(failed)?
                    .map_err(|e| StoreError::Failed(format!("the audit cannot be written out: {e}")))
            }
            Audit::Postgres(settings) => postgres::export(settings, out, false).await,
        }
    }
}

impl Store {
    /// Opens the database, and creates what is missing in it.
    ///
    /// # Errors
    /// The database cannot be used; as one sentence.
    pub async fn open(settings: StoreSettings) -> Result<Self, StoreError> {
        let StoreSettings { keep, rules, auth, limits, tls, commit } = settings;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let metrics = Arc::new(Metrics::new(commit));
        let (keeper, audit) = match keep {
            Keep::Embedded(path) => {
                let opened = tokio::task::spawn_blocking(move || Embedded::open(&path, rules)).await;
                let mut store = opened.map_err(failed)??;
                backend::look(&mut store, &metrics).await?;
                (tokio::spawn(backend::keep(store.clone(), queue, metrics.clone())), Audit::Embedded(store))
            }
            Keep::Postgres(settings) => {
                let mut store = Postgres::open(settings.clone(), rules).await?;
                backend::look(&mut store, &metrics).await?;
                (tokio::spawn(backend::keep(store, queue, metrics.clone())), Audit::Postgres(settings))
            }
        };
        Ok(Store { jobs, keeper, audit, metrics, auth, limits, tls })
    }

    /// The store's audit, which is readable while the store serves. An embedded store's file stays open as long as this
    /// handle exists.
    pub fn audit(&self) -> Audit {
        self.audit.clone()
    }

    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Serves until `stop`; requests under way at that moment are still decided on and answered.
    ///
    /// # Errors
    /// The database has failed and can store nothing more; as one sentence.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> Result<(), StoreError> {
        let Store { jobs, mut keeper, auth, limits, tls, .. } = self;
        // A child token, because the server also stops when the keeper does.
        let stop = stop.child_token();
        let shared = server::Shared { jobs, auth, limits, stop: stop.clone() };
        let mut accepting = std::pin::pin!(server::accept(listener, tls, shared));
        let kept = tokio::select! {
            biased;
            kept = &mut keeper => {
                stop.cancel();
                accepting.await;
                kept
            }
            () = &mut accepting => keeper.await,
        };
        kept.map_err(|e| StoreError::Failed(format!("the store's keeper failed: {e}")))?
    }
}

/// Opens a store and serves connections to `listener` until `stop`.
///
/// # Errors
/// The database cannot be used, or fails; as one sentence.
pub async fn serve(listener: TcpListener, settings: StoreSettings, stop: CancellationToken) -> Result<(), StoreError> {
    Store::open(settings).await?.serve(listener, stop).await
}

/// Writes the audit of a store as JSON lines for `fencepost check`, with times from its first line's, and returns their
/// number. An embedded store must not be running.
///
/// # Errors
/// A store is running on the file, the database cannot be read, or `out` cannot be written; as one sentence.
pub async fn audit(keep: &Keep, out: impl io::Write + Send + 'static) -> Result<u64, StoreError> {
    exported(keep, out, true).await
}

/// The same with times in the machine's uptime, as the nodes' parts of the history have them.
///
/// # Errors
/// As [`audit`].
pub async fn export(keep: &Keep, out: impl io::Write + Send + 'static) -> Result<u64, StoreError> {
    exported(keep, out, false).await
}

async fn exported(keep: &Keep, out: impl io::Write + Send + 'static, own_zero: bool) -> Result<u64, StoreError> {
    match keep {
        Keep::Embedded(path) => {
            let path = path.clone();
            let exported = tokio::task::spawn_blocking(move || embedded::export(&path, out, own_zero)).await;
            exported.map_err(failed)?
        }
        Keep::Postgres(settings) => postgres::export(settings, out, own_zero).await,
    }
}

/// What has been dropped from the audit of a store that is not running; `None` if nothing has.
///
/// # Errors
/// A store is running on the file, or it is not a store's; as one sentence.
pub async fn dropped(keep: &Keep) -> Result<Option<Dropped>, StoreError> {
    match keep {
        Keep::Embedded(path) => {
            let path = path.clone();
            tokio::task::spawn_blocking(move || embedded::dropped(&path)).await.map_err(failed)?
        }
        // A PostgreSQL audit stays until somebody deletes rows.
        Keep::Postgres(_) => Ok(None),
    }
}

fn failed(task: tokio::task::JoinError) -> StoreError {
    StoreError::Failed(task.to_string())
}
