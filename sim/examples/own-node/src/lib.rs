//! The node and the store of real mode, as `cargo real node` and `cargo real store` run them, each as a `main` without
//! arguments: their settings are in the environment.

pub mod node;
pub mod store;

use std::{env, future::Future, net::SocketAddr};
use tokio::runtime::Builder;
use tracing_subscriber::EnvFilter;

/// Where the store listens, and every node.
const PORT: u16 = 7000;

fn any(port: u16) -> SocketAddr {
    SocketAddr::from(([0, 0, 0, 0], port))
}

fn setting(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// Runs a process on one thread, as `cargo real` does, with its log on standard error.
fn run(filter: &str, main: impl Future<Output = ()>) {
    let filter = EnvFilter::new(filter);
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .without_time()
        .with_ansi(false)
        .init();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime starts");
    runtime.block_on(main);
    runtime.shutdown_background();
}
