//! The store: redb in a file, its own wire protocol, and metrics over HTTP.

use crate::{PORT, any, run, setting};
use protocols_real::{
    http,
    store::{Auth, Keep, Store, StoreSettings, loaded::Rules, metrics, server::Limits},
};
use std::path::PathBuf;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// The store prints such a line when a write is durable, and before it answers.
pub const ACCEPTED: &str = "accepted resource=\"schedule\" node=\"{node}\" token={token} seq={seq}";

/// A store that compares tokens.
pub fn main() {
    serve(true);
}

/// The same, without comparing tokens.
pub fn unfenced() {
    serve(false);
}

/// The file that it keeps everything in.
pub fn file() -> PathBuf {
    PathBuf::from(setting("STATE_DIRECTORY")).join("store.redb")
}

fn serve(fencing: bool) {
    run("info,protocols_real::store=debug", async move {
        let settings = StoreSettings {
            keep: Keep::Embedded(file()),
            rules: Rules { fencing, ..Rules::default() },
            auth: Auth::Insecure,
            limits: Limits::default(),
            tls: None,
            commit: "simulated",
        };
        let http = http::listen(any(PORT + 1)).await.expect("the store listens for HTTP");
        let listener = TcpListener::bind(any(PORT)).await.expect("the store listens");
        let store = Store::open(settings).await.expect("the store opens");
        let stop = CancellationToken::new();
        let (router, stopped) = (metrics::router(store.metrics()), stop.clone());
        tokio::spawn(async move { http::serve(http, None, router, stopped.cancelled()).await });
        store.serve(listener, stop).await.expect("the store serves");
    });
}
