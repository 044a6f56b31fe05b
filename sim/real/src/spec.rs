//! What a cluster is made of.

use scenarios::{plan::Plan, topology::Topology};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};

/// What a cluster is made of.
#[derive(Clone)]
pub struct Spec {
    /// The `fencepost` program.
    pub program: PathBuf,
    /// Where data, logs and histories go.
    pub folder: PathBuf,
    /// Candidates, their clocks, timers, fencing, clients.
    pub plan: Arc<Plan>,
    /// Who is who in it; a service has one member here.
    pub topology: Arc<Topology>,
    /// A coordination service that runs already; one is started when it is not given.
    pub service: Option<SocketAddr>,
    /// The store keeps its state in this PostgreSQL database instead of in a file. The password comes from PGPASSWORD.
    pub postgres: Option<String>,
    /// TLS, with certificates of the cluster's own, between nodes and store; both sides show one.
    pub tls: bool,
}

impl Spec {
    /// The file with the key that fencing tokens are authenticated with.
    pub fn token_key(&self) -> PathBuf {
        self.folder.join("token.key")
    }

    /// The embedded store's data.
    pub fn store_data(&self) -> PathBuf {
        self.folder.join("store.redb")
    }

    /// The parts of the history that nodes write.
    pub fn node_histories(&self) -> Vec<PathBuf> {
        self.plan.candidates.iter().map(|c| history_file(&self.folder, &c.name)).collect()
    }
}

/// Where the node of that name writes its part of the history.
pub(crate) fn history_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.jsonl"))
}
