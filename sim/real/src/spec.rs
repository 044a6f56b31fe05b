//! The description of a cluster.

use scenarios::{plan::Plan, topology::Topology};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

#[derive(Clone)]
pub struct Spec {
    pub program: PathBuf,
    /// The folder for data, logs and histories.
    pub folder: PathBuf,
    /// The candidates with their clocks and timers, fencing, and clients.
    pub plan: Arc<Plan>,
    /// The processes and their names. The service has one member here.
    pub topology: Arc<Topology>,
    /// A coordination service that already runs; if `None`, the cluster starts one.
    pub service: Option<SocketAddr>,
    /// Stores the fenced store's state in this PostgreSQL database instead of a file. The password comes from
    /// PGPASSWORD.
    pub postgres: Option<String>,
    /// Mutual TLS between nodes and store, with the cluster's own certificates.
    pub tls: bool,
}

impl Spec {
    /// The file with the key that authenticates fencing tokens.
    pub fn token_key(&self) -> PathBuf {
        self.folder.join("token.key")
    }

    /// The data file of the embedded store.
    pub fn store_data(&self) -> PathBuf {
        self.folder.join("store.redb")
    }

    /// The nodes' parts of the history.
    pub fn node_histories(&self) -> Vec<PathBuf> {
        self.plan.candidates.iter().map(|c| history_file(&self.folder, &c.name)).collect()
    }
}

/// The part of the history that the named node writes.
pub(crate) fn history_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.jsonl"))
}
