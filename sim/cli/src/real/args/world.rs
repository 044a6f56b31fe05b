//! The servers and folders of a cluster of real processes.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// The servers and folders of a cluster.
#[derive(ClapArgs, Debug, Default)]
pub struct WorldArgs {
    /// Address of a running coordination service; by default an installed one is started
    #[arg(long, value_name = "HOST:PORT")]
    pub service: Option<String>,
    /// Keep the store in this PostgreSQL database; the password comes from PGPASSWORD
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// TLS between nodes and store, both sides with a certificate
    #[arg(long)]
    pub tls: bool,
    /// Folder for data, logs and histories [default: target/fencepost/cluster, or a folder for the run]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
