//! The fenced store of real mode: the ledgers of [`protocols::fence`] behind a socket, kept in a database.
//!
//! ```text
//! connection ─┐                     ┌─ embedded: a file, one process
//! connection ─┼─► queue ─► keeper ──┤
//! connection ─┘  (bounded)  (one)   └─ postgres: many stores may share one database
//! ```
//! The keeper takes all that is queued and has it decided on in one durable transaction; only then is anything answered.
//! So an answer is never taken back, and the more is asked at a time, the less each costs.

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
pub mod token;
pub mod wire;

use self::{
    audit::Dropped, backend::Job, embedded::Embedded, loaded::Rules, metrics::Metrics, postgres::Postgres,
    server::Limits,
};
pub use self::{auth::Auth, backend::StoreError};
use std::{io, path::PathBuf, sync::Arc};
use tokio::{net::TcpListener, sync::mpsc, task::JoinHandle};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Requests that wait for the keeper, of all connections together. Who comes later waits to be read.
const QUEUE: usize = 4096;

/// Where the ledgers are kept.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Keep {
    /// In a file of the store's own.
    Embedded(PathBuf),
    /// In PostgreSQL.
    Postgres(postgres::PostgresSettings),
}

/// How a store runs.
pub struct StoreSettings {
    /// Where the ledgers are kept.
    pub keep: Keep,
    /// What decisions go by.
    pub rules: Rules,
    /// Who is believed.
    pub auth: Auth,
    /// What clients may use up.
    pub limits: Limits,
    /// Speaks TLS when given; a client certificate is asked for when its configuration does.
    pub tls: Option<TlsAcceptor>,
    /// What it was built from, for its metrics.
    pub commit: &'static str,
}

/// A store that is open, and decides as soon as it is asked.
pub struct Store {
    jobs: mpsc::Sender<Job>,
    keeper: JoinHandle<Result<(), StoreError>>,
    audit: Audit,
    metrics: Arc<Metrics>,
    auth: Auth,
    limits: Limits,
    tls: Option<TlsAcceptor>,
}

/// The audit of a store that is open. Clones are cheap.
#[derive(Clone)]
#[allow(clippy::large_enum_variant, reason = "there is one of it in a process")]
pub enum Audit {
    /// In a file.
    Embedded(Embedded),
    /// In PostgreSQL.
    Postgres(postgres::PostgresSettings),
}

impl Audit {
    /// Writes it as JSON lines; how many there were. Everything that was answered before the call is in it.
    ///
    /// # Errors
    /// The database cannot be read, or `out` not written; in one sentence.
    pub async fn export(&self, out: impl io::Write + Send + 'static) -> Result<u64, StoreError> {
        match self {
            Audit::Embedded(store) => {
                let store = store.clone();
                let exported = tokio::task::spawn_blocking(move || store.export(out)).await;
                exported
                    .map_err(failed)?
                    .map_err(|e| StoreError::Failed(format!("the audit cannot be written out: {e}")))
            }
            Audit::Postgres(settings) => postgres::export(settings, out).await,
        }
    }
}

impl Store {
    /// Opens the database, and makes what is missing in it.
    ///
    /// # Errors
    /// It cannot be used; in one sentence.
    pub async fn open(settings: StoreSettings) -> Result<Self, StoreError> {
        let StoreSettings { keep, rules, auth, limits, tls, commit } = settings;
        let (jobs, queue) = mpsc::channel(QUEUE);
        let metrics = Arc::new(Metrics::new(commit));
        let (keeper, audit) = match keep {
            Keep::Embedded(path) => {
                let opened = tokio::task::spawn_blocking(move || Embedded::open(&path, rules)).await;
                let store = opened.map_err(failed)??;
                (tokio::spawn(backend::keep(store.clone(), queue, metrics.clone())), Audit::Embedded(store))
            }
            Keep::Postgres(settings) => {
                let store = Postgres::open(settings.clone(), rules).await?;
                (tokio::spawn(backend::keep(store, queue, metrics.clone())), Audit::Postgres(settings))
            }
        };
        Ok(Store { jobs, keeper, audit, metrics, auth, limits, tls })
    }

    /// Its audit, also while it serves. An embedded store's file stays open for as long as this lives.
    pub fn audit(&self) -> Audit {
        self.audit.clone()
    }

    /// What it counts.
    pub fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// Serves whoever connects until `stop`; what is under way then is still decided and answered.
    ///
    /// # Errors
    /// The database has failed: nothing can be kept any more. In one sentence.
    pub async fn serve(self, listener: TcpListener, stop: CancellationToken) -> Result<(), StoreError> {
        let Store { jobs, mut keeper, auth, limits, tls, .. } = self;
        // The store's own: it also stops when the keeper does.
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

/// Opens a store and serves whoever connects to `listener` until `stop`.
///
/// # Errors
/// The database cannot be used, or fails; in one sentence.
pub async fn serve(listener: TcpListener, settings: StoreSettings, stop: CancellationToken) -> Result<(), StoreError> {
    Store::open(settings).await?.serve(listener, stop).await
}

/// Writes the audit of a store that is not running (or runs on PostgreSQL) as JSON lines for `fencepost check`; how many
/// there were.
///
/// # Errors
/// A store runs on the file, the database cannot be read, or `out` not written; in one sentence.
pub async fn export(keep: &Keep, out: impl io::Write + Send + 'static) -> Result<u64, StoreError> {
    match keep {
        Keep::Embedded(path) => {
            let path = path.clone();
            let exported = tokio::task::spawn_blocking(move || embedded::export(&path, out)).await;
            exported.map_err(failed)?
        }
        Keep::Postgres(settings) => postgres::export(settings, out).await,
    }
}

/// What is no longer in the audit of a store that is not running; `None` when all is.
///
/// # Errors
/// A store runs on the file, or it is not a store's; in one sentence.
pub async fn dropped(keep: &Keep) -> Result<Option<Dropped>, StoreError> {
    match keep {
        Keep::Embedded(path) => {
            let path = path.clone();
            tokio::task::spawn_blocking(move || embedded::dropped(&path)).await.map_err(failed)?
        }
        // It keeps its audit until somebody deletes from the table.
        Keep::Postgres(_) => Ok(None),
    }
}

fn failed(task: tokio::task::JoinError) -> StoreError {
    StoreError::Failed(task.to_string())
}
