//! Metrics in Prometheus' text exposition, for nodes and stores.

use axum::{
    http::header,
    response::{IntoResponse, Response},
};
use prometheus_client::{
    encoding::text::encode,
    metrics::{
        histogram::{Histogram, exponential_buckets},
        info::Info,
    },
    registry::Registry,
};

/// A registry with a metric for `commit`, the commit that the process was built from.
pub fn registry(commit: &str) -> Registry {
    let mut registry = Registry::default();
    let build = [("version", env!("CARGO_PKG_VERSION").to_owned()), ("commit", commit.to_owned())];
    registry.register("fencepost_build", "What this process was built from", Info::new(build));
    registry
}

/// A histogram of `buckets` buckets, the first up to `least` seconds, each twice as large as the one before.
pub fn doubling(least: f64, buckets: u16) -> Histogram {
    Histogram::new(exponential_buckets(least, 2.0, buckets))
}

/// The registry's metrics as text.
pub fn text(registry: &Registry) -> String {
    let mut text = String::new();
    let _ = encode(&mut text, registry);
    text
}

/// The response to a scrape.
pub fn answer(text: String) -> Response {
    ([(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")], text).into_response()
}
