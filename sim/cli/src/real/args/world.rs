//! What a cluster of real processes is built on.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// What a cluster is built on.
#[derive(ClapArgs, Debug, Default)]
pub struct WorldArgs {
    /// Address of a coordination service that is running already; by default an installed one is started
    #[arg(long, value_name = "HOST:PORT")]
    pub service: Option<String>,
    /// Keep the store in this PostgreSQL database; the password comes from PGPASSWORD
    #[arg(long, value_name = "URL")]
    pub postgres: Option<String>,
    /// TLS between nodes and store, both sides with a certificate
    #[arg(long)]
    pub tls: bool,
    /// Where data, logs and histories are written [default: target/fencepost/cluster, or a folder for the run]
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}
